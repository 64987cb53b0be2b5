//! Names that are longer than their place give way where they are the same as others, and never where they differ.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
    sync::Arc,
};

/// Stands for what is left out.
const CUT: char = '…';
/// Letters of a name where there is little room.
const BRIEF: usize = 40;
/// A word of more letters is cut into pieces of [`PIECE`].
const LONG_WORD: usize = 20;
/// Letters of a piece of a long word.
const PIECE: usize = 6;
/// Names of more words are cut at letters alone.
const MOST_WORDS: usize = 40;
/// The least share of what stays that beginning and end should have.
const LEAST_END: f32 = 0.2;
/// So many ways to shorten a name are held against the other names.
const TRIED: usize = 64;

/// Names that are shown together and have to be told apart. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    all: Arc<[String]>,
    key: u64,
}

impl<S: Into<String>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let all: Arc<[String]> = names.into_iter().map(Into::into).collect();
        let mut hash = DefaultHasher::new();
        all.hash(&mut hash);
        Self { all, key: hash.finish() }
    }
}

impl Names {
    /// Another number where the names are others.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The name with as much of it as `room` allows, `width` being that of a letter; none where all of it fits. What it
    /// shares with the other names gives way, at most in two places; two names that are not the same stay so as long as
    /// there is room for what tells them apart.
    pub fn elided(&self, name: &str, room: f32, width: impl Fn(char) -> f32) -> Option<String> {
        let letters: Vec<char> = name.chars().collect();
        let ends = ends(&letters, &width);
        if ends.last().is_none_or(|&all| all <= room) {
            return None;
        }
        let others: Vec<&str> = self.all.iter().map(String::as_str).filter(|other| *other != name).collect();
        let spans = shortest_spans(&letters, &others);
        let line = Line { letters: &letters, ends, room, cut: width(CUT), spans };
        Some(line.shortened(&others))
    }

    /// The name, or as much of it as `BRIEF` letters hold.
    pub fn brief(&self, name: &str) -> String {
        self.elided(name, BRIEF as f32, |_| 1.0).unwrap_or_else(|| name.to_owned())
    }
}

/// A name of at most `BRIEF` letters, where it stands alone.
pub fn brief(name: &str) -> String {
    Names::default().brief(name)
}

/// Where each letter begins, and the last one ends.
fn ends(letters: &[char], width: impl Fn(char) -> f32) -> Vec<f32> {
    let mut end = 0.0;
    let widths = letters.iter().map(|&letter| {
        end += width(letter);
        end
    });
    std::iter::once(0.0).chain(widths).collect()
}

/// For each other name the letters that are not shared with it at the beginning or at the end; of spans that lie within one
/// another the shortest: who shows something of it shows something of the longer ones.
fn shortest_spans(letters: &[char], others: &[&str]) -> Vec<Range<usize>> {
    let mut spans: BTreeSet<(usize, usize)> = BTreeSet::new();
    for other in others {
        let start = letters.iter().zip(other.chars()).take_while(|(a, b)| **a == *b).count();
        let left = letters.len().min(other.chars().count()) - start;
        let same_end = letters.iter().rev().zip(other.chars().rev()).take(left).take_while(|(a, b)| **a == *b).count();
        spans.insert((start, letters.len() - same_end));
    }
    let all: Vec<(usize, usize)> = spans.into_iter().collect();
    let holds_another =
        |&(start, end): &(usize, usize)| all.iter().any(|&(a, b)| (a, b) != (start, end) && start <= a && b <= end);
    all.iter().filter(|span| !holds_another(span)).map(|&(start, end)| start..end).collect()
}

/// A way to shorten a name.
struct Way {
    /// Spans of which nothing is seen.
    unseen: usize,
    /// Letters that are left out.
    cuts: Vec<Range<usize>>,
    /// Whether beginning or end is left out, or hardly anything stays of it.
    is_lopsided: bool,
    /// Width of what stays.
    kept: f32,
}

