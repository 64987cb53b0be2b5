//! Hashes and batches of a small example of every kind of data, which never change: runs are compared by them.

use std::path::Path;

use tempfile::TempDir;

use crate::config::DataConfig;
use crate::hash::sha256_hex;
use crate::objective::Objective;
use crate::{Batcher, Corpus, Reading, Silent, preview};

/// Data, their objective, and the first letters of what is pinned: hashes of all data and of the validation set, of the batches of
/// two epochs and of the validation batches, of the same data as another model's validation set, and of the preview.
const PINNED: [(&str, Objective, [&str; 5]); 15] = [
    (
        "kind = 'grammar'\nwords = 3000",
        Objective::NEXT_TOKEN,
        ["a125dbe9975e", "f18561dd954b", "97879c25b6d7", "fa5af6b9a063", "f193ee68331f"],
    ),
    (
        "kind = 'grammar'\nwords = 3000\nshuffled = true",
        Objective::MASKED_TOKENS,
        ["a7a474e097cf", "33ab6f2e8d2f", "352b7e87d9b5", "a0eedc21cded", "f193ee68331f"],
    ),
    (
        "kind = 'random'\nwords = 3000",
        Objective::MASKED_TOKENS,
        ["147b7058bad9", "276e608df6a4", "fe36e7cbad90", "39189ef14b7c", "f193ee68331f"],
    ),
    (
        "kind = 'file'\npath = 'a.txt'",
        Objective::NEXT_TOKEN,
        ["85836e3764ba", "375980825d3b", "ea15e9b96757", "2f23ad97b638", "f193ee68331f"],
    ),
    (
        "kind = 'file'\npath = 'a.csv'\ncolumn = '2'\nvalidation_path = 'b.csv'",
        Objective::NEXT_TOKEN,
        ["5b31bea7060d", "318b119e8fc2", "7b782d75481d", "515c10bc0547", "f193ee68331f"],
    ),
    (
        "kind = 'number_words'\npairs = 1000",
        Objective::TRANSLATION,
        ["fc98ada6cddf", "8de76f303a3a", "a7ee980b03c0", "e804ee969402", "97b8269768d6"],
    ),
    (
        "kind = 'pairs'\nsource = 'a.en'\ntarget = 'a.de'",
        Objective::TRANSLATION,
        ["ac28255ba9a2", "5b6c0b2dd8c0", "3505456d8faf", "ecf1169303c0", "934783854855"],
    ),
    (
        "kind = 'pairs'\npath = 'a.tsv'\ntext = ['text', 'label']\nvalidation_path = 'b.tsv'\nlong = 'truncate'",
        Objective::TRANSLATION,
        ["e7e27523e6af", "85bd6687048f", "aa1701f628b1", "6f965aaadc86", "e028316173b1"],
    ),
    (
        "kind = 'table'\npath = 'a.tsv'",
        Objective::CLASSIFICATION,
        ["245169a420ea", "8b7ca08040cc", "1d5165a71138", "9f3a5bce8723", "a45e7fa0022b"],
    ),
    (
        "kind = 'table'\npath = 'a.csv'\nvalidation_path = 'b.csv'\ntext = ['words', 'more']\nlabel = 0",
        Objective::REGRESSION,
        ["1c07f8819b8d", "724cbf2399af", "86135bb974fd", "001e10a5d1e3", "8a1d9601231d"],
    ),
    (
        "kind = 'squad'\npath = 'a.json'\nvalidation_path = 'b.json'",
        Objective::SPAN,
        ["395878a653ae", "e6a39ed5cde5", "14c4033f5940", "f3485627cf50", "8cb41de1b4dd"],
    ),
    (
        "kind = 'images'\npath = 'a-images-idx3-ubyte'",
        Objective::CLASSIFICATION,
        ["fe25a3614c21", "6bf548bb828c", "dc10449648cc", "e26e8efe4efa", "177e79cb7149"],
    ),
    (
        "kind = 'images'\npath = 'a-images-idx3-ubyte'\nvalidation_path = 'b-images-idx3-ubyte'",
        Objective::CLASSIFICATION,
        ["04c718bc5c53", "bc01ac1cafdd", "6b371063d47c", "4c88bbd480ce", "177e79cb7149"],
    ),
    (
        "kind = 'pathfinder'\nexamples = 100\nvalidation_examples = 10",
        Objective::CLASSIFICATION,
        ["4d5ab581228a", "985359bbdaf9", "c21e4c9f8e7b", "42d5ec0edfd0", "864f131d67d2"],
    ),
    (
        "kind = 'listops'\nmin_length = 5\nmax_length = 40\nexamples = 100\nvalidation_examples = 10",
        Objective::CLASSIFICATION,
        ["b49df9ccc96f", "df26d80f852d", "d46b3f00f625", "96771086ef8e", "ef37a1fd5b20"],
    ),
];

fn idx(dimensions: &[u32], content: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, dimensions.len() as u8];
    for size in dimensions {
        bytes.extend(size.to_be_bytes());
    }
    bytes.extend(content.into_iter().map(|value| (value % 256) as u8));
    bytes
}

