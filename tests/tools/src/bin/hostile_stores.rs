//! Makes stores as anybody may, runs the program's commands on each, removes databases while runs train into them, and prints
//! counts. Needs nothing but itself: with a variable of the environment set it is the program.
//!
//! `cargo run -p headroom-tools --bin hostile_stores -- --count 120 --removed 12 --seed 1`

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    use headroom_tests::{AS_PROGRAM, HostileStores, Removals, remove_while_training};

    if std::env::var_os(AS_PROGRAM).is_some() {
        headroom_engine::ops::tune_process();
        return headroom_app::main();
    }
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str, usual: u64| {
        let place = arguments.iter().position(|argument| argument == name);
        place.and_then(|place| arguments.get(place + 1)?.parse().ok()).unwrap_or(usual)
    };
    let Ok(program) = std::env::current_exe() else { return ExitCode::from(1) };
    let mut stores = HostileStores::new(program.clone());
    let first = number("--seed", 1);
    for seed in first..first + number("--count", 100) {
        for fault in stores.one(seed) {
            println!("{fault}");
        }
    }
    println!("{}", stores.counts);
    let mut removals = Removals::default();
    for seed in first..first + number("--removed", 6) {
        for fault in remove_while_training(&program, seed, &mut removals) {
            println!("{fault}");
        }
    }
    println!("  removed databases: {}, {} of them without a loss", removals.removed, removals.whole);
    ExitCode::from(u8::from(stores.counts.faults > 0 || removals.whole < removals.removed))
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    println!("Links and pipes are made as on Unix; there is nothing to do here.");
    ExitCode::SUCCESS
}