struct Line<'a> {
    letters: &'a [char],
    ends: Vec<f32>,
    room: f32,
    /// The width of what stands for what is left out.
    cut: f32,
    spans: Vec<Range<usize>>,
}

impl Line<'_> {
    fn shortened(&self, others: &[&str]) -> String {
        let words = self.words();
        let letters: Vec<usize> = (0..=self.letters.len()).collect();
        let is_short = words.len() <= MOST_WORDS;
        let mut best: Option<Way> = None;
        // What a race calls all its runs first, so that their names are cut in one manner; then whole words, then letters.
        let tried: [&dyn Fn() -> Vec<Way>; 5] = [
            &|| self.family(others).and_then(|family| self.way(vec![family])).into_iter().collect(),
            &|| if is_short { self.one_cut(&words) } else { Vec::new() },
            &|| if is_short { self.two_cuts(&words) } else { Vec::new() },
            &|| self.one_cut(&letters),
            &|| self.windows(),
        ];
        for ways in tried {
            let mut ways = ways();
            ways.sort_by(|a, b| {
                let rank = |way: &Way| (way.unseen, way.cuts.len(), way.is_lopsided);
                rank(a).cmp(&rank(b)).then_with(|| b.kept.total_cmp(&a.kept))
            });
            for way in ways.iter().take(TRIED).take_while(|way| way.unseen == 0) {
                let text = self.text(&way.cuts);
                if !others.iter().any(|other| could_be(&text, other)) {
                    return text;
                }
            }
            if let Some(way) = ways.into_iter().next()
                && best.as_ref().is_none_or(|best| way.unseen < best.unseen)
            {
                best = Some(way);
            }
        }
        best.map_or_else(|| CUT.to_string(), |way| self.text(&way.cuts))
    }

    /// What stands before a colon, the last before which another name has the same.
    fn family(&self, others: &[&str]) -> Option<Range<usize>> {
        let is_same = |colon: usize| {
            let ours = || self.letters.iter().take(colon + 2).copied();
            others.iter().any(|other| other.chars().take(colon + 2).eq(ours()))
        };
        let colons = self.letters.windows(2).enumerate().filter(|(_, pair)| *pair == [':', ' ']).map(|(at, _)| at);
        colons.rev().find(|&colon| colon > 0 && is_same(colon)).map(|colon| 0..colon)
    }

    fn width(&self, part: Range<usize>) -> f32 {
        let at = |place: usize| self.ends.get(place).copied().unwrap_or_default();
        at(part.end) - at(part.start)
    }

    /// The name without these letters; blanks and commas beside a cut say nothing.
    fn text(&self, cuts: &[Range<usize>]) -> String {
        let mut text = String::new();
        let mut from = 0;
        for cut in cuts {
            let part: String = self.letters.get(from..cut.start).unwrap_or_default().iter().collect();
            text += without_blanks_before(&part, from > 0).trim_end();
            text.push(CUT);
            from = cut.end;
        }
        let part: String = self.letters.get(from..).unwrap_or_default().iter().collect();
        text + without_blanks_before(&part, true)
    }

    /// A way with these cuts, if it fits.
    fn way(&self, cuts: Vec<Range<usize>>) -> Option<Way> {
        let all = self.letters.len();
        let kept = self.width(0..all) - cuts.iter().map(|cut| self.width(cut.clone())).sum::<f32>();
        if kept <= 0.0 || kept + self.cut * cuts.len() as f32 > self.room {
            return None;
        }
        let is_unseen = |span: &&Range<usize>| cuts.iter().any(|cut| cut.start <= span.start && span.end <= cut.end);
        let unseen = self.spans.iter().filter(is_unseen).count();
        let first = cuts.first().map_or(0, |cut| cut.start);
        let last = cuts.last().map_or(all, |cut| cut.end);
        let is_lopsided = self.width(0..first).min(self.width(last..all)) < LEAST_END * kept;
        Some(Way { unseen, cuts, is_lopsided, kept })
    }

    /// From each place the shortest cut with which the name fits.
    fn one_cut(&self, places: &[usize]) -> Vec<Way> {
        let shortest = |(at, &from): (usize, &usize)| {
            let mut ends = places.iter().skip(at + 1);
            ends.find_map(|&to| self.way(std::iter::once(from..to).collect()))
        };
        places.iter().enumerate().filter_map(shortest).collect()
    }

    /// From each two places the shortest cuts with which the name fits.
    fn two_cuts(&self, places: &[usize]) -> Vec<Way> {
        let mut ways = Vec::new();
        for (at, &a) in places.iter().enumerate() {
            for (b_at, &b) in places.iter().enumerate().skip(at + 1) {
                for (c_at, &c) in places.iter().enumerate().skip(b_at + 1) {
                    let mut ends = places.iter().skip(c_at + 1);
                    ways.extend(ends.find_map(|&d| self.way(vec![a..b, c..d])));
                }
            }
        }
        ways
    }

    /// From each letter the most that fits, with neither beginning nor end.
    fn windows(&self) -> Vec<Way> {
        let all = self.letters.len();
        let widest = |from: usize| (from + 1..all).rev().find_map(|to| self.way(vec![0..from, to..all]));
        (1..all).filter_map(widest).collect()
    }

    /// Where words begin, with the blanks and signs before them, and where the name ends.
    fn words(&self) -> Vec<usize> {
        let mut places = vec![0];
        let mut in_word = false;
        for (at, letter) in self.letters.iter().enumerate() {
            if in_word && !letter.is_alphanumeric() {
                places.push(at);
            }
            in_word = letter.is_alphanumeric();
        }
        // Signs behind the last word belong to it.
        if let Some(&last) = places.last()
            && last > 0
            && !self.letters.iter().skip(last).any(|letter| letter.is_alphanumeric())
        {
            places.pop();
        }
        places.push(self.letters.len());
        self.without_long_words(&places)
    }

    fn without_long_words(&self, places: &[usize]) -> Vec<usize> {
        let mut finer = Vec::with_capacity(places.len());
        for pair in places.windows(2) {
            let [from, to] = *pair else { continue };
            let step = if to - from > LONG_WORD { PIECE } else { (to - from).max(1) };
            finer.extend((from..to).step_by(step));
        }
        finer.push(self.letters.len());
        finer
    }
}

