use std::path::Path;

use super::value::Json;

/// Events that tell how far a job is. How many come depends on time, so that a golden holds only their shapes.
const PROGRESS: [&str; 12] = [
    "analysing",
    "converting",
    "fetching",
    "generating",
    "measuring",
    "predicting",
    "preparing",
    "proving_caches",
    "pushing",
    "step",
    "system",
    "translating",
];

/// Endings of keys that hold times and rates.
const TIMES: [&str; 6] = ["_ms", "_per_sec", "_secs", "seconds", "secs", "times"];

/// Keys that hold memory or processors, as they are in use.
const USE: [&str; 8] = [
    "cpu_percent",
    "free_bytes",
    "machine_free_bytes",
    "memory_source",
    "peak_memory_bytes",
    "program_memory_bytes",
    "share_of_product_rate",
    "system/peak_memory_bytes",
];

/// Keys of facts about the machine and the build, which may be unknown.
const FACTS: [&str; 9] =
    ["cores", "cpu", "device_name", "driver", "git_commit", "git_dirty", "os", "program_version", "version"];

/// Keys that are there on some machines and at some times: energy, other programs' load, and what is read once a second.
const SOMETIMES: [&str; 4] = ["others_cores", "step_joules", "system/cpu_percent", "system/memory_bytes"];

/// Keys whose texts are kept although they hold blanks: names, labels and tokens, which are no sentences.
const WORDS: [&str; 11] =
    ["columns", "label", "name", "pieces", "predicted", "right", "rows", "source", "texts", "tokens", "unit"];

/// Longest list of numbers or words that is kept whole, and the length that a longer one is cut to.
const LONG: usize = 24;
const KEPT: usize = 8;

/// Parts of an answer that differ from one process or machine to the next, each replaced by what it is.
pub struct Masks {
    /// Folders of the test, by every name that they have.
    folders: Vec<String>,
    /// Address of the hub on loopback.
    hub: Option<String>,
}

impl Masks {
    pub fn new(folder: &Path) -> Self {
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let folders =
            [whole.as_path(), folder].map(|folder| folder.to_string_lossy().trim_end_matches('/').to_owned()).into();
        Self { folders, hub: None }
    }

    /// Masks the address of a hub on loopback.
    pub fn hide_hub(&mut self, address: &str) {
        self.hub = Some(address.to_owned());
    }

    /// The value with every number replaced by its type.
    pub fn without_numbers(value: Json) -> Json {
        match value {
            Json::List(items) => Json::List(items.into_iter().map(Self::without_numbers).collect()),
            Json::Object(fields) => {
                Json::Object(fields.into_iter().map(|(key, value)| (key, Self::without_numbers(value))).collect())
            }
            Json::Integer(_) | Json::Float(_) => Json::Text(format!("<{}>", value.kind())),
            // A path to a checkpoint ends in its step.
            Json::Text(text) => Json::Text(text.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_owned()),
            other => other,
        }
    }

    /// The value with long lists of numbers or words cut off, and their lengths.
    pub fn shortened(value: Json) -> Json {
        match value {
            Json::List(mut items) => {
                let is_flat = !items.iter().any(|item| matches!(item, Json::List(_) | Json::Object(_)));
                if is_flat && items.len() > LONG {
                    let more = items.len() - KEPT;
                    items.truncate(KEPT);
                    items.push(Json::Text(format!("<{more} more>")));
                }
                Json::List(items.into_iter().map(Self::shortened).collect())
            }
            Json::Object(fields) => {
                Json::Object(fields.into_iter().map(|(key, value)| (key, Self::shortened(value))).collect())
            }
            other => other,
        }
    }

    /// Returns true for an event that tells how far a job is.
    pub fn is_progress(value: &Json) -> bool {
        value.get("event").and_then(Json::as_text).is_some_and(|name| PROGRESS.contains(&name))
    }

    /// The shape of an event of progress: its keys in their order, each with its type; only its name stays.
    pub fn shape(value: &Json) -> Json {
        match value {
            Json::Object(fields) => {
                let shape = |(key, value): &(String, Json)| {
                    let shape = if key == "event" { value.clone() } else { Self::shape(value) };
                    (key.clone(), shape)
                };
                Json::Object(fields.iter().map(shape).collect())
            }
            other => Json::Text(format!("<{}>", other.kind())),
        }
    }

