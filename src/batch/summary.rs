//! Summaries of stored batches: what an engine needs to know about columns before it reads them.

use crate::catalog::{Catalog, FieldId};
use crate::column::codec::{ByteReader, ByteWriter, Fault};
use crate::column::{Column, ColumnData};
use crate::value::{OrdinalRange, ValueClass};

/// The summary of a batch: the number of its rows, and a summary of each column.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BatchSummary {
    rows: usize,
    /// The summaries by field number.
    columns: Box<[ColumnSummary]>,
}

/// The summary of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ColumnSummary {
    /// The summary of a column of booleans, or of a field without a column. It contains nothing.
    #[default]
    Empty,
    /// The zone map of a column of an ordered type: the smallest and the greatest value. `None` if there are no values.
    Ordered(Option<OrdinalRange>),
    /// The total size in bytes of the distinct strings of a column.
    Strings(u64),
}

/// The byte that is written for a column of an ordered type if the column has no values.
const NO_VALUES: u8 = 0;
/// The byte that is written for a column of an ordered type if the column has values. The smallest value and the greatest value
/// follow this byte.
const VALUES: u8 = 1;

impl ColumnSummary {
    /// Returns the summary of a column.
    pub(crate) fn of(column: &Column) -> Self {
        match &column.data {
            ColumnData::Ordered { zone, .. } => Self::Ordered(*zone),
            ColumnData::Strings { dictionary, .. } => Self::Strings(dictionary.text_bytes() as u64),
            ColumnData::Booleans { .. } => Self::Empty,
        }
    }
}

impl BatchSummary {
    /// Creates the summary of a batch of `rows` rows from its columns, in the order of the fields of the catalogue.
    pub(super) fn new<'c>(rows: usize, columns: impl Iterator<Item = Option<&'c Column>>) -> Self {
        let columns = columns.map(|column| column.map(ColumnSummary::of).unwrap_or_default());
        Self { rows, columns: columns.collect() }
    }

    /// Returns the number of rows of the batch.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the summary of the column of a field.
    pub(crate) fn column(&self, field: FieldId) -> ColumnSummary {
        self.columns.get(field.index()).copied().unwrap_or_default()
    }

    /// Returns the total size in bytes of the distinct strings of all columns.
    pub(crate) fn string_bytes(&self) -> usize {
        let bytes = self.columns.iter().map(|column| match column {
            ColumnSummary::Strings(bytes) => usize::try_from(*bytes).unwrap_or(usize::MAX),
            ColumnSummary::Ordered(_) | ColumnSummary::Empty => 0,
        });
        bytes.fold(0, usize::saturating_add)
    }

    /// Returns the summary as bytes, without a checksum.
    pub(crate) fn to_bytes(&self, catalog: &Catalog) -> Vec<u8> {
        let mut out = ByteWriter::default();
        out.all(&[self.rows as u64]);
        for field in stored_fields(catalog) {
            match self.column(field) {
                ColumnSummary::Empty => {}
                ColumnSummary::Strings(bytes) => out.all(&[bytes]),
                ColumnSummary::Ordered(None) => out.u8(NO_VALUES),
                ColumnSummary::Ordered(Some((least, greatest))) => {
                    out.u8(VALUES);
                    out.all(&[least, greatest]);
                }
            }
        }
        out.into_bytes()
    }

    /// Reads a summary.
    ///
    /// # Errors
    /// Returns a fault if the bytes are not the summary of a batch with this catalogue.
    pub(crate) fn from_bytes(catalog: &Catalog, bytes: &[u8]) -> Result<Self, Fault> {
        let mut reader = ByteReader::new(bytes);
        let rows = usize::try_from(reader.one::<u64>()?).map_err(|_| "too many rows for a batch")?;
        let mut columns = vec![ColumnSummary::Empty; catalog.fields().len()];
        for field in stored_fields(catalog) {
            let Some(column) = columns.get_mut(field.index()) else { continue };
            *column = match ValueClass::of_field(catalog.field(field).field_type()) {
                ValueClass::Booleans => ColumnSummary::Empty,
                ValueClass::Strings => match reader.one::<u64>()? {
                    // The offsets into the strings of a column are `u32`.
                    bytes if u32::try_from(bytes).is_ok() => ColumnSummary::Strings(bytes),
                    bytes => return Err(format!("{bytes} bytes of strings in a column")),
                },
                ValueClass::Ordered(_) => match reader.u8()? {
                    NO_VALUES => ColumnSummary::Ordered(None),
                    VALUES => match (reader.one()?, reader.one()?) {
                        (least, greatest) if least <= greatest => {
                            ColumnSummary::Ordered(Some((least, greatest)))
                        }
                        _ => return Err("a least value above the greatest".into()),
                    },
                    form => return Err(format!("a summary of form {form}")),
                },
            };
        }
        reader.finish()?;
        Ok(Self { rows, columns: columns.into() })
    }
}

/// Returns the fields that have a column in each batch.
pub(super) fn stored_fields(catalog: &Catalog) -> impl Iterator<Item = FieldId> {
    catalog.field_ids().filter(|field| *field == FieldId::ID || catalog.is_visible(*field))
}
