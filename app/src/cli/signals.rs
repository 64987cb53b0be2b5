//! Ctrl-C and the polite kill: the first stops the run, the second ends the program.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::print;

/// How often the user asked to stop.
static REQUESTS: AtomicUsize = AtomicUsize::new(0);

/// Takes over the signals, once. Where that is not possible, they keep their usual effect.
pub fn listen() {
    let outcome = ctrlc::try_set_handler(|| {
        if REQUESTS.fetch_add(1, Ordering::SeqCst) == 0 {
            print::aside("Stopping after this step, with a checkpoint. Press Ctrl-C again to quit at once.");
        } else {
            std::process::exit(1);
        }
    });
    if let Err(error) = outcome {
        print::aside(format!("Ctrl-C will not stop the run cleanly here: {error}."));
    }
}

/// Whether the user asked to stop.
pub fn is_stop_wanted() -> bool {
    REQUESTS.load(Ordering::SeqCst) > 0
}
