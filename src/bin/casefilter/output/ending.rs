//! Determines the format of an output file from the ending of its name.

use std::fs;
use std::path::Path;

use casefilter::Store;

use crate::output::dash::is_stdout;
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::part::Part;

/// The endings of database files.
const DATABASES: [&str; 3] = ["db", "redb", "casefilter"];

/// The endings of all formats of files except databases.
const FORMATS: [&str; 9] = ["csv", "tsv", "xlsx", "parquet", "json", "ndjson", "jsonl", "zst", "gz"];

/// The format of an output file of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// NDJSON: one document per line.
    Ndjson,
    /// A single JSON array.
    Json,
    Parquet,
    /// Rows for PostgreSQL, in the text format of `COPY`.
    Tsv,
}

impl Ending {
    /// Returns the format for the ending of a file name. Standard output, devices, pipes and existing databases get NDJSON.
    /// `writes_rows` is true for a command that can write rows for PostgreSQL.
    ///
    /// # Errors
    /// Returns an error if the ending is unknown, or belongs to a format that the command does not write.
    pub(crate) fn of(path: &Path, writes_rows: bool) -> Result<Self, Failure> {
        let is_no_file = fs::metadata(path).is_ok_and(|found| !found.is_file());
        // The functions that write files reject an existing database, by a message that names it.
        if is_stdout(path) || is_no_file || Store::exists(path) {
            return Ok(Self::Ndjson);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let inner = [".gz", ".zst"].iter().find_map(|format| name.strip_suffix(format));
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
            Some(ending) if DATABASES.contains(&ending) => {
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

/// The contents of an output file that always has the same format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    Database,
    /// The report of an import, as JSON.
    Report,
    /// App tokens, as JSON.
    #[cfg(feature = "service")]
    Tokens,
    /// A share token, as plain text.
    #[cfg(feature = "service")]
    ShareToken,
}

impl Contents {
    /// Returns the usual ending of the file name, and the start of a clause for error messages, such as `a database is`. The
    /// message continues the clause with `written there`.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Database => ("db", "a database is"),
            Self::Report => ("json", "the report is JSON, which is"),
            #[cfg(feature = "service")]
            Self::Tokens => ("json", "tokens are JSON, which is"),
            #[cfg(feature = "service")]
            Self::ShareToken => ("txt", "the token is plain text, which is"),
        }
    }

    /// Rejects a file name whose ending belongs to another format.
    ///
    /// Standard output, devices and pipes may have names with any ending. So may an existing database, if a database is to be
    /// written.
    ///
    /// # Errors
    /// Returns a usage error if the ending belongs to another format. The error names the contents to be written.
    pub(crate) fn check_output(self, path: &Path) -> Result<(), Failure> {
        let (usual, contents) = self.words();
        self.other_format(path).map_or(Ok(()), |ending| {
            Err(Failure::Usage(format!(
                "cannot write {}: found the ending .{ending}, but {contents} written there; \
                 expected .{usual}, or an ending of no other format",
                escape(&path.display().to_string())
            )))
        })
    }

    /// Returns the ending of a file name if it belongs to another format.
    fn other_format(self, path: &Path) -> Option<String> {
        let is_no_file = fs::metadata(path).is_ok_and(|found| !found.is_file());
        if is_stdout(path) || is_no_file || self == Self::Database && Store::exists(path) {
            return None;
        }
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        let (usual, _) = self.words();
        let is_database = DATABASES.contains(&ending.as_str());
        let is_other = if is_database { self != Self::Database } else { FORMATS.contains(&ending.as_str()) };
        (is_other && ending != usual).then_some(ending)
    }
}

/// The end of the message of [`check_database`], for commands that read cases only from a database.
pub(crate) const AS_IMPORTED: &str = ", as `casefilter import` makes it";

/// Rejects a file that should be a database, but whose name has the ending of another format. `advice` is the end of the message.
///
/// # Errors
/// Returns an error if the file is not a database and its name has the ending of another format.
pub(crate) fn check_database(path: &Path, advice: &str) -> Result<(), Failure> {
    Contents::Database.other_format(path).map_or(Ok(()), |ending| {
        Err(Failure::Failed(format!(
            "cannot read {}: found the ending .{ending}, expected a database of cases{advice}",
            escape(&path.display().to_string())
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_one_format_take_no_ending_of_another() {
        let takes = |contents: Contents, name: &str| contents.check_output(Path::new(name)).is_ok();
        let mut all = vec![Contents::Database, Contents::Report];
        #[cfg(feature = "service")]
        all.extend([Contents::Tokens, Contents::ShareToken]);
        for contents in all {
            for name in ["x", "x.backup", "x.2026-01-31", "a.csv/x", ".csv", "/dev/null", "-"] {
                assert!(takes(contents, name), "{contents:?} {name}");
            }
            for name in
                ["x.csv", "x.TSV", "x.xlsx", "x.parquet", "x.ndjson", "x.jsonl", "x.json.zst", "x.db.gz"]
            {
                assert!(!takes(contents, name), "{contents:?} {name}");
            }
            assert_eq!(takes(contents, "x.db"), contents == Contents::Database);
            let (usual, _) = contents.words();
            assert_eq!(takes(contents, "x.json"), usual == "json", "{contents:?}");
        }
    }

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
