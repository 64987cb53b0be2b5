//! Tensors on the CPU that stand in for such on a GPU, for tests.

use std::cell::Cell;

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
}

/// True if tensors of this thread that lie on the CPU stand in for such on a GPU.
pub fn is_on() -> bool {
    IS_ON.get()
}

/// Calls a function whose tensors on the CPU go through the kernels. Only what this very thread does is emulated.
pub fn emulating<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_ON.set(self.0);
        }
    }
    let _restore = Restore(IS_ON.replace(true));
    f()
}
