//! A text cut where marked parts of it begin and end.

use std::ops::Range;

/// The pieces of a text, and to which of these parts each belongs. A part is given by the characters at which it begins and ends,
/// as far as the text reaches.
pub fn pieces<const N: usize>(text: &str, parts: [Option<[usize; 2]>; N]) -> Vec<(&str, [bool; N])> {
    let byte = |character: usize| text.char_indices().nth(character).map_or(text.len(), |(at, _)| at);
    let bytes =
        parts.map(|part| part.map_or(0..0, |[start, end]| Range { start: byte(start), end: byte(end.max(start)) }));
    let mut cuts: Vec<usize> = bytes.iter().flat_map(|part| [part.start, part.end]).chain([0, text.len()]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let piece = |ends: &[usize]| {
        let &[start, end] = ends else { return None };
        Some((text.get(start..end)?, bytes.each_ref().map(|part| part.contains(&start))))
    };
    cuts.windows(2).filter_map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_characters_where_parts_begin_and_end() {
        let text = "zo\u{eb} has 42 cats";
        let expected =
            [("zo\u{eb} ", [false, false]), ("has ", [false, true]), ("42", [true, true]), (" cats", [false, false])];
        assert_eq!(pieces(text, [Some([8, 10]), Some([4, 10])]), expected);
        let beyond = [("zo\u{eb} has 42 ", [false, false]), ("cats", [false, true])];
        assert_eq!(pieces(text, [None, Some([11, 99])]), beyond);
        assert_eq!(pieces(text, [Some([0, 3])]), [("zo\u{eb}", [true]), (" has 42 cats", [false])]);
        assert_eq!(pieces(text, [Some([3, 1]), None]), [("zo\u{eb}", [false; 2]), (" has 42 cats", [false; 2])]);
        assert_eq!(pieces(text, []), [(text, [])]);
        assert_eq!(pieces("", [Some([0, 4])]), []);
    }
}
