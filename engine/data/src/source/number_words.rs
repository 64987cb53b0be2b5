//! English numbers and dates in words with their German translations: a small task of translation that needs no
//! download and has exact answers. Units come before tens in German, days before months, and words grow together, so
//! that a model has to reorder.

use super::loader::{Content, DataSource, Examples, KnownModel, LoadContext, held_out};
use crate::config::{DataConfig, LongPairs, NumberWordsSource, counted};
use crate::examples::{SHOWN, of_pairs};
use crate::hash::sha256_prefix;
use crate::objective::Objective;
use crate::preview::DataPreview;
use crate::progress::advance;
use crate::rng::{Purpose, Stream, below};
use crate::{DataError, Documents, Progress, Reading, Split, Stage, memory};

/// A generous estimate for the bytes of a pair, for the check of memory.
const BYTES_PER_PAIR: u64 = 128;

/// Pairs between two reports.
const GROUP: u64 = 4096;

const ENGLISH_SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const ENGLISH_TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const GERMAN_SMALL: [&str; 20] = [
    "null",
    "eins",
    "zwei",
    "drei",
    "vier",
    "f\u{fc}nf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zw\u{f6}lf",
    "dreizehn",
    "vierzehn",
    "f\u{fc}nfzehn",
    "sechzehn",
    "siebzehn",
    "achtzehn",
    "neunzehn",
];
const GERMAN_TENS: [&str; 10] =
    ["", "", "zwanzig", "drei\u{df}ig", "vierzig", "f\u{fc}nfzig", "sechzig", "siebzig", "achtzig", "neunzig"];
const MONTHS: [(&str, &str, u64); 12] = [
    ("January", "Januar", 31),
    ("February", "Februar", 29),
    ("March", "M\u{e4}rz", 31),
    ("April", "April", 30),
    ("May", "Mai", 31),
    ("June", "Juni", 30),
    ("July", "Juli", 31),
    ("August", "August", 31),
    ("September", "September", 30),
    ("October", "Oktober", 31),
    ("November", "November", 30),
    ("December", "Dezember", 31),
];
const WEEKDAYS: [(&str, &str); 7] = [
    ("Monday", "Montag"),
    ("Tuesday", "Dienstag"),
    ("Wednesday", "Mittwoch"),
    ("Thursday", "Donnerstag"),
    ("Friday", "Freitag"),
    ("Saturday", "Samstag"),
    ("Sunday", "Sonntag"),
];

/// The longest numbers have so many digits.
const DIGITS: usize = 8;

impl DataSource for NumberWordsSource {
    fn split(&self, fraction: f64, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let texts = generate(self.pairs, self.text_seed, fraction, context.progress)?;
        Ok(Content::Pairs(texts, LongPairs::default()).into())
    }

    fn all(&self, _: KnownModel<'_>, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let all = all(self.pairs, self.text_seed, context.progress)?;
        Ok(Content::Pairs(held_out(all), LongPairs::default()).into())
    }

    fn preview(&self, _: &DataConfig, _: (&Objective, &Reading)) -> Result<Option<DataPreview>, DataError> {
        let about = format!("The first of {}", counted(self.pairs as u64, "pair"));
        Ok(Some(DataPreview::Examples(of_pairs(&first(SHOWN, self.text_seed), about))))
    }
}

/// At least `pairs` pairs for training and about `fraction` (0..1) as many that are held out, each a source and then its
/// translation. Which side a pair is on depends on its source alone, so that no held-out pair is among those for
/// training; no held-out pair comes twice. The pairs depend on `text_seed` alone: more of them begin with the fewer.
fn generate(pairs: usize, text_seed: u64, fraction: f64, progress: &dyn Progress) -> Result<Split, DataError> {
    memory::check(pairs as u64 * BYTES_PER_PAIR, None)?;
    let mut split = Split::default();
    let mut known = std::collections::HashSet::new();
    let wanted = (pairs as f64 * fraction).ceil() as usize;
    let mut number = 0;
    while split.train.len() < 2 * pairs {
        if number % GROUP == 0 {
            advance(progress, Stage::Generating, split.train.len() as u64, 2 * pairs as u64)?;
        }
        let (source, target) = pair(&mut Stream::new(text_seed, Purpose::NumberWords, number));
        number += 1;
        let is_held_out = (sha256_prefix(source.as_bytes()) as f64 / u64::MAX as f64) < fraction;
        if !is_held_out {
            split.train.push(&source);
            split.train.push(&target);
        } else if split.validation.len() < 2 * wanted && known.insert(source.clone()) {
            split.validation.push(&source);
            split.validation.push(&target);
        }
    }
    advance(progress, Stage::Generating, 1, 1)?;
    Ok(split)
}

