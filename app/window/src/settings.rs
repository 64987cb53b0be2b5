//! What the window remembers between starts: one JSON file beside the store.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use headroom_engine::{config::RunConfig, data::read_text_file, store::RunId};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The largest settings that are read, in bytes.
const LARGEST_FILE: u64 = 16 << 20;

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThemeChoice {
    /// As the desktop says.
    #[default]
    System,
    /// Dark.
    Dark,
    /// Light.
    Light,
}

impl ThemeChoice {
    /// Every choice, in menu order.
    pub const ALL: [Self; 3] = [Self::System, Self::Dark, Self::Light];

    /// The choice in words.
    pub fn label(self) -> &'static str {
        match self {
            Self::System => "As the system",
            Self::Dark => "Dark",
            Self::Light => "Light",
        }
    }
}

/// The form of Configure as it was left, once it was touched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptForm {
    /// The config; none before the first change.
    pub config: Option<RunConfig>,
    /// Where its relative paths start.
    pub base_dir: PathBuf,
}

/// What the window remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Light or dark.
    pub theme: ThemeChoice,
    /// Size of everything, 1.0 = the platform's own.
    pub zoom: f32,
    /// The name of the panel that is open.
    pub panel: String,
    /// Whether the rail shows names.
    pub rail_open: bool,
    /// Whether the inspector is open.
    pub inspector_open: bool,
    /// Runs whose eye was open.
    pub visible: Vec<RunId>,
    /// The tag whose runs alone were shown.
    pub shown_tag: Option<String>,
    /// Their places in the list of colours and dashes.
    pub styles: BTreeMap<RunId, usize>,
    /// The pinned baseline.
    pub baseline: Option<RunId>,
    /// Filters of runs that were kept, by name.
    pub filters: BTreeMap<String, String>,
    /// Runs that were training when the window was closed, until the user was informed.
    pub closed_on: BTreeSet<RunId>,
    /// Interrupted runs that the user was informed of, with the time at which they ended.
    pub told: BTreeMap<RunId, i64>,
    /// Folder that the last file dialog ended in.
    pub last_folder: Option<PathBuf>,
    /// What each panel remembers for itself, by panel; see [`Settings::of_panel`].
    pub panels: BTreeMap<String, serde_json::Value>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: ThemeChoice::default(),
            zoom: 1.0,
            panel: "configure".to_owned(),
            rail_open: true,
            inspector_open: true,
            visible: Vec::new(),
            shown_tag: None,
            styles: BTreeMap::new(),
            baseline: None,
            filters: BTreeMap::new(),
            closed_on: BTreeSet::new(),
            told: BTreeMap::new(),
            last_folder: None,
            panels: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// The name under which the form of Configure is remembered.
    pub const FORM: &str = "configure";

    /// The file beside a store's database.
    pub fn path_beside(store: &Path) -> PathBuf {
        store.with_file_name("window.json")
    }

    /// Reads the file. None yet: the defaults. One that cannot be read: the defaults, the file kept aside with the
    /// ending `.bak`, and a sentence for the user.
    pub fn load(path: &Path) -> (Self, Option<String>) {
        let text = match read_text_file(path, LARGEST_FILE) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (Self::default(), None),
            Err(error) => return (Self::default(), Some(Self::aside(path, &error.to_string()))),
        };
        match serde_json::from_str::<Self>(&text) {
            Ok(settings) => (settings.sane(), None),
            Err(error) => (Self::default(), Some(Self::aside(path, &error.to_string()))),
        }
    }

    fn aside(path: &Path, reason: &str) -> String {
        let mut name = path.as_os_str().to_owned();
        name.push(".bak");
        let backup = PathBuf::from(name);
        let kept = match fs::rename(path, &backup) {
            Ok(()) => format!("The old file was kept as {}", backup.display()),
            Err(error) => format!("The old file could not be kept ({error}): {}", path.display()),
        };
        format!("The window's settings could not be read ({reason}), so it starts with the defaults. {kept}")
    }

    /// Values that an edited file may have put out of range.
    fn sane(mut self) -> Self {
        self.zoom = if self.zoom.is_finite() { self.zoom.clamp(0.5, 3.0) } else { 1.0 };
        self
    }

    /// Writes the file: to a temporary name, then renamed.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        let temporary = path.with_extension("json.tmp");
        fs::write(&temporary, text)?;
        fs::rename(&temporary, path)
    }

    /// What a panel remembers, or its defaults when there is nothing or it cannot be read. `T` should be one
    /// `#[serde(default)]` struct.
    pub fn of_panel<T: DeserializeOwned + Default>(&self, panel: &str) -> T {
        self.panels.get(panel).and_then(|value| T::deserialize(value).ok()).unwrap_or_default()
    }

    /// The form of Configure, if it was touched.
    pub fn form(&self) -> Option<KeptForm> {
        self.panels.contains_key(Self::FORM).then(|| self.of_panel(Self::FORM))
    }

    /// Remembers something for a panel.
    pub fn set_panel<T: Serialize>(&mut self, panel: &str, value: &T) {
        if let Ok(value) = serde_json::to_value(value)
            && self.panels.get(panel) != Some(&value)
        {
            self.panels.insert(panel.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("headroom-settings-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn written_settings_read_back() {
        let folder = folder("round");
        let path = Settings::path_beside(&folder.join("headroom.db"));
        assert_eq!(Settings::load(&path), (Settings::default(), None));
        let mut settings = Settings { theme: ThemeChoice::Dark, zoom: 1.25, ..Settings::default() };
        settings.set_panel("runs", &vec![1, 2]);
        settings.save(&path).unwrap();
        assert_eq!(Settings::load(&path), (settings.clone(), None));
        assert_eq!(settings.of_panel::<Vec<u32>>("runs"), [1, 2]);
        assert_eq!(settings.of_panel::<Vec<u32>>("live"), Vec::<u32>::new());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_unreadable_file_is_kept_aside() {
        let folder = folder("broken");
        let path = folder.join("window.json");
        fs::write(&path, "{ \"zoom\": \"big\" }").unwrap();
        let (settings, message) = Settings::load(&path);
        assert_eq!(settings, Settings::default());
        assert!(message.unwrap().contains("window.json.bak"));
        assert!(!path.exists());
        assert_eq!(fs::read_to_string(folder.join("window.json.bak")).unwrap(), "{ \"zoom\": \"big\" }");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_of_other_versions_are_read_as_far_as_they_go() {
        let folder = folder("other");
        let path = folder.join("window.json");
        fs::write(&path, "{ \"zoom\": 99.0, \"of_tomorrow\": true, \"panel\": \"of_tomorrow\" }").unwrap();
        let (settings, message) = Settings::load(&path);
        assert_eq!((settings.zoom, settings.panel.as_str(), message), (3.0, "of_tomorrow", None));
        fs::remove_dir_all(folder).unwrap();
    }
}