/// Small files of every kind, to train on (a) and held out (b).
fn write_files(folder: &Path) {
    let write = |name: &str, content: &[u8]| std::fs::write(folder.join(name), content).unwrap();
    for (part, first) in [("a", 0_u32), ("b", 200)] {
        let numbers = || first..first + 120;
        let lines = |line: &dyn Fn(u32) -> String| numbers().map(line).collect::<String>();
        write(&format!("{part}.txt"), lines(&|n| format!("the cat {n} sat on mat {}\n\n", n * 7)).as_bytes());
        write(&format!("{part}.en"), lines(&|n| format!("number {n}\n")).as_bytes());
        write(&format!("{part}.de"), lines(&|n| format!("die Nummer {n}, nicht {}\n", n * 3)).as_bytes());
        let rows = lines(&|n| format!("row {n} of many\tclass {}\n", n % 3));
        write(&format!("{part}.tsv"), format!("text\tlabel\n{rows}").as_bytes());
        let rows = lines(&|n| format!("{}.5,some words {n},more of {}\n", n % 7, n * 5));
        write(&format!("{part}.csv"), format!("number,words,more\n{rows}").as_bytes());
        let asked = |n: u32| {
            let answers = if n.is_multiple_of(5) { "[]" } else { "[{\"text\": \"Ann\", \"answer_start\": 8}]" };
            let question =
                format!("\"id\": \"{n}\", \"question\": \"Who {n}?\", \"is_impossible\": {}", n.is_multiple_of(5));
            let context = format!("Here is Ann {n}, who naps{}.", " in the old garden".repeat(5));
            format!("{{\"context\": \"{context}\", \"qas\": [{{{question}, \"answers\": {answers}}}]}}")
        };
        let paragraphs: Vec<String> = numbers().map(asked).collect();
        let all = format!(
            "{{\"version\": \"v2.0\", \"data\": [{{\"title\": \"t\", \"paragraphs\": [{}]}}]}}",
            paragraphs.join(",")
        );
        write(&format!("{part}.json"), all.as_bytes());
        let pixels = numbers().flat_map(|image| (0..64).map(move |at| image * 31 + at * 7));
        write(&format!("{part}-images-idx3-ubyte"), &idx(&[120, 8, 8], pixels));
        write(&format!("{part}-labels-idx1-ubyte"), &idx(&[120], numbers().map(|image| image % 3)));
    }
}

fn pins(written: &str, objective: &Objective, folder: &Path) -> [String; 5] {
    let mut config: DataConfig = toml::from_str(written).unwrap();
    let has_text = !config.source.has_own_tokens();
    if has_text {
        config.tokenizer = toml::from_str("kind = 'bytes'").unwrap();
    }
    config.sequence_length = if config.source.has_images() { 5 } else { 48 };
    let corpus = Corpus::load(&config, objective, folder, &folder.join("cache"), &Silent).unwrap();
    let batcher = Batcher::new(&corpus, objective, 4, config.sequence_length, 7).unwrap();
    let mut batches: Vec<String> =
        (0..2 * batcher.steps_per_epoch()).map(|step| format!("{:?}", batcher.train_batch(step))).collect();
    batches.extend(batcher.validation_batches(usize::MAX).map(|batch| format!("{batch:?}")));
    batches.push(format!("{:?} {:?} {:?}", corpus.statistics, corpus.left_out, corpus.warnings));
    let (reading, labels) = (Reading::default(), corpus.labels());
    let other = if let Some(images) = corpus.images() {
        let (labels, shape) = ((labels.unwrap(), &reading), (images.shape, &images.normalisation));
        Corpus::load_held_out_images(&config.source, labels, shape, folder, &Silent)
    } else {
        let tokenizer = corpus.tokenizer.clone();
        Corpus::load_held_out(&config.source, tokenizer, objective, (labels, &reading), folder, &Silent)
    };
    let other = other.unwrap();
    let found = preview(&config.clone().anchored(folder), objective, &Reading::default()).unwrap();
    // Paths of a folder that is another one each time.
    let without_folder = |text: String| text.replace(&folder.display().to_string(), "");
    let short = |text: String| sha256_hex([without_folder(text).as_bytes()])[..12].to_owned();
    let seen = format!("{} {:?} {} {:?}", other.held_out_hash, other.statistics, other.left_out, other.warnings);
    [
        corpus.data_hash[..12].to_owned(),
        corpus.held_out_hash[..12].to_owned(),
        short(batches.join("\n")),
        short(seen),
        short(format!("{found:?}")),
    ]
}

#[test]
fn hashes_and_batches_of_every_kind_of_data_stay_as_they_are() {
    let folder = TempDir::new().unwrap();
    write_files(folder.path());
    let mut others = Vec::new();
    for (written, objective, pinned) in PINNED {
        let found = pins(written, &objective, folder.path());
        if found != pinned {
            others.push(format!("{written:?}: {found:?}"));
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}
