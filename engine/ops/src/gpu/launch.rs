//! What is launched, as plain data.

use candle_core::{DType, Result, bail};

/// The most fields that the structure of a kernel has.
pub const MOST_ARGUMENTS: usize = 32;

/// Threads of a block of a kernel that goes over elements.
const THREADS: u32 = 256;
/// The most threads of a block of a kernel whose blocks have one row each.
const ROW_THREADS: usize = 512;
/// Threads of a warp: a block has whole ones.
const WARP: usize = 32;

/// Sizes of heads that attention in tiles has kernels for.
pub const FLASH_SIZES: [usize; 3] = [32, 64, 128];

/// Kernels that are compiled together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Module {
    /// Those of every model.
    Plain,
    /// Attention in tiles, for heads of this size in 16 bits.
    Flash(usize),
    /// The same in single precision.
    Single(usize),
}

/// Rows of a block where a warp has one, as in `kernels/common.cu`.
const ROWS_OF_WARPS: usize = 4;
/// The longest row that a warp holds: eight times four numbers a thread.
const WARP_HOLDS: usize = 32 * WARP;

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Where the kernel is.
    pub module: Module,
    /// With the suffix of its element type.
    pub kernel: String,
    /// Blocks, in two dimensions.
    pub grid: [u32; 2],
    /// Threads of a block.
    pub block: u32,
    /// The fields of the kernel's structure, eight bytes each.
    pub arguments: Vec<u64>,
}

impl Launch {
    /// A kernel whose blocks have one row each, of `width` elements.
    ///
    /// # Errors
    /// If there are more rows than a grid has blocks.
    pub fn rows(kernel: &str, dtype: DType, rows: usize, width: usize) -> Result<Self> {
        let block = width.div_ceil(4).next_power_of_two().clamp(WARP, ROW_THREADS);
        Self::new(kernel, dtype, [blocks(rows)?, 1], block as u32)
    }

    /// A kernel whose blocks have one row each; of rows that a warp can hold, the kernel `NAME_warps`, whose warps have one each.
    ///
    /// # Errors
    /// If there are more rows than a grid has blocks.
    pub fn rows_or_warps(kernel: &str, dtype: DType, rows: usize, width: usize) -> Result<Self> {
        if width > WARP_HOLDS {
            return Self::rows(kernel, dtype, rows, width);
        }
        let grid = [blocks(rows.div_ceil(ROWS_OF_WARPS))?, 1];
        Self::new(&format!("{kernel}_warps"), dtype, grid, (ROWS_OF_WARPS * WARP) as u32)
    }

    /// A kernel whose threads have eight elements each.
    ///
    /// # Errors
    /// If there are more elements than a grid reaches.
    pub fn eights(kernel: &str, dtype: DType, count: usize) -> Result<Self> {
        Self::new(kernel, dtype, [blocks(count.div_ceil(8 * THREADS as usize))?, 1], THREADS)
    }

    /// A kernel whose threads have four elements each.
    ///
    /// # Errors
    /// If there are more elements than a grid reaches.
    pub fn elements(kernel: &str, dtype: DType, count: usize) -> Result<Self> {
        Self::new(kernel, dtype, [blocks(count.div_ceil(4 * THREADS as usize))?, 1], THREADS)
    }

    /// A kernel with a grid of its own; blocks have 256 threads.
    ///
    /// # Errors
    /// If the element type has no kernels, or there are too many blocks.
    pub fn grid(kernel: &str, dtype: DType, grid: [usize; 2]) -> Result<Self> {
        Self::new(kernel, dtype, [blocks(grid[0])?, blocks(grid[1])?], THREADS)
    }

    /// A kernel of any module, with a grid of its own and blocks of so many threads.
    ///
    /// # Errors
    /// As [`Launch::grid`].
    pub fn of_module(module: Module, kernel: &str, dtype: DType, grid: [usize; 2], block: u32) -> Result<Self> {
        Ok(Self { module, ..Self::new(kernel, dtype, [blocks(grid[0])?, blocks(grid[1])?], block)? })
    }

    fn new(kernel: &str, dtype: DType, grid: [u32; 2], block: u32) -> Result<Self> {
        let suffix = match dtype {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            other => bail!("There are no kernels for elements of type {other:?}."),
        };
        let kernel = format!("{kernel}_{suffix}");
        Ok(Self { module: Module::Plain, kernel, grid, block, arguments: Vec::with_capacity(MOST_ARGUMENTS) })
    }

    /// With one more field: an address or a whole number.
    pub fn with(mut self, value: u64) -> Self {
        self.arguments.push(value);
        self
    }

    /// With one more field, a size.
    pub fn size(self, value: usize) -> Self {
        self.with(value as u64)
    }

    /// With one more field that may be below zero.
    pub fn signed(self, value: i64) -> Self {
        self.with(value.cast_unsigned())
    }

    /// With one more field, a real number.
    pub fn real(self, value: f64) -> Self {
        self.with(value.to_bits())
    }
}

/// The element type in which kernels add up numbers of type `dtype`.
pub fn wide(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

fn blocks(count: usize) -> Result<u32> {
    match i32::try_from(count) {
        Ok(count) => Ok(count.cast_unsigned()),
        Err(_) => bail!("A kernel cannot be launched for {count} blocks: use shorter sequences or a smaller batch."),
    }
}
