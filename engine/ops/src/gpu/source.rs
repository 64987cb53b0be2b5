//! The kernels' text.

use super::launch::Module;

/// What all kernels share.
const COMMON: &str = concat!(include_str!("kernels/common.cu"), include_str!("kernels/dropout.cu"));

/// Those of every model, in the order in which they use each other.
const PLAIN: &str = concat!(
    include_str!("kernels/heads.cu"),
    include_str!("kernels/parts.cu"),
    include_str!("kernels/softmax.cu"),
    include_str!("kernels/layer_norm.cu"),
    include_str!("kernels/columns.cu"),
    include_str!("kernels/gelu.cu"),
    include_str!("kernels/cross_entropy.cu"),
    include_str!("kernels/embedding.cu"),
    include_str!("kernels/optimiser.cu"),
);

/// What attention in tiles shares, in 16 bits and in single precision.
const TILES: &str = include_str!("kernels/tiles.cu");
const FLASH: &str = include_str!("kernels/flash.cu");
const SINGLE: &str = include_str!("kernels/flash_single.cu");

/// The text of a module, which is compiled when one of its kernels is first used.
pub fn source_of(module: Module) -> String {
    match module {
        Module::Plain => format!("{COMMON}{PLAIN}"),
        Module::Flash(size) => format!("{COMMON}{TILES}{FLASH}FLASH_SIZE({size})\n"),
        Module::Single(size) => format!("{COMMON}{TILES}{SINGLE}SINGLE_SIZE({size})\n"),
    }
}

/// The text of all kernels behind that of what emulates a GPU, from the files as they are now: a kernel can be changed and tested
/// without compiling anything else.
#[cfg(any(test, feature = "testing"))]
pub fn emulated_source() -> std::io::Result<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gpu");
    let names = ["common", "dropout", "heads", "parts", "softmax", "layer_norm", "columns", "gelu", "cross_entropy"];
    let files = names.into_iter().chain(["embedding", "optimiser", "tiles", "flash", "flash_single"]);
    let files = files.map(|name| folder.join("kernels").join(name).with_extension("cu"));
    let files = std::iter::once(folder.join("emulation/threads.cpp")).chain(files);
    let whole = files.map(std::fs::read_to_string).collect::<std::io::Result<Vec<_>>>()?.join("\n");
    let sizes = super::launch::FLASH_SIZES.map(|size| format!("FLASH_SIZE({size})\nSINGLE_SIZE({size})\n"));
    Ok(whole + &sizes.concat())
}
