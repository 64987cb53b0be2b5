//! The engine as a library, compared with what others computed and with what was counted while it ran.
#![expect(clippy::panic, clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]

mod flops;
mod goldens;
mod queue;
