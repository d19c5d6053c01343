//! Tests that a scan of Parquet files gives the answer and the report of an engine that has imported the same files.

#[expect(dead_code, reason = "of the worlds, what is checked in them is checked elsewhere")]
#[path = "../world/mod.rs"]
mod world;

#[path = "../parquet/careless.rs"]
mod careless;

mod answers;
mod compare;
mod form;
mod reports;
mod skips;
mod worlds;
