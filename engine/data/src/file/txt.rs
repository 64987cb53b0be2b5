use std::ops::Range;

use crate::Documents;

/// Cuts plain text into documents: articles where it is in the manner of `WikiText`, else blocks between blank lines.
pub(super) fn documents(text: &str, push: &mut impl FnMut(&str)) {
    if text.contains("\r\n") {
        return documents(&text.replace("\r\n", "\n"), push);
    }
    cut(text, &mut |range| push(text.get(range).unwrap_or_default()));
}

/// The documents of a text that have any text, in the memory that it has already.
pub(super) fn into_documents(mut text: String) -> Documents {
    if text.contains("\r\n") {
        text = text.replace("\r\n", "\n");
    }
    let mut ranges = Vec::new();
    cut(&text, &mut |range| {
        if !text.get(range.clone()).unwrap_or_default().trim().is_empty() {
            ranges.push(range);
        }
    });
    Documents::of_ranges(text, ranges)
}

/// Where the documents of a text whose lines end with LF stand in it, in order.
fn cut(text: &str, push: &mut impl FnMut(Range<usize>)) {
    let first = text.lines().position(|line| !line.trim().is_empty()).unwrap_or(0);
    let is_wiki = titles(text).next().is_some_and(|(line, _)| line == first);
    let mut start = 0;
    if is_wiki {
        for (_, at) in titles(text).skip(1) {
            push(start..at);
            start = at;
        }
        push(start..text.len());
    } else {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if line.trim().is_empty() {
                push(start..at);
                start = at + line.len();
            }
            at += line.len();
        }
        push(start..text.len());
    }
}

/// Number and position of every line ` = Title = ` that stands between blank lines, or at the start or end.
fn titles(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    let mut blank_before = true;
    let mut lines = text.split_inclusive('\n').enumerate().peekable();
    std::iter::from_fn(move || {
        while let Some((number, line)) = lines.next() {
            let start = at;
            at += line.len();
            let blank_after = lines.peek().is_none_or(|(_, next)| next.trim().is_empty());
            let title = blank_before && blank_after && is_title(line.trim());
            blank_before = line.trim().is_empty();
            if title {
                return Some((number, start));
            }
        }
        None
    })
}

fn is_title(line: &str) -> bool {
    line.strip_prefix("= ")
        .and_then(|rest| rest.strip_suffix(" ="))
        .is_some_and(|title| !title.trim().is_empty() && !title.starts_with('=') && !title.ends_with('='))
}
