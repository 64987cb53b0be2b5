//! Kernels on a processor, for tests: the same sources, compiled by the machine's C++ compiler.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]

use std::{ffi::CString, process::Command, sync::OnceLock};

use candle_core::{Result, bail};
use libloading::Library;

use super::{launch::Launch, source::emulated_source};

/// `emulate` in `emulation/threads.cpp`.
type Emulate = unsafe extern "C" fn(*const std::ffi::c_char, u32, u32, u32, *const u64) -> i32;

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let (source, library) = (folder.path().join("kernels.cpp"), folder.path().join("kernels.so"));
        std::fs::write(&source, emulated_source().unwrap()).unwrap();
        let output = Command::new("c++")
            .args(["-std=c++17", "-O1", "-Wall", "-Werror", "-Wno-unused-function", "-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .output()
            .expect("the tests of the GPU's kernels need a C++ compiler, called as c++");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // SAFETY: the library only defines functions and tables.
        #[expect(unsafe_code, reason = "code of another language is loaded")]
        unsafe {
            Library::new(&library).unwrap()
        }
    })
}

/// Runs a kernel to its end.
pub fn run(launch: &Launch) -> Result<()> {
    let Launch { kernel, grid, block, arguments, .. } = launch;
    let name = CString::new(kernel.as_str()).unwrap();
    // SAFETY: the signature is that of the function; the addresses among the arguments are of tensors that live while it
    // runs, as on a GPU.
    #[expect(unsafe_code, reason = "code of another language is called")]
    let outcome = unsafe {
        let emulate = library().get::<Emulate>(b"emulate").unwrap();
        emulate(name.as_ptr(), grid[0], grid[1], *block, arguments.as_ptr())
    };
    match outcome {
        0 => Ok(()),
        1 => bail!("There is no kernel {kernel}."),
        _ => bail!("In the kernel {kernel} threads wait for others that never come."),
    }
}
