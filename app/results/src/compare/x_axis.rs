//! What the x of a run's curve is.

use headroom_engine::store::RunSummary;

use crate::plot::{CurveX, XAxis};

/// The x of a run's curves; none while what it needs is not known.
///
/// The clock starts at the run's first start and leaves pauses out. FLOPs are steps times the FLOPs of a step by the
/// cost model; epochs are tokens over the tokens of the training text.
pub fn curve_x(run: &RunSummary, x: XAxis) -> Option<CurveX> {
    match x {
        XAxis::Step => Some(CurveX::STEP),
        XAxis::Tokens => Some(CurveX::TOKENS),
        XAxis::RelativeTime => Some(CurveX::WALL_SECS),
        XAxis::WallTime => run.started_ms.map(|start| CurveX::clock(start as f64 / 1000.0)),
        XAxis::Epoch => run.train_tokens.filter(|tokens| *tokens > 0).map(|tokens| CurveX::epochs(tokens as f64)),
        XAxis::Flops => run.flops_per_step.filter(|flops| *flops > 0).map(|flops| CurveX::flops(flops as f64)),
    }
}

/// Why runs may be missing over this x, as a sentence.
pub fn why_missing(x: XAxis) -> &'static str {
    match x {
        XAxis::WallTime | XAxis::Epoch | XAxis::Flops => "It is known once a run has started.",
        XAxis::Step | XAxis::Tokens | XAxis::RelativeTime => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn every_x_follows_from_what_the_store_knows_of_a_run() {
        let mut run = examples::summary(1, "run");
        run.flops_per_step = Some(2_000);
        run.train_tokens = Some(500);
        assert_eq!(curve_x(&run, XAxis::Flops), Some(CurveX::flops(2_000.0)));
        assert_eq!(curve_x(&run, XAxis::Epoch), Some(CurveX::epochs(500.0)));
        assert_eq!(curve_x(&run, XAxis::WallTime).unwrap().offset, 1_741_529_110.0);
        assert_eq!(curve_x(&run, XAxis::Step), Some(CurveX::STEP));
    }

    #[test]
    fn a_run_that_never_started_has_no_clock_no_epochs_and_no_flops() {
        let mut run = examples::summary(1, "run");
        (run.flops_per_step, run.train_tokens, run.started_ms) = (None, Some(0), None);
        for x in [XAxis::Flops, XAxis::Epoch, XAxis::WallTime] {
            assert_eq!(curve_x(&run, x), None);
            assert!(!why_missing(x).is_empty());
        }
    }
}
