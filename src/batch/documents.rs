//! Stores the documents of a batch: as text, as document numbers, or not at all. Also merges the documents of several batches.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "rows of one batch, the texts that they name, and ends that are character boundaries within their text: the codec \
              checks what it reads, and all other documents are created here"
)]

use std::sync::Arc;

use super::buffered_row::BufferedRows;
use super::document::{Document, Keep};

/// The documents of the rows of a batch.
#[derive(Debug)]
pub(crate) enum BatchDocuments {
    Nothing,
    /// The documents of all rows, in one concatenated text.
    Text(Arc<Texts>),
    /// The documents of buffered rows. The rows own their documents.
    Rows(BufferedRows),
    /// The documents of merged batches. `rows` has two indexes for each row. The first is the index in `texts` of the concatenated
    /// text that contains the document. The second is the index of the document in this text.
    Merged {
        texts: Box<[Arc<Texts>]>,
        rows: Box<[(u16, u16)]>,
    },
    Numbers(Numbers),
}

/// Several documents, concatenated into one text, and the end of each document.
#[derive(Debug)]
pub(crate) struct Texts {
    text: Box<str>,
    ends: Box<[u32]>,
}

impl Texts {
    fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start as usize..self.ends[at] as usize]
    }

    fn size_bytes(&self) -> usize {
        self.text.len() + size_of_val::<[u32]>(&self.ends)
    }

    fn is_sound(&self) -> bool {
        self.ends.is_sorted() && self.ends.last().map_or(0, |end| *end as usize) == self.text.len()
    }
}

/// The document number of each row. A document that is stored outside the engine is found by this number.
#[derive(Debug)]
pub(crate) enum Numbers {
    /// Consecutive numbers. The value is the document number of the first row.
    From(u64),
    Each(Box<[u64]>),
}

impl BatchDocuments {
    /// Returns the text of a row's document, or an empty string if texts are not kept.
    pub(crate) fn text(&self, row: usize) -> &str {
        match self {
            Self::Text(texts) => texts.get(row),
            Self::Merged { texts, rows } => {
                let (number, at) = rows[row];
                texts[usize::from(number)].get(usize::from(at))
            }
            Self::Rows(rows) => rows.get(row).map_or("", |row| match row.document() {
                Document::Text(text) => text,
                Document::Number { .. } => "",
            }),
            Self::Nothing | Self::Numbers(_) => "",
        }
    }

    /// Returns the concatenated texts that contain the documents.
    fn texts(&self) -> &[Arc<Texts>] {
        match self {
            Self::Text(texts) => std::slice::from_ref(texts),
            Self::Merged { texts, .. } => texts,
            Self::Nothing | Self::Rows(_) | Self::Numbers(_) => &[],
        }
    }

    /// Returns the position of a row's document. The first value is the index in [`texts`](Self::texts) of the concatenated text
    /// that contains the document. The second value is the index of the document in this text.
    fn at(&self, row: u16) -> (u16, u16) {
        match self {
            Self::Merged { rows, .. } => rows[usize::from(row)],
            _ => (0, row),
        }
    }

    /// Returns the document number of a row, if documents are stored outside the engine.
    pub(crate) fn number(&self, row: usize) -> Option<u64> {
        match self {
            Self::Numbers(Numbers::From(first)) => Some(first.saturating_add(row as u64)),
            Self::Numbers(Numbers::Each(numbers)) => Some(numbers[row]),
            Self::Nothing | Self::Text(_) | Self::Rows(_) | Self::Merged { .. } => None,
        }
    }

    /// Returns true if one of the `rows` rows may have this document number or a greater one.
    #[cfg(feature = "store")]
    pub(super) fn has_numbers_from(&self, first: u64, rows: usize) -> bool {
        match self {
            Self::Numbers(Numbers::From(own)) => own.saturating_add(rows as u64) > first,
            Self::Numbers(Numbers::Each(numbers)) => numbers.iter().any(|number| *number >= first),
            Self::Nothing | Self::Text(_) | Self::Rows(_) | Self::Merged { .. } => false,
        }
    }

    /// Adds `by` to the document number of each row.
    #[cfg(feature = "store")]
    pub(super) fn shift_numbers(&mut self, by: u64) {
        match self {
            Self::Numbers(Numbers::From(first)) => *first = first.saturating_add(by),
            Self::Numbers(Numbers::Each(numbers)) => {
                numbers.iter_mut().for_each(|number| *number = number.saturating_add(by));
            }
            Self::Nothing | Self::Text(_) | Self::Rows(_) | Self::Merged { .. } => {}
        }
    }

    pub(crate) fn size_bytes(&self) -> usize {
        match self {
            Self::Nothing | Self::Numbers(Numbers::From(_)) => 0,
            Self::Text(texts) => texts.size_bytes(),
            Self::Rows(rows) => rows.document_bytes(),
            Self::Merged { texts, rows } => {
                let texts = texts.iter().map(|texts| texts.size_bytes() + size_of::<Texts>());
                texts.sum::<usize>() + size_of_val::<[(u16, u16)]>(rows)
            }
            Self::Numbers(Numbers::Each(numbers)) => size_of_val::<[u64]>(numbers),
        }
    }

