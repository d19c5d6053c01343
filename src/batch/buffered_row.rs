//! Buffered rows: cases that are not sealed yet, each in as few allocations as can be.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "values of one case at the places that were counted for them, bytes of its document, which is shorter than 4 GiB, \
              and rows of heads in memory"
)]

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::document::Document;
use super::row::Row;
use crate::catalog::FieldId;
use crate::column::ColumnBuilder;
use crate::value::{OrderedType, Value};

/// The values of one case, and its document, independent of the text that they were read from.
#[derive(Debug)]
pub(crate) struct BufferedRow {
    /// The strings of the values, one behind the other, and behind them the document, if its text is kept.
    text: Box<str>,
    /// Where the document starts in `text`.
    document_start: u32,
    /// The number of the document and its size, if it is kept elsewhere.
    document: Option<(u64, usize)>,
    /// By field, those of one in the order of the document.
    values: Box<[Scalar]>,
    /// By field number: the offset behind its last value. Fields behind the last one have none.
    ends: Box<[u32]>,
    pub(crate) place: u64,
}

/// A value; of a string, where it starts and ends in the text, of an ordered type, the ordinal.
#[derive(Clone, Copy, Debug)]
enum Scalar {
    String(u32, u32),
    Ordered(OrderedType, i64),
    Boolean(bool),
}

impl BufferedRow {
    /// The texts of a case are together shorter than 4 GiB, since its document is.
    pub(crate) fn new(row: &Row<'_>, document: Document<'_>, place: u64) -> Self {
        let fields = row.iter().map(|(field, _)| field.index() + 1).max();
        // How many values each field has, then where its next one goes, and at last where its last one ends.
        let mut ends = vec![0_u32; fields.unwrap_or(0)].into_boxed_slice();
        let mut bytes = 0_usize;
        for (field, value) in row.iter() {
            ends[field.index()] += 1;
            if let Value::String(string) = value {
                bytes += string.len();
            }
        }
        let mut next = 0_u32;
        for end in &mut ends {
            next += std::mem::replace(end, next);
        }
        let document_bytes = match document {
            Document::Text(document) => document.len(),
            Document::Number { .. } => 0,
        };
        let mut text = String::with_capacity(bytes + document_bytes);
        let length = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX);
        let mut values = vec![Scalar::Boolean(false); row.iter().len()];
        for (field, value) in row.iter() {
            let scalar = match (value, value.ordinal()) {
                (Value::String(string), _) => {
                    let start = length(&text);
                    text.push_str(string);
                    Scalar::String(start, length(&text))
                }
                (_, Some((kind, ordinal))) => Scalar::Ordered(kind, ordinal),
                (value, None) => Scalar::Boolean(*value == Value::Boolean(true)),
            };
            let next = &mut ends[field.index()];
            values[*next as usize] = scalar;
            *next += 1;
        }
        let document_start = length(&text);
        let document = match document {
            Document::Text(document) => {
                text.push_str(document);
                None
            }
            Document::Number { number, size_bytes } => Some((number, size_bytes)),
        };
        Self { text: text.into(), document_start, document, values: values.into(), ends, place }
    }

    /// Adds all values to the columns of their fields, by field number, as those of the row of this number.
    pub(super) fn fill(&self, columns: &mut [Option<ColumnBuilder>], row: usize) {
        let mut start = 0;
        for (column, end) in columns.iter_mut().zip(&self.ends) {
            let end = *end as usize;
            let values = &self.values[std::mem::replace(&mut start, end)..end];
            if let Some(column) = column {
                values.iter().for_each(|scalar| column.push(row, &self.value(scalar)));
            }
        }
    }

    /// The values of a field in the order of the document.
    #[inline]
    pub(crate) fn values(&self, field: FieldId) -> impl Iterator<Item = Value<'_>> + Clone {
        let field = field.index();
        let values = match self.ends.get(field) {
            Some(end) => {
                let start = if field == 0 { 0 } else { self.ends[field - 1] };
                &self.values[start as usize..*end as usize]
            }
            // Fields after the last one that has values have none.
            None => &[],
        };
        values.iter().map(|scalar| self.value(scalar))
    }

    #[inline]
    fn value(&self, scalar: &Scalar) -> Value<'_> {
        match scalar {
            Scalar::String(start, end) => {
                Value::String(Cow::Borrowed(&self.text[*start as usize..*end as usize]))
            }
            Scalar::Ordered(kind, ordinal) => kind.value(*ordinal),
            Scalar::Boolean(boolean) => Value::Boolean(*boolean),
        }
    }

    /// The `id`, which every sound case has.
    pub(crate) fn id(&self) -> &str {
        match self.values(FieldId::ID).next() {
            Some(Value::String(Cow::Borrowed(id))) => id,
            _ => "",
        }
    }

    pub(crate) fn document(&self) -> Document<'_> {
        match self.document {
            Some((number, size_bytes)) => Document::Number { number, size_bytes },
            None => Document::Text(&self.text[self.document_start as usize..]),
        }
    }

    /// The number of the document, when it is kept elsewhere.
    pub(crate) fn document_number(&self) -> Option<u64> {
        self.document.map(|(number, _)| number)
    }

    /// What the values take, in bytes.
    pub(crate) fn values_bytes(&self) -> usize {
        size_of_val::<[Scalar]>(&self.values)
            + size_of_val::<[u32]>(&self.ends)
            + self.document_start as usize
    }
}

