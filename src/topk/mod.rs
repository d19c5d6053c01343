//! From selections to the rows of a page.

mod batch_order;
mod heap;
mod key;
mod key_estimate;
mod page;
mod seek;
mod sorted;
mod stored;
mod top_rows_page;

pub(crate) use self::key::SortBy;
pub(crate) use self::page::sorted_page;
pub(crate) use self::sorted::{Visit, Walk};
pub(crate) use self::stored::first_page;
pub(crate) use self::top_rows_page::{Covered, listed_page, listed_page_as_stored};
