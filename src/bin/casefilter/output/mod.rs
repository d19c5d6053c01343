//! The output of the commands: standard output, files, and messages on standard error.

pub(crate) mod array;
pub(crate) mod case_table;
pub(crate) mod dash;
pub(crate) mod diagnostics;
pub(crate) mod ending;
pub(crate) mod escape;
pub(crate) mod failure;
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
