use super::value::Json;

/// Largest relative difference of two floats that count as equal. Processors sum in other orders: with every matrix product summed in
/// two halves, losses differed by less than 7e-6, and small eigenvalues, overlaps and logits by up to 5e-4.
const RELATIVE: f64 = 5e-3;
/// Largest absolute difference: a difference of nearly equal numbers has few digits that all processors share.
const ABSOLUTE: f64 = 1e-6;

/// Differences of a value from its golden, one a line, each with its place.
pub fn differences(golden: &Json, actual: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    compare(golden, actual, "", &mut lines);
    lines
}

fn compare(golden: &Json, actual: &Json, at: &str, lines: &mut Vec<String>) {
    match (golden, actual) {
        (Json::Float(golden), Json::Float(actual)) => {
            let largest = golden.abs().max(actual.abs());
            if (golden - actual).abs() > RELATIVE * largest + ABSOLUTE {
                lines.push(format!("{at}: {actual} instead of {golden}"));
            }
        }
        (Json::List(golden), Json::List(actual)) => {
            if golden.len() != actual.len() {
                lines.push(format!("{at}: {} elements instead of {}", actual.len(), golden.len()));
            }
            for (place, (golden, actual)) in golden.iter().zip(actual).enumerate() {
                compare(golden, actual, &format!("{at}[{place}]"), lines);
            }
        }
        (Json::Object(before), Json::Object(after)) => {
            compare_keys(before, after, at, lines);
            for (key, value) in before {
                if let Some(now) = actual.get(key) {
                    compare(value, now, &format!("{at}.{key}"), lines);
                }
            }
        }
        _ if golden.kind() != actual.kind() => {
            lines.push(format!("{at}: {} {actual} instead of {} {golden}", actual.kind(), golden.kind()));
        }
        _ if golden != actual => lines.push(format!("{at}: {actual} instead of {golden}")),
        _ => {}
    }
}

fn compare_keys(golden: &[(String, Json)], actual: &[(String, Json)], at: &str, lines: &mut Vec<String>) {
    let keys = |fields: &[(String, Json)]| fields.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    let (before, after) = (keys(golden), keys(actual));
    let lacks = |key: &&String, keys: &[String]| !keys.contains(key);
    let missing: Vec<&String> = before.iter().filter(|key| lacks(key, &after)).collect();
    let added: Vec<&String> = after.iter().filter(|key| lacks(key, &before)).collect();
    if !missing.is_empty() {
        lines.push(format!("{at}: keys {missing:?} are missing"));
    }
    if !added.is_empty() {
        lines.push(format!("{at}: keys {added:?} are new"));
    }
    if missing.is_empty() && added.is_empty() && before != after {
        lines.push(format!("{at}: keys in the order {after:?} instead of {before:?}"));
    }
}

mod tests {
    use super::*;

    const GOLDEN: &str =
        r#"{ "event": "step", "run": "<id>", "step": 3, "loss": 5.25, "best": true, "parts": [1, 2] }"#;

    fn differences_of(actual: &str) -> Vec<String> {
        differences(&serde_json::from_str(GOLDEN).unwrap(), &serde_json::from_str(actual).unwrap())
    }

    #[test]
    fn what_is_equal_and_floats_within_the_tolerance_pass() {
        assert_eq!(differences_of(GOLDEN), [""; 0]);
        assert_eq!(differences_of(&GOLDEN.replace("5.25", "5.251")), [""; 0]);
    }

    #[test]
    fn every_change_is_told_with_its_place() {
        for (from, to, place) in [
            ("5.25", "5.28", ".loss: 5.28 instead of 5.25"),
            ("5.25", "5", ".loss: integer 5 instead of float 5.25"),
            ("5.25", "null", ".loss: null null instead of float 5.25"),
            ("\"step\": 3", "\"step\": 4", ".step: 4 instead of 3"),
            ("\"step\": 3", "\"step\": 3.0", ".step: float 3.0 instead of integer 3"),
            ("\"step\": 3", "\"steps\": 3", ": keys [\"step\"] are missing"),
            ("\"best\": true, ", "", ": keys [\"best\"] are missing"),
            ("\"best\"", "\"more\": 1, \"best\"", ": keys [\"more\"] are new"),
            ("true", "false", ".best: false instead of true"),
            ("\"step\",", "\"stepped\",", ".event: \"stepped\" instead of \"step\""),
            ("[1, 2]", "[1, 3]", ".parts[1]: 3 instead of 2"),
            ("[1, 2]", "[1]", ".parts: 1 elements instead of 2"),
            ("\"step\": 3, \"loss\": 5.25", "\"loss\": 5.25, \"step\": 3", ": keys in the order"),
        ] {
            let changed = GOLDEN.replace(from, to);
            assert_ne!(changed, GOLDEN, "{from}");
            let lines = differences_of(&changed);
            assert!(lines.iter().any(|line| line.starts_with(place)), "{from} -> {to}: {lines:?}");
        }
    }
}
