//! Commands to go on with, as one would type them.

use std::path::Path;

/// `headroom WORDS`, on the store that was named.
pub fn command(words: &str, store: Option<&Path>) -> String {
    match store {
        None => format!("headroom {words}"),
        Some(store) => format!("headroom {words} --store {}", quoted(&store.display().to_string())),
    }
}

/// A word for a shell, in quotes where it needs them.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:\\".contains(letter);
    if cfg!(windows) {
        return if word.chars().all(is_plain) { word.to_owned() } else { format!("\"{word}\"") };
    }
    // A backslash means something to a shell elsewhere.
    if word.chars().all(|letter| is_plain(letter) && letter != '\\') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_named_as_a_shell_reads_it() {
        assert_eq!(command("runs", None), "headroom runs");
        assert_eq!(command("runs", Some(Path::new("/a/b.db"))), "headroom runs --store /a/b.db");
        if cfg!(not(windows)) {
            let path = Path::new("/my runs/it's");
            assert_eq!(command("resume x", Some(path)), r"headroom resume x --store '/my runs/it'\''s'");
        }
    }
}
