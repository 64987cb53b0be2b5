//! How long training will take.

use headroom_engine::{
    config::{DeviceChoice, RunConfig, counted},
    store::{RunState, RunSummary},
};

use crate::state::State;

/// Training speed of a core that is assumed until a run was measured here.
const FLOPS_PER_CORE_SEC: f64 = 8e10;
/// Runs shorter than this say little about the machine's speed.
const MEASURED_SECS: f64 = 5.0;
/// Steps that cost n times as much are computed at most this power of n faster.
const GAIN: f64 = 0.3;
/// Steps that cost so many times as much or as little tell nothing.
const FAR: f64 = 100.0;
/// By how much the FLOPs of a step may differ in runs that are alike.
const ALIKE: f64 = 4.0;

/// Time that training will probably take on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    secs: f64,
    /// Threads of the runs whose speed it is from.
    threads: usize,
    /// Threads that the config asks for, which it is for.
    asked: usize,
    /// Whether earlier runs say so.
    is_measured: bool,
    /// Whether steps of these cost about as much.
    is_alike: bool,
}

impl Expected {
    /// Time for so many FLOPs, from the speed of earlier runs on the device with as many threads, or with the number nearest to it, scaled by the
    /// cores that the threads have; before there is one, on the processor, from the number of cores. None where nothing is known.
    /// `of_step`: FLOPs of a step, by which runs are like it.
    pub fn of(flops: f64, of_step: u64, config: &RunConfig, state: &State) -> Option<Self> {
        let asked = config.threads_used();
        let on_cpu = config.device == DeviceChoice::Cpu;
        let is_near = |measured: &Measured| match measured.likeness {
            Likeness::Cheaper(times) | Likeness::Dearer(times) => times <= FAR || !on_cpu,
            Likeness::Alike => true,
        };
        let measured = measured_speed(of_step, config, state).filter(is_near);
        let cores = |threads: usize| std::thread::available_parallelism().map_or(1, usize::from).min(threads) as f64;
        match measured {
            Some(Measured { speed, threads, likeness }) => {
                // Small models reach less of the machine than large ones do, by how much is guessed.
                let guess = FLOPS_PER_CORE_SEC * cores(threads);
                let speed = match likeness {
                    Likeness::Cheaper(times) if on_cpu => guess.clamp(speed, speed * times.powf(GAIN)),
                    Likeness::Dearer(times) if on_cpu => guess.clamp(speed / times.powf(GAIN), speed),
                    _ => speed,
                };
                let is_alike = likeness == Likeness::Alike;
                let speed = if on_cpu { speed * cores(asked) / cores(threads).max(1.0) } else { speed };
                Some(Self { secs: flops / speed, threads, asked, is_measured: true, is_alike })
            }
            None => on_cpu.then_some(Self {
                secs: flops / (FLOPS_PER_CORE_SEC * cores(asked)),
                threads: asked,
                asked,
                is_measured: false,
                is_alike: false,
            }),
        }
    }

    /// The time in round words.
    pub fn words(&self) -> String {
        expected_words(self.secs)
    }

    /// Where it is from.
    pub fn about(&self) -> String {
        match self {
            Self { is_measured: false, .. } => {
                format!("A guess for {}, until a run like it has been measured here.", threads_words(self.asked))
            }
            Self { threads, asked, is_alike: true, .. } if threads == asked => {
                "From the speed of earlier runs like it in this store.".to_owned()
            }
            Self { threads, asked, .. } if threads == asked => {
                "Roughly: the runs of this store that were measured have steps that cost far more or far less."
                    .to_owned()
            }
            Self { threads, asked, .. } => format!(
                "Scaled to {} from the speed of earlier runs with {}: none with as many was measured in this store.",
                threads_words(*asked),
                threads_words(*threads)
            ),
        }
    }
}

fn threads_words(threads: usize) -> String {
    counted(threads as u64, "thread")
}

/// What steps of measured runs cost beside those that are asked about: how many times as much or as little.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Likeness {
    Alike,
    Cheaper(f64),
    Dearer(f64),
}

/// The speed of earlier runs.
struct Measured {
    /// FLOPs a second, the median.
    speed: f64,
    threads: usize,
    likeness: Likeness,
}

/// The speed of the runs on the config's device whose number of threads is nearest to the config's, and of these of the ones
/// whose steps cost about as much, or else are nearest to that.
fn measured_speed(of_step: u64, config: &RunConfig, state: &State) -> Option<Measured> {
    let (device, asked) = (config.device.to_string(), config.threads_used());
    // A GPU is as fast with any number of them.
    let threads = |run: &RunSummary| if config.device == DeviceChoice::Cpu { run.threads as usize } else { asked };
    let is_measured = |run: &&RunSummary| {
        run.train_secs >= MEASURED_SECS && run.steps_done > 0 && run.state != RunState::Queued && run.device == device
    };
    let flops = |run: &RunSummary| run.flops_per_step.unwrap_or_default() as f64;
    let speed = |run: &RunSummary| flops(run) * run.steps_done as f64 / run.train_secs;
    let measured: Vec<&RunSummary> = state.runs.iter().filter(is_measured).filter(|run| speed(run) > 0.0).collect();
    let nearest = measured.iter().map(|run| threads(run)).min_by_key(|threads| threads.abs_diff(asked))?;
    let so_many: Vec<&RunSummary> = measured.into_iter().filter(|run| threads(run) == nearest).collect();
    let distance = |run: &RunSummary, from: f64| (flops(run) / from.max(1.0)).ln().abs();
    let of_step = of_step as f64;
    let closest = *so_many.iter().min_by(|a, b| distance(a, of_step).total_cmp(&distance(b, of_step)))?;
    let times = distance(closest, of_step).exp();
    let (centre, likeness) = if times <= ALIKE {
        (of_step, Likeness::Alike)
    } else if flops(closest) < of_step {
        (flops(closest), Likeness::Cheaper(times))
    } else {
        (flops(closest), Likeness::Dearer(times))
    };
    let alike = so_many.iter().filter(|run| distance(run, centre) <= ALIKE.ln());
    let mut speeds: Vec<f64> = alike.map(|run| speed(run)).collect();
    speeds.sort_by(f64::total_cmp);
    Some(Measured { speed: *speeds.get(speeds.len() / 2)?, threads: nearest, likeness })
}

