//! `headroom devices`: where runs can compute.

use headroom_engine::worker::devices;

use super::{common_args::JsonArgs, error::CliResult, plain, print, table::Table};

/// Lists the devices, and why others cannot be used.
pub fn run(args: &JsonArgs) -> CliResult {
    let devices = devices();
    if args.json {
        return print::json(&devices);
    }
    let mut table = Table::new(["device", "what", "usable", "memory", "free", "cores"]);
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
    print::block(&table.text())?;
    for device in &devices {
        if let Some(note) = &device.note {
            print::line(format!("{}: {note}", device.id))?;
        }
    }
    Ok(())
}
