//! Thrift's compact protocol, in which Parquet writes its headers: as much of it as tells sizes. No size is believed that the
//! bytes behind it do not hold.

/// The deepest structs and lists that are read.
const DEEPEST: usize = 24;

/// The most structs and texts of one header.
const MOST_ELEMENTS: usize = 1 << 20;

/// Kinds of values.
pub(super) const I32: u8 = 5;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;

/// A header that is read from its beginning. Every step answers with none where the header is cut off or damaged.
pub(super) struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
    elements: usize,
}

impl<'a> Compact<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, elements: 0 }
    }

    /// Bytes that were read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    fn pass(&mut self, count: u64) -> Option<()> {
        let count = usize::try_from(count).ok().filter(|count| *count <= self.left())?;
        self.at += count;
        Some(())
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut found = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            found |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(found);
            }
        }
        None
    }

    /// A number with its sign.
    pub(super) fn signed(&mut self) -> Option<i64> {
        let number = self.unsigned()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// Number and kind of the next field of a struct, `last` being the number of the one before; the kind 0 at its end.
    pub(super) fn field(&mut self, last: &mut i64) -> Option<(i64, u8)> {
        let head = self.byte()?;
        let (step, kind) = (head >> 4, head & 0xf);
        if kind != 0 {
            *last = if step == 0 { self.signed()? } else { last.checked_add(i64::from(step))? };
        }
        Some((*last, kind))
    }

    /// Kind and number of the elements of a list, each of which takes a byte at least.
    pub(super) fn list(&mut self) -> Option<(u8, usize)> {
        let head = self.byte()?;
        let count = if head >> 4 == 0xf { self.unsigned()? } else { u64::from(head >> 4) };
        let count = usize::try_from(count).ok().filter(|count| *count <= self.left())?;
        Some((head & 0xf, count))
    }

    /// Passes over a value.
    pub(super) fn skip(&mut self, kind: u8) -> Option<()> {
        self.skip_at(kind, false, DEEPEST)
    }

    fn skip_at(&mut self, kind: u8, is_element: bool, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // The kind of a field is its value; an element has a byte.
            1 | 2 => self.pass(u64::from(is_element)),
            3 => self.pass(1),
            4..=6 => self.unsigned().map(drop),
            7 => self.pass(8),
            8 => {
                self.count()?;
                let length = self.unsigned()?;
                self.pass(length)
            }
            LIST | 10 => {
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| self.skip_at(kind, true, depth))
            }
            11 => {
                let count = usize::try_from(self.unsigned()?).ok().filter(|count| *count <= self.left())?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.skip_at(kinds >> 4, true, depth)?;
                    self.skip_at(kinds & 0xf, true, depth)
                })
            }
            STRUCT => {
                self.count()?;
                let mut last = 0;
                loop {
                    match self.field(&mut last)? {
                        (_, 0) => return Some(()),
                        (_, kind) => self.skip_at(kind, false, depth)?,
                    }
                }
            }
            _ => None,
        }
    }

    fn count(&mut self) -> Option<()> {
        self.elements += 1;
        (self.elements <= MOST_ELEMENTS).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_beyond_the_header_are_refused() {
        for (kind, bytes) in [
            (8, &[0xff, 0xff, 0xff, 0xff, 0x7f, 0][..]),
            (8, &[2, 0]),
            (LIST, &[0xf5, 0xff, 0xff, 0xff, 0x7f, 0]),
            (LIST, &[0x25, 0]),
            (11, &[0xff, 0xff, 0xff, 0x7f, 0x55, 0]),
            (STRUCT, &[0x15]),
            (7, &[0; 7]),
            (13, &[0]),
            (6, &[0xff; 12]),
        ] {
            assert_eq!(Compact::new(bytes).skip(kind), None, "{kind} {bytes:?}");
        }
        let nested = |depth: usize| [vec![0x19; depth - 1], vec![0x15, 0]].concat();
        assert!(Compact::new(&nested(DEEPEST - 1)).skip(LIST).is_some());
        assert!(Compact::new(&nested(DEEPEST)).skip(LIST).is_none());
        let many = |count: usize| {
            let mut bytes = vec![0xf8];
            bytes.extend((0..4).map(|part| (count >> (7 * part)) as u8 & 0x7f | if part < 3 { 0x80 } else { 0 }));
            bytes.extend(vec![0; count]);
            Compact::new(&bytes).skip(LIST).is_some()
        };
        assert!(many(MOST_ELEMENTS) && !many(MOST_ELEMENTS + 1));
    }

    #[test]
    fn values_are_read_and_passed_over() {
        // {1: i32 = -3, 4: [true, false], 5: "ab", 30: {}}
        let bytes = [0x15, 5, 0x39, 0x21, 1, 2, 0x18, 2, b'a', b'b', 0x0c, 60, 0, 0, 99];
        let mut whole = Compact::new(&bytes);
        assert!(whole.skip(STRUCT).is_some() && whole.position() == bytes.len() - 1);
        let (mut header, mut last) = (Compact::new(&bytes), 0);
        assert_eq!((header.field(&mut last), header.signed()), (Some((1, I32)), Some(-3)));
        assert_eq!((header.field(&mut last), header.skip(LIST)), (Some((4, LIST)), Some(())));
        assert_eq!((header.field(&mut last), header.skip(8)), (Some((5, 8)), Some(())));
        assert_eq!((header.field(&mut last), header.skip(STRUCT)), (Some((30, STRUCT)), Some(())));
        assert_eq!(header.field(&mut last).map(|(_, kind)| kind), Some(0));
    }
}