/// A guessed time in round words.
fn expected_words(secs: f64) -> String {
    match secs {
        secs if !secs.is_finite() => "unknown".to_owned(),
        secs if secs < 45.0 => "under 1 min".to_owned(),
        secs if secs < 90.0 * 60.0 => format!("about {} min", (secs / 60.0).round().max(1.0)),
        secs if secs < 48.0 * 3600.0 => format!("about {} h", (secs / 3600.0).round()),
        secs => format!("about {} days", (secs / 86_400.0).round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn the_expected_time_is_of_as_many_threads_or_scaled_to_them() {
        let mut config = RunConfig { threads: 1, ..RunConfig::default() };
        let flops = 6e13;
        let expected = |config: &RunConfig, state: &State| Expected::of(flops, 6_000_000_000, config, state);
        let mut state = State::default();
        let guess = expected(&config, &state).unwrap();
        assert_eq!((guess.secs, guess.is_measured), (flops / FLOPS_PER_CORE_SEC, false));
        // Runs of 6e12 FLOPs in 60 s with two threads, one in 100 s with one, and one on another device.
        let run = |number: u64, threads: u32, train_secs: f64, device: &str| RunSummary {
            threads,
            train_secs,
            device: device.to_owned(),
            flops_per_step: Some(6_000_000_000),
            steps_done: 1_000,
            ..examples::summary(number, "run")
        };
        state.runs = vec![run(0, 2, 60.0, "cpu"), run(1, 2, 60.0, "cpu"), run(2, 1, 6.0, "cuda:0")];
        let one = expected(&config, &state).unwrap();
        // Where the machine has two cores, one thread takes twice the time of two.
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(2) as f64;
        assert_eq!((one.secs, one.threads), (flops / (1e11 / cores), 2), "none with one thread was measured");
        assert!(!one.words().contains("thread"), "{}", one.words());
        assert!(
            one.about().starts_with("Scaled to 1 thread from the speed of earlier runs with 2 threads"),
            "{}",
            one.about()
        );
        state.runs.push(run(3, 1, 100.0, "cpu"));
        let one = expected(&config, &state).unwrap();
        assert_eq!((one.secs, one.threads), (flops / 6e10, 1));
        assert!(!one.words().contains("thread"), "{}", one.words());
        config.threads = 2;
        assert_eq!(expected(&config, &state).unwrap().secs, flops / 1e11);
        config.device = DeviceChoice::Cuda(0);
        assert_eq!(expected(&config, &state).unwrap().secs, flops / 1e12);
        config.device = DeviceChoice::Cuda(1);
        assert_eq!(expected(&config, &state), None, "nothing is known of it");
    }

    #[test]
    fn runs_whose_steps_cost_as_much_say_more_than_others() {
        let config = RunConfig { threads: 2, ..RunConfig::default() };
        let run = |number: u64, flops: u64, train_secs: f64| RunSummary {
            threads: 2,
            train_secs,
            flops_per_step: Some(flops),
            steps_done: 1_000,
            device: "cpu".to_owned(),
            ..examples::summary(number, "run")
        };
        // Large steps at 1e11 FLOPs a second; many small ones at a tenth of it.
        let mut state = State::default();
        state.runs = vec![run(0, 6_000_000_000, 60.0), run(1, 60_000_000, 6.0), run(2, 60_000_000, 6.0)];
        let secs = |state: &State, of_step: u64| Expected::of(6e13, of_step, &config, state).unwrap().secs;
        assert_eq!((secs(&state, 8_000_000_000), secs(&state, 50_000_000)), (6e13 / 1e11, 6e13 / 1e10));
        // Larger steps reach more of the machine, up to the guess; of tiny ones nothing follows for large ones.
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(2) as f64;
        let guess = FLOPS_PER_CORE_SEC * cores;
        state.runs = vec![run(1, 60_000_000, 6.0)];
        assert_eq!(secs(&state, 600_000_000), 6e13 / guess.clamp(1e10, 1e10 * 10.0_f64.powf(GAIN)));
        assert_eq!(secs(&state, 6_000_000), 6e13 / 1e10, "the guess is higher");
        state.runs = vec![run(1, 60_000, 6.0)];
        assert_eq!((secs(&state, 50_000), secs(&state, 6_000_000_000)), (6e13 / 1e7, 6e13 / guess));
        assert!(Expected::of(6e13, 6_000_000_000, &config, &state).unwrap().about().starts_with("A guess"));
    }

    #[test]
    fn guesses_are_round() {
        assert_eq!(expected_words(3.0), "under 1 min");
        assert_eq!(expected_words(100.0), "about 2 min");
        assert_eq!(expected_words(7300.0), "about 2 h");
        assert_eq!(expected_words(f64::INFINITY), "unknown");
    }
}
