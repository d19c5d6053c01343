//! Columns. A column stores the values of one field in the rows of a batch, with indexes from values to rows.
//!
//! A [`ColumnBuilder`] collects values row by row, and seals them into an immutable [`Column`]. A column stores its values in one
//! of three forms, which depends on the type of the field. Each form has its own index:
//!
//! | type of the field | values | index |
//! |---|---|---|
//! | string | a [`Dictionary`] of distinct strings, and a code for each value | [`Postings`]: the rows of each code |
//! | number, integer, decimal, timestamp | [`Ordinals`], and their smallest and greatest value (zone) | [`SortedRows`]: the rows in order of value |
//! | boolean | a bitmap of the values | the rows that have `false`, and the rows that have `true` |
//!
//! A column of a [searchable](crate::Field::searchable) field with many strings also has a [`SearchIndex`].
//!
//! Terms:
//!
//! - The *code* of a string is its index in the sorted dictionary. So codes are in the same order as their strings.
//! - The *ordinal* of a value is an `i64`. Ordinals are in the same order as the values; see
//!   [`OrderedType`](crate::value::OrderedType).
//! - A *filler* is a meaningless value, stored for a row without a value. With fillers, the value of row `r` is at index `r`.
//!
//! | task | file |
//! |---|---|
//! | the column; its invariants | `sealed`; `validate` |
//! | build a column from values; from other columns | `builder`; `merge` |
//! | build a dictionary, and sort its strings | `interner`, with `code_table`, `order`, `radix` |
//! | the stored values | `dictionary`, `ordinals` |
//! | the elements of arrays of objects that contain the values | `elements` |
//! | compute all indexes of a column | `index_values` |
//! | the rows of each code | `postings` |
//! | rows in order of value, and searches in them | `sorted_rows`, `sorted`, `fence_keys` |
//! | indexes of searchable fields | `search_index`, `substring_index` |
//! | columns as bytes, for the store | `codec` |

mod builder;
mod code_table;
#[cfg(feature = "store")]
pub(crate) mod codec;
mod dictionary;
mod elements;
mod fence_keys;
mod index_values;
mod interner;
mod merge;
mod order;
mod ordinals;
mod postings;
mod radix;
mod sealed;
mod search_index;
mod sorted;
mod sorted_rows;
mod substring_index;
mod validate;

pub(crate) use builder::ColumnBuilder;
pub(crate) use dictionary::{Codes, Dictionary};
pub(crate) use merge::Picks;
pub(crate) use ordinals::Ordinals;
pub(crate) use postings::Postings;
pub(crate) use radix::sort_from_bit;
pub(crate) use sealed::{Column, ColumnData, ColumnLayout, pack};
pub(crate) use search_index::SearchIndex;
pub(crate) use sorted::Sorted;
pub(crate) use sorted_rows::SortedRows;
pub(crate) use substring_index::Windows;

pub(crate) use crate::rows::{Bitmap, LANES, Selection};
