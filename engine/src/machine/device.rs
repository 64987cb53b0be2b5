use candle_core::Device;
use serde::{Deserialize, Serialize};

use super::gpu::{self, Gpu};
use crate::{
    config::{DeviceChoice, RunConfig},
    data::memory,
    model::{ModelError, open_device, open_device_of},
    ops::multiplies_pairs,
    store::MeasuredDevice,
    train::free_memory,
};

/// A device on which a run can compute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Version of a GPU's driver, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

/// Every device that this build knows of.
pub fn devices() -> Vec<DeviceInfo> {
    let machine = crate::store::Machine::current();
    let mut found = vec![DeviceInfo {
        id: "cpu".to_owned(),
        name: if machine.cpu.is_empty() { "processor".to_owned() } else { machine.cpu },
        available: true,
        note: Some(bf16_words().to_owned()),
        memory_bytes: memory::total_bytes(),
        free_bytes: memory::free_bytes(),
        cores: Some(cores()),
        driver: None,
    }];
    let gpus = gpu::gpus();
    found.extend(kind(&gpus, DeviceChoice::Cuda(0), "NVIDIA GPU", "cuda", cfg!(feature = "cuda")));
    if cfg!(target_os = "macos") {
        found.extend(kind(&gpus, DeviceChoice::Metal(0), "Apple GPU", "metal", cfg!(feature = "metal")));
    }
    found
}

/// What `precision = "bf16"` is on this processor.
fn bf16_words() -> &'static str {
    if multiplies_pairs() {
        "in bf16 it multiplies pairs of rounded numbers and adds them in 32 bits, in about half the time of f32"
    } else {
        "it does not multiply bf16: products are those of f32 there, as fast as in f32"
    }
}

/// The GPUs of the kind of `first`, or why there is none.
fn kind(gpus: &[Gpu], first: DeviceChoice, words: &str, feature: &str, is_built: bool) -> Vec<DeviceInfo> {
    let same = |choice: DeviceChoice| std::mem::discriminant(&choice) == std::mem::discriminant(&first);
    let present: Vec<DeviceInfo> = gpus
        .iter()
        .filter(|gpu| same(gpu.choice))
        .map(|gpu| DeviceInfo {
            id: gpu.choice.to_string(),
            name: gpu.name.clone(),
            available: true,
            note: None,
            memory_bytes: gpu.memory_bytes,
            free_bytes: gpu.free_bytes,
            cores: None,
            driver: gpu.driver.clone(),
        })
        .collect();
    if !present.is_empty() {
        return present;
    }
    let note = if is_built {
        "None was found on this machine.".to_owned()
    } else {
        format!("This program was built without it. Build with `cargo build --release --features {feature}`.")
    };
    vec![DeviceInfo {
        id: first.to_string(),
        name: words.to_owned(),
        available: false,
        note: Some(note),
        memory_bytes: None,
        free_bytes: None,
        cores: None,
        driver: None,
    }]
}

/// What a measurement says of the device that it is made on; nothing of one that is not there.
pub(crate) fn measured_device(choice: DeviceChoice) -> MeasuredDevice {
    if choice == DeviceChoice::Cpu {
        return MeasuredDevice::default();
    }
    let gpu = gpu::gpus().into_iter().find(|gpu| gpu.choice == choice);
    MeasuredDevice { name: gpu.as_ref().map(|gpu| gpu.name.clone()), driver: gpu.and_then(|gpu| gpu.driver) }
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Free memory of a device, where known, or in words why the device cannot be had. Takes nothing of a GPU that is there.
pub fn free_bytes(choice: DeviceChoice) -> Result<Option<u64>, String> {
    match (choice, gpu::gpus().into_iter().find(|gpu| gpu.choice == choice)) {
        (DeviceChoice::Cpu, _) => Ok(memory::free_bytes()),
        (_, Some(gpu)) => Ok(gpu.free_bytes),
        // Opening it tells why.
        (_, None) => open(choice).map(|device| free_memory(&device)),
    }
}

/// Opens a device, or says in words why it cannot be had.
pub fn open(choice: DeviceChoice) -> Result<Device, String> {
    open_device(choice).map_err(|error| in_words(&error))
}

/// Opens the device of a run, to train it in its precision, or says in words why it cannot be had.
pub fn open_of(config: &RunConfig) -> Result<Device, String> {
    open_device_of(config).map_err(|error| in_words(&error))
}

fn in_words(error: &ModelError) -> String {
    match error {
        ModelError::Device { why, .. } => format!("{why}."),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_listed_with_their_memory_and_absent_ones_with_the_reason() {
        let gpu = |ordinal| Gpu {
            choice: DeviceChoice::Cuda(ordinal),
            name: "a GPU".to_owned(),
            memory_bytes: Some(80 << 30),
            free_bytes: Some(70 << 30),
            driver: Some("595.1".to_owned()),
        };
        let listed = kind(&[gpu(0), gpu(1)], DeviceChoice::Cuda(0), "NVIDIA GPU", "cuda", true);
        assert_eq!((listed.len(), listed[1].id.as_str(), listed[1].free_bytes), (2, "cuda:1", Some(70 << 30)));
        assert!(listed.iter().all(|device| device.available && device.name == "a GPU"));
        let none = kind(&[gpu(0)], DeviceChoice::Metal(0), "Apple GPU", "metal", true);
        assert!(none.len() == 1 && !none[0].available && none[0].note.is_some(), "{none:?}");
        let unbuilt = kind(&[], DeviceChoice::Cuda(0), "NVIDIA GPU", "cuda", false);
        assert!(unbuilt[0].note.as_ref().is_some_and(|note| note.contains("--features cuda")), "{unbuilt:?}");
    }
}
