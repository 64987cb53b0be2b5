use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;

use super::{Loaded, load::load_within, load_files};
use crate::{DataError, Progress, Silent, Stage, memory::Room};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }
}

fn gzip(content: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn load(path: &Path, field: Option<&str>, column: Option<&str>) -> Result<Loaded, DataError> {
    load_files(path, field, column, &Silent)
}

/// The documents of one file.
fn read(name: &str, content: impl AsRef<[u8]>, column: Option<&str>) -> Result<Vec<String>, DataError> {
    let folder = Folder::new();
    let path = folder.file(name, content);
    load(&path, None, column).map(|loaded| loaded.documents.iter().map(str::to_owned).collect())
}

/// The message of the error, which ends with the file's name.
fn message(name: &str, content: impl AsRef<[u8]>, column: Option<&str>) -> String {
    let message = read(name, content, column).unwrap_err().to_string();
    assert!(message.ends_with(name), "{message}");
    message
}

#[test]
fn plain_text_is_cut_at_blank_lines() {
    let expected = ["one\ntwo\n", "three\n", "four"];
    assert_eq!(read("a.txt", "\u{feff}one\ntwo\n \t\n\nthree\n\nfour", None).unwrap(), expected);
    assert_eq!(read("a.TXT", "one\r\ntwo\r\n\r\nthree\r\n\r\n\r\nfour", None).unwrap(), expected);
    assert_eq!(read("a.txt.gz", gzip("one\ntwo\n\nthree\n\n\nfour"), None).unwrap(), expected);
    // Only LF ends a line.
    assert_eq!(read("a.txt", "one\u{2028}\u{85}two", None).unwrap(), ["one\u{2028}\u{85}two"]);
}

#[test]
fn articles_stay_whole_in_wiki_text() {
    let text = " \n = First = \n \n Some text . \n \n = = Section = = \n \n a = b \n = Not a title = \n \n = Second = \n \n More . \n";
    let found = read("wiki.txt", text, None).unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("Section") && found[0].contains("Not a title"));
    assert!(found[1].starts_with(" = Second"));
    assert_eq!(found.concat(), text);
}

#[test]
fn json_lines_give_a_field() {
    let text =
        "{\"text\": \"one\\ntwo\", \"n\": 1}\n\n{\"text\": [\"a\", \"b\"]}\r\n{\"text\": null}\n{\"text\": \" \"}\n";
    assert_eq!(read("a.jsonl", text, None).unwrap(), ["one\ntwo", "a b"]);
    let folder = Folder::new();
    let path = folder.file("a.jsonl.gz", gzip("{\"body\": \"x\"}"));
    assert_eq!(load(&path, Some("body"), None).unwrap().documents.get(0), Some("x"));
    let error = load(&path, Some("boddy"), None).unwrap_err().to_string();
    assert!(error.contains("Line 1") && error.contains("Did you mean `body`?"), "{error}");
}

