//! The values of one field in the rows of a batch, and the indexes that lead from values to rows.

mod builder;
mod code_table;
#[cfg(feature = "store")]
pub(crate) mod codec;
mod dictionary;
mod fence_keys;
mod index_values;
mod interner;
mod merge;
mod order;
mod ordinals;
mod postings;
mod radix;
mod sealed;
mod sorted;
mod sorted_rows;
mod validate;

pub(crate) use builder::ColumnBuilder;
pub(crate) use dictionary::{Codes, Dictionary};
pub(crate) use merge::Picks;
pub(crate) use ordinals::Ordinals;
pub(crate) use postings::Postings;
pub(crate) use radix::sort_from_bit;
pub(crate) use sealed::{Column, ColumnData, ColumnLayout, pack};
pub(crate) use sorted::Sorted;
pub(crate) use sorted_rows::SortedRows;

pub(crate) use crate::rows::{Bitmap, LANES, Selection};
