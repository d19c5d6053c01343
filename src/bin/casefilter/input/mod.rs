//! The input of the commands: arguments, files of cases and requests, databases, and services.

pub(crate) mod admin;
pub(crate) mod advice;
pub(crate) mod cases;
pub(crate) mod catalog;
pub(crate) mod columns;
pub(crate) mod copy;
pub(crate) mod csv_cases;
pub(crate) mod csv_rows;
pub(crate) mod database;
pub(crate) mod duration;
pub(crate) mod explained;
pub(crate) mod file_format;
pub(crate) mod help;
pub(crate) mod holder;
pub(crate) mod kind;
pub(crate) mod loaded;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod reading;
pub(crate) mod request;
pub(crate) mod request_lines;
pub(crate) mod selection;
pub(crate) mod served;
pub(crate) mod service;
pub(crate) mod taker;
pub(crate) mod unpack;
