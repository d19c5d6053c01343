//! Serialises sealed batches for the store, and reads them back. A batch has one part for its rows, one part for each column, and
//! one part for the filter of each key field.
//!
//! Each part has a version, a checksum and its contents. The checksum also covers the batch number and the part number. So it
//! detects a part that was changed, and a part that is stored under the key of another part. The checksum protects against
//! accidents, not against forgery: contents with a correct checksum are still [checked](crate::column::codec).

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::documents::{BatchDocuments, Numbers};
use super::insertion_order::InsertionOrder;
use super::key_filter::KeyFilter;
use super::sealed::Batch;
use super::summary::{BatchSummary, ColumnSummary, stored_fields};
use crate::catalog::{Catalog, FieldId};
use crate::column::codec::{
    ByteReader, ByteWriter, Fault, {self},
};
use crate::column::{self, Column, ColumnData, ColumnLayout};
use crate::rows::{MAX_ROWS, Selection};
use crate::value::ValueClass;

/// The format version of all parts, except the parts of fields below arrays of objects.
const VERSION: u8 = 1;

/// The format version of a part of a field below arrays of objects: the first one with [elements](crate::column::codec). For such a
/// field, parts of version 1 can also be read.
const VERSION_WITH_ELEMENTS: u8 = 2;

/// Returns the format version that a part is written in.
fn version(catalog: &Catalog, part: Part) -> u8 {
    match part {
        Part::Column(field) if catalog.field(field).levels() > 0 => VERSION_WITH_ELEMENTS,
        Part::Column(_) | Part::Rows | Part::Keys(_) => VERSION,
    }
}

/// The byte before consecutive insertion-order or document numbers. Only the first number is stored.
const FROM: u8 = 0;
/// The byte before insertion-order or document numbers that are not consecutive. All numbers are stored.
const EACH: u8 = 1;
/// The byte that stands for document numbers in a batch whose documents have none.
const NO_NUMBERS: u8 = 2;

/// One part of a serialised batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The number of rows, their insertion order, and their document numbers.
    Rows,
    /// The column of a field.
    Column(FieldId),
    /// The [filter](KeyFilter) of a key field. Batches without a summary have no such part.
    Keys(FieldId),
}

/// The bit that distinguishes the part numbers of filters from those of columns.
const FILTER_BIT: u16 = 1 << 15;

impl Part {
    /// Returns the parts that each batch of the catalogue has.
    pub(crate) fn all(catalog: &Catalog) -> impl Iterator<Item = Self> {
        std::iter::once(Self::Rows).chain(stored_fields(catalog).map(Self::Column))
    }

    /// Returns the filter parts of a batch with a summary. If the catalogue has more than 32,766 fields, there are none, because
    /// filters would get the part numbers of columns.
    pub(crate) fn filters(catalog: &Catalog) -> impl Iterator<Item = Self> {
        let has_numbers = catalog.fields().len() < usize::from(FILTER_BIT).saturating_sub(1);
        let is_key = move |field: &FieldId| has_numbers && has_filter(catalog, *field);
        stored_fields(catalog).filter(is_key).map(Self::Keys)
    }

    /// Returns the part number, which is unique in its batch. It fits a `u16`, because a catalogue has fewer than 65,536 fields.
    pub(crate) fn number(self) -> u16 {
        let number = |field: FieldId| u16::try_from(field.index().saturating_add(1)).unwrap_or(u16::MAX);
        match self {
            Self::Rows => 0,
            Self::Column(field) => number(field),
            Self::Keys(field) => number(field) | FILTER_BIT,
        }
    }
}

/// Returns the checksum of a part. The same contents in another batch, part or version have a different checksum.
fn checksum(batch: u64, part: Part, version: u8, contents: &[u8]) -> u64 {
    let of_version = u64::from(version.wrapping_sub(VERSION)) << 32;
    xxh3_64_with_seed(contents, batch.rotate_left(16) ^ u64::from(part.number()) ^ of_version)
}

