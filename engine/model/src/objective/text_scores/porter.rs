//! The stemmer of Porter (1980) with the extensions that NLTK makes to it, which `rouge_score` uses.

/// Irregular words, with their stems.
const IRREGULAR: [(&str, &str); 16] = [
    ("sky", "sky"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("news", "news"),
    ("innings", "inning"),
    ("inning", "inning"),
    ("outings", "outing"),
    ("outing", "outing"),
    ("cannings", "canning"),
    ("canning", "canning"),
    ("howe", "howe"),
    ("proceed", "proceed"),
    ("exceed", "exceed"),
    ("succeed", "succeed"),
];

/// The rules of step 2: where a consonant follows a vowel before the ending, it becomes the other.
const STEP_2: [(&str, &str); 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
];

/// Those of step 3.
const STEP_3: [(&str, &str); 7] =
    [("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];

/// Endings that go in step 4.
const STEP_4: [&str; 19] = [
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
];

/// The stem of a word of lower-case ASCII letters and digits; other words come back as they are.
pub fn porter_stem(word: &str) -> String {
    if let Some((_, stem)) = IRREGULAR.iter().find(|(known, _)| *known == word) {
        return (*stem).to_owned();
    }
    if word.len() <= 2 || !word.is_ascii() {
        return word.to_owned();
    }
    let word = step_1a(word);
    let word = step_1b(word);
    let word = match word.strip_suffix('y') {
        Some(stem) if stem.len() > 1 && consonants(stem).last() == Some(&true) => format!("{stem}i"),
        _ => word,
    };
    let word = step_2(word);
    let word = first_rule(&word, &STEP_3, |stem| measure(stem) > 0);
    let word = step_4(word);
    let word = match word.strip_suffix('e') {
        Some(stem) if measure(stem) > 1 || (measure(stem) == 1 && !ends_cvc(stem)) => stem.to_owned(),
        _ => word,
    };
    match word.strip_suffix('l') {
        Some(stem) if stem.ends_with('l') && measure(stem) > 1 => stem.to_owned(),
        _ => word,
    }
}

/// By letter: whether it is a consonant. A `y` is one unless it follows one.
fn consonants(word: &str) -> Vec<bool> {
    let mut flags: Vec<bool> = Vec::with_capacity(word.len());
    for letter in word.bytes() {
        flags.push(match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => !flags.last().copied().unwrap_or(false),
            _ => true,
        });
    }
    flags
}

/// How often a consonant follows a vowel.
fn measure(word: &str) -> usize {
    consonants(word).windows(2).filter(|pair| matches!(pair, [false, true])).count()
}

/// Whether it ends in consonant, vowel, consonant, of which the last is no `w`, `x` or `y`; or is a vowel and a consonant.
fn ends_cvc(word: &str) -> bool {
    match consonants(word).as_slice() {
        [false, true] => true,
        [.., true, false, true] => !word.ends_with(['w', 'x', 'y']),
        _ => false,
    }
}

/// Applies the first rule whose ending the word has, if the rest satisfies the condition; no other is tried.
fn first_rule(word: &str, rules: &[(&str, &str)], condition: impl Fn(&str) -> bool) -> String {
    for (ending, other) in rules {
        if let Some(stem) = word.strip_suffix(ending) {
            return if condition(stem) { format!("{stem}{other}") } else { word.to_owned() };
        }
    }
    word.to_owned()
}

fn step_1a(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() == 1) {
        return format!("{stem}ie");
    }
    first_rule(word, &[("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")], |_| true)
}

fn step_1b(word: String) -> String {
    if let Some(stem) = word.strip_suffix("ied") {
        return if stem.len() == 1 { format!("{stem}ie") } else { format!("{stem}i") };
    }
    if let Some(stem) = word.strip_suffix("eed") {
        return if measure(stem) > 0 { format!("{stem}ee") } else { word };
    }
    let has_vowel = |stem: &&str| consonants(stem).contains(&false);
    let stem = ["ed", "ing"].iter().find_map(|ending| word.strip_suffix(ending).filter(has_vowel));
    let Some(stem) = stem else { return word };
    for (ending, other) in [("at", "ate"), ("bl", "ble"), ("iz", "ize")] {
        if let Some(rest) = stem.strip_suffix(ending) {
            return format!("{rest}{other}");
        }
    }
    let last = stem.bytes().next_back();
    let is_double = stem.len() >= 2 && stem.bytes().rev().nth(1) == last && consonants(stem).last() == Some(&true);
    match (is_double, last) {
        (true, Some(b'l' | b's' | b'z')) => stem.to_owned(),
        (true, _) => stem.get(..stem.len() - 1).unwrap_or(stem).to_owned(),
        (false, _) if measure(stem) == 1 && ends_cvc(stem) => format!("{stem}e"),
        (false, _) => stem.to_owned(),
    }
}

fn step_2(mut word: String) -> String {
    while let Some(stem) = word.strip_suffix("alli").filter(|stem| measure(stem) > 0) {
        word = format!("{stem}al");
    }
    for (ending, other) in STEP_2 {
        if let Some(stem) = word.strip_suffix(ending) {
            return if measure(stem) > 0 { format!("{stem}{other}") } else { word };
        }
    }
    // Its `l` counts with the stem, so that short ones such as `geo` are stemmed as well.
    match word.strip_suffix("ogi") {
        Some(stem) if stem.ends_with('l') && measure(stem) > 0 => format!("{stem}og"),
        _ => word,
    }
}

fn step_4(word: String) -> String {
    for ending in STEP_4 {
        if let Some(stem) = word.strip_suffix(ending) {
            let goes = measure(stem) > 1 && (ending != "ion" || stem.ends_with(['s', 't']));
            return if goes { stem.to_owned() } else { word };
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::porter_stem;

    /// Expected stems are those of `nltk.stem.porter.PorterStemmer` 3.9.
    #[test]
    fn stems_are_those_of_nltk() {
        let words = "caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized \
            hopping tanned falling hissing fizzed failing filing happy sky enjoy spied died dies flies \
            relational conditional rational valency hesitancy digitizer conformably radically differently vilely \
            analogously vietnamization predication operator feudalism decisiveness hopefulness callousness \
            formality sensitivity sensibility triplicate formative formalize electricity electrical hopeful \
            goodness revival allowance inference airliner gyroscopic adjustable defensible irritant replacement \
            adjustment dependent adoption homologou communism activate angularity homologous effective \
            bowdlerize probate rate cease controlling roll geology theology archaeology succeed proceeding news \
            innings skies dying bully carefully fully yyyy 2000 a3s abbey playing saying syzygy oed wing owed \
            ally totally basically eally aing using iting boxing snowing lying generalization oscillators \
            national sensational possibly internationally";
        let stems = "caress poni tie caress cat feed agre plaster bled motor sing conflat troubl size hop tan fall hiss \
            fizz fail file happi sky enjoy spi die die fli relat condit ration valenc hesit digit conform radic \
            differ vile analog vietnam predic oper feudal decis hope callous formal sensit sensibl triplic form \
            formal electr electr hope good reviv allow infer airlin gyroscop adjust defens irrit replac adjust \
            depend adopt homolog commun activ angular homolog effect bowdler probat rate ceas control roll \
            geolog theolog archaeolog succeed proceed news inning sky die bulli care fulli yyyi 2000 a3 abbey \
            play say syzygi o wing owe alli total basic ealli a use ite box snow lie gener oscil nation sensat \
            possibl intern";
        for (word, stem) in words.split_whitespace().zip(stems.split_whitespace()) {
            assert_eq!(porter_stem(word), stem, "{word}");
        }
        assert_eq!(words.split_whitespace().count(), stems.split_whitespace().count());
    }
}
