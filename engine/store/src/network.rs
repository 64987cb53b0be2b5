use std::path::Path;

/// The network file system that a folder lies on, or none as far as can be told.
///
/// SQLite's write-ahead log needs shared memory between its users, which no network file system gives.
pub(crate) fn network_file_system(folder: &Path) -> Option<String> {
    if cfg!(target_os = "linux") {
        let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
        let folder = folder.canonicalize().ok()?;
        mounted_at(&mounts, &folder).filter(|kind| is_network(kind)).map(str::to_owned)
    } else {
        use std::path::{Component, Prefix};
        match folder.components().next() {
            Some(Component::Prefix(prefix)) if matches!(prefix.kind(), Prefix::UNC(..) | Prefix::VerbatimUNC(..)) => {
                Some("a share of another computer".to_owned())
            }
            _ => None,
        }
    }
}

/// The kind of the file system that `folder` lies on, by the lines of `/proc/self/mounts`: the deepest mount wins, the
/// later of two at the same place.
fn mounted_at<'a>(mounts: &'a str, folder: &Path) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(1);
        let (Some(point), Some(kind)) = (fields.next(), fields.next()) else { continue };
        let point = point.replace("\\040", " ");
        let depth = Path::new(&point).components().count();
        if folder.starts_with(&point) && best.is_none_or(|(deepest, _)| depth >= deepest) {
            best = Some((depth, kind));
        }
    }
    best.map(|(_, kind)| kind)
}

fn is_network(kind: &str) -> bool {
    let known = ["9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"];
    known.contains(&kind) || ["fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs"].contains(&kind)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_mount_decides() {
        let mounts = "/dev/a / ext4 rw 0 0\nserver:/x /home nfs4 rw 0 0\n/dev/b /home/me/with\\040space xfs rw 0 0\n";
        let kind = |folder: &str| mounted_at(mounts, Path::new(folder));
        assert_eq!(kind("/var/lib"), Some("ext4"));
        assert_eq!(kind("/home/me"), Some("nfs4"));
        assert_eq!(kind("/homes"), Some("ext4"));
        assert_eq!(kind("/home/me/with space/deep"), Some("xfs"));
        assert!(is_network("nfs4") && !is_network("ext4"));
    }
}
