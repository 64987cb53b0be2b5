use candle_core::Device;
use serde::Serialize;

use crate::{config::DeviceChoice, data::memory};

/// A device on which a run can compute.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceInfo {
    /// The name in the config, such as `cpu` or `cuda:0`.
    pub id: String,
    /// What it is, in words.
    pub name: String,
    /// Whether a run can be started on it.
    pub available: bool,
    /// Why it cannot be used, or what else to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its memory, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Free memory, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// Cores of a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<usize>,
}

/// Every device that this build knows of.
pub fn devices() -> Vec<DeviceInfo> {
    let machine = crate::store::Machine::current();
    let mut found = vec![DeviceInfo {
        id: "cpu".to_owned(),
        name: if machine.cpu.is_empty() { "processor".to_owned() } else { machine.cpu },
        available: true,
        note: None,
        memory_bytes: memory::total_bytes(),
        free_bytes: memory::free_bytes(),
        cores: Some(cores()),
    }];
    found.extend(gpu("cuda", "NVIDIA GPU", cfg!(feature = "cuda"), DeviceChoice::Cuda));
    if cfg!(target_os = "macos") {
        found.extend(gpu("metal", "Apple GPU", cfg!(feature = "metal"), DeviceChoice::Metal));
    }
    found
}

fn gpu(feature: &str, words: &str, built: bool, choice: fn(usize) -> DeviceChoice) -> Vec<DeviceInfo> {
    let absent = |note: String| DeviceInfo {
        id: choice(0).to_string(),
        name: words.to_owned(),
        available: false,
        note: Some(note),
        memory_bytes: None,
        free_bytes: None,
        cores: None,
    };
    if !built {
        return vec![absent(format!(
            "This program was built without it. Build with `cargo build --release --features {feature}`."
        ))];
    }
    let present: Vec<_> = (0..16)
        .map_while(|ordinal| open(choice(ordinal)).ok().map(|_| ordinal))
        .map(|ordinal| DeviceInfo {
            id: choice(ordinal).to_string(),
            available: true,
            note: None,
            ..absent(String::new())
        })
        .collect();
    if present.is_empty() { vec![absent("None was found on this machine.".to_owned())] } else { present }
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Opens a device, or says in words why it cannot be had.
pub fn open(choice: DeviceChoice) -> Result<Device, String> {
    match choice {
        DeviceChoice::Cpu => Ok(Device::Cpu),
        DeviceChoice::Cuda(ordinal) if cfg!(feature = "cuda") => Device::new_cuda_with_stream(ordinal)
            .map_err(|_| format!("There is no NVIDIA GPU {ordinal} on this machine, or its driver does not answer.")),
        DeviceChoice::Cuda(_) => Err("This program was built without NVIDIA support.".to_owned()),
        DeviceChoice::Metal(ordinal) if cfg!(feature = "metal") => {
            Device::new_metal(ordinal).map_err(|_| format!("There is no Apple GPU {ordinal} on this machine."))
        }
        DeviceChoice::Metal(_) => Err("This program was built without Apple GPU support.".to_owned()),
    }
}
