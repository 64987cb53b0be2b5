use super::*;
use crate::Silent;

/// Expressions with the values that another program gives them (`tests/golden/listops/make.py`), every second one in pairs.
const OWN: &str = include_str!("../../../../../tests/golden/listops/own.tsv");

#[test]
fn values_are_those_of_another_program() {
    let (mut checked, mut longest) = (0, 0);
    for line in OWN.lines() {
        let (label, text) = line.split_once('\t').unwrap();
        assert_eq!(evaluate(text), label.parse().ok(), "{text}");
        checked += 1;
        longest = longest.max(text.split(' ').filter(|symbol| !["(", ")"].contains(symbol)).count());
    }
    assert_eq!(checked, 400);
    assert!(longest > 1000, "{longest}");
}

#[test]
fn values_are_those_of_the_rules() {
    for (text, value) in [
        ("7", 7),
        ("[MAX 2 9 [MIN 4 7 ] 0 ]", 9),
        ("[MED 2 5 ]", 3),
        ("[MED 8 1 1 9 ]", 4),
        ("[MED 9 0 4 ]", 4),
        ("[SM 9 8 7 ]", 4),
        ("[SM 5 5 ]", 0),
        ("[MIN [SM 6 7 ] [MAX 5 4 ] ]", 3),
        // Every application from left to right in parentheses of its own, as the original generator writes it.
        ("( ( ( [MAX 3 ) 8 ) ] )", 8),
        ("( ( ( ( [SM 4 ) ( ( ( [MED 0 ) 7 ) ] ) ) 5 ) ] )", 2),
    ] {
        assert_eq!(evaluate(text), Some(value), "{text}");
    }
    for broken in ["", "[MAX 1", "1 2", "]", "[MUL 1 2 ]"] {
        assert_eq!(evaluate(broken), None, "{broken}");
    }
}

/// Draws as the generator draws them, accepted or not; none where one is too long.
fn draws(source: &ListOpsSource, count: u64) -> Vec<Option<Expression>> {
    (0..count).into_par_iter().map(|number| draw(source, &mut Stream::new(5, Purpose::ListOps, number)).ok()).collect()
}

/// Against numbers of an independent generator by the same rules. Tolerances are four deviations of these samples.
#[test]
fn accepted_expressions_are_as_often_and_as_long_as_those_of_others() {
    let source = ListOpsSource::default();
    let count = 60_000;
    let all = draws(&source, count);
    let share =
        |is: &dyn Fn(&Option<Expression>) -> bool| all.iter().filter(|drawn| is(drawn)).count() as f64 / count as f64;
    let length = |drawn: &Option<Expression>| drawn.as_ref().map_or(usize::MAX, |drawn| drawn.symbols.len());
    let accepted = share(&|drawn| length(drawn) > 500 && length(drawn) < 2000);
    assert!((accepted - 0.0834).abs() < 0.0075, "{accepted}");
    assert!((share(&|drawn| length(drawn) == 1) - 0.75).abs() < 0.01);
    assert!((share(&|drawn| (2..=500).contains(&length(drawn))) - 0.156).abs() < 0.01);
    assert!((share(&|drawn| length(drawn) >= 2000) - 0.0114).abs() < 0.003);
    let kept: Vec<&Expression> =
        all.iter().flatten().filter(|drawn| drawn.symbols.len() > 500 && drawn.symbols.len() < 2000).collect();
    let mut lengths: Vec<usize> = kept.iter().map(|drawn| drawn.symbols.len()).collect();
    lengths.sort_unstable();
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    assert!((mean - 1039.0).abs() < 30.0, "{mean}");
    for (share, wanted, tolerance) in
        [(0.05, 540.0, 20.0), (0.25, 705.0, 30.0), (0.5, 959.0, 45.0), (0.75, 1316.0, 60.0), (0.95, 1802.0, 45.0)]
    {
        let found = lengths[(share * lengths.len() as f64) as usize] as f64;
        assert!((found - wanted).abs() < tolerance, "{share}: {found} {wanted}");
    }
    let operators = |drawn: &Expression| drawn.symbols.iter().filter(|symbol| (10..14).contains(*symbol)).count();
    let mean = kept.iter().map(|drawn| operators(drawn)).sum::<usize>() as f64 / kept.len() as f64;
    assert!((mean - 147.9).abs() < 4.5, "{mean}");
}

