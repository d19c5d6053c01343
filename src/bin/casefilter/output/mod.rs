//! The output of the commands: standard output, files, and messages on standard error.
//!
//! | task | file |
//! |---|---|
//! | standard output | `stdout`, with `spool` and `unnamed` |
//! | output files | `file`, with `ending`, `dash`, `overwrite` and `interrupt` |
//! | formats: JSON arrays, CSV and TSV, Parquet, rows of an SQL table | `array`; `delimited`; `parquet`; `rows` |
//! | the fields of a document, for cells and columns | `field_tree` |
//! | output for people: tables, trees, charts, numbers | `table`, `case_table`; `tree`; `charts`; `figures`; `wrap` |
//! | escape text from users and files | `escape` |
//! | errors: of commands, of filters, of case data | `failure`; `diagnostics`; `refusals` |
//! | the exit status; parts that a build lacks | `status`; `part` |
//! | progress | `progress`, with `watched_file` |

pub(crate) mod array;
pub(crate) mod case_table;
pub(crate) mod charts;
pub(crate) mod dash;
pub(crate) mod delimited;
pub(crate) mod diagnostics;
pub(crate) mod ending;
pub(crate) mod escape;
pub(crate) mod failure;
pub(crate) mod field_tree;
pub(crate) mod figures;
pub(crate) mod file;
pub(crate) mod interrupt;
pub(crate) mod overwrite;
#[cfg(feature = "arrow")]
pub(crate) mod parquet;
pub(crate) mod part;
pub(crate) mod progress;
pub(crate) mod refusals;
pub(crate) mod rows;
pub(crate) mod spool;
pub(crate) mod status;
pub(crate) mod stdout;
pub(crate) mod table;
pub(crate) mod tree;
pub(crate) mod unnamed;
#[cfg(feature = "arrow")]
pub(crate) mod watched_file;
pub(crate) mod wrap;
