//! What a user sees of an error in the program itself: one line and where the details are.

use std::{
    backtrace::Backtrace,
    fs,
    panic::PanicHookInfo,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use headroom_engine::data::is_guarded;

use super::print;

/// Replaces Rust's own message for panics, on every thread. A panic of a library about a file is an error of the file, which its
/// caller tells.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        if is_guarded() {
            return;
        }
        let trace = Backtrace::force_capture();
        match write_report(info, &trace) {
            Some(path) => print::aside(format!(
                "Headroom made an error of its own. Runs are kept; `headroom resume` goes on. Details for a report: {}",
                path.display()
            )),
            None => print::aside(format!(
                "Headroom made an error of its own. Runs are kept; `headroom resume` goes on. Details for a report: {}",
                summary(info)
            )),
        }
    }));
}

fn write_report(info: &PanicHookInfo<'_>, trace: &Backtrace) -> Option<PathBuf> {
    let now_secs = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let path = std::env::temp_dir().join(format!("headroom-crash-{now_secs}-{}.txt", std::process::id()));
    let arguments: Vec<String> = std::env::args().collect();
    let report = format!(
        "Headroom {} on {} {}\narguments: {arguments:?}\n{}\n\n{trace}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        summary(info),
    );
    fs::write(&path, report).ok().map(|()| path)
}

/// Thread, place and message on one line.
fn summary(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("no message").replace('\n', " ");
    let thread = std::thread::current().name().unwrap_or("unnamed").to_owned();
    let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    format!("thread {thread}, {place}: {message}")
}
