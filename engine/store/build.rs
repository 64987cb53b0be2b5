//! Rebuilds when a migration is added, and tells a release build which commit it was made from.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../migrations");
    // Only in release builds: runs that count are made with those, and a debug build need not start over at each commit.
    if std::env::var("PROFILE").as_deref() == Ok("release")
        && let Some(commit) = git(&["rev-parse", "HEAD"])
    {
        for file in ["HEAD", "logs/HEAD", "index"] {
            if let Some(path) = git(&["rev-parse", "--git-path", file]) {
                println!("cargo:rerun-if-changed={path}");
            }
        }
        for folder in ["..", "../../app"] {
            println!("cargo:rerun-if-changed={folder}");
        }
        let dirty = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|changes| !changes.is_empty());
        println!("cargo:rustc-env=HEADROOM_GIT_COMMIT={commit}");
        println!("cargo:rustc-env=HEADROOM_GIT_DIRTY={dirty}");
    }
}

/// What git prints, or none where there is no git or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
