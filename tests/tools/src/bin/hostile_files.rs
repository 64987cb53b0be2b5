//! Makes files whose sizes are lies, or that become many times as large as they are, runs the program's commands on each, and
//! prints what came of them and how much memory it took. Needs nothing but itself: with a variable of the environment set it is
//! the program.
//!
//! `cargo run -p headroom-tools --bin hostile_files -- --kind parquet`, or of every kind without an option.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use headroom_tests::{AS_PROGRAM, HostileFiles, Verdict, count_outcomes};

    if std::env::var_os(AS_PROGRAM).is_some() {
        headroom_engine::ops::tune_process();
        return headroom_app::main();
    }
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name);
        place.and_then(|place| arguments.get(place + 1).cloned())
    };
    let Ok(own) = std::env::current_exe() else { return ExitCode::from(1) };
    // Another program can be compared, such as one of an earlier commit.
    let files = HostileFiles::new(option("--program").map_or(own, Into::into));
    let kind = option("--kind");
    let is_wanted = |own: &str| kind.as_ref().is_none_or(|kind| kind == own);
    let outcomes = files.run(is_wanted, |outcome| println!("{outcome}"));
    println!("{}", count_outcomes(&outcomes));
    let is_well = outcomes.iter().all(|outcome| matches!(outcome.verdict, Verdict::Answered | Verdict::Refused));
    ExitCode::from(u8::from(!is_well))
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("Memory is measured as Linux tells it; there is nothing to do here.");
    ExitCode::SUCCESS
}