#[test]
fn broken_json_lines_name_the_line() {
    let broken = message("a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"\n", None);
    assert!(broken.contains("Line 2 is not a JSON object"), "{broken}");
    assert!(message("a.jsonl", "{\"text\": \"one\"}\n[1]\n", None).contains("it is a list"));
    assert!(message("a.jsonl", "{\"text\": 5}", None).contains("holds a number"));
    assert!(message("a.jsonl", "{\"text\": [1]}", None).contains("a list of other things"));
    assert!(message("a.jsonl", "{\"txt\": \"x\", \"id\": 1}", None).contains("`id`, `txt`"));
    let twice = message("a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\", \"text\": \"three\"}\n", None);
    assert!(twice.contains("Line 2") && twice.contains("the key \"text\" stands twice"), "{twice}");
}

#[test]
fn tab_separated_text_is_never_quoted() {
    let table = "\u{feff}label\ttext\n1\tsay \"hi\n0\t\"two\" words\"\n";
    let expected = ["say \"hi", "\"two\" words\""];
    assert_eq!(read("a.tsv", table, None).unwrap(), expected);
    assert_eq!(read("a.tsv", table, Some("text")).unwrap(), expected);
    assert_eq!(read("a.tsv", "x\t1\t\tone\r\nx\t0\t*\ttwo", Some("4")).unwrap(), ["one", "two"]);
    assert_eq!(read("a.tsv", "a\u{2028}b\tc", Some("1")).unwrap(), ["a\u{2028}b"]);
}

#[test]
fn comma_separated_text_is_quoted() {
    let table = "id,text\r\n1,\"a, \"\"b\"\"\nc\"\r\n2,plain\r\n";
    assert_eq!(read("a.csv", table, Some("text")).unwrap(), ["a, \"b\"\nc", "plain"]);
    assert_eq!(read("a.csv", "one\ntwo\n", None).unwrap(), ["one", "two"]);
    assert_eq!(read("a.csv", "content\ntwo\n", None).unwrap(), ["content", "two"], "a text like any other");
    assert_eq!(read("a.csv", "content\ntwo\n", Some("content")).unwrap(), ["two"], "named, it is the header");
    let open = message("a.csv", "id,text\n1,fine\n2,\"never closed\n3,lost\n", Some("text"));
    assert!(open.contains("line 3") && open.contains("never closed"), "{open}");
}

#[test]
fn columns_that_are_not_there_are_named() {
    let table = "label\tsentence\n1\tone\n";
    let error = message("a.tsv", table, Some("sentense"));
    assert!(error.contains("Did you mean `sentence`?") && error.contains("`label`, `sentence`"), "{error}");
    assert!(message("a.tsv", table, Some("3")).contains("no column `3`"));
    assert!(message("a.tsv", table, Some("0")).contains("no column `0`"));
    assert_eq!(read("a.tsv", table, None).unwrap(), ["one"], "the only one with a usual name of a text");
    let told = message("a.tsv", "sentence\tlabel\treview\n1\tone\tx\n", None);
    assert!(told.contains("3 columns and none is called `text`"), "{told}");
    assert!(message("a.tsv", "label\tnote\n1\tone\n", None).contains("2 columns and none is called `text`"));
    let short = message("a.tsv", "label\ttext\n1\tone\n2\n", None);
    assert!(short.contains("Line 3 has 1 cells"), "{short}");
}

#[test]
fn what_is_no_text_is_refused() {
    assert!(matches!(read("a.txt", "", None), Err(DataError::Empty { .. })));
    assert!(matches!(read("a.txt", " \n\t\n", None), Err(DataError::Empty { .. })));
    assert!(matches!(read("a.txt", b"PK\x03\0", None), Err(DataError::Binary { offset: 3, .. })));
    assert!(matches!(read("a.txt", b"ab\ncd\xe4\n", None), Err(DataError::NotUtf8 { offset: 5, line: 2, .. })));
    assert!(message("a.txt", b"\xff\xfea\0", None).contains("UTF-16"));
    assert!(matches!(read("a.pdf", "x", None), Err(DataError::UnknownFormat { .. })));
    // Another ending would not make text of it.
    assert!(matches!(read("model.safetensors", b"\x08\0\0{}", None), Err(DataError::Binary { offset: 1, .. })));
    assert!(matches!(read("a.txt.gz", "not gzip", None), Err(DataError::BrokenGzip { .. })));
    let packed = gzip(&"some text\n".repeat(1000));
    assert!(matches!(read("a.txt.gz", &packed[..packed.len() - 20], None), Err(DataError::BrokenGzip { .. })));
    let missing = load(Path::new("/nowhere/a.txt"), None, None).unwrap_err();
    assert!(missing.to_string().ends_with("Check the path: /nowhere/a.txt"), "{missing}");
}

#[test]
fn a_folder_is_read_in_the_order_of_its_paths() {
    let folder = Folder::new();
    folder.file("b.txt", "second");
    folder.file("a/z.jsonl", "{\"text\": \"first\"}");
    folder.file("c.tsv.gz", gzip("text\nthird\n"));
    folder.file("d.txt", "\n");
    folder.file("picture.png", [0; 4]);
    folder.file(".hidden.txt", "hidden");
    let loaded = load(folder.0.path(), None, None).unwrap();
    assert_eq!(loaded.documents.iter().collect::<Vec<_>>(), ["first", "second", "third"]);
    assert_eq!((loaded.files, loaded.skipped_files), (4, 1));
    let useless = Folder::new();
    useless.file("picture.png", [0; 4]);
    let error = load(useless.0.path(), None, None).unwrap_err().to_string();
    assert!(error.contains("(1 other file)"), "{error}");
}

/// Stops at once.
struct Stopped;

impl Progress for Stopped {
    fn report(&self, _: Stage, _: f32) {}
    fn is_stopped(&self) -> bool {
        true
    }
}

#[test]
fn progress_rises_to_one_and_a_stop_ends_it() {
    use std::sync::Mutex;
    let folder = Folder::new();
    folder.file("a.txt", "x".repeat(3 << 20));
    folder.file("b.txt.gz", gzip(&"y".repeat(3 << 20)));
    let seen = Mutex::new(vec![]);
    load_files(folder.0.path(), None, None, &|_, fraction| seen.lock().unwrap().push(fraction)).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() > 6 && seen.is_sorted() && seen.last() == Some(&1.0), "{seen:?}");
    assert!(matches!(load_files(folder.0.path(), None, None, &Stopped), Err(DataError::Stopped)));
}

