//! From selections to the rows of a page.

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