/// `pairs` pairs, none of which is set apart.
fn all(pairs: usize, text_seed: u64, progress: &dyn Progress) -> Result<Documents, DataError> {
    Ok(generate(pairs, text_seed, 0.0, progress)?.train)
}

/// The first pairs, whichever side they are on: no more are generated.
fn first(pairs: usize, text_seed: u64) -> Documents {
    let mut found = Documents::new();
    for number in 0..pairs as u64 {
        let (source, target) = pair(&mut Stream::new(text_seed, Purpose::NumberWords, number));
        found.push(&source);
        found.push(&target);
    }
    found
}

/// One pair.
fn pair(stream: &mut Stream) -> (String, String) {
    match below(stream, 20) {
        0..9 => {
            let digits = 1 + below(stream, DIGITS) as u32;
            let least = if digits == 1 { 0 } else { 10_u64.pow(digits - 1) };
            let number = least + below(stream, (10_u64.pow(digits) - least) as usize) as u64;
            (english(number), german(number))
        }
        9..11 => {
            let number = 1 + below(stream, 999) as u64;
            (format!("the {}", english_ordinal(number)), format!("der {}", german_ordinal(number, "e")))
        }
        11..15 => {
            let (day, (month, monat)) = day(stream);
            let year = 1100 + below(stream, 1000) as u64;
            (
                format!("the {} of {month} {}", english_ordinal(day), english_year(year)),
                format!("der {} {monat} {}", german_ordinal(day, "e"), german_year(year)),
            )
        }
        15..17 => {
            let (day, (month, monat)) = day(stream);
            (format!("on {month} the {}", english_ordinal(day)), format!("am {} {monat}", german_ordinal(day, "en")))
        }
        _ => {
            let (day, (month, monat)) = day(stream);
            let (weekday, wochentag) = WEEKDAYS[below(stream, WEEKDAYS.len())];
            (
                format!("on {weekday} the {} of {month}", english_ordinal(day)),
                format!("am {wochentag} dem {} {monat}", german_ordinal(day, "en")),
            )
        }
    }
}

/// A day of a month.
fn day(stream: &mut Stream) -> (u64, (&'static str, &'static str)) {
    let (month, monat, days) = MONTHS[below(stream, MONTHS.len())];
    (1 + below(stream, days as usize) as u64, (month, monat))
}

fn word(words: &[&'static str], number: u64) -> &'static str {
    words[number as usize]
}

/// A number below a thousand million in English words, without "and".
fn english(number: u64) -> String {
    match number {
        0..20 => word(&ENGLISH_SMALL, number).to_owned(),
        20..100 if number.is_multiple_of(10) => word(&ENGLISH_TENS, number / 10).to_owned(),
        20..100 => format!("{}-{}", word(&ENGLISH_TENS, number / 10), word(&ENGLISH_SMALL, number % 10)),
        100..1000 => in_english(number, 100, "hundred"),
        1000..1_000_000 => in_english(number, 1000, "thousand"),
        _ => in_english(number, 1_000_000, "million"),
    }
}

fn in_english(number: u64, unit: u64, name: &str) -> String {
    let count = english(number / unit);
    if number.is_multiple_of(unit) {
        format!("{count} {name}")
    } else {
        format!("{count} {name} {}", english(number % unit))
    }
}

fn english_ordinal(number: u64) -> String {
    let text = english(number);
    let (before, last) = match text.rfind([' ', '-']) {
        Some(at) => text.split_at(at + 1),
        None => ("", text.as_str()),
    };
    let last = match last {
        "one" => "first".to_owned(),
        "two" => "second".to_owned(),
        "three" => "third".to_owned(),
        "five" => "fifth".to_owned(),
        "eight" => "eighth".to_owned(),
        "nine" => "ninth".to_owned(),
        "twelve" => "twelfth".to_owned(),
        other => match other.strip_suffix('y') {
            Some(stem) => format!("{stem}ieth"),
            None => format!("{other}th"),
        },
    };
    format!("{before}{last}")
}

/// A year from 1100 to 2099: by hundreds, but the first ten of 2000.
fn english_year(year: u64) -> String {
    match (year / 100, year % 100) {
        (20, rest @ 0..10) => english(2000 + rest),
        (century, 0) => format!("{} hundred", english(century)),
        (century, rest @ 1..10) => format!("{} oh {}", english(century), english(rest)),
        (century, rest) => format!("{} {}", english(century), english(rest)),
    }
}

/// A number below a hundred million in German words.
fn german(number: u64) -> String {
    let (millions, rest) = (number / 1_000_000, number % 1_000_000);
    let millions = match millions {
        0 => return german_below_million(rest, "eins"),
        1 => "eine Million".to_owned(),
        _ => format!("{} Millionen", german_below_thousand(millions, "eins")),
    };
    if rest == 0 { millions } else { format!("{millions} {}", german_below_million(rest, "eins")) }
}

/// One word; `one` is how a single one at its end is said.
fn german_below_million(number: u64, one: &str) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => german_below_thousand(rest, one),
        (thousands, 0) => format!("{}tausend", german_below_thousand(thousands, "ein")),
        (thousands, rest) => {
            format!("{}tausend{}", german_below_thousand(thousands, "ein"), german_below_thousand(rest, one))
        }
    }
}