/// Rows of heads, one head behind the other: joining two of these touches none of the rows, which lie far apart.
#[derive(Clone, Debug)]
pub(crate) struct BufferedRows(Arc<[HeadRows]>);

/// The rows of one head.
#[derive(Clone, Debug)]
struct HeadRows {
    rows: Arc<[Arc<BufferedRow>]>,
    /// How many rows this head and those before have.
    end: usize,
    /// What the values of the rows and their documents take, once somebody wants to know.
    bytes: Arc<OnceLock<(usize, usize)>>,
}

impl HeadRows {
    fn bytes(&self) -> (usize, usize) {
        *self.bytes.get_or_init(|| {
            let bytes = |row: &Arc<BufferedRow>| (row.values_bytes(), row.document().size_bytes());
            self.rows.iter().map(bytes).fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1))
        })
    }
}

impl BufferedRows {
    /// Those of one head.
    pub(crate) fn new(rows: Vec<Arc<BufferedRow>>) -> Self {
        let end = rows.len();
        Self(Arc::new([HeadRows { rows: rows.into(), end, bytes: Arc::default() }]))
    }

    /// These rows, and others behind them.
    pub(crate) fn joined(&self, behind: &Self) -> Self {
        let first = self.len();
        let moved = behind.0.iter().map(|head| HeadRows { end: first + head.end, ..head.clone() });
        Self(self.0.iter().cloned().chain(moved).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.last().map_or(0, |head| head.end)
    }

    pub(crate) fn get(&self, row: usize) -> Option<&BufferedRow> {
        let at = self.0.partition_point(|head| head.end <= row);
        let head = self.0.get(at)?;
        Some(&head.rows[row + head.rows.len() - head.end])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &BufferedRow> {
        self.0.iter().flat_map(|head| head.rows.iter()).map(|row| &**row)
    }

    /// The rows, if they are of one head.
    pub(crate) fn single(&self) -> Option<&[Arc<BufferedRow>]> {
        match &*self.0 {
            [head] => Some(&head.rows),
            _ => None,
        }
    }

    /// What the values take, in bytes.
    pub(crate) fn values_bytes(&self) -> usize {
        self.0.iter().map(|head| head.bytes().0).sum()
    }

    /// What the documents take, or would take if they are kept elsewhere, in bytes.
    pub(crate) fn document_bytes(&self) -> usize {
        self.0.iter().map(|head| head.bytes().1).sum()
    }
}
