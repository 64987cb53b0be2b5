//! What a process must settle before its first tensor operation.

use std::sync::Once;

/// Switches candle's own thread pool off, which fights ours for the cores: binary operations of candle then run on the
/// calling thread.
///
/// Call it first thing in `main`: candle reads the setting once, at its first operation. Later calls do nothing.
///
/// # Safety of the environment
/// This sets an environment variable, which is sound only while no other thread reads or writes the environment. At
/// the start of `main` there is no other thread. A value that the user has set is left alone.
pub fn tune_process() {
    static TUNED: Once = Once::new();
    TUNED.call_once(|| {
        if std::env::var_os("CANDLE_NUM_THREADS").is_none() {
            #[expect(unsafe_code, reason = "candle has no other way to size its pool")]
            // SAFETY: called first thing in `main`, as documented, when this is the only thread of the process.
            unsafe {
                std::env::set_var("CANDLE_NUM_THREADS", "1");
            }
        }
    });
}