fn german_below_thousand(number: u64, one: &str) -> String {
    match (number / 100, number % 100) {
        (0, rest) => german_below_hundred(rest, one),
        (hundreds, 0) => format!("{}hundert", german_below_hundred(hundreds, "ein")),
        (hundreds, rest) => {
            format!("{}hundert{}", german_below_hundred(hundreds, "ein"), german_below_hundred(rest, one))
        }
    }
}

fn german_below_hundred(number: u64, one: &str) -> String {
    match (number / 10, number % 10) {
        (0, 1) => one.to_owned(),
        (0 | 1, _) => word(&GERMAN_SMALL, number).to_owned(),
        (tens, 0) => word(&GERMAN_TENS, tens).to_owned(),
        (tens, 1) => format!("einund{}", word(&GERMAN_TENS, tens)),
        (tens, units) => format!("{}und{}", word(&GERMAN_SMALL, units), word(&GERMAN_TENS, tens)),
    }
}

/// An ordinal below a million with the ending `e` (der erste) or `en` (am ersten).
fn german_ordinal(number: u64, ending: &str) -> String {
    let (before, last) = (number / 100 * 100, number % 100);
    let before = if before == 0 { String::new() } else { german_below_million(before, "ein") };
    let last = match last {
        0 => "st".to_owned(),
        1 => "erst".to_owned(),
        3 => "dritt".to_owned(),
        7 => "siebt".to_owned(),
        8 => "acht".to_owned(),
        2..20 => format!("{}t", word(&GERMAN_SMALL, last)),
        _ => format!("{}st", german_below_hundred(last, "ein")),
    };
    format!("{before}{last}{ending}")
}