fn without_blanks_before(part: &str, is_after_cut: bool) -> &str {
    if is_after_cut { part.trim_start_matches([' ', ',', ';']) } else { part }
}

/// Whether `other` could be what was shortened to `text`.
fn could_be(text: &str, other: &str) -> bool {
    let mut parts = text.split(CUT);
    let Some(mut rest) = parts.next().and_then(|first| other.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elided(names: &[&str], room: usize) -> Vec<String> {
        let all: Names = names.iter().copied().collect();
        let shown = |name: &&str| all.elided(name, room as f32, |_| 1.0).unwrap_or_else(|| (*name).to_owned());
        names.iter().map(shown).collect()
    }

    #[test]
    fn what_names_share_gives_way_and_what_tells_them_apart_stays() {
        let race = [
            "grammar decoder, 512 wide: standard, seed 1",
            "grammar decoder, 512 wide: collaborative, seed 1",
            "grammar decoder, 512 wide: collaborative, seed 2",
            "grammar decoder, 512 wide: first 2 reused, seed 2",
        ];
        assert_eq!(
            elided(&race, 32),
            [
                "…: standard, seed 1",
                "…: collaborative, seed 1",
                "…: collaborative, seed 2",
                "…: first 2 reused, seed 2",
            ],
            "in one manner"
        );
        let two = ["decoder: standard, seed 1", "encoder: standard, seed 1", "decoder: standard, seed 2"];
        assert_eq!(
            elided(&two, 22),
            ["decoder…seed 1", "encoder…seed 1", "…: standard, seed 2"],
            "never what tells them apart"
        );
        assert_eq!(
            elided(&race, 19)[1..3],
            ["…: collaborative…1", "…: collaborative…2"],
            "what differs is seen in both"
        );
        let wide = ["a wide model, seed 1 (2)", "a wide model, seed 1", "a wide model, seed 2"];
        assert_eq!(elided(&wide, 13), ["a wide…1 (2)", "a wide…1", "a wide…2"]);
    }

    #[test]
    fn alone_the_middle_gives_way_and_beginning_and_end_stay() {
        assert_eq!(brief("grammar decoder"), "grammar decoder");
        let long = format!("{}seed 3", "very long name ".repeat(30));
        let short = brief(&long);
        assert!(short.chars().count() <= BRIEF && short.starts_with("very lo") && short.ends_with("seed 3"), "{short}");
        assert!(brief(&"日".repeat(41)).chars().count() <= BRIEF);
        let all = Names::default();
        assert_eq!(all.elided("grammar decoder", 15.0, |_| 1.0), None);
        assert_eq!(all.elided("grammar decoder", 0.0, |_| 1.0).as_deref(), Some("…"));
        assert_eq!(all.elided("日本語の名前", 4.0, |_| 1.0).as_deref(), Some("日…名前"));
    }

    /// Names of a family differ in any words; each is a chain of words and numbers.
    fn family(chance: &mut impl FnMut(usize) -> usize) -> Vec<String> {
        const WORDS: [&str; 8] = ["standard", "collaborative", "first", "wide", "reuse", "decoder", "grammar", "a"];
        const BETWEEN: [&str; 5] = [" ", ", ", ": ", "_", "-"];
        let length = 4 + chance(6);
        let base: Vec<usize> = (0..length).map(|_| chance(WORDS.len())).collect();
        let between: Vec<usize> = (0..length).map(|_| chance(BETWEEN.len())).collect();
        let changes: Vec<usize> = (0..=chance(3)).map(|_| chance(length)).collect();
        let mut names = BTreeSet::new();
        for _ in 0..2 + chance(9) {
            let mut words = base.clone();
            for &place in &changes {
                words[place] = chance(WORDS.len());
            }
            let mut name = String::new();
            for (word, between) in words.iter().zip(&between) {
                name += WORDS[*word];
                name += BETWEEN[*between];
            }
            names.insert(format!("{name}{}", 1 + chance(12)));
        }
        names.into_iter().collect()
    }

    #[test]
    fn different_names_never_look_the_same_where_there_is_room_for_what_differs() {
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut chance = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        for _ in 0..300 {
            let names = family(&mut chance);
            let refs: Vec<&str> = names.iter().map(String::as_str).collect();
            // Everything between what all share at their beginning and at their end.
            let letters = |name: &str| name.chars().collect::<Vec<_>>();
            let first = letters(refs[0]);
            let shared = |reverse: bool| {
                let turned = |name: &str| {
                    let mut all = letters(name);
                    if reverse {
                        all.reverse();
                    }
                    all
                };
                let own = turned(refs[0]);
                let same = |name: &&str| own.iter().zip(turned(name)).take_while(|(a, b)| **a == *b).count();
                refs.iter().map(same).min().unwrap_or_default()
            };
            let (start, end) = (shared(false), shared(true));
            let longest = refs.iter().map(|name| name.chars().count()).max().unwrap_or_default();
            let differing = longest.saturating_sub(start.min(first.len()) + end);
            for room in [differing + 4, differing + 9, longest - 1] {
                let shown = elided(&refs, room);
                for (name, short) in refs.iter().zip(&shown) {
                    assert!(short.chars().count() <= room.max(name.chars().count().min(room)), "{short} in {room}");
                }
                let distinct: BTreeSet<&String> = shown.iter().collect();
                assert_eq!(distinct.len(), shown.len(), "in {room}: {shown:#?} of {refs:#?}");
            }
        }
    }
}
