use std::str::FromStr;

use headroom_engine::attention::HeadAt;

/// Whose scores are restored for themselves, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeArg {
    /// All together, which always is.
    Network,
    /// Each layer.
    Layers,
    /// One head.
    Head(HeadAt),
}

impl FromStr for ScopeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "network" => return Ok(Self::Network),
            "layers" => return Ok(Self::Layers),
            _ => {}
        }
        let numbers = text.strip_prefix(['L', 'l']).and_then(|rest| rest.split_once(['H', 'h']));
        let at = numbers.and_then(|(layer, head)| Some(HeadAt::new(layer.parse().ok()?, head.parse().ok()?)));
        at.map(Self::Head).ok_or_else(|| {
            format!("\"{text}\" is no part of a network. Use `network`, `layers`, or a head such as L3H7, both counted from 0.")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_as_people_write_them() {
        assert_eq!("layers".parse(), Ok(ScopeArg::Layers));
        assert_eq!("l3h12".parse(), Ok(ScopeArg::Head(HeadAt::new(3, 12))));
        for wrong in ["", "layer", "L3", "H2", "L-1H0", "3.2"] {
            assert!(wrong.parse::<ScopeArg>().unwrap_err().contains("L3H7"), "{wrong}");
        }
    }
}
