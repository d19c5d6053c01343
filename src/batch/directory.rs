//! What is known of all batches of a snapshot together, so that a search meets few of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::keys::{KeyIndex, join};
use super::{Batch, GlobalRow};
use crate::catalog::{Catalog, FieldId, FieldType};
use crate::column::{Column, Data, Postings};
use crate::value::{Number, Timestamp};

/// Zone maps, values and keys of all batches, by field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    fields: Vec<FieldDirectory>,
    hasher: ahash::RandomState,
    batches: usize,
}

/// What is known of one field in all batches.
#[derive(Clone, Debug, Default)]
pub(crate) enum FieldDirectory {
    /// Nothing: each batch's column must be asked.
    #[default]
    Unknown,
    /// The zone map of each batch.
    Numbers(Vec<Option<(Number, Number)>>),
    /// The zone map of each batch.
    Timestamps(Vec<Option<(Timestamp, Timestamp)>>),
    /// Each string and where it occurs; every batch has postings then.
    Strings(HashMap<Arc<str>, Occurrences, ahash::RandomState>),
    /// Where each string is; the strings themselves are in the batches.
    Keys(KeyIndex),
}

/// Where a string occurs.
#[derive(Clone, Debug)]
pub(crate) struct Occurrences {
    /// The code of the string in each batch that has it, ascending by batch.
    pub(crate) codes: Vec<(u32, u32)>,
    /// In how many rows, dead ones too.
    pub(crate) rows: u64,
}

/// More strings than this in a field are looked up in each batch instead.
const MOST_STRINGS: usize = 1 << 14;

impl Directory {
    /// Takes in batches that stand behind those it knows.
    pub(crate) fn add<'b>(&mut self, catalog: &Catalog, batches: impl IntoIterator<Item = &'b Batch>) {
        let first = self.batches;
        let batches: Vec<&Batch> = batches.into_iter().collect();
        self.fields.resize_with(catalog.fields().len(), FieldDirectory::default);
        for (field, directory) in catalog.field_ids().zip(&mut self.fields) {
            if !(field == FieldId::ID || catalog.is_visible(field)) {
                continue;
            }
            let is_key = catalog.field(field).is_key();
            if first == 0 {
                *directory = match catalog.field(field).kind() {
                    FieldType::String if is_key => FieldDirectory::Keys(KeyIndex::default()),
                    FieldType::String => FieldDirectory::Strings(HashMap::with_hasher(self.hasher.clone())),
                    FieldType::Number => FieldDirectory::Numbers(Vec::new()),
                    FieldType::Timestamp => FieldDirectory::Timestamps(Vec::new()),
                    FieldType::Boolean => FieldDirectory::Unknown,
                };
            }
            let columns = batches.iter().map(|batch| batch.column(field));
            let numbered = (first..).zip(columns.clone());
            let known = match directory {
                FieldDirectory::Unknown => true,
                FieldDirectory::Numbers(zones) => {
                    zones.extend(columns.map(|column| match column.map(|column| &column.data) {
                        Some(Data::Numbers { zone, .. }) => *zone,
                        _ => None,
                    }));
                    true
                }
                FieldDirectory::Timestamps(zones) => {
                    zones.extend(columns.map(|column| match column.map(|column| &column.data) {
                        Some(Data::Timestamps { zone, .. }) => *zone,
                        _ => None,
                    }));
                    true
                }
                FieldDirectory::Strings(strings) => numbered.clone().all(|(number, column)| {
                    column.is_some_and(|column| add_strings(strings, number, column))
                }),
                FieldDirectory::Keys(keys) => {
                    let hasher = &self.hasher;
                    let rows = numbered.flat_map(|(number, column)| {
                        let rows = 0..column.map_or(0, Column::rows);
                        rows.filter_map(move |row| {
                            Some((hasher.hash_one(column?.string(row)?), join(number, row)?))
                        })
                    });
                    keys.add(rows);
                    true
                }
            };
            if !known {
                *directory = FieldDirectory::Unknown;
            }
        }
        self.batches = first.saturating_add(batches.len());
    }

    pub(crate) fn field(&self, field: FieldId) -> &FieldDirectory {
        self.fields.get(field.index()).unwrap_or(&FieldDirectory::Unknown)
    }

    /// The rows whose string of a key field may be `text`; the hash alone was compared.
    pub(crate) fn probe<'d>(
        &'d self,
        keys: &'d KeyIndex,
        text: &str,
    ) -> impl Iterator<Item = GlobalRow> + use<'d> {
        keys.probe(self.hasher.hash_one(text))
    }

    /// The same for ids.
    pub(crate) fn probe_id(&self, id: &str) -> impl Iterator<Item = GlobalRow> {
        let keys = match self.field(FieldId::ID) {
            FieldDirectory::Keys(keys) => Some(keys),
            _ => None,
        };
        let hash = self.hasher.hash_one(id);
        keys.into_iter().flat_map(move |keys| keys.probe(hash))
    }

    /// The hasher of keys, for those who keep others of the same sort.
    pub(crate) fn hasher(&self) -> &ahash::RandomState {
        &self.hasher
    }

    /// Heap memory of what is known of a field, in bytes.
    pub(crate) fn size_bytes(&self, field: FieldId) -> usize {
        match self.field(field) {
            FieldDirectory::Unknown => 0,
            FieldDirectory::Numbers(zones) => size_of_val::<[Option<(Number, Number)>]>(zones),
            FieldDirectory::Timestamps(zones) => size_of_val::<[Option<(Timestamp, Timestamp)>]>(zones),
            FieldDirectory::Strings(strings) => strings
                .iter()
                .map(|(text, occurrences)| {
                    let codes = occurrences.codes.capacity().saturating_mul(size_of::<(u32, u32)>());
                    text.len().saturating_add(codes).saturating_add(size_of::<(Arc<str>, Occurrences)>())
                })
                .sum(),
            FieldDirectory::Keys(keys) => keys.size_bytes(),
        }
    }
}

/// Notes the strings of one batch; false when there are too many, or the column has no postings.
fn add_strings(
    strings: &mut HashMap<Arc<str>, Occurrences, ahash::RandomState>,
    number: usize,
    column: &Column,
) -> bool {
    let Data::Strings { dictionary, postings, .. } = &column.data else { return false };
    let Some(postings) = postings else { return dictionary.len() == 0 };
    let Ok(number) = u32::try_from(number) else { return false };
    for code in 0..u32::try_from(dictionary.len()).unwrap_or(u32::MAX) {
        let text = dictionary.get(code as usize);
        if !strings.contains_key(text) {
            if strings.len() >= MOST_STRINGS {
                return false;
            }
            strings.insert(text.into(), Occurrences { codes: Vec::new(), rows: 0 });
        }
        if let Some(occurrences) = strings.get_mut(text) {
            occurrences.codes.push((number, code));
            occurrences.rows = occurrences.rows.saturating_add(Postings::count(postings, code) as u64);
        }
    }
    true
}
