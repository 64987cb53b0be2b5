/// Products of lengths up to which the longest common subsequence is found: few, since texts that grow are compared some 30 times
/// a second.
const MOST_WORK: usize = 400_000;

/// Which tokens of two sequences are not in a longest common subsequence of both. Of very long ones everything between what they
/// begin and end with alike differs.
pub fn differing(a: &[u32], b: &[u32]) -> [Vec<bool>; 2] {
    let begin = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (a.split_at(begin).1, b.split_at(begin).1);
    let end = rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (inner_a, inner_b) = (rest_a.split_at(rest_a.len() - end).0, rest_b.split_at(rest_b.len() - end).0);
    let (mut differs_a, mut differs_b) = (vec![true; inner_a.len()], vec![true; inner_b.len()]);
    if inner_a.len().saturating_mul(inner_b.len()) <= MOST_WORK {
        for (i, j) in common(inner_a, inner_b) {
            if let (Some(a), Some(b)) = (differs_a.get_mut(i), differs_b.get_mut(j)) {
                (*a, *b) = (false, false);
            }
        }
    }
    let whole = |inner: Vec<bool>| [vec![false; begin], inner, vec![false; end]].concat();
    [whole(differs_a), whole(differs_b)]
}

/// Places of a longest common subsequence in both.
fn common(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    // Lengths of the longest common subsequence of what follows from each pair of places on.
    let mut lengths = vec![0_u32; (a.len() + 1) * width];
    let at = |lengths: &[u32], i: usize, j: usize| lengths.get(i * width + j).copied().unwrap_or(0);
    for (i, token) in a.iter().enumerate().rev() {
        for (j, other) in b.iter().enumerate().rev() {
            let longest = if token == other {
                at(&lengths, i + 1, j + 1) + 1
            } else {
                at(&lengths, i + 1, j).max(at(&lengths, i, j + 1))
            };
            if let Some(length) = lengths.get_mut(i * width + j) {
                *length = longest;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut found = Vec::new();
    while let (Some(token), Some(other)) = (a.get(i), b.get(j)) {
        if token == other {
            found.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if at(&lengths, i + 1, j) >= at(&lengths, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(a: &[u32], b: &[u32]) -> [String; 2] {
        differing(a, b).map(|marks| marks.into_iter().map(|differs| if differs { 'x' } else { '.' }).collect())
    }

    #[test]
    fn what_one_sequence_has_alone_is_marked() {
        assert_eq!(marks(&[1, 2, 3], &[1, 2, 3]), ["...", "..."]);
        assert_eq!(marks(&[1, 2, 3], &[1, 9, 2, 3]), ["...", ".x.."]);
        assert_eq!(marks(&[1, 2, 3, 4], &[1, 7, 3, 8]), [".x.x", ".x.x"]);
        assert_eq!(marks(&[], &[4, 5]), ["", "xx"]);
        assert_eq!(marks(&[1, 1], &[1, 1, 1]), ["..", "..x"]);
        assert_eq!(marks(&[5, 6, 7, 8, 9], &[6, 5, 8, 7, 9]).map(|marks| marks.matches('x').count()), [2, 2]);
    }

    #[test]
    fn very_long_sequences_are_marked_between_what_is_alike() {
        let a: Vec<u32> = (0..3000).collect();
        let b: Vec<u32> = a.iter().map(|token| if (10..2990).contains(token) { token + 1 } else { *token }).collect();
        let [marks, _] = differing(&a, &b);
        assert_eq!(marks.iter().filter(|differs| **differs).count(), 2980);
        assert!(!marks[9] && marks[10] && marks[2989] && !marks[2990]);
    }
}