/// Serialises one part of a batch. `number` is the batch number.
pub(crate) fn write(catalog: &Catalog, batch: &Batch, number: u64, part: Part) -> Vec<u8> {
    let mut contents = ByteWriter::default();
    match part {
        Part::Rows => {
            contents.all(&[batch.rows as u64]);
            match &batch.places {
                InsertionOrder::From(first) => {
                    contents.u8(FROM);
                    contents.all(&[*first]);
                }
                InsertionOrder::Each { places, .. } => {
                    contents.u8(EACH);
                    contents.all(places);
                }
            }
            match &batch.documents {
                BatchDocuments::Numbers(Numbers::From(first)) => {
                    contents.u8(FROM);
                    contents.all(&[*first]);
                }
                BatchDocuments::Numbers(Numbers::Each(numbers)) => {
                    contents.u8(EACH);
                    contents.all(numbers);
                }
                BatchDocuments::Nothing
                | BatchDocuments::Text(_)
                | BatchDocuments::Rows(_)
                | BatchDocuments::Merged { .. } => {
                    contents.u8(NO_NUMBERS);
                }
            }
        }
        Part::Column(field) => {
            if let Some(column) = batch.column(field) {
                codec::write(catalog.field(field), column, &mut contents);
            }
        }
        Part::Keys(field) => {
            if let Some(column) = batch.column(field) {
                KeyFilter::of(column).write(&mut contents);
            }
        }
    }
    let contents = contents.into_bytes();
    let mut out = ByteWriter::default();
    let version = version(catalog, part);
    out.u8(version);
    out.all(&[checksum(number, part, version, &contents)]);
    out.bytes(&contents);
    out.into_bytes()
}

/// Checks the version and the checksum of a part. Returns its contents. The second value is true if the part has the
/// [version](version) that is written now.
fn open<'b>(catalog: &Catalog, number: u64, part: Part, bytes: &'b [u8]) -> Result<(&'b [u8], bool), Fault> {
    let mut reader = ByteReader::new(bytes);
    let (own, written) = (reader.u8()?, version(catalog, part));
    if !(VERSION..=written).contains(&own) {
        return Err(format!("version {own} of a part, where {written} is known"));
    }
    let expected: u64 = reader.one()?;
    let contents = reader.rest();
    match checksum(number, part, own, contents) == expected {
        true => Ok((contents, own == written)),
        false => Err("a wrong checksum".into()),
    }
}

/// A batch that was read.
pub(crate) struct ReadBatch {
    pub(crate) batch: Batch,
    /// The fields below arrays of objects whose parts have a version without elements. Their columns treat each value as the only
    /// value of a separate element; see [`Batch::set_elements`].
    pub(crate) outdated: Vec<FieldId>,
}

/// Reads the batch with the batch number `number`. The function `bytes` returns the bytes of each part.
///
/// For any bytes, returns either an error or a batch that satisfies every invariant.
pub(crate) fn read<E: From<Fault>>(
    catalog: &Catalog,
    number: u64,
    mut bytes: impl FnMut(Part) -> Result<Vec<u8>, E>,
) -> Result<ReadBatch, E> {
    let (rows, places, documents) = read_rows(catalog, number, &bytes(Part::Rows)?)?;
    let mut columns: Vec<Option<Column>> = Vec::new();
    columns.resize_with(catalog.fields().len(), || None);
    let mut outdated = Vec::new();
    for part in Part::all(catalog) {
        let Part::Column(field) = part else { continue };
        let (column, is_current) = read_column(catalog, number, field, rows, &bytes(part)?)?;
        if !is_current {
            outdated.push(field);
        }
        if let Some(slot) = columns.get_mut(field.index()) {
            *slot = Some(column);
        }
    }
    Ok(ReadBatch { batch: Batch::sealed(rows, columns.into(), places, documents), outdated })
}