#[test]
fn labels_are_as_frequent_as_those_of_others() {
    let source = ListOpsSource { examples: 8_000, validation_examples: 10, ..ListOpsSource::default() };
    let found = expressions(&source, 8_010, &Silent).unwrap();
    let wanted = [
        ("all", None, [17.4, 8.9, 8.0, 8.2, 8.7, 8.3, 7.8, 7.3, 8.9, 16.6]),
        ("MIN", Some(10), [56.9, 20.8, 11.3, 5.7, 2.5, 1.2, 0.8, 0.5, 0.2, 0.2]),
        ("MAX", Some(11), [0.0, 0.3, 0.4, 0.8, 1.5, 3.3, 6.2, 10.0, 21.9, 55.6]),
        ("MED", Some(12), [1.2, 4.2, 10.2, 17.2, 21.4, 19.8, 14.9, 7.5, 3.0, 0.7]),
        ("SM", Some(13), [10.8, 10.1, 9.9, 9.2, 9.7, 9.4, 9.7, 11.0, 10.4, 9.7]),
    ];
    for (name, root, shares) in wanted {
        let of_root: Vec<&Expression> =
            found.iter().filter(|one| root.is_none_or(|root| one.symbols[0] == root)).collect();
        let part = of_root.len() as f64 / found.len() as f64;
        assert!(root.is_none() || (part - 0.25).abs() < 0.02, "{name}: {part}");
        for (value, wanted) in shares.into_iter().enumerate() {
            let share =
                of_root.iter().filter(|one| usize::from(one.value) == value).count() as f64 / of_root.len() as f64;
            let wanted: f64 = wanted / 100.0;
            // Four deviations of both samples, and the digits that are told.
            let deviation = (wanted.max(0.003) * (1.0 - wanted) * (1.0 / of_root.len() as f64 + 1.0 / 5000.0)).sqrt();
            assert!((share - wanted).abs() < 4.0 * deviation + 0.0006, "{name} {value}: {share} {wanted}");
        }
    }
}

#[test]
fn what_is_written_has_the_value_of_its_label_and_follows_the_rules() {
    let source = ListOpsSource {
        min_length: 10,
        max_length: 60,
        max_depth: 4,
        max_args: 5,
        examples: 500,
        validation_examples: 100,
        text_seed: 2,
    };
    let (texts, answers) = generate(&source, &Silent).unwrap();
    let Answers::Classes { classes, .. } = &answers.train else { panic!() };
    assert_eq!((texts.train.len(), texts.validation.len(), classes.len()), (500, 100, 500));
    for (text, class) in texts.train.iter().zip(classes) {
        assert_eq!(evaluate(text).map(u32::from), Some(*class), "{text}");
        let symbols: Vec<&str> = text.split(' ').collect();
        assert!(symbols.len() > 10 && symbols.len() < 60);
        let (mut open, mut deepest) = (Vec::new(), 0);
        for symbol in symbols {
            if symbol == "]" {
                let arguments: usize = open.pop().unwrap();
                assert!((2..=5).contains(&arguments), "{text}");
            } else {
                if let Some(arguments) = open.last_mut() {
                    *arguments += 1;
                }
                if symbol.starts_with('[') {
                    open.push(0);
                }
            }
            deepest = deepest.max(open.len());
        }
        assert!(deepest <= 3, "digits alone stand at the last of four levels: {text}");
    }
    let all: HashSet<&str> = texts.train.iter().chain(texts.validation.iter()).collect();
    assert_eq!(all.len(), 600, "all differ");
    assert_eq!(generate(&source, &Silent).unwrap(), (texts.clone(), answers.clone()));
    let (other, _) = generate(&ListOpsSource { text_seed: 3, ..source }, &Silent).unwrap();
    assert_ne!(other, texts);
}

#[test]
fn rules_that_give_next_to_nothing_are_told() {
    let source = ListOpsSource { min_length: 0, max_length: 2, examples: 100, ..ListOpsSource::default() };
    let told = generate(&source, &Silent).err().unwrap();
    assert!(told.to_string().contains("Only 10 of 2100"), "{told}");
    assert_eq!(told.field(), Some("data.min_length"));
}
