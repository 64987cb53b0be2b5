//! Wording of errors about data.

pub(super) fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" Did you mean `{name}`?")).unwrap_or_default()
}

/// The first names, quoted, of a list that may be long.
pub(super) fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    if names.is_empty() {
        return "none".to_owned();
    }
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{}`", cell(name))).collect();
    if names.len() > SHOWN {
        shown.push(format!("and {} more", names.len() - SHOWN));
    }
    shown.join(", ")
}

/// At most 40 characters of a cell.
pub(super) fn cell(cell: &str) -> String {
    match cell.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", cell.get(..end).unwrap_or_default()),
        None => cell.to_owned(),
    }
}

/// Bytes in words, such as `1.5 GiB`.
pub fn words(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if bytes < 1 << 20 {
        format!("{bytes} bytes")
    } else if mib < 1024.0 {
        format!("{mib:.1} MiB")
    } else if mib < 1024.0 * 1024.0 {
        format!("{:.1} GiB", mib / 1024.0)
    } else {
        format!("{:.1} TiB", mib / (1024.0 * 1024.0))
    }
}
