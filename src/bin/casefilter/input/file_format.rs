//! Determines the format of an input file from its name.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use casefilter::Store;

use crate::input::unpack::Packed;
use crate::output::dash::is_stdin;
use crate::output::escape::escape;
use crate::output::failure::{Failure, windows_path};
use crate::output::part::Part;

/// The format of a file of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// JSON text.
    Json(Packed),
    /// CSV text.
    Csv(Packed),
    Parquet,
    Database,
}

impl FileFormat {
    /// Returns the format of the file with this path.
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        const ALLOWED: &str = "expected .ndjson or .json (or .jsonl) or .csv, optionally with .gz or .zst after it, .parquet, a database, or - for standard input";
        if is_stdin(path) {
            return Ok(Self::Json(Packed::No));
        }
        check_access(path)?;
        if Store::exists(path) {
            return Ok(Self::Database);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let shown = path.display().to_string();
        let (inner, packed) = match name.rsplit_once('.') {
            Some((inner, "gz")) => (inner, Packed::Gzip),
            Some((inner, "zst")) => (inner, Packed::Zstd),
            _ => (name.as_str(), Packed::No),
        };
        let fault = match inner.rsplit_once('.').map(|(_, extension)| extension) {
            Some("ndjson" | "jsonl" | "json") => return Ok(Self::Json(packed)),
            Some("csv") => return Ok(Self::Csv(packed)),
            Some("parquet") if packed == Packed::No => {
                Part::Parquet.require("Parquet")?;
                return Ok(Self::Parquet);
            }
            Some("parquet") => {
                "found a compressed .parquet file, which compresses its columns itself".to_owned()
            }
            Some("db" | "redb" | "casefilter") if !path.exists() => "there is no such database".to_owned(),
            Some("db" | "redb" | "casefilter") => "found a file that is not a database of cases".to_owned(),
            Some(other) => format!("found the file extension .{}", escape(other)),
            None if is_word_of_a_filter(&name) && !path.exists() => {
                let message = format!(
                    "`{}` is read as the name of a file: put the whole text of a filter in quotes, as in --where 'status = open'",
                    escape(&shown)
                );
                return Err(Failure::Usage(message));
            }
            None => "found no file extension".to_owned(),
        };
        if !path.exists()
            && let Some(advice) = windows_path(&shown)
        {
            return Err(Failure::Failed(format!(
                "cannot read {}: there is no such file{advice}",
                escape(&shown)
            )));
        }
        Err(Failure::Failed(format!("cannot read {}: {fault}; {ALLOWED}", escape(&shown))))
    }
}

/// Returns true for a word that is probably a part of a filter and not the name of a file.
fn is_word_of_a_filter(word: &str) -> bool {
    matches!(word, "=" | "<>" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "and" | "or" | "not" | "is" | "all")
        || word.starts_with(['(', '='])
}

/// Returns an error if the file cannot be opened. Without this check, a later message would name a wrong file format as the reason.
fn check_access(path: &Path) -> Result<(), Failure> {
    let access = match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() => File::open(path).map(drop),
        // A pipe can be opened only once, so it is not opened here.
        Ok(_) => Ok(()),
        // A missing file is reported later, by a message that depends on the format.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    access.map_err(|error| Failure::io("cannot read", &path.display().to_string(), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_format() {
        let of = |name: &str| FileFormat::of(Path::new(name)).ok();
        assert_eq!(of("-"), Some(FileFormat::Json(Packed::No)));
        assert_eq!(of("a/b.ndjson"), Some(FileFormat::Json(Packed::No)));
        assert_eq!(of("a.b.JSON.GZ"), Some(FileFormat::Json(Packed::Gzip)));
        assert_eq!(of("a.jsonl"), Some(FileFormat::Json(Packed::No)));
        assert_eq!(of("a.jsonl.zst"), Some(FileFormat::Json(Packed::Zstd)));
        assert_eq!(of("cases.csv.zst"), Some(FileFormat::Csv(Packed::Zstd)));
        assert_eq!(of("cases.Parquet"), cfg!(feature = "arrow").then_some(FileFormat::Parquet));
        for name in ["cases", "cases.gz", "cases.tsv", "cases.parquet.gz", "x.json/cases", ".."] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
