//! Ctrl-C and the polite kill: the first stops the run, the second ends the program.
//!
//! A hang-up (a closed terminal) keeps its usual effect, so that `nohup` works; the run can be resumed.

use std::{
    io,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

use super::print;

/// Whether the user asked to stop.
static WANTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Takes over the signals, once. Where that is not possible, they keep their usual effect.
pub fn listen() {
    let take_over = |signal| -> io::Result<()> {
        // In this order: the second signal finds the flag that the first has set.
        flag::register_conditional_shutdown(signal, 1, Arc::clone(&WANTED))?;
        flag::register(signal, Arc::clone(&WANTED)).map(drop)
    };
    if let Err(error) = [SIGINT, SIGTERM].into_iter().try_for_each(take_over) {
        print::aside(format!("Ctrl-C will not stop the run cleanly here: {error}."));
    }
}

/// Whether the user asked to stop.
pub fn is_stop_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}