/// Describes a fault of a part.
fn within(catalog: &Catalog, number: u64, part: Part, fault: &str) -> Fault {
    let name = match part {
        Part::Rows => "rows",
        Part::Column(field) => catalog.field(field).name(),
        Part::Keys(field) => {
            return format!("batch {number}, keys of {}: {fault}", catalog.field(field).name());
        }
    };
    format!("batch {number}, {name}: {fault}")
}

/// Returns true if the batches of a store have a filter for this field. This is true for a field with a key index.
fn has_filter(catalog: &Catalog, field: FieldId) -> bool {
    let field = catalog.field(field);
    field.is_key() && ValueClass::of_field(field.field_type()) == ValueClass::Strings
}

/// Reads the filter of a key field.
pub(crate) fn read_filter(
    catalog: &Catalog,
    number: u64,
    field: FieldId,
    bytes: &[u8],
) -> Result<KeyFilter, Fault> {
    let part = Part::Keys(field);
    let read = open(catalog, number, part, bytes).and_then(|(contents, _)| KeyFilter::read(contents));
    read.map_err(|fault| within(catalog, number, part, &fault))
}

/// Reads part 0 of a batch: the number of rows, the insertion order and the document numbers.
pub(crate) fn read_rows(
    catalog: &Catalog,
    number: u64,
    bytes: &[u8],
) -> Result<(usize, InsertionOrder, BatchDocuments), Fault> {
    open(catalog, number, Part::Rows, bytes)
        .and_then(|(contents, _)| rows_from(contents))
        .map_err(|fault| within(catalog, number, Part::Rows, &fault))
}

/// Reads the column of a field in a batch of `rows` rows. The second value is true if the part has the version that is written now.
fn read_column(
    catalog: &Catalog,
    number: u64,
    field: FieldId,
    rows: usize,
    bytes: &[u8],
) -> Result<(Column, bool), Fault> {
    let part = Part::Column(field);
    let read = open(catalog, number, part, bytes).and_then(|(contents, is_current)| {
        let column = codec::read(catalog.field(field), rows, is_current, contents)?;
        match field == FieldId::ID && !are_ids(&column) {
            true => Err("a row without an id".to_owned()),
            false => Ok((column, is_current)),
        }
    });
    read.map_err(|fault| within(catalog, number, part, &fault))
}

/// Reads the column of a field in a batch that has a summary.
///
/// For any bytes, returns either an error or a column that satisfies every invariant and agrees with its summary.
pub(crate) fn read_summarized(
    catalog: &Catalog,
    (number, rows): (u64, usize),
    field: FieldId,
    summary: ColumnSummary,
    bytes: &[u8],
) -> Result<Column, Fault> {
    let (mut column, is_current) = read_column(catalog, number, field, rows, bytes)?;
    let wrong = |fault: &str| Err(within(catalog, number, Part::Column(field), fault));
    if !is_current {
        return wrong("an earlier version of the part, in a batch with a summary");
    }
    if ColumnSummary::of(&column) != summary {
        return wrong("values that do not match the summary of the column");
    }
    column::pack(std::iter::once(&mut column));
    Ok(column)
}

/// Returns true if every row has a string that is not empty.
fn are_ids(column: &Column) -> bool {
    match (&column.layout, &column.data) {
        // The strings of a dictionary are distinct and ascending, so only the first string can be empty. Each string of the
        // dictionary occurs in at least one row. So a row has an empty string exactly if the first string is empty.
        (ColumnLayout::Single(Selection::All), ColumnData::Strings { dictionary, .. })
            if dictionary.len() > 0 =>
        {
            !dictionary.get(0).is_empty()
        }
        _ => column.rows() == 0,
    }
}

