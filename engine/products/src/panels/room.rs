//! Room for panels, kept by each thread from product to product.
#![expect(unsafe_code, reason = "lines of words are words")]

use std::cell::RefCell;

use super::sizes::LANES;

/// A line of the caches: a vector that begins with one is read from a single line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u32; LANES]);

thread_local! {
    static ROOM: RefCell<[Vec<Line>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Calls `f` with room for so many words of either side, each at the beginning of a line; what stands in it is whatever was
/// there before.
pub fn with_room<R>(words: [usize; 2], f: impl FnOnce([&mut [u32]; 2]) -> R) -> R {
    ROOM.with_borrow_mut(|room| {
        for (side, words) in room.iter_mut().zip(words) {
            let lines = words.div_ceil(LANES);
            if side.len() < lines {
                side.resize(lines, Line([0; LANES]));
            }
        }
        let [rows, columns] = room;
        f([part(rows, words[0]), part(columns, words[1])])
    })
}

fn part(lines: &mut [Line], words: usize) -> &mut [u32] {
    assert!(lines.len() * LANES >= words, "room for {words} words");
    // SAFETY: a line is its words and nothing between them, and there are as many lines as hold these.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), words) }
}
