//! Reads files of ids, one per line.

use std::fs;
use std::io;
use std::path::Path;

use crate::output::dash::is_stdin;
use crate::output::failure::Failure;

/// Reads the ids in a file, or in standard input, as `search --format ids` writes them.
pub(crate) fn ids_of(path: &Path) -> Result<Vec<String>, Failure> {
    let name = if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() };
    let text = if is_stdin(path) { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
    let text = text.map_err(|error| Failure::io("cannot read", &name, &error))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    // An id with unusual characters is written as a JSON string.
    let ids = lines.map(|line| {
        let is_json = line.starts_with('"');
        if is_json { serde_json::from_str(line).unwrap_or_else(|_| line.to_owned()) } else { line.to_owned() }
    });
    Ok(ids.collect())
}
