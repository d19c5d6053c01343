//! What a file is to hold, told by the ending of its name.

use std::fs;
use std::path::Path;

use casefilter::is_store;

use crate::output::dash::is_stdout;
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::part::Part;

/// The layout of an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A document on each line.
    Ndjson,
    /// One JSON array.
    Json,
    Parquet,
    /// Rows for PostgreSQL.
    Tsv,
}

impl Ending {
    /// Tells the layout that a command is to write; `writes_rows` if it can write rows for PostgreSQL too.
    ///
    /// # Errors
    /// An ending that is not known, or that is not written by the command.
    pub(crate) fn of(path: &Path, writes_rows: bool) -> Result<Self, Failure> {
        let is_no_file = fs::metadata(path).is_ok_and(|found| !found.is_file());
        // A database is refused by name when it is to be written over.
        if is_stdout(path) || is_no_file || is_store(path) {
            return Ok(Self::Ndjson);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let inner = [".gz", ".zst"].iter().find_map(|packing| name.strip_suffix(packing));
        let fault = match inner.unwrap_or(&name).rsplit_once('.').map(|(_, ending)| ending) {
            Some("ndjson" | "jsonl") => return Ok(Self::Ndjson),
            Some("json") => return Ok(Self::Json),
            Some("tsv") if writes_rows => return Ok(Self::Tsv),
            Some("parquet") if inner.is_none() => {
                Part::Parquet.require("Parquet")?;
                return Ok(Self::Parquet);
            }
            Some("parquet") => {
                "found a compressed .parquet file, which compresses its columns itself".to_owned()
            }
            Some("db" | "redb" | "casefilter") => {
                "found the ending of a database, which `casefilter import` makes".to_owned()
            }
            Some(other) => format!("found the ending .{}", escape(other)),
            None => "found no ending".to_owned(),
        };
        let rows = if writes_rows { ", .tsv" } else { "" };
        let expected = format!(
            "expected .ndjson, .jsonl, .json{rows} (each optionally with .gz or .zst after it), .parquet, or - for NDJSON on standard output"
        );
        let shown = path.display().to_string();
        Err(Failure::Usage(format!("cannot write {}: {fault}; {expected}", escape(&shown))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_tells_the_layout() {
        for (name, layout) in [
            ("-", Some(Ending::Ndjson)),
            ("/dev/null", Some(Ending::Ndjson)),
            ("a/b.ndjson", Some(Ending::Ndjson)),
            ("b.JSONL.GZ", Some(Ending::Ndjson)),
            ("b.json", Some(Ending::Json)),
            ("b.json.zst", Some(Ending::Json)),
            ("b.parquet", cfg!(feature = "arrow").then_some(Ending::Parquet)),
            ("b.tsv", Some(Ending::Tsv)),
            ("b.tsv.gz", Some(Ending::Tsv)),
            ("b.parquet.gz", None),
            ("b.csv", None),
            ("b.xlsx", None),
            ("b.db", None),
            ("b.gz", None),
            ("b", None),
            ("b.ndjson/c", None),
        ] {
            assert_eq!(Ending::of(Path::new(name), true).ok(), layout, "{name}");
            let without_rows = layout.filter(|layout| *layout != Ending::Tsv);
            assert_eq!(Ending::of(Path::new(name), false).ok(), without_rows, "{name}");
        }
    }
}
