use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Lower-case hex of SHA-256 over `parts`, each preceded by its length so that no two lists of parts collide.
pub(super) fn sha256_hex<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hex(&hasher.finalize())
}

/// Bytes as lower-case hexadecimal digits, two a byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The first eight bytes of SHA-256 over `text`, as a number.
pub(super) fn sha256_prefix(text: &[u8]) -> u64 {
    Sha256::digest(text).iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::{hex, sha256_hex, sha256_prefix};

    #[test]
    fn known_answer() {
        // SHA-256("abc") = ba7816bf 8f01cfea ... (FIPS 180-2, appendix B.1).
        assert_eq!(sha256_prefix(b"abc"), 0xba78_16bf_8f01_cfea);
    }

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(hex(&[0x00, 0x0a, 0xff]), "000aff");
    }

    #[test]
    fn where_one_part_ends_matters() {
        let one = sha256_hex([b"ab".as_slice(), b"c"]);
        assert_eq!(one.len(), 64);
        assert_ne!(one, sha256_hex([b"a".as_slice(), b"bc"]));
        assert_ne!(one, sha256_hex([b"abc".as_slice()]));
    }
}
