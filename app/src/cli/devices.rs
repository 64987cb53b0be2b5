//! `headroom devices`: where runs can compute, and whether they compute rightly there.

use headroom_engine::{
    config::{DeviceChoice, counted},
    machine::devices,
    speed::{DeviceCheck, check_device},
};

use crate::export::TextTable;

use super::{
    common_args::DevicesArgs,
    error::{CliError, CliResult},
    plain, print, signals,
};

/// Lists the devices, and why others cannot be used; or checks one.
pub fn run(args: &DevicesArgs) -> CliResult {
    if let Some(device) = args.check {
        return check(device, args.json);
    }
    let devices = devices();
    if args.json {
        return print::json(&devices);
    }
    let mut table = TextTable::new(["device", "what", "usable", "memory", "free", "cores"]);
    for device in &devices {
        let size = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), plain::bytes);
        table.row([
            device.id.clone(),
            device
                .driver
                .as_ref()
                .map_or_else(|| device.name.clone(), |driver| format!("{} (driver {driver})", device.name)),
            if device.available { "yes" } else { "no" }.to_owned(),
            size(device.memory_bytes),
            size(device.free_bytes),
            device.cores.map_or_else(|| "-".to_owned(), |cores| cores.to_string()),
        ]);
    }
    print::block(&table.to_plain())?;
    for device in &devices {
        if let Some(note) = &device.note {
            print::line(format!("{}: {note}", device.id))?;
        }
    }
    Ok(())
}

/// Small models on a device beside the same in double precision on the processor.
fn check(device: DeviceChoice, json: bool) -> CliResult {
    let mut checks: Vec<DeviceCheck> = Vec::new();
    let done = check_device(device, |check| {
        checks.push(check.clone());
        if !json {
            print::aside(format!("{}, {}: {}", check.what, check.precision.name(), verdict(check)));
        }
        !signals::is_stop_wanted()
    });
    done.map_err(|error| CliError::of_training(&error))?;
    if json {
        print::json(&checks)?;
    } else {
        let mut table = TextTable::new(["model", "precision", "loss off by", "gradients off by", "allowed", "verdict"]);
        for check in &checks {
            table.row([
                check.what.clone(),
                check.precision.name().to_owned(),
                format!("{:.1e}", check.loss_error),
                format!("{:.1e}", check.gradient_error),
                format!("{:.0e}", check.tolerance),
                verdict(check).to_owned(),
            ]);
        }
        print::block(&table.to_plain())?;
    }
    let wrong = checks.iter().filter(|check| !check.passes()).count();
    if wrong > 0 {
        return Err(CliError::Failed(format!(
            "{wrong} of {} models come out otherwise on {device} than on the processor, by more than rounding explains: do \
             not trust results of this device, and report the table with the device's name and driver.",
            checks.len()
        )));
    }
    if !json {
        print::line(format!("{device} computes what the processor computes, in {}.", counted(checks.len(), "model")))?;
    }
    Ok(())
}

fn verdict(check: &DeviceCheck) -> &'static str {
    if check.passes() { "as it should be" } else { "WRONG" }
}
