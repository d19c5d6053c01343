//! Batches: the immutable units in which an engine holds its cases.
//!
//! A [`Batch`] has up to 65,536 rows. It stores a column for each field, the insertion order of the rows, and their documents. An
//! import fills a batch with a [`BatchBuilder`]. Single writes are stored as [`BufferedRow`]s in a small batch, the head. Its
//! columns are lazy: each is decoded when it is first read. A [`BatchMerge`] merges small batches into large ones.
//!
//! A [`Row`] has the values of one document while the document is being read. An [`OwnedRow`] has a copy of the values of one
//! document, so that filters can test this document without the columns of a batch.
//!
//! | task | file |
//! |---|---|
//! | the batch | `sealed`, with `documents`, `document` and `insertion_order` |
//! | build a batch; merge batches | `builder`; `merge` |
//! | one document while it is read; one that is tested without columns | `row`; `owned_row`, with `elements` |
//! | one stored case, which is tested without columns | `case_row` |
//! | single writes, and their lazy columns | `buffered_row`; `lazy_batch`, `lazy_columns` |
//! | the address of a row; the rows in the order of their ids | `row_addr`; `rows_by_id` |
//! | keys by which short strings are compared | `text_key` |
//! | batches as bytes, for the store | `codec`, `summary`, `key_filter` |
//! | batches whose columns are read from the store when they are needed | `stored_columns` |

mod buffered_row;
mod builder;
mod case_row;
#[cfg(feature = "store")]
pub(crate) mod codec;
mod document;
mod documents;
mod elements;
mod insertion_order;
#[cfg(feature = "store")]
mod key_filter;
mod lazy_batch;
mod lazy_columns;
mod merge;
mod owned_row;
mod row;
mod row_addr;
mod rows_by_id;
mod sealed;
#[cfg(feature = "store")]
mod stored_columns;
#[cfg(feature = "store")]
mod summary;
mod text_key;

pub(crate) use buffered_row::BufferedRow;
pub(crate) use builder::BatchBuilder;
pub(crate) use case_row::CaseRow;
pub(crate) use document::{Document, Keep};
pub(crate) use elements::Event;
#[cfg(feature = "store")]
pub(crate) use key_filter::KeyFilter;
pub(crate) use lazy_columns::FewRows;
pub(crate) use merge::BatchMerge;
pub(crate) use owned_row::OwnedRow;
pub(crate) use row::{Remark, Row};
pub(crate) use row_addr::RowAddr;
pub(crate) use sealed::{Batch, MAX_BATCHES, MAX_DOCUMENT_BYTES};
#[cfg(feature = "store")]
pub(crate) use stored_columns::{ColumnSource, Unreadable};
#[cfg(feature = "store")]
pub(crate) use summary::{BatchSummary, ColumnSummary};
pub(crate) use text_key::TextKey;

pub(crate) use crate::rows::MAX_ROWS;
