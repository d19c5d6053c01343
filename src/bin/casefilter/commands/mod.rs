//! The commands, one file each, and what some of them share.

pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod ddl;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fields;
pub(crate) mod generate;
pub(crate) mod hints;
pub(crate) mod import;
pub(crate) mod leftovers;
pub(crate) mod records;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod sql;
pub(crate) mod token;
pub(crate) mod unknown_ids;
pub(crate) mod verify;
pub(crate) mod why;
