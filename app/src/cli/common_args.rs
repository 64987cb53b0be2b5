//! Arguments that several commands share.

use std::ffi::OsStr;

use clap::{
    Arg, Args, Command,
    builder::{PossibleValue, StringValueParser, TypedValueParser},
};
use headroom_engine::config::{DeviceChoice, field_paths};

/// A config and what to change in it.
#[derive(Args, Clone, Debug, Default)]
pub struct ConfigArgs {
    /// A TOML file, a preset's name, or `-` for standard input.
    #[arg(value_name = "CONFIG")]
    pub config: Option<String>,
    /// Replace a field of the config, as in `--set model.layers=4 train.batch=8`. Paths start at the current folder.
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1.., value_parser = OverrideParser, hide_possible_values = true)]
    pub set: Vec<String>,
    /// Replace `seed`.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Replace `name`.
    #[arg(long)]
    pub name: Option<String>,
    /// Replace `device`: `cpu`, `cuda:0`, `metal`.
    #[arg(long)]
    pub device: Option<String>,
    /// Replace `threads`.
    #[arg(long)]
    pub threads: Option<usize>,
    /// Replace `train.steps`.
    #[arg(long)]
    pub steps: Option<u64>,
}

/// Takes any override of a config; shells complete its field.
#[derive(Clone)]
pub(super) struct OverrideParser;

impl TypedValueParser for OverrideParser {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(field_paths().into_iter().map(PossibleValue::new)))
    }
}

impl ConfigArgs {
    /// The shortcuts as overrides.
    pub fn shortcuts(&self) -> Vec<String> {
        let quoted = |text: &String| toml::Value::String(text.clone()).to_string();
        [
            self.seed.map(|seed| format!("seed={seed}")),
            self.name.as_ref().map(|name| format!("name={}", quoted(name))),
            self.device.as_ref().map(|device| format!("device={}", quoted(device))),
            self.threads.map(|threads| format!("threads={threads}")),
            self.steps.map(|steps| format!("train.steps={steps}")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Only how to answer.
#[derive(Args, Debug)]
pub struct JsonArgs {
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// What is asked of devices.
#[derive(Args, Debug)]
pub struct DevicesArgs {
    /// Compare loss and gradients of small models on this device with the processor's in double precision: `cpu`,
    /// `cuda:0`, `metal`.
    #[arg(long, value_name = "DEVICE")]
    pub check: Option<DeviceChoice>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// A share, 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("give a number from 0 to 1".to_owned()),
    }
}