fn rows_from(contents: &[u8]) -> Result<(usize, InsertionOrder, BatchDocuments), Fault> {
    let mut reader = ByteReader::new(contents);
    let rows = reader.one::<u64>()?;
    let rows = usize::try_from(rows).ok().filter(|rows| *rows <= MAX_ROWS);
    let rows = rows.ok_or("too many rows for a batch")?;
    let places = match reader.u8()? {
        FROM => InsertionOrder::From(reader.one()?),
        EACH => InsertionOrder::new(reader.all(rows)?),
        form => return Err(format!("places of form {form}")),
    };
    let documents = match reader.u8()? {
        FROM => BatchDocuments::Numbers(Numbers::From(reader.one()?)),
        EACH => BatchDocuments::Numbers(Numbers::Each(reader.all(rows)?.into())),
        NO_NUMBERS => BatchDocuments::Nothing,
        form => return Err(format!("document numbers of form {form}")),
    };
    reader.finish()?;
    Ok((rows, places, documents))
}

/// Reads a batch from parts with arbitrary contents. Asserts that the result is an error, or a batch that satisfies every
/// invariant. This function is for fuzzers.
///
/// For each part, `bytes` has two items: the length of the contents of the part as a `u16`, and then the contents. This function
/// adds the version and a valid checksum to each part. The catalogue has three fields of each type: a single-valued field, a
/// multi-valued field, and a field below two arrays of objects.
///
/// # Panics
/// Panics if an invariant does not hold.
#[doc(hidden)]
pub fn check_stored_batch(mut bytes: &[u8]) {
    use crate::catalog::{Field, FieldType};
    let kinds = [
        FieldType::String,
        FieldType::Number,
        FieldType::Timestamp,
        FieldType::Boolean,
        FieldType::Integer,
        FieldType::Decimal { scale: 2 },
    ];
    let fields = kinds.into_iter().flat_map(|kind| {
        let name = kind.name();
        let (list, below) = (format!("{name}s[]"), format!("a[].b[].{name}"));
        [Field::new(name, kind), Field::new(&list, kind), Field::new(&below, kind)]
    });
    let Ok(catalog) = Catalog::new(fields) else { return };
    // Bytes that are not a summary must be rejected, too.
    if let Ok(summary) = BatchSummary::from_bytes(&catalog, bytes) {
        assert_eq!(summary.to_bytes(&catalog), bytes);
    }
    // Bytes that are not a filter must be rejected, too.
    if let Ok(filter) = KeyFilter::read(bytes) {
        let mut out = ByteWriter::default();
        filter.write(&mut out);
        assert_eq!(out.into_bytes(), bytes);
        filter.may_have("");
    }
    let mut parts = Vec::new();
    let whole = read(&catalog, 0, |part| {
        let mut reader = ByteReader::new(bytes);
        let contents = reader.one::<u16>().and_then(|length| reader.bytes(length.into())).unwrap_or_default();
        bytes = reader.rest();
        let mut out = ByteWriter::default();
        let version = version(&catalog, part);
        out.u8(version);
        out.all(&[checksum(0, part, version, contents)]);
        out.bytes(contents);
        let out = out.into_bytes();
        parts.push((part, out.clone()));
        Ok::<_, Fault>(out)
    });
    let Ok(ReadBatch { batch, .. }) = whole else { return };
    assert_eq!(batch.validate(&catalog), Ok(()));
    // A column that is read alone equals the column of the batch, and agrees only with its own summary.
    let summary = batch.summary(&catalog);
    assert_eq!(BatchSummary::from_bytes(&catalog, &summary.to_bytes(&catalog)).as_ref(), Ok(&summary));
    for (part, bytes) in parts {
        let Part::Column(field) = part else { continue };
        let own = summary.column(field);
        let alone = |summary| read_summarized(&catalog, (0, batch.rows), field, summary, &bytes);
        assert_eq!(alone(own).as_ref().ok(), batch.column(field));
        let other = ColumnSummary::Ordered(Some((i64::MIN, i64::MAX)));
        assert!(own == other || alone(other).is_err());
    }
}

#[cfg(test)]
mod tests;
