use std::{borrow::Cow, fmt::Write as _};

/// Whether a character does something else than being seen where it stands: control characters (C0, DEL, C1), marks of
/// direction, separators of lines, characters without width, and blanks that look like nothing.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text with every deceptive character spelled out, as in `\u{1b}`; line breaks and tabs stay, since they are layout.
pub fn escaped(text: &str) -> Cow<'_, str> {
    spelled(text, |c| is_deceptive(c) && !matches!(c, '\n' | '\t'))
}

/// The text on one line: as [`escaped`], and line breaks and tabs are spelled out as well.
pub fn escaped_line(text: &str) -> Cow<'_, str> {
    spelled(text, is_deceptive)
}

fn spelled(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_hidden(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // Writing into a string cannot fail.
            c => drop(write!(out, "\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_or_cannot_be_seen_is_spelled_out() {
        let hostile = "a\u{1b}[2Jb\u{7}\u{9b}31m\u{202e}c\u{2066}\u{200b}\u{61c}\u{7f}\r\u{e0041}\u{feff}";
        let shown = escaped(hostile);
        assert_eq!(
            shown,
            "a\\u{1b}[2Jb\\u{7}\\u{9b}31m\\u{202e}c\\u{2066}\\u{200b}\\u{61c}\\u{7f}\\u{d}\\u{e0041}\\u{feff}"
        );
        assert!(!shown.chars().any(is_deceptive));
        for c in ('\u{0}'..='\u{1f}').chain('\u{7f}'..='\u{9f}').chain('\u{202a}'..='\u{202e}') {
            assert!(is_deceptive(c), "{:x}", u32::from(c));
        }
    }

    #[test]
    fn ordinary_text_stays_and_a_name_cannot_begin_a_line_of_its_own() {
        for text in ["", "a b", "\u{e9}\u{df}\u{4e2d}\u{1f642} \u{bb}", "two\nlines\tand a tab", "\\u{1b}"] {
            assert!(matches!(escaped(text), Cow::Borrowed(same) if same == text));
        }
        assert_eq!(escaped_line("x\nFinished\t"), "x\\nFinished\\t");
    }
}
