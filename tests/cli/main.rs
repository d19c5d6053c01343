//! The command line, as users and scripts run it.

#![cfg(feature = "full")]

mod run;

mod answers;
mod catalogs;
mod columns;
mod completions;
mod databases;
mod delete;
mod docs;
mod failures;
mod files;
mod filters;
mod help;
mod history;
mod matching;
mod pages;
mod requests;
mod standing;
mod stats;
mod tools;
