//! What advice for runs and for model directories has in common: what is wished for, and how what was found is told.

use headroom_engine::{
    advise::{Advice, Adviser, Prediction, Verdict, Wishes},
    config::counted,
};
use serde_json::{Value as Json, json};

use super::{args::AdviseArgs, error::CliResult, plain, print};
use crate::export::TextTable;
use crate::findings;

/// Heads that are named.
const MOST_NAMED: usize = 48;

/// What was asked for; heads of the usual similarity where nothing was.
pub(super) fn wishes(args: &AdviseArgs) -> Wishes {
    let wishes = Wishes { similarity: args.similarity, energy: args.energy, error: args.error };
    if wishes.is_empty() { Wishes { similarity: Wishes::USUAL.similarity, ..wishes } } else { wishes }
}

/// A part for scripts: what was found, or why it is missing; null where it was not wished for.
pub(super) fn part<T: serde::Serialize>(part: Option<&Result<T, String>>) -> Json {
    match part {
        None => Json::Null,
        Some(Ok(found)) => json!(found),
        Some(Err(why)) => json!({ "missing": why }),
    }
}

/// The error that is allowed, wished for or not.
fn error_limit(advice: &Advice) -> f64 {
    advice.wishes.error.or(Wishes::USUAL.error).unwrap_or(0.0)
}

/// A table of what was found; what could be had at the usual thresholds stands there too, wished for or not.
pub(super) fn tell_found(adviser: &Adviser, advice: &Advice) -> CliResult {
    let threshold = advice.wishes.similarity.or(Wishes::USUAL.similarity).unwrap_or(1.0);
    let energy = advice.wishes.energy.or(Wishes::USUAL.energy).unwrap_or(1.0);
    let error = error_limit(advice);
    let of_run = advice.config().is_some();
    let mut found = TextTable::new(["", "threshold", "found", "taken"]);
    // A run is trained with all that was wished for or not at all.
    let taken = |is_wished: bool, is_had: bool| if is_wished && (of_run || is_had) { "yes" } else { "no" }.to_owned();
    found.row([
        "Heads that could borrow".to_owned(),
        format!("similarity {threshold}"),
        match adviser.borrowing() {
            Ok(borrowing) => format!("{} of {}", borrowing.count(threshold), computing(adviser)),
            Err(why) => why.to_owned(),
        },
        taken(advice.wishes.similarity.is_some(), matches!(&advice.heads, Some(Ok(heads)) if heads.replaced > 0)),
    ]);
    found.row([
        "Shared dimensions d_k".to_owned(),
        format!("energy {energy}"),
        match adviser.dimensions(energy) {
            Ok(found) => format!("{} of {}, for layer {}", found.d_k, found.present, found.layer),
            Err(why) => why,
        },
        taken(advice.wishes.energy.is_some(), matches!(&advice.dimensions, Some(Ok(_)))),
    ]);
    found.row([
        "Pairs of each row k".to_owned(),
        format!("error {error}"),
        match adviser.pairs(error) {
            Ok(found) => format!("{} of {}", found.k, found.tokens),
            Err(_) => "not known".to_owned(),
        },
        taken(advice.wishes.error.is_some(), matches!(&advice.pairs, Some(Ok(_)))),
    ]);
    print::line(found.to_plain().trim_end())
}

/// Why the number of pairs in that table is not known.
pub(super) fn missing_pairs(adviser: &Adviser, advice: &Advice) -> Option<String> {
    adviser.pairs(error_limit(advice)).err()
}

/// Who borrows from whom.
pub(super) fn tell_borrowed(advice: &Advice) -> CliResult {
    let Some(Ok(heads)) = &advice.heads else { return Ok(()) };
    let borrowed: Vec<String> = heads
        .heads
        .iter()
        .filter_map(|head| match head.verdict {
            Verdict::Borrows { lender, similarity } => Some(format!(
                "  L{}H{} uses the map of L{}H{} (similarity {similarity:.3})",
                head.at.layer, head.at.head, lender.layer, lender.head
            )),
            _ => None,
        })
        .collect();
    for line in borrowed.iter().take(MOST_NAMED) {
        print::line(line)?;
    }
    if borrowed.len() > MOST_NAMED {
        print::line(format!("  and {}", counted(borrowed.len() - MOST_NAMED, "more head")))?;
    }
    Ok(())
}

/// What it would save, below these headings.
pub(super) fn tell_saving(prediction: &Prediction, headings: [&'static str; 4], rows: Vec<[String; 4]>) -> CliResult {
    print::line("")?;
    for sentence in findings::measured_words(prediction) {
        print::line(plain::ascii(&sentence))?;
    }
    let mut table = TextTable::new(headings);
    for row in rows {
        table.row(row.map(|cell| plain::ascii(&cell)));
    }
    print::line(table.to_plain())
}

fn computing(adviser: &Adviser) -> usize {
    let plan = adviser.plan();
    (0..plan.layers()).map(|layer| plan.computed(layer)).sum()
}
