//! Where the hub and the cache are, and who asks: the variables that other tools of the hub read.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use super::HubError;
use crate::data::read_text_file;

/// Bytes of the longest file of a token.
const LARGEST_TOKEN: u64 = 1 << 16;

/// The hub that is asked where nobody names another one.
const ENDPOINT: &str = "https://huggingface.co";
/// How long the hub may be silent.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a transfer that was cut off goes on before it is given up.
const TRIES: u32 = 5;

/// What proves to the hub who asks. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Takes a token without the space around it; none where nothing is left.
    ///
    /// # Errors
    /// If it holds characters that no header can.
    pub fn parse(text: &str) -> Result<Option<Self>, HubError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        if text.len() > 4096 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(HubError::Settings {
                what: "The token".to_owned(),
                why: "it holds characters that a token cannot have".to_owned(),
                remedy: "Copy it again from the settings of your account on the hub.".to_owned(),
            });
        }
        Ok(Some(Self(text.to_owned())))
    }

    pub(super) fn as_header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Where to ask, where to keep, and who asks.
#[derive(Clone, Debug)]
pub struct HubSettings {
    /// Address of the hub, without a slash at its end.
    pub endpoint: String,
    /// The folder of the cache.
    pub cache: PathBuf,
    /// Who asks; none is a stranger, who sees what is public.
    pub token: Option<Token>,
    /// Nothing is asked; what is in the cache is taken.
    pub is_offline: bool,
    /// How long the hub may be silent.
    pub patience: Duration,
    /// How often a transfer that was cut off goes on, without getting anywhere, before it is given up.
    pub tries: u32,
}

impl HubSettings {
    /// The settings that other tools read too: `HF_ENDPOINT`, `HF_HOME`, `HF_HUB_CACHE`, `HF_TOKEN`, `HF_TOKEN_PATH`,
    /// `HF_HUB_OFFLINE`, `HF_HUB_DOWNLOAD_TIMEOUT`.
    ///
    /// # Errors
    /// If one of them cannot be used, or there is no home folder to be found.
    pub fn from_environment() -> Result<Self, HubError> {
        Self::from_variables(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, HubError> {
        let user_home = || variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from);
        let path = |text: String| match text.strip_prefix("~/").zip(user_home()) {
            Some((rest, home)) => home.join(rest),
            None => PathBuf::from(text),
        };
        let home = variable("HF_HOME").map(path).or_else(|| {
            let caches = variable("XDG_CACHE_HOME").map(path).or_else(|| Some(user_home()?.join(".cache")));
            Some(caches?.join("huggingface"))
        });
        let cache = variable("HF_HUB_CACHE").or_else(|| variable("HUGGINGFACE_HUB_CACHE")).map(path);
        let cache = cache.or_else(|| Some(home.as_ref()?.join("hub"))).ok_or_else(|| HubError::Settings {
            what: "The cache of the hub".to_owned(),
            why: "there is no home folder to be found".to_owned(),
            remedy: "Set HF_HOME to a folder.".to_owned(),
        })?;
        let cache = std::path::absolute(&cache).map_err(HubError::io("find the folder", &cache))?;
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
        let token = match variable("HF_TOKEN").or_else(|| variable("HUGGING_FACE_HUB_TOKEN")) {
            Some(text) => Token::parse(&text)?,
            None if is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN")) => None,
            None => {
                let file = variable("HF_TOKEN_PATH").map(path).or_else(|| Some(home?.join("token")));
                file.map(|file| token_in(&file)).transpose()?.flatten()
            }
        };
        let seconds = variable("HF_HUB_DOWNLOAD_TIMEOUT").and_then(|text| text.trim().parse::<u64>().ok());
        Ok(Self {
            endpoint: checked_endpoint(&endpoint)?,
            cache,
            token,
            is_offline: is_true(variable("HF_HUB_OFFLINE").or_else(|| variable("TRANSFORMERS_OFFLINE"))),
            patience: seconds.filter(|seconds| *seconds > 0).map_or(PATIENCE, Duration::from_secs),
            tries: TRIES,
        })
    }
}

/// As other tools of the hub read switches.
fn is_true(value: Option<String>) -> bool {
    value.is_some_and(|value| ["1", "ON", "YES", "TRUE"].contains(&value.trim().to_ascii_uppercase().as_str()))
}

/// The token that `hf auth login` left.
fn token_in(file: &Path) -> Result<Option<Token>, HubError> {
    match read_text_file(file, LARGEST_TOKEN) {
        Ok(text) => Token::parse(&text),
        // A stranger has none.
        Err(_) => Ok(None),
    }
}

fn checked_endpoint(text: &str) -> Result<String, HubError> {
    let plain = text.trim().trim_end_matches('/');
    let is_address = plain.parse::<ureq::http::Uri>().is_ok_and(|uri| {
        uri.scheme_str().is_some_and(|scheme| ["http", "https"].contains(&scheme))
            && uri.host().is_some_and(|host| !host.is_empty())
            && uri.query().is_none()
    });
    if is_address {
        return Ok(plain.to_owned());
    }
    Err(HubError::Settings {
        what: format!("HF_ENDPOINT (\"{}\")", super::names::shortened(text)),
        why: "it is no address".to_owned(),
        remedy: "Write one such as https://huggingface.co, or unset it.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<HubSettings, HubError> {
        HubSettings::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_variables_of_other_tools_are_read() {
        let plain = settings(&[("HOME", "/home/u")]).unwrap();
        assert_eq!(plain.endpoint, "https://huggingface.co");
        assert_eq!(plain.cache, Path::new("/home/u/.cache/huggingface/hub"));
        assert!(plain.token.is_none() && !plain.is_offline);
        let home = settings(&[("HOME", "/home/u"), ("HF_HOME", "~/hf"), ("HF_HUB_OFFLINE", "yes")]).unwrap();
        assert_eq!(home.cache, Path::new("/home/u/hf/hub"));
        assert!(home.is_offline);
        let all = [
            ("HOME", "/home/u"),
            ("HF_HUB_CACHE", "/c"),
            ("HF_ENDPOINT", "http://127.0.0.1:80/"),
            ("HF_TOKEN", " t\n"),
            ("HF_HUB_DOWNLOAD_TIMEOUT", "3"),
        ];
        let all = settings(&all).unwrap();
        assert_eq!((all.cache.as_path(), all.endpoint.as_str()), (Path::new("/c"), "http://127.0.0.1:80"));
        assert_eq!((all.token.as_ref().unwrap().as_header().as_str(), all.patience.as_secs()), ("Bearer t", 3));
        assert!(!format!("{all:?}").contains("\"t\""), "a token is never printed");
    }

    #[test]
    fn the_file_that_a_login_left_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("token"), "hf_secret\n").unwrap();
        let home = folder.path().to_str().unwrap();
        assert!(settings(&[("HF_HOME", home)]).unwrap().token.is_some());
        assert!(settings(&[("HF_HOME", home), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]).unwrap().token.is_none());
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        for (variables, word) in [
            (&[("HOME", "/h"), ("HF_ENDPOINT", "ftp://x")][..], "HF_ENDPOINT"),
            (&[("HOME", "/h"), ("HF_ENDPOINT", "huggingface.co")], "https://"),
            (&[("HOME", "/h"), ("HF_TOKEN", "a b")], "token"),
            (&[], "HF_HOME"),
        ] {
            let told = settings(variables).unwrap_err().to_string();
            assert!(told.contains(word), "{told}");
        }
    }
}
