//! Fonts of the machine, for characters that the program's own fonts lack: names in Chinese, Hangul or Thai.
//!
//! Nothing is read until such a character is to be drawn. Then a thread of its own looks through the installed font
//! files, the likeliest first, and the text is laid out anew once one is found. Where none is found, all stays as it is.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crossbeam_channel::{Receiver, Sender, bounded};
use egui::{
    Context, FallbackRequest, FontData, FontInsert, FontPriority, FontProvider, epaint::text::InsertFontFamily,
};
use skrifa::{FontRef, MetadataProvider as _, Tag, raw::TableProvider as _};

/// Characters that may wait to be looked for; more are looked for when they are drawn again.
const WAITING: usize = 1024;
/// How long the thread gathers characters before it looks for them together.
const GATHER: Duration = Duration::from_millis(30);
/// Larger files are no fonts that anybody reads text in.
const LARGEST: u64 = 64 << 20;
/// Folders inside folders.
const DEEPEST: usize = 6;

/// Parts of the names of font files that hold many characters, the best first.
const LIKELY: [&str; 24] = [
    "notosanscjk",
    "sourcehansans",
    "notosanssc",
    "notosansjp",
    "notosanskr",
    "pingfang",
    "hiragino",
    "applesdgothic",
    "stheiti",
    "msyh",
    "yugoth",
    "meiryo",
    "malgun",
    "simsun",
    "wqy",
    "droidsansfallback",
    "arialuni",
    "arial unicode",
    "seguisym",
    "symbola",
    "notosans-",
    "dejavusans",
    "freesans",
    "unifont",
];

/// Signs of a face that is not for running text.
const UNLIKELY: [&str; 10] =
    ["bold", "italic", "oblique", "black", "thin", "light", "heavy", "condensed", "mono", "serif"];

/// Lets the window draw characters from the machine's fonts.
pub fn install(ctx: &Context) {
    install_from(ctx, folders());
}

fn install_from(ctx: &Context, folders: Vec<PathBuf>) {
    let (wanted, asked) = bounded(WAITING);
    let fonts = Arc::new(SystemFonts { found: Mutex::default(), asked: Mutex::default(), wanted });
    let (there, waking) = (Arc::clone(&fonts), ctx.clone());
    let thread = std::thread::Builder::new()
        .name("headroom-fonts".to_owned())
        .spawn(move || look(&there, &asked, &waking, &folders));
    if thread.is_ok() {
        ctx.add_font_provider(fonts);
    }
}

/// What egui asks for characters that no font of its own has.
struct SystemFonts {
    /// Fonts that were found, each with a name of its own.
    found: Mutex<Vec<(String, FontData)>>,
    asked: Mutex<HashSet<char>>,
    wanted: Sender<char>,
}

impl FontProvider for SystemFonts {
    fn font_for(&self, request: &FallbackRequest<'_>) -> Option<FontInsert> {
        let letter = request.cluster.chars().next()?;
        let found = locked(&self.found);
        let font = found.iter().find(|(_, font)| has_letter(font, letter));
        if let Some((name, font)) = font {
            let family = InsertFontFamily { family: request.family.clone(), priority: FontPriority::Lowest };
            return Some(FontInsert::new(name, font.clone(), vec![family]));
        }
        if !is_private(letter) && locked(&self.asked).insert(letter) && self.wanted.try_send(letter).is_err() {
            locked(&self.asked).remove(&letter);
        }
        None
    }
}

/// What a model that writes bytes makes, and icons: no font of the machine means anything by these.
fn is_private(letter: char) -> bool {
    matches!(letter, '\u{fffd}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What it guards is whole at any time.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn has_letter(font: &FontData, letter: char) -> bool {
    let bytes: &[u8] = font.font.as_ref().as_ref();
    FontRef::from_index(bytes, font.index).is_ok_and(|font| font.charmap().map(letter).is_some())
}

/// The thread: takes characters and finds fonts for them, until the window is gone.
fn look(fonts: &Arc<SystemFonts>, asked: &Receiver<char>, ctx: &Context, folders: &[PathBuf]) {
    let mut files: Option<Vec<File>> = None;
    while let Ok(first) = asked.recv() {
        let mut letters = vec![first];
        while let Ok(more) = asked.recv_timeout(GATHER) {
            letters.push(more);
        }
        let files = files.get_or_insert_with(|| font_files(folders));
        let mut is_new = false;
        for letter in letters {
            if locked(&fonts.found).iter().any(|(_, font)| has_letter(font, letter)) {
                is_new = true;
            } else if let Some(font) = files.iter_mut().find_map(|file| file.load_for(letter)) {
                locked(&fonts.found).push(font);
                is_new = true;
            }
        }
        if is_new {
            // Whatever was laid out without a font is laid out again.
            let provider: Arc<dyn FontProvider> = Arc::<SystemFonts>::clone(fonts);
            ctx.set_font_providers(vec![provider]);
        }
    }
}

/// A font file, and which characters it has once that was read.
struct File {
    path: PathBuf,
    letters: Option<BTreeMap<u32, u32>>,
}

impl File {
    /// The font, if it has the letter.
    fn load_for(&mut self, letter: char) -> Option<(String, FontData)> {
        let mut bytes = None;
        if self.letters.is_none() {
            bytes = fs::read(&self.path).ok();
            self.letters = Some(bytes.as_deref().map(ranges).unwrap_or_default());
        }
        let (_, &last) = self.letters.as_ref()?.range(..=u32::from(letter)).next_back()?;
        if last < u32::from(letter) {
            return None;
        }
        let bytes = bytes.or_else(|| fs::read(&self.path).ok())?;
        Some((self.path.display().to_string(), FontData::from_owned(bytes)))
    }
}

/// The characters of a font that can be drawn as outlines, as ranges from first to last; none of one that has pictures
/// only, or that cannot be read.
fn ranges(bytes: &[u8]) -> BTreeMap<u32, u32> {
    let Ok(font) = FontRef::from_index(bytes, 0) else { return BTreeMap::new() };
    let has = |tag: &[u8; 4]| font.data_for_tag(Tag::new(tag)).is_some();
    if !(has(b"glyf") || has(b"CFF ") || has(b"CFF2")) {
        return BTreeMap::new();
    }
    let mut letters: Vec<u32> = font.charmap().mappings().map(|(letter, _)| letter).collect();
    letters.sort_unstable();
    let mut ranges = BTreeMap::new();
    let mut current: Option<(u32, u32)> = None;
    for letter in letters {
        current = match current {
            Some((first, last)) if letter <= last + 1 => Some((first, letter)),
            Some((first, last)) => {
                ranges.insert(first, last);
                Some((letter, letter))
            }
            None => Some((letter, letter)),
        };
    }
    ranges.extend(current);
    ranges
}

/// Font files in these folders, the likeliest first.
fn font_files(folders: &[PathBuf]) -> Vec<File> {
    let mut found: Vec<(usize, PathBuf)> = Vec::new();
    for folder in folders {
        gather(folder, 0, &mut found);
    }
    found.sort();
    found.dedup();
    found.into_iter().map(|(_, path)| File { path, letters: None }).collect()
}

fn gather(folder: &Path, depth: usize, found: &mut Vec<(usize, PathBuf)>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.is_dir() && depth < DEEPEST {
            gather(&path, depth + 1, found);
        } else if metadata.is_file()
            && metadata.len() <= LARGEST
            && let Some(rank) = rank(&path)
        {
            found.push((rank, path));
        }
    }
}

