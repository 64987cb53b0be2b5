//! Lists the migrations, and tells a release build which commit it was made from.

use std::{env, error::Error, fmt::Write as _, fs, path::Path, process::Command};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../migrations");
    let list = migrations(Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../migrations").as_path())?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("migrations.rs"), list)?;
    // Only in release builds: runs that count are made with those, and a debug build need not start over at each commit.
    if env::var("PROFILE").as_deref() == Ok("release")
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
    Ok(())
}

/// The migrations in a folder, `<version>_<description>.sql`, as an array of version, description and text.
fn migrations(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    files.sort();
    let mut list = String::from("[\n");
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "sql")) {
        let name = file.file_stem().and_then(|stem| stem.to_str()).ok_or("a migration's name is no text")?;
        let (version, description) = name.split_once('_').ok_or_else(|| format!("{name} has no description"))?;
        let version: i64 = version.parse()?;
        let path = file.to_str().ok_or("the path of the migrations is no text")?;
        writeln!(list, "    ({version}, {:?}, include_str!({path:?})),", description.replace('_', " "))?;
    }
    list.push(']');
    Ok(list)
}

/// What git prints, or none where there is no git or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