    /// Checks the invariants for a batch of `rows` rows. Returns an error if an invariant is violated.
    pub(crate) fn validate(&self, rows: usize) -> Result<(), String> {
        let sound = match self {
            Self::Nothing | Self::Numbers(Numbers::From(_)) => true,
            Self::Text(texts) => texts.ends.len() == rows && texts.is_sound(),
            Self::Rows(own) => own.len() == rows,
            Self::Merged { texts, rows: own } => {
                own.len() == rows
                    && texts.iter().all(|texts| texts.is_sound())
                    && own.iter().all(|(number, at)| {
                        let texts = texts.get(usize::from(*number));
                        texts.is_some_and(|texts| usize::from(*at) < texts.ends.len())
                    })
            }
            Self::Numbers(Numbers::Each(numbers)) => numbers.len() == rows,
        };
        if sound { Ok(()) } else { Err("documents that do not match the rows".into()) }
    }
}

/// A builder that collects the documents of a batch.
#[derive(Debug)]
pub(crate) struct DocumentsBuilder {
    keep: Keep,
    text: String,
    ends: Vec<u32>,
    numbers: Vec<u64>,
}

impl DocumentsBuilder {
    pub(crate) fn new(keep: Keep) -> Self {
        Self { keep, text: String::new(), ends: Vec::new(), numbers: Vec::new() }
    }

    /// Reserves capacity for `bytes` bytes of texts in total. Without this call, the text is copied each time its capacity doubles.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        if self.keep == Keep::Text {
            self.text.reserve_exact(bytes.saturating_sub(self.text.len()));
        }
    }

    /// Returns the document number of a row that has already been added.
    pub(crate) fn number(&self, row: usize) -> Option<u64> {
        self.numbers.get(row).copied()
    }

    /// Adds the document of the next row. If the engine keeps document numbers, a document that is given as a text gets the
    /// document number 0. If it keeps texts, a document that is given as a number gets an empty text.
    pub(crate) fn push(&mut self, document: Document<'_>) {
        match (self.keep, document) {
            (Keep::Nothing, _) => {}
            (Keep::Text, document) => {
                if let Document::Text(text) = document {
                    self.text.push_str(text);
                }
                // A batch is sealed long before its documents reach 4 GiB.
                self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
            }
            (Keep::Numbers, Document::Number { number, .. }) => self.numbers.push(number),
            (Keep::Numbers, Document::Text(_)) => self.numbers.push(0),
        }
    }

    /// Returns the collected documents. The builder is empty afterwards.
    pub(crate) fn seal(&mut self) -> BatchDocuments {
        match self.keep {
            Keep::Nothing => BatchDocuments::Nothing,
            Keep::Text => BatchDocuments::Text(Arc::new(Texts {
                text: std::mem::take(&mut self.text).into(),
                ends: std::mem::take(&mut self.ends).into(),
            })),
            Keep::Numbers => {
                let numbers = std::mem::take(&mut self.numbers);
                let first = numbers.first().copied().unwrap_or(0);
                let mut rows = (0_u64..).zip(&numbers);
                // Numbers from a forged file may be close to `u64::MAX`.
                let consecutive = rows.all(|(row, number)| first.checked_add(row) == Some(*number));
                BatchDocuments::Numbers(if consecutive {
                    Numbers::From(first)
                } else {
                    Numbers::Each(numbers.into())
                })
            }
        }
    }
}

/// A merge of the documents of several batches.
///
/// Concatenated texts are shared with the source batches, so that a merge does not copy each document. A text is copied only if it
/// is small, or if more than half of it belongs to deleted documents. So at most half of the memory of the documents is unused.
#[derive(Debug)]
pub(crate) struct DocumentsMerge {
    /// For each source batch and each of its concatenated texts: the index of the text in `shared`, or `None` if its documents are
    /// copied.
    numbers: Vec<Vec<Option<u16>>>,
    shared: Vec<Arc<Texts>>,
    copied: DocumentsBuilder,
    /// For each row: the index in `shared` of the text that contains its document, and the index of the document in this text. The
    /// first index is `None` if the document is copied.
    rows: Vec<(Option<u16>, u16)>,
}

/// The minimum size, in bytes of live documents, at which a text is shared. Copying a smaller text costs no more than sharing it.
const SMALL_TEXT_BYTES: usize = 1 << 12;