    /// The value with every part replaced that differs from one process or machine to the next.
    pub fn masked(&self, value: Json) -> Json {
        self.masked_at("", value)
    }

    fn masked_at(&self, key: &str, value: Json) -> Json {
        if FACTS.contains(&key) {
            return Json::Text("<fact>".to_owned());
        }
        if let Some(mask) = number_mask(key) {
            return match value {
                Json::Integer(_) | Json::Float(_) => Json::Text(mask.to_owned()),
                Json::List(_) | Json::Object(_) => without_values(value, mask),
                other => other,
            };
        }
        match value {
            // How many there are depends on what else the machine did.
            Json::List(_) if key == "warnings" => Json::Text("<warnings>".to_owned()),
            Json::Object(fields) if key == "warnings" => {
                Json::Object(fields.into_iter().map(|(side, list)| (side, self.masked_at(key, list))).collect())
            }
            Json::List(items) => Json::List(items.into_iter().map(|item| self.masked_at(key, item)).collect()),
            Json::Object(fields) => self.fields(fields),
            Json::Text(text) => Json::Text(self.text(key, &text)),
            other => other,
        }
    }

    fn fields(&self, mut fields: Vec<(String, Json)>) -> Json {
        fields.retain(|(key, _)| !SOMETIMES.contains(&key.as_str()));
        let has = |key: &str| fields.iter().any(|(name, _)| name == key);
        // The sizes of files that hold paths, times and versions; those of operations and of downloads are exact.
        let is_size_exact = ["downloaded", "bytes_here", "flops"].into_iter().any(has);
        let is_device = has("available");
        let is_fact = |key: &str| is_device && ["memory_bytes", "name", "note"].contains(&key);
        let is_measured = fields.iter().any(|(key, value)| {
            key == "what"
                && value.as_text().is_some_and(|what| what.starts_with("Time of") || what.starts_with("Peak memory"))
        });
        let field = |(key, value): (String, Json)| {
            let is_number = matches!(value, Json::Integer(_) | Json::Float(_));
            let value = match key.as_str() {
                "bytes" | "sent" if is_number && !is_size_exact => Json::Text("<size>".to_owned()),
                // The model of the processor, beside `cpu` in a config.
                "device" if value.as_text().is_some_and(|device| device != "cpu") => Json::Text("<fact>".to_owned()),
                key if is_fact(key) => Json::Text("<fact>".to_owned()),
                _ if is_number && is_measured => Json::Text("<measured>".to_owned()),
                _ => self.masked_at(&key, value),
            };
            (self.text("name", &key), value)
        };
        Json::Object(fields.into_iter().map(field).collect())
    }

    fn text(&self, key: &str, text: &str) -> String {
        let mut text = text.to_owned();
        for folder in &self.folders {
            text = text.replace(folder, "<folder>");
        }
        if let Some(hub) = &self.hub {
            text = text.replace(hub, "<hub>");
        }
        if text.contains(char::is_whitespace) && !WORDS.contains(&key) {
            return "<sentence>".to_owned();
        }
        text.split('/').map(part).collect::<Vec<_>>().join("/")
    }
}

/// A value of which keys and lengths stay.
fn without_values(value: Json, mask: &str) -> Json {
    match value {
        Json::List(items) => Json::List(items.into_iter().map(|item| without_values(item, mask)).collect()),
        Json::Object(fields) => {
            Json::Object(fields.into_iter().map(|(key, value)| (key, without_values(value, mask))).collect())
        }
        _ => Json::Text(mask.to_owned()),
    }
}

/// A part of a path, or a whole text, without ids and hashes.
fn part(text: &str) -> &str {
    if is_id(text) {
        "<id>"
    } else if is_hash(text) {
        "<hash>"
    } else {
        text
    }
}

/// Ids of runs, analyses and benchmarks count milliseconds in base 32: ten letters and digits, the first of which stays a digit for
/// years.
fn is_id(text: &str) -> bool {
    text.len() == 10
        && text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(|letter| letter.is_ascii_digit() || letter.is_ascii_lowercase())
}

fn is_hash(text: &str) -> bool {
    text.len() >= 32 && text.chars().all(|letter| letter.is_ascii_digit() || ('a'..='f').contains(&letter))
}

fn number_mask(key: &str) -> Option<&'static str> {
    if USE.contains(&key) {
        Some("<use>")
    } else {
        TIMES.iter().any(|ending| key.ends_with(ending)).then_some("<time>")
    }
}
