/// So many of something, in words: `1 step`, `1,234 steps`, `0 queries`.
///
/// The noun is given in the singular; of several words the last one is the one that is counted.
pub fn counted(n: impl TryInto<u64>, noun: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    if n == 1 { format!("1 {noun}") } else { format!("{} {}", grouped(n), plural(noun)) }
}

/// A count with commas between groups of three digits: `1,234,567`.
pub fn grouped<N: TryInto<u64>>(n: N) -> String {
    let digits = n.try_into().unwrap_or(u64::MAX).to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn plural(noun: &str) -> String {
    let follows_a_vowel = |stem: &str| stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match noun.strip_suffix('y') {
        Some(stem) if !follows_a_vowel(stem) => format!("{stem}ies"),
        _ if ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end)) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_large_counts_are_grouped() {
        let told = |n: u64, noun: &str| counted(n, noun);
        assert_eq!(told(1, "step"), "1 step");
        assert_eq!(told(0, "step"), "0 steps");
        assert_eq!(told(1234, "held-out example"), "1,234 held-out examples");
        assert_eq!((told(1, "query"), told(2, "query")), ("1 query".into(), "2 queries".into()));
        assert_eq!((told(2, "key"), told(2, "batch")), ("2 keys".into(), "2 batches".into()));
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped::<u64>), ["0", "999", "1,000", "1,234,567"]);
    }
}
