use super::Documents;
use super::hash::sha256_prefix;

/// Held-out text is cut by document when at least this many documents would be held out.
const LEAST_HELD_OUT: usize = 8;

/// Held-out blocks when the text is cut by position.
const BLOCKS: usize = 8;

/// How far a cut may move at least, in bytes, to find a line end or a blank: a word is not to be cut in two.
const LEAST_NEAR: usize = 256;

/// Text for training and text that training never sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// What the model learns from.
    pub train: Documents,
    /// What it is judged by.
    pub validation: Documents,
}

/// Holds out about `fraction` (0..1) of `documents`.
///
/// With enough documents, each goes to one side by a hash of its content alone: the same document always lands on
/// the same side, so a duplicate never leaks, and adding documents moves no other. With few documents (or with a
/// hash that happens to leave one side almost empty) the text is cut by position: eight contiguous blocks, evenly spread,
/// are held out, each cut at a line end, or at a blank where there is no line end near.
pub fn split(documents: &Documents, fraction: f64) -> Split {
    if documents.len() as f64 * fraction >= LEAST_HELD_OUT as f64 {
        let by_document = split_by_document(documents, fraction);
        let held_out = by_document.validation.bytes() as f64 / documents.bytes().max(1) as f64;
        if held_out > fraction / 4.0 && held_out < fraction.midpoint(1.0) {
            return by_document;
        }
    }
    split_by_position(documents, fraction)
}

/// Holds out about `fraction` (0..1) of pairs, each two documents, and at least one. Each goes to one side by a hash of its
/// first document alone, so that a text which comes twice is on one side, whatever its translations are. With few pairs
/// those whose hashes are the smallest are held out.
pub(super) fn split_in_pairs(pairs: &Documents, fraction: f64) -> Split {
    let mut split = Split::default();
    for (number, held_out) in held_out_rows(pairs, 2, fraction).into_iter().enumerate() {
        let side = if held_out { &mut split.validation } else { &mut split.train };
        for document in [2 * number, 2 * number + 1] {
            side.push(&pairs[document]);
        }
    }
    split
}

/// Of rows of `texts` documents each, which are held out; see [`split_in_pairs`].
pub(super) fn held_out_rows(rows: &Documents, texts: usize, fraction: f64) -> Vec<bool> {
    let texts = texts.max(1);
    let first = |number: usize| &rows[texts * number];
    held_out_places((0..rows.len() / texts).map(|number| sha256_prefix(first(number).as_bytes())).collect(), fraction)
}

/// Of examples with these hashes, which are held out: about `fraction` (0..1) of them, and at least one.
pub(super) fn held_out_places(places: Vec<u64>, fraction: f64) -> Vec<bool> {
    let wanted = ((places.len() as f64 * fraction).round() as usize).max(1);
    let mut sorted = places.clone();
    sorted.sort_unstable();
    // Rows of one text go together, so that their number is met but for these.
    let Some(bound) = sorted.get(wanted - 1).or(sorted.last()).copied() else { return Vec::new() };
    places.into_iter().map(|place| place <= bound).collect()
}

fn split_by_document(documents: &Documents, fraction: f64) -> Split {
    let mut split = Split::default();
    for text in documents.iter() {
        let place = sha256_prefix(text.trim().as_bytes()) as f64 / u64::MAX as f64;
        if place < fraction { split.validation.push(text) } else { split.train.push(text) }
    }
    split
}

/// The text as equal stretches, the end of each held out. A document that a cut divides becomes two.
fn split_by_position(documents: &Documents, fraction: f64) -> Split {
    let total = documents.bytes() as f64;
    // Short texts get fewer blocks, so that a block is some hundred bytes at least.
    let blocks = BLOCKS.min((total * fraction / 512.0) as usize).max(1);
    let stretch = total / blocks as f64;
    let near = ((stretch * fraction / 4.0) as usize).max(LEAST_NEAR);
    // Where sides change: into validation, back into training, and so on.
    let cuts: Vec<usize> = (1..=blocks)
        .flat_map(|block| [block as f64 - fraction, block as f64])
        .map(|place| (place * stretch) as usize)
        .collect();
    let mut split = Split::default();
    let mut start = 0;
    for text in documents.iter() {
        let passed = cuts.iter().filter(|cut| **cut <= start).count();
        let inside = cuts.iter().skip(passed).take_while(|cut| **cut < start + text.len());
        let mut from = 0;
        let mut held_out = !passed.is_multiple_of(2);
        for to in inside.map(|cut| cut_near(text, cut - start, near)).chain([text.len()]) {
            // Two cuts that are moved to the end of one paragraph leave nothing between them.
            let to = to.max(from);
            let piece = &text[from..to];
            if !piece.trim().is_empty() {
                if held_out { split.validation.push(piece) } else { split.train.push(piece) }
            }
            from = to;
            held_out = !held_out;
        }
        start += text.len();
    }
    split
}

/// The first place from `at` on that follows a line end; a blank, when no line ends within `near` bytes; a character
/// boundary, when neither is near; the end of the text at last.
fn cut_near(text: &str, at: usize, near: usize) -> usize {
    let bytes = text.as_bytes();
    let limit = at.saturating_add(near).min(bytes.len());
    let after = |wanted: u8| (at..limit).find(|place| bytes.get(*place) == Some(&wanted)).map(|place| place + 1);
    after(b'\n')
        .or_else(|| after(b' '))
        .or_else(|| (at..bytes.len()).find(|place| text.is_char_boundary(*place)))
        .unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests;
