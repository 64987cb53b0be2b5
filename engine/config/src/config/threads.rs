//! How many threads a run computes with.

use super::{Problem, RunConfig, counted, grouped};

/// More threads than that are a slip of the keyboard on any machine.
const MOST: usize = 4096;

/// Threads for each core up to which a run gets as many as it asks for: enough to see that more do not help.
const PER_CORE: usize = 4;

impl RunConfig {
    /// Threads that a run on the CPU uses: those asked for, or one for each core; four for each core at most. A result
    /// does not depend on their number.
    pub fn threads_used(&self) -> usize {
        used(self.threads, cores())
    }

    /// What there is to say of a number of threads that this machine does not have the cores for; nothing else.
    pub fn threads_note(&self) -> Option<String> {
        note(self.threads, cores())
    }

    /// What is wrong with the number of threads.
    pub(super) fn threads_problem(&self) -> Option<Problem> {
        let why = format!(
            "; this machine has {}, and more threads than cores make no run faster (0 = one for each core)",
            counted(cores(), "core")
        );
        Problem::of_whole("threads", self.threads, (0, MOST), why)
    }
}

/// The cores that this program may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn used(asked: usize, cores: usize) -> usize {
    if asked == 0 { cores } else { asked.min(cores.saturating_mul(PER_CORE)) }
}

fn note(asked: usize, cores: usize) -> Option<String> {
    let used = used(asked, cores);
    let more = "more threads than cores make no run faster, and results are the same with any number";
    if asked <= cores {
        None
    } else if used == asked {
        Some(format!("threads = {} on {}: {more}.", grouped(asked), counted(cores, "core")))
    } else {
        Some(format!(
            "threads = {} on {}: {} are used, {PER_CORE} for each core; {more}.",
            grouped(asked),
            counted(cores, "core"),
            grouped(used)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_bounded_by_the_cores() {
        for (asked, cores, expected) in [(0, 2, 2), (1, 2, 1), (8, 2, 8), (9, 2, 8), (1024, 2, 8), (1024, 512, 1024)] {
            assert_eq!(used(asked, cores), expected, "{asked} on {cores}");
        }
        assert_eq!((note(0, 2), note(2, 2), note(1024, 1024)), (None, None, None));
        let (some, many) = (note(3, 2).unwrap(), note(1024, 2).unwrap());
        assert!(some.starts_with("threads = 3 on 2 cores: more threads"), "{some}");
        assert!(many.starts_with("threads = 1,024 on 2 cores: 8 are used, 4 for each core;"), "{many}");
    }

    #[test]
    fn a_number_beyond_any_machine_is_refused_with_the_cores() {
        let mut config = RunConfig { threads: MOST, ..RunConfig::default() };
        assert_eq!(config.validate(), vec![]);
        config.threads = MOST + 1;
        let problems = config.validate();
        assert_eq!((problems.len(), problems[0].field.as_str()), (1, "threads"));
        let told = "4097 is too large; it must be from 0 to 4,096; this machine has ";
        assert!(problems[0].message().starts_with(told), "{}", problems[0]);
    }
}
