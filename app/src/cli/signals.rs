//! Ctrl-C, the polite kill and a hang-up (a closed terminal): the first stops the command, the second ends the program.
//!
//! The signals are taken over before anything else happens. A command that can stop in its own way says so by [`listen`] and looks
//! at [`is_stop_wanted`]. Until then, and in all other commands, the first signal ends the program, and with `--json` it ends with an
//! answer. A hang-up that is ignored when the program starts stays ignored, so that `nohup` works.

use std::{
    io,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

use super::print;

/// Whether the user asked to stop.
static WANTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// The signal that asked for it; 0 for none.
static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
/// The command looks at [`is_stop_wanted`] itself.
static IS_LISTENING: AtomicBool = AtomicBool::new(false);

/// Takes over the signals, once, first thing in the program. `answers` tells scripts that there is no other answer. Where that is not
/// possible, the signals keep their usual effect.
pub fn install(answers: Option<fn(&str)>) {
    if let Err(error) = take_over(answers) {
        print::aside(format!("Ctrl-C will not stop commands cleanly here: {error}."));
    }
}

/// Leaves it to the command to stop once [`is_stop_wanted`].
pub fn listen() {
    IS_LISTENING.store(true, Ordering::SeqCst);
}

/// Whether the user asked to stop.
pub fn is_stop_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Notes the signals of this kind.
fn note(signal: i32) -> io::Result<()> {
    // In this order: the second signal finds the flag that the first has set.
    flag::register_conditional_shutdown(signal, 1, Arc::clone(&WANTED))?;
    flag::register_usize(signal, Arc::clone(&SIGNAL), usize::try_from(signal).unwrap_or_default())?;
    flag::register(signal, Arc::clone(&WANTED)).map(drop)
}

#[cfg(unix)]
fn take_over(answers: Option<fn(&str)>) -> io::Result<()> {
    use std::{io::Read as _, os::unix::net::UnixStream};

    use signal_hook::{consts::SIGHUP, low_level::pipe};

    let (mut told, tell) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal == SIGHUP && is_ignored(signal) {
            continue;
        }
        note(signal)?;
        pipe::register(signal, tell.try_clone()?)?;
    }
    let watch = move || {
        let mut byte = [0];
        // It waits without a processor until a signal comes.
        while told.read(&mut byte).is_ok_and(|count| count > 0) {
            end_unless_listening(answers);
        }
    };
    std::thread::Builder::new().name("headroom-signals".to_owned()).spawn(watch).map(drop)
}

/// Returns true if the program was started with this signal ignored.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    #[expect(unsafe_code, reason = "the system says in no other way what a signal does")]
    // SAFETY: `action` is plain data, for which zeros are valid, and the call writes to nothing else; without a new action it changes
    // nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(not(unix))]
fn take_over(answers: Option<fn(&str)>) -> io::Result<()> {
    const LOOK_UP: std::time::Duration = std::time::Duration::from_millis(50);

    [SIGINT, SIGTERM].into_iter().try_for_each(note)?;
    let watch = move || {
        while !is_stop_wanted() {
            std::thread::sleep(LOOK_UP);
        }
        end_unless_listening(answers);
    };
    std::thread::Builder::new().name("headroom-signals".to_owned()).spawn(watch).map(drop)
}

/// Ends the program, unless the command stops by itself: with an answer for scripts, else as the signal would have ended it.
fn end_unless_listening(answers: Option<fn(&str)>) {
    if IS_LISTENING.load(Ordering::SeqCst) {
        return;
    }
    let signal = i32::try_from(SIGNAL.load(Ordering::SeqCst)).unwrap_or(SIGTERM);
    match answers {
        Some(tell) => {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
            tell(&format!("The command was stopped ({name}) before it had an answer. Run it again to get one."));
        }
        None => drop(signal_hook::low_level::emulate_default_handler(signal)),
    }
    signal_hook::low_level::exit(1);
}
