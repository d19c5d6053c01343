//! Selection of the rows of a page, from the rows that a query selects in each batch.
//!
//! A page without an order has its rows in insertion order. A sorted page is a top-k search: it needs the first `offset + limit` rows in
//! sort order, and skips as much as it can of the rest.
//!
//! | task | file |
//! |---|---|
//! | collect a page in stored order | `stored` |
//! | the sort keys of rows, and the first and last key of a batch | `key` |
//! | visit batches in the order of their first keys | `batch_order` |
//! | choose how the rows of one batch are read in sort order, and skip rows by counting | `sorted` |
//! | list the selected rows at some steps of that order | `selected_rows` |
//! | collect the first k rows over all batches | `heap` |
//! | find a sorted page: [`SortedSearch`] tries the next two methods, or walks the batches | `sorted_page` |
//! | skip a long offset: find a key shortly before it | `seek` |
//! | estimate the last key of a page, so that each batch is read only that far | `key_estimate` |
//! | take a page from rows that an index over all batches lists or keeps sorted | `top_rows_page` |

mod batch_order;
mod heap;
mod key;
mod key_estimate;
mod seek;
mod selected_rows;
mod sorted;
mod sorted_page;
mod stored;
mod top_rows_page;

pub(crate) use self::key::SortBy;
pub(crate) use self::seek::LEAST_SOUGHT;
pub(crate) use self::sorted::BatchWalk;
pub(crate) use self::sorted_page::{PageRows, SortedSearch};
pub(crate) use self::stored::StoredPage;
pub(crate) use self::top_rows_page::{TopRowsPage, listed_page, listed_page_as_stored};