/// How late a file is looked into; none for what is no font file.
fn rank(path: &Path) -> Option<usize> {
    let ending = path.extension()?.to_string_lossy().to_lowercase();
    if !["ttf", "otf", "ttc", "otc"].contains(&ending.as_str()) {
        return None;
    }
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let likely = LIKELY.iter().position(|part| name.contains(part)).unwrap_or(LIKELY.len());
    let is_odd = UNLIKELY.iter().any(|part| name.contains(part));
    Some(likely + if is_odd { LIKELY.len() + 1 } else { 0 })
}

/// Where this system keeps fonts.
fn folders() -> Vec<PathBuf> {
    let of = |variable: &str, rest: &str| {
        let value = std::env::var_os(variable).filter(|value| !value.is_empty());
        value.map(|value| PathBuf::from(value).join(rest))
    };
    let found = if cfg!(windows) {
        vec![of("WINDIR", "Fonts"), of("LOCALAPPDATA", "Microsoft/Windows/Fonts")]
    } else if cfg!(target_os = "macos") {
        vec![Some("/System/Library/Fonts".into()), Some("/Library/Fonts".into()), of("HOME", "Library/Fonts")]
    } else {
        vec![
            of("XDG_DATA_HOME", "fonts").or_else(|| of("HOME", ".local/share/fonts")),
            of("HOME", ".fonts"),
            Some("/usr/local/share/fonts".into()),
            Some("/usr/share/fonts".into()),
        ]
    };
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use egui::{FontDefinitions, FontFamily, FontId, RawInput};

    use super::*;

    /// In one of the program's own fonts and not in the other.
    const LETTER: char = 'Ə';

    fn context_with_one_font() -> Context {
        let ctx = Context::default();
        let mut definitions = FontDefinitions::default();
        for names in definitions.families.values_mut() {
            names.retain(|name| name == "Hack");
        }
        for family in [FontFamily::Proportional, FontFamily::Monospace] {
            definitions.families.insert(family, vec!["Hack".to_owned()]);
        }
        ctx.set_fonts(definitions);
        ctx
    }

    fn can_draw(ctx: &Context, letter: char) -> bool {
        let mut can = false;
        let mut output = ctx.run_ui(RawInput::default(), |ui| {
            can = ui.fonts_mut(|fonts| fonts.has_glyph(&FontId::proportional(14.0), letter));
        });
        output.textures_delta.clear();
        can
    }

    #[test]
    fn a_letter_that_is_missing_comes_from_a_font_of_the_machine() {
        let folder = std::env::temp_dir().join(format!("headroom-fonts-{}", std::process::id()));
        fs::create_dir_all(folder.join("deeper")).unwrap();
        fs::write(folder.join("broken.ttf"), b"no font").unwrap();
        let known = FontDefinitions::default();
        let font: &[u8] = known.font_data["Ubuntu-Light"].font.as_ref().as_ref();
        fs::write(folder.join("deeper/Some Sans.ttf"), font).unwrap();
        let ctx = context_with_one_font();
        assert!(!can_draw(&ctx, LETTER));
        install_from(&ctx, vec![folder.clone(), folder.join("none")]);
        let start = Instant::now();
        while !can_draw(&ctx, LETTER) {
            assert!(start.elapsed() < Duration::from_secs(30), "it was not found");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!can_draw(&ctx, '한'), "no font here has it");
        assert!(can_draw(&ctx, 'a'));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn likely_files_come_first_and_others_than_fonts_never() {
        let rank = |name: &str| rank(Path::new(name));
        assert_eq!(rank("/usr/share/fonts/readme.txt"), None);
        assert!(rank("NotoSansCJK-Regular.ttc") < rank("wqy-microhei.ttc"));
        assert!(rank("DejaVuSans.ttf") < rank("Lato-Regular.ttf"));
        assert!(rank("Lato-Regular.ttf") < rank("NotoSansCJK-Bold.ttc"));
    }
}
