//! Names and values from outside in messages: the first few, and how many more there are.

/// Names of a list that a message shows.
pub const LISTED: usize = 8;

/// Characters of one name that a message shows: tensors have long ones.
const NAME_CHARACTERS: usize = 120;

/// Comma-separated names of a list of any length: the first `LISTED`, then "and N more".
pub fn listed<T: AsRef<str>>(names: &[T]) -> String {
    listed_first(names, LISTED)
}

/// The same as [`listed`] with the first `most` names.
pub fn listed_first<T: AsRef<str>>(names: &[T], most: usize) -> String {
    joined_first(names, most, ", ")
}

/// Sentences or names of a list of any length, joined by `between`: the first `most`, then "and N more".
pub fn joined_first<T: AsRef<str>>(names: &[T], most: usize, between: &str) -> String {
    let shown: Vec<String> = names.iter().take(most).map(|name| shortened(name.as_ref(), NAME_CHARACTERS)).collect();
    let shown = shown.join(between);
    match names.len().saturating_sub(most) {
        0 => shown,
        more if most == 0 => format!("{more} of them"),
        more => format!("{shown} and {more} more"),
    }
}

/// At most `characters` characters of a text, with an ellipsis where there were more.
pub fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_any_length_is_short() {
        assert_eq!(listed::<&str>(&[]), "");
        assert_eq!(listed(&["a", "b"]), "a, b");
        let many: Vec<String> = (0..400_000).map(|number| format!("t{number}")).collect();
        assert_eq!(listed(&many), "t0, t1, t2, t3, t4, t5, t6, t7 and 399992 more");
        assert_eq!(listed(&many[..8]), "t0, t1, t2, t3, t4, t5, t6, t7");
        assert!(listed(&["x".repeat(1 << 20)]).len() < 200);
        assert_eq!(shortened("größer", 3), "grö…");
        assert_eq!(shortened("grö", 3), "grö");
    }
}
