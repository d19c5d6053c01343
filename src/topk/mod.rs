//! Selection of the rows of a page, from the rows that a query selects in each batch.
//!
//! A page without an order has its rows in insertion order. A sorted page is a top-k search. It needs only the first
//! `offset + limit` rows in sort order, and skips as many of the other rows as it can.
//!
//! | task | file |
//! |---|---|
//! | collect a page in stored order | `stored` |
//! | the sort keys of rows (absent values last), the first and last key of a batch, and the position where a page begins | `key` |
//! | visit batches in the order of their first keys, and find batches that overlap no later batch | `batch_order` |
//! | choose how to read the rows of one batch in sort order, and skip rows by counting them | `batch_walk` |
//! | list the selected rows in a range of the sort order of one batch | `selected_rows` |
//! | collect the first k rows over all batches | `top_k` |
//! | choose among rows with equal keys, in the order of their ids | `equal_keys` |
//! | find a sorted page: [`SortedSearch`] uses one of the next two methods, or reads the batches in order | `sorted_page` |
//! | skip an offset of 1,024 rows or more: find a key shortly before the offset | `seek` |
//! | estimate the last key of a page, so that no batch is read much further than this key | `key_estimate` |
//! | take a page from rows that an index over all batches lists or keeps sorted | `top_rows_page` |

mod batch_order;
mod batch_walk;
mod equal_keys;
mod key;
mod key_estimate;
mod seek;
mod selected_rows;
mod sorted_page;
mod stored;
mod top_k;
mod top_rows_page;

pub(crate) use self::batch_walk::BatchWalk;
pub(crate) use self::key::{Key, SortBy, Ties};
pub(crate) use self::seek::LEAST_SOUGHT;
pub(crate) use self::sorted_page::{PageRows, SortedSearch};
pub(crate) use self::stored::StoredPage;
pub(crate) use self::top_rows_page::{TopRowsPage, listed_page, listed_page_as_stored};
