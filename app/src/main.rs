//! The program `headroom`: the window, or a command.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before any thread starts.
    headroom_engine::ops::tune_process();
    headroom_app::main()
}
