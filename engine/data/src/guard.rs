//! Calls into libraries that panic where a file is not what they expect: the panic becomes an error of the file, and is no error of
//! this program.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

thread_local! {
    /// Calls of [`guarded`] around what this thread does.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A panic of a library, with its message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LibraryPanic(String);

/// Characters of a panic's message that are kept.
const MESSAGE: usize = 200;

/// Calls into a library. What it leaves behind after a panic is not used again.
///
/// # Errors
/// If it panics. The hook of the program, which asks [`is_guarded`], reports nothing then.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, LibraryPanic> {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get().saturating_sub(1));
        }
    }
    DEPTH.set(DEPTH.get() + 1);
    let _leave = Leave;
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let message = payload.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("it gave up");
        LibraryPanic(crate::text::shortened(&message.replace('\n', " "), MESSAGE))
    })
}

/// True while this thread is in a call of a library whose panics become errors of a file.
pub fn is_guarded() -> bool {
    DEPTH.get() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_and_the_guard_ends_with_it() {
        assert!(!is_guarded());
        assert_eq!(guarded(|| (is_guarded(), 7)), Ok((true, 7)));
        let inner = guarded(|| {
            let error = guarded(|| panic!("a\nb")).map(|()| 0).unwrap_err();
            (error.to_string(), is_guarded())
        });
        assert_eq!(inner, Ok(("a b".to_owned(), true)));
        assert!(!is_guarded());
        assert_eq!(guarded(|| std::panic::panic_any(7)).map(|()| 0).unwrap_err().to_string(), "it gave up");
    }
}
