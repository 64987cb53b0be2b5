use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Where a run computes, written `"cpu"`, `"cuda:0"` or `"metal"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceChoice {
    /// The processor.
    #[default]
    Cpu,
    /// The NVIDIA GPU with this ordinal.
    Cuda(usize),
    /// The Apple GPU with this ordinal.
    Metal(usize),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, ordinal) = match text.split_once(':') {
            Some((kind, ordinal)) => (kind, ordinal.parse::<usize>().ok()),
            None => (text, Some(0)),
        };
        match (kind, ordinal) {
            ("cpu", Some(0)) if !text.contains(':') => Ok(Self::Cpu),
            ("cuda", Some(ordinal)) => Ok(Self::Cuda(ordinal)),
            ("metal", Some(ordinal)) => Ok(Self::Metal(ordinal)),
            _ => Err(format!("Unknown device \"{text}\". Use \"cpu\", \"cuda:0\" (or another number) or \"metal\".")),
        }
    }
}

impl TryFrom<String> for DeviceChoice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<DeviceChoice> for String {
    fn from(device: DeviceChoice) -> Self {
        device.to_string()
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::Metal(0) => f.write_str("metal"),
            Self::Metal(ordinal) => write!(f, "metal:{ordinal}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DeviceChoice;

    #[test]
    fn reads_what_it_writes() {
        for text in ["cpu", "cuda:0", "cuda:3", "metal"] {
            let device: DeviceChoice = text.parse().unwrap();
            assert_eq!(device.to_string(), text);
        }
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        for text in ["gpu", "cuda:x", "", "cpu:1"] {
            assert!(text.parse::<DeviceChoice>().unwrap_err().contains("Use \"cpu\""), "{text}");
        }
    }
}