/// A year from 1100 to 2099: by hundreds before 2000.
fn german_year(year: u64) -> String {
    if year >= 2000 {
        return german_below_million(year, "eins");
    }
    let rest = if year.is_multiple_of(100) { String::new() } else { german_below_hundred(year % 100, "eins") };
    format!("{}hundert{rest}", german_below_hundred(year / 100, "ein"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::Silent;

    #[test]
    fn numbers_are_those_of_people() {
        for (number, in_english, in_german) in [
            (0, "zero", "null"),
            (1, "one", "eins"),
            (7, "seven", "sieben"),
            (12, "twelve", "zwölf"),
            (16, "sixteen", "sechzehn"),
            (17, "seventeen", "siebzehn"),
            (20, "twenty", "zwanzig"),
            (21, "twenty-one", "einundzwanzig"),
            (30, "thirty", "dreißig"),
            (66, "sixty-six", "sechsundsechzig"),
            (71, "seventy-one", "einundsiebzig"),
            (99, "ninety-nine", "neunundneunzig"),
            (100, "one hundred", "einhundert"),
            (101, "one hundred one", "einhunderteins"),
            (111, "one hundred eleven", "einhundertelf"),
            (121, "one hundred twenty-one", "einhunderteinundzwanzig"),
            (200, "two hundred", "zweihundert"),
            (317, "three hundred seventeen", "dreihundertsiebzehn"),
            (999, "nine hundred ninety-nine", "neunhundertneunundneunzig"),
            (1000, "one thousand", "eintausend"),
            (1001, "one thousand one", "eintausendeins"),
            (1021, "one thousand twenty-one", "eintausendeinundzwanzig"),
            (2300, "two thousand three hundred", "zweitausenddreihundert"),
            (10000, "ten thousand", "zehntausend"),
            (21001, "twenty-one thousand one", "einundzwanzigtausendeins"),
            (101_101, "one hundred one thousand one hundred one", "einhunderteintausendeinhunderteins"),
            (
                234_567,
                "two hundred thirty-four thousand five hundred sixty-seven",
                "zweihundertvierunddreißigtausendfünfhundertsiebenundsechzig",
            ),
            (
                999_999,
                "nine hundred ninety-nine thousand nine hundred ninety-nine",
                "neunhundertneunundneunzigtausendneunhundertneunundneunzig",
            ),
            (1_000_000, "one million", "eine Million"),
            (1_000_001, "one million one", "eine Million eins"),
            (2_000_000, "two million", "zwei Millionen"),
            (21_000_000, "twenty-one million", "einundzwanzig Millionen"),
            (21_500_000, "twenty-one million five hundred thousand", "einundzwanzig Millionen fünfhunderttausend"),
            (
                34_567_891,
                "thirty-four million five hundred sixty-seven thousand eight hundred ninety-one",
                "vierunddreißig Millionen fünfhundertsiebenundsechzigtausendachthunderteinundneunzig",
            ),
            (
                99_999_999,
                "ninety-nine million nine hundred ninety-nine thousand nine hundred ninety-nine",
                "neunundneunzig Millionen neunhundertneunundneunzigtausendneunhundertneunundneunzig",
            ),
        ] {
            assert_eq!((english(number).as_str(), german(number).as_str()), (in_english, in_german), "{number}");
        }
        for (number, in_english, in_german) in [
            (1, "first", "erste"),
            (2, "second", "zweite"),
            (3, "third", "dritte"),
            (4, "fourth", "vierte"),
            (5, "fifth", "fünfte"),
            (7, "seventh", "siebte"),
            (8, "eighth", "achte"),
            (9, "ninth", "neunte"),
            (11, "eleventh", "elfte"),
            (12, "twelfth", "zwölfte"),
            (13, "thirteenth", "dreizehnte"),
            (17, "seventeenth", "siebzehnte"),
            (19, "nineteenth", "neunzehnte"),
            (20, "twentieth", "zwanzigste"),
            (21, "twenty-first", "einundzwanzigste"),
            (27, "twenty-seventh", "siebenundzwanzigste"),
            (30, "thirtieth", "dreißigste"),
            (31, "thirty-first", "einunddreißigste"),
            (100, "one hundredth", "einhundertste"),
            (101, "one hundred first", "einhunderterste"),
            (103, "one hundred third", "einhundertdritte"),
            (112, "one hundred twelfth", "einhundertzwölfte"),
            (120, "one hundred twentieth", "einhundertzwanzigste"),
            (121, "one hundred twenty-first", "einhunderteinundzwanzigste"),
            (200, "two hundredth", "zweihundertste"),
            (999, "nine hundred ninety-ninth", "neunhundertneunundneunzigste"),
        ] {
            assert_eq!(
                (english_ordinal(number).as_str(), german_ordinal(number, "e").as_str()),
                (in_english, in_german)
            );
        }
        for (year, in_english, in_german) in [
            (1987, "nineteen eighty-seven", "neunzehnhundertsiebenundachtzig"),
            (1900, "nineteen hundred", "neunzehnhundert"),
            (1101, "eleven oh one", "elfhunderteins"),
            (2000, "two thousand", "zweitausend"),
            (2005, "two thousand five", "zweitausendf\u{fc}nf"),
            (2021, "twenty twenty-one", "zweitausendeinundzwanzig"),
        ] {
            assert_eq!((english_year(year).as_str(), german_year(year).as_str()), (in_english, in_german));
        }
    }

    fn pairs_of(documents: &Documents) -> Vec<(&str, &str)> {
        let texts: Vec<&str> = documents.iter().collect();
        assert_eq!(texts.len() % 2, 0);
        texts.chunks(2).map(|pair| (pair[0], pair[1])).collect()
    }

    #[test]
    fn held_out_pairs_are_never_trained_on_and_more_pairs_begin_with_fewer() {
        let split = generate(3000, 7, 0.1, &Silent).unwrap();
        let (train, held_out) = (pairs_of(&split.train), pairs_of(&split.validation));
        assert_eq!(train.len(), 3000);
        assert!((200..=300).contains(&held_out.len()), "{}", held_out.len());
        let sources: HashSet<&str> = train.iter().map(|(source, _)| *source).collect();
        assert!(held_out.iter().all(|(source, _)| !sources.contains(source)));
        assert_eq!(held_out.iter().collect::<HashSet<_>>().len(), held_out.len());
        let more = generate(4000, 7, 0.1, &Silent).unwrap();
        assert_eq!(pairs_of(&more.train)[..3000], train);
        assert_ne!(pairs_of(&generate(1000, 8, 0.1, &Silent).unwrap().train), train[..1000]);
        // Dates and numbers of every length.
        assert!(train.iter().any(|(source, _)| source.starts_with("on Sunday the ")));
        assert!(train.iter().any(|(_, target)| target.contains("Millionen")));
        assert!(train.iter().all(|(_, target)| !target.contains("  ") && !target.ends_with(' ')));
        assert_eq!(all(1000, 7, &Silent).unwrap().len(), 2000);
    }
}
