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

const FLASH: &str = include_str!("kernels/flash.cu");

/// The text of a module, which is compiled when one of its kernels is first used.
pub fn source_of(module: Module) -> String {
    match module {
        Module::Plain => format!("{COMMON}{PLAIN}"),
        Module::Flash(size) => format!("{COMMON}{FLASH}FLASH_SIZE({size})\n"),
    }
}

/// The text of all kernels.
#[cfg(test)]
pub fn whole_source() -> String {
    let sizes: String = super::launch::FLASH_SIZES.map(|size| format!("FLASH_SIZE({size})\n")).concat();
    format!("{COMMON}{PLAIN}{FLASH}{sizes}")
}
