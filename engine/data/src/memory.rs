use std::path::Path;

use super::DataError;
pub use super::error_wording::words;

/// Bytes held at once for each byte of text: the file, its documents, the two sides of the split, and tokens of
/// 4 bytes for some three bytes of text, twice while they are put in place.
const BYTES_PER_TEXT_BYTE: u64 = 6;

/// The same where every byte becomes a token, without the text itself.
const BYTES_PER_BYTE_TOKEN: u64 = 8;

/// Bytes of memory that can be had without swapping, inside a container's limit too; `None` where nobody tells.
pub fn free_bytes() -> Option<u64> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory();
    let free = system.available_memory();
    let free = system.cgroup_limits().map_or(free, |limits| free.min(limits.free_memory));
    (free > 0).then_some(free)
}

/// Bytes of memory that the machine, or the container around this program, has; `None` where nobody tells.
pub fn total_bytes() -> Option<u64> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory();
    let total = system.total_memory();
    let total = system.cgroup_limits().map_or(total, |limits| total.min(limits.total_memory));
    (total > 0).then_some(total)
}

/// What text may take of the memory that was free before the first of it was read.
pub(super) struct Room {
    /// 0 where nobody tells.
    available_bytes: u64,
    /// Text that was read.
    text_bytes: u64,
}

impl Room {
    /// The memory that is free now.
    pub(super) fn now() -> Self {
        Self::of(free_bytes().unwrap_or(0))
    }

    /// So much memory; 0 is no bound.
    pub(super) fn of(available_bytes: u64) -> Self {
        Self { available_bytes, text_bytes: 0 }
    }

    /// Refuses text of `text_bytes` that would not fit beside what is running.
    pub(super) fn check(&self, text_bytes: u64, path: Option<&Path>) -> Result<(), DataError> {
        judge(text_bytes.saturating_mul(BYTES_PER_TEXT_BYTE), self.available_bytes, path)
    }

    /// Text of which there is still room.
    pub(super) fn left(&self) -> u64 {
        match self.available_bytes {
            0 => u64::MAX,
            bytes => (bytes / BYTES_PER_TEXT_BYTE).saturating_sub(self.text_bytes),
        }
    }

    /// Counts text that was read.
    ///
    /// # Errors
    /// Once there is more of it than there is room for.
    pub(super) fn take(&mut self, text_bytes: u64, path: &Path) -> Result<(), DataError> {
        if text_bytes <= self.left() {
            self.text_bytes = self.text_bytes.saturating_add(text_bytes);
            return Ok(());
        }
        let text_bytes = self.text_bytes.saturating_add(text_bytes);
        Err(DataError::UnpacksTooLarge {
            path: path.to_owned(),
            text_bytes,
            needed_bytes: text_bytes.saturating_mul(BYTES_PER_TEXT_BYTE),
            available_bytes: self.available_bytes,
        })
    }
}

/// Refuses text of `text_bytes` that would not fit beside what is running.
pub(super) fn check(text_bytes: u64, path: Option<&Path>) -> Result<(), DataError> {
    Room::now().check(text_bytes, path)
}

/// Refuses to make `tokens` tokens of a byte each that would not fit.
pub(super) fn check_byte_tokens(tokens: u64) -> Result<(), DataError> {
    judge(tokens.saturating_mul(BYTES_PER_BYTE_TOKEN), free_bytes().unwrap_or(0), None)
}

fn judge(needed_bytes: u64, available_bytes: u64, path: Option<&Path>) -> Result<(), DataError> {
    // A system that does not tell is given the benefit of the doubt.
    if available_bytes == 0 || needed_bytes <= available_bytes {
        return Ok(());
    }
    Err(DataError::TooLarge { path: path.map(Path::to_owned), needed_bytes, available_bytes })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::judge;

    #[test]
    fn bytes_are_said_in_a_unit_that_fits() {
        for (bytes, said) in [(0, "0 bytes"), (1 << 20, "1.0 MiB"), (3 << 29, "1.5 GiB"), (u64::MAX, "16777216.0 TiB")]
        {
            assert_eq!(super::words(bytes), said);
        }
    }

    #[test]
    fn text_beyond_memory_is_refused_with_the_numbers() {
        const GIB: u64 = 1 << 30;
        assert!(judge(6 * GIB, 6 * GIB, None).is_ok());
        assert!(judge(u64::MAX, 0, None).is_ok());
        let message = judge(6 * GIB, 6 * GIB - 1, Some(Path::new("big.txt"))).unwrap_err().to_string();
        assert!(message.contains("6.0 GiB") && message.ends_with("big.txt"), "{message}");
    }
}
