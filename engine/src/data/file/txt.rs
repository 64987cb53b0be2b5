/// Cuts plain text into documents: articles where it is in the manner of `WikiText`, else blocks between blank lines.
pub(super) fn documents(text: &str, push: &mut impl FnMut(&str)) {
    let unified;
    let text = if text.contains("\r\n") {
        unified = text.replace("\r\n", "\n");
        unified.as_str()
    } else {
        text
    };
    let first = text.lines().position(|line| !line.trim().is_empty()).unwrap_or(0);
    let is_wiki = titles(text).next().is_some_and(|(line, _)| line == first);
    let mut start = 0;
    if is_wiki {
        for (_, at) in titles(text).skip(1) {
            push(text.get(start..at).unwrap_or_default());
            start = at;
        }
        push(text.get(start..).unwrap_or_default());
    } else {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if line.trim().is_empty() {
                push(text.get(start..at).unwrap_or_default());
                start = at + line.len();
            }
            at += line.len();
        }
        push(text.get(start..).unwrap_or_default());
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
