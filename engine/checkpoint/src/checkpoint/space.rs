use std::path::Path;

/// Bytes that are free where `path` is or will be; none where it cannot be found out.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists() && !ancestor.as_os_str().is_empty());
    let existing = existing.unwrap_or(Path::new(".")).canonicalize().ok()?;
    sysinfo::Disks::new_with_refreshed_list()
        .ok()?
        .iter()
        .filter(|disk| existing.starts_with(disk.mount_point()))
        .max_by_key(|disk| disk.mount_point().components().count())
        .map(sysinfo::Disk::available_space)
}