impl DocumentsMerge {
    /// Creates a merge of the documents of `rows`. Each row is given as the index of its batch in `sources`, and its row number in
    /// this batch.
    pub(crate) fn new(keep: Keep, sources: &[&BatchDocuments], rows: &[(u16, u16)]) -> Self {
        let mut live_bytes: Vec<Vec<usize>> =
            sources.iter().map(|documents| vec![0; documents.texts().len()]).collect();
        for (batch, row) in rows {
            let documents = sources[usize::from(*batch)];
            // A batch that keeps no texts has no entry in `live_bytes`.
            if let Some(live) = live_bytes[usize::from(*batch)].get_mut(usize::from(documents.at(*row).0)) {
                *live += documents.text(usize::from(*row)).len();
            }
        }
        let mut shared: Vec<Arc<Texts>> = Vec::new();
        let mut copied_bytes: usize = 0;
        let mut numbers = Vec::with_capacity(sources.len());
        for (documents, live) in sources.iter().zip(live_bytes) {
            let mut own = Vec::with_capacity(live.len());
            for (texts, live) in documents.texts().iter().zip(live) {
                let is_shared = live * 2 >= texts.text.len() && live >= SMALL_TEXT_BYTES;
                let number = u16::try_from(shared.len()).ok().filter(|_| is_shared);
                match number {
                    Some(_) => shared.push(Arc::clone(texts)),
                    None => copied_bytes += live,
                }
                own.push(number);
            }
            numbers.push(own);
        }
        let mut copied = DocumentsBuilder::new(keep);
        // Without reserved capacity, the growing text would be copied many times.
        copied.reserve(copied_bytes);
        Self { numbers, shared, copied, rows: Vec::with_capacity(rows.len()) }
    }

    /// Adds the document of row `row` of the batch at index `batch` of the sources. It becomes the document of the next row.
    pub(crate) fn push(&mut self, batch: u16, documents: &BatchDocuments, row: u16) {
        if let Some(number) = documents.number(usize::from(row)) {
            return self.copied.push(Document::Number { number, size_bytes: 0 });
        }
        let (number, at) = documents.at(row);
        match self.numbers[usize::from(batch)].get(usize::from(number)).copied().flatten() {
            Some(shared) => self.rows.push((Some(shared), at)),
            None => {
                let at = u16::try_from(self.copied.ends.len()).unwrap_or(u16::MAX);
                self.copied.push(Document::Text(documents.text(usize::from(row))));
                self.rows.push((None, at));
            }
        }
    }

    /// Returns the merged documents. The caller must have added all documents before.
    pub(crate) fn seal(mut self) -> BatchDocuments {
        match self.copied.seal() {
            BatchDocuments::Text(copied) if !self.shared.is_empty() => {
                // A batch has at most 65,536 rows, and each shared text belongs to at least one row. If at least one document is
                // copied, there are at most 65,535 shared texts, so their count fits a `u16`.
                let behind = u16::try_from(self.shared.len()).unwrap_or(u16::MAX);
                if !copied.ends.is_empty() {
                    self.shared.push(copied);
                }
                let rows = self.rows.into_iter().map(|(number, at)| (number.unwrap_or(behind), at));
                BatchDocuments::Merged { texts: self.shared.into(), rows: rows.collect() }
            }
            documents => documents,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(texts: &[String]) -> BatchDocuments {
        let mut builder = DocumentsBuilder::new(Keep::Text);
        texts.iter().for_each(|text| builder.push(Document::Text(text)));
        builder.seal()
    }

    fn merge(sources: &[&BatchDocuments], rows: &[(u16, u16)]) -> BatchDocuments {
        let mut merge = DocumentsMerge::new(Keep::Text, sources, rows);
        rows.iter().for_each(|(batch, row)| merge.push(*batch, sources[usize::from(*batch)], *row));
        let merged = merge.seal();
        assert_eq!(merged.validate(rows.len()), Ok(()));
        for (to, (batch, row)) in rows.iter().enumerate() {
            assert_eq!(merged.text(to), sources[usize::from(*batch)].text(usize::from(*row)));
        }
        merged
    }

    #[test]
    fn documents_survive_merges_and_dead_ones_do_not_pile_up() {
        let texts = |batch: usize| -> Vec<String> {
            (0..100).map(|row| format!("{batch}.{row} {}", "é".repeat(row))).collect()
        };
        let (a, b, small) = (documents(&texts(0)), documents(&texts(1)), documents(&texts(2)[..3]));
        let all = |batch: u16, rows: u16| (0..rows).rev().map(move |row| (batch, row));
        let rows: Vec<(u16, u16)> = all(2, 3).chain(all(0, 100)).chain(all(1, 100)).collect();
        let merged = merge(&[&a, &b, &small], &rows);
        assert_eq!(merged.texts().len(), 3, "two shared, and one of what was copied");
        assert!(Arc::ptr_eq(&merged.texts()[0], &a.texts()[0]));

        // The second merge omits most rows of the second batch.
        let rows: Vec<(u16, u16)> = (0..110).map(|row| (0, row)).collect();
        let again = merge(&[&merged], &rows);
        assert_eq!(again.texts().len(), 2);
        let live: usize = (0..110).map(|row| again.text(row).len()).sum();
        assert!(again.texts().iter().map(|texts| texts.text.len()).sum::<usize>() <= 2 * live);

        // If no text is shared, the result is one text, which may be empty.
        assert!(matches!(merge(&[&small], &[(0, 1)]), BatchDocuments::Text(_)));
        assert!(matches!(merge(&[&a], &[]), BatchDocuments::Text(_)));
    }
}
