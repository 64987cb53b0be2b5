//! The footer of a Parquet file, which describes its columns: checked before the library reads it.

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
};

use super::thrift::{Compact, I32, LIST, STRUCT};
use crate::memory::words;

/// The most bytes of a footer.
const LARGEST: u64 = 16 << 20;

/// The most columns, with the groups that hold them, and how deep these are.
const MOST_COLUMNS: usize = 1 << 16;
const DEEPEST: usize = 64;

/// The most parts of a file, and of them columns.
const MOST_ROW_GROUPS: usize = 1 << 16;

/// Magic bytes at both ends of a file.
const MARK: [u8; 4] = *b"PAR1";

/// Checks the footer of a file of so many bytes.
///
/// # Errors
/// Fault of a footer, as the end of a sentence.
pub(super) fn check(file: &mut File, bytes: u64) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    if bytes < 12 {
        return Err("it is too short for a Parquet file".to_owned());
    }
    let mut tail = [0; 8];
    let _ = file.seek(SeekFrom::Start(bytes - 8)).map_err(failed)?;
    file.read_exact(&mut tail).map_err(failed)?;
    let [length @ .., a, b, c, d] = tail;
    if [a, b, c, d] != MARK {
        return Err("it does not end as a Parquet file does, or is encrypted".to_owned());
    }
    let length = u64::from(u32::from_le_bytes(length));
    if length > bytes - 12 {
        return Err(format!("its footer is to have {}, but the file has {}", words(length), words(bytes)));
    }
    if length > LARGEST {
        return Err(format!("its footer has {}, more than the {} that are read", words(length), words(LARGEST)));
    }
    let mut footer = Vec::new();
    let _ = file.seek(SeekFrom::Start(bytes - 8 - length)).map_err(failed)?;
    let _ = file.take(length).read_to_end(&mut footer).map_err(failed)?;
    let columns = match columns(&footer).ok_or("its footer is damaged")? {
        Columns::Counted(children) => children,
        Columns::TooMany => {
            return Err(format!("it has more than {MOST_COLUMNS} columns or {MOST_ROW_GROUPS} parts"));
        }
    };
    if is_tree(&columns) { Ok(()) } else { Err("the tree of its columns is damaged, or deeper than any".to_owned()) }
}

/// Columns that a footer says to have.
enum Columns {
    /// Number of children of every column and group of columns.
    Counted(Vec<i64>),
    /// More columns, or parts, than are read.
    TooMany,
}

/// The columns of a footer; none where it is damaged.
fn columns(footer: &[u8]) -> Option<Columns> {
    let (mut header, mut last, mut children) = (Compact::new(footer), 0, Vec::new());
    loop {
        match header.field(&mut last)? {
            (_, 0) => return Some(Columns::Counted(children)),
            (2, LIST) => {
                let (STRUCT, count) = header.list()? else { return None };
                if count > MOST_COLUMNS {
                    return Some(Columns::TooMany);
                }
                for _ in 0..count {
                    children.push(children_of(&mut header)?);
                }
            }
            (4, LIST) => {
                let (kind, count) = header.list()?;
                if count > MOST_ROW_GROUPS {
                    return Some(Columns::TooMany);
                }
                for _ in 0..count {
                    header.skip(kind)?;
                }
            }
            (_, kind) => header.skip(kind)?,
        }
    }
}

/// The number of children that a column says to have, passing over it.
fn children_of(header: &mut Compact<'_>) -> Option<i64> {
    let (mut last, mut children) = (0, 0);
    loop {
        match header.field(&mut last)? {
            (_, 0) => return Some(children),
            (5, I32) => children = header.signed()?,
            (_, kind) => header.skip(kind)?,
        }
    }
}

/// True where the numbers of children, each before its own children, are those of one tree of bounded depth with columns.
fn is_tree(children: &[i64]) -> bool {
    // Children that are still to come, by depth.
    let mut open: Vec<i64> = vec![1];
    for count in children {
        while open.last() == Some(&0) {
            open.pop();
        }
        let Some(left) = open.last_mut() else { return false };
        *left -= 1;
        if *count < 0 || *count > MOST_COLUMNS as i64 {
            return false;
        }
        if *count > 0 {
            open.push(*count);
        }
        if open.len() > DEEPEST {
            return false;
        }
    }
    children.len() > 1 && open.iter().all(|left| *left == 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn children_make_a_tree_or_are_refused() {
        assert!(is_tree(&[2, 0, 0]) && is_tree(&[2, 1, 0, 1, 1, 0]));
        for wrong in [&[][..], &[0], &[1], &[2, 0], &[1, 0, 0], &[-1, 0], &[i64::MAX, 0], &[1, 1 << 31, 0]] {
            assert!(!is_tree(wrong), "{wrong:?}");
        }
        let deep = |depth: usize| [vec![1; depth], vec![0]].concat();
        assert!(is_tree(&deep(DEEPEST - 1)) && !is_tree(&deep(DEEPEST)));
    }

    fn said(footer: &[u8], length: u32) -> Result<(), String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[&MARK, footer, &length.to_le_bytes(), &MARK].concat()).unwrap();
        let bytes = file.metadata().unwrap().len();
        check(&mut file, bytes)
    }

    /// {2: [{5: children} ...], 4: [{} ...]}
    fn footer(columns: usize, parts: usize) -> Vec<u8> {
        let varint = |number: usize| {
            let byte = |part: usize| (number >> (7 * part)) as u8 & 0x7f | if part < 3 { 0x80 } else { 0 };
            (0..4).map(byte).collect::<Vec<u8>>()
        };
        let root = [&[0x55][..], &varint(2 * (columns - 1)), &[0]].concat();
        let leaves = [0].repeat(columns - 1);
        [&[0x29, 0xfc][..], &varint(columns), &root, &leaves, &[0x29, 0xfc], &varint(parts), &[0].repeat(parts), &[0]]
            .concat()
    }

    #[test]
    fn footers_are_bounded() {
        let whole = |columns, parts| {
            let footer = footer(columns, parts);
            said(&footer, footer.len() as u32)
        };
        assert_eq!(whole(3, 2), Ok(()));
        assert_eq!(whole(MOST_COLUMNS, MOST_ROW_GROUPS), Ok(()));
        assert!(whole(MOST_COLUMNS + 1, 1).unwrap_err().contains("more than 65536 columns"));
        assert!(whole(3, MOST_ROW_GROUPS + 1).unwrap_err().contains("65536 parts"));
        let small = footer(3, 2);
        assert!(said(&small, u32::MAX).unwrap_err().contains("is to have 4.0 GiB"));
        assert!(said(&small, small.len() as u32 + 1).unwrap_err().contains("is to have"));
        let large = vec![0; LARGEST as usize + 1];
        assert!(said(&large, large.len() as u32).unwrap_err().contains("more than the 16.0 MiB"));
        assert!(said(&large[1..], large.len() as u32 - 1).unwrap_err().contains("tree of its columns"));
        for end in 1..small.len() {
            assert!(said(&small[..end], end as u32).is_err(), "{end}");
        }
    }
}
