//! Sets of rows of one batch.
//!
//! A batch has at most 65,536 rows, numbered from 0. So a row number is a `u16`, and a bitmap of all rows has at most 1,024 words
//! (8 KiB). A [`RowSet`] is any set of these rows. Examples are the rows that an index holds for a string, the live rows, and the
//! rows that a query selects.
//!
//! # Representations
//!
//! [`RowSet`] is one enum with five representations. The file `set.rs` has the operations; each of them is a short `match` over the
//! representations. Each of the last three representations has a file of functions on plain slices:
//!
//! | representation | file | contents | invariant |
//! |---|---|---|---|
//! | `None` | | no row | |
//! | `All` | | every row of the batch | |
//! | `List` | `list.rs` | `[u16]` | ascending, without duplicates |
//! | `Range` | `range.rs` | `start..end` | not beyond the last row |
//! | `Bitmap` | `words.rs` | `[u64]`, bit `r % 64` of word `r / 64` for row `r` | one word per 64 rows; bits after the last row are zero |
//!
//! A set does not know how many rows its batch has: `All` is the same set in every batch. Operations that need this number take it
//! as the parameter `rows`. The code that creates a set chooses the representation that is cheapest to create. So there is no
//! normal form: a list may contain every row, and a bitmap may be empty. To compare two sets, compare their rows.
//!
//! # Borrowed and owned
//!
//! A `RowSet<'b>` borrows its list or bitmap from an index of the batch, or owns it. Copying a borrowed set is cheap. Columns and
//! indexes store a [`Selection`] instead: no rows, all rows, or a [`Bitmap`], as in the file format. A batch can move a [`Bitmap`]
//! to large pages. [`Selection::set`] converts a selection to a `RowSet`. Postings and sorted rows store their lists and words in
//! shared slices, and return them as `RowSet`s.
//!
//! # Combining
//!
//! [`RowSet::combine_into`] combines any two sets into an owned bitmap, by one of the four operations of
//! [`Combine`](crate::kernels::Combine). The loops over words are in [`crate::kernels`].

mod bitmap;
mod list;
mod range;
mod selection;
mod set;
mod words;

pub(crate) use bitmap::Bitmap;
pub(crate) use range::count_range;
pub(crate) use selection::Selection;
pub(crate) use set::RowSet;
pub(crate) use words::{MAX_ROWS, clear_tail, flip_rows, has_bit, list_bits, ones_of_word, set_rows};

pub(crate) use crate::kernels::LANES;