/// A pipe without a writer would be waited for, a device read for ever.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_by_its_kind() {
    let folder = Folder::new();
    let pipe = folder.0.path().join("pipe.txt");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let link = folder.0.path().join("link.txt.gz");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    for (path, kind) in [(&pipe, "a pipe (FIFO)"), (&link, "a device")] {
        let error = load(path, None, None).unwrap_err();
        assert!(matches!(error, DataError::NoFile { .. }), "{error}");
        assert!(error.to_string().starts_with(&format!("It is {kind}, not a file")), "{error}");
    }
    // In a folder they are passed over.
    folder.file("a.txt", "text");
    let loaded = load(folder.0.path(), None, None).unwrap();
    assert_eq!((loaded.documents.len(), loaded.skipped_files), (1, 2));
}

/// Packed text is counted as it comes: its trailer may say anything.
#[test]
fn packed_text_stops_at_the_memory_that_is_free() {
    const MIB: usize = 1 << 20;
    let folder = Folder::new();
    // The trailer of the last member speaks of one byte.
    let path = folder.file("a.txt.gz", [gzip(&"some words\n".repeat(6 * MIB)), gzip("x")].concat());
    let load = |bytes: usize| load_within(&path, None, None, &Silent, Room::of(bytes as u64));
    let error = load(48 * MIB).unwrap_err();
    let DataError::UnpacksTooLarge { text_bytes, needed_bytes, available_bytes, .. } = &error else {
        panic!("{error}");
    };
    assert!((8 * MIB..=10 * MIB).contains(&(*text_bytes as usize)), "{text_bytes}: it stops at the bound");
    assert_eq!((*needed_bytes, *available_bytes), (6 * text_bytes, 48 << 20));
    let said = error.to_string();
    assert!(said.contains("48.0 MiB are free") && said.ends_with("a.txt.gz"), "{said}");
    assert_eq!(load(6 * 67 * MIB).unwrap().files, 1);
    // What is no text is known by its beginning: no room is needed for the rest.
    let zeros = "\0".repeat(64 * MIB);
    let path = folder.file("zeros.txt.gz", [gzip(&zeros), gzip("x")].concat());
    let error = load_within(&path, None, None, &Silent, Room::of(12 << 20)).unwrap_err();
    assert!(matches!(error, DataError::Binary { offset: 0, .. }), "{error}");
}

#[test]
fn a_single_text_and_one_of_several_have_the_same_documents() {
    for text in ["one\ntwo\n \t\n\nthree\n\nfour", " \n = A = \n \n x . \n \n = B = \n \n y", "a\r\n\r\nb\r\n", "\n\nä"]
    {
        let folder = Folder::new();
        folder.file("1.txt", "before");
        folder.file("2.txt", text);
        let both = load(folder.0.path(), None, None).unwrap().documents;
        let alone = load(&folder.0.path().join("2.txt"), None, None).unwrap().documents;
        assert_eq!(both.iter().skip(1).collect::<Vec<_>>(), alone.iter().collect::<Vec<_>>());
    }
}
