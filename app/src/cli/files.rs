//! Files that a command writes into a directory: figures, tables, arrays.

use std::{
    fmt::Display,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use super::error::{CliError, CliResult};
use crate::export::{Figure, MapFigure, map_to_csv, map_to_png, map_to_svg, to_csv, to_png, to_svg};

/// Pixels of a point in PNG files.
const PNG_SCALE: f32 = 2.0;

/// A directory for files must not be a file.
pub fn refuse_file(out: &Path) -> CliResult {
    if out.is_file() {
        return Err(CliError::at("--out", format!("{} is a file. Name a directory.", out.display())));
    }
    Ok(())
}

/// A directory for files that tell of one thing together must be empty or not there: others beside them may tell of another.
/// Nothing in it is ever written over or removed.
pub fn refuse_occupied(out: &Path) -> CliResult {
    refuse_file(out)?;
    let is_occupied = fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
    if is_occupied {
        let message =
            format!("{} holds files already. Name a directory that is empty or does not exist yet.", out.display());
        return Err(CliError::at("--out", message));
    }
    Ok(())
}

/// A directory that is being filled.
pub struct Files {
    out: PathBuf,
    count: usize,
}

impl Files {
    /// Makes the directory where there is none.
    pub fn create(out: &Path) -> CliResult<Self> {
        fs::create_dir_all(out).map_err(|error| failed(out, &error))?;
        Ok(Self { out: out.to_owned(), count: 0 })
    }

    /// How many were written.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Writes a file.
    pub fn put(&mut self, name: &str, bytes: &[u8]) -> CliResult {
        let path = self.out.join(name);
        let written = fs::File::create(&path).and_then(|mut file| file.write_all(bytes));
        self.count += 1;
        written.map_err(|error| failed(&path, &error))
    }

    /// Writes curves as SVG, PNG and CSV.
    pub fn put_figure(&mut self, name: &str, figure: &Figure) -> CliResult {
        let png = to_png(figure, PNG_SCALE).map_err(|error| CliError::Failed(error.to_string()))?;
        self.put_three(name, &to_svg(figure), &to_csv(figure), &png)
    }

    /// Writes a map as SVG, PNG and CSV.
    pub fn put_map(&mut self, name: &str, figure: &MapFigure) -> CliResult {
        let png = map_to_png(figure, PNG_SCALE).map_err(|error| CliError::Failed(error.to_string()))?;
        self.put_three(name, &map_to_svg(figure), &map_to_csv(figure), &png)
    }

    fn put_three(&mut self, name: &str, svg: &str, csv: &str, png: &[u8]) -> CliResult {
        self.put(&format!("{name}.svg"), svg.as_bytes())?;
        self.put(&format!("{name}.csv"), csv.as_bytes())?;
        self.put(&format!("{name}.png"), png)
    }
}

fn failed(path: &Path, error: &dyn Display) -> CliError {
    CliError::FailedAt { field: "--out", message: format!("{} cannot be written: {error}.", path.display()) }
}
