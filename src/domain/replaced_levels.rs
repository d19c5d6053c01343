//! Checks the levels that an import replaces: compares the stored applicants that have a replaced level with the new level.
//!
//! The import of an applicant compares the applicant with its level, which must be stored already. If a later import replaces the
//! level, the stored applicants must be compared with the new level.

use std::collections::HashMap;

use super::levels::{excluded_steps, sentence};
use super::records::{APPLICANTS, ApplicantHead, ApplicantKind, Level};
use super::report::{ImportNote, ImportNoteKind};
use crate::error::quote;
use crate::store::{RecordWriter, Store, StoreError};

/// The maximum number of levels that one import compares with the stored applicants. If an import replaces more levels, a note says
/// that the others were not compared.
const COMPARED: usize = 10_000;

/// The types of applicants, in the order in which the notes on a level list them.
const KINDS: [ApplicantKind; 2] = [ApplicantKind::Individual, ApplicantKind::Company];

/// The levels of an import that replaced stored levels, and that have a step that applicants of one type cannot have.
///
/// Contains at most [`COMPARED`] levels. The comparison reads each stored applicant once.
#[derive(Default)]
pub(super) struct ReplacedLevels {
    levels: HashMap<String, Replaced>,
    /// If there were more than [`COMPARED`] levels: the first level that `levels` has no room for, and the number of such levels
    /// after it. The number is an upper bound: if the import contains a level twice, the level is counted twice.
    passed_over: Option<(Place, u64)>,
}

/// The position of a level in the import.
struct Place {
    source: String,
    line: u64,
    /// The number of levels that the import had replaced before this level.
    rank: u64,
}

struct Replaced {
    place: Place,
    /// For each type in [`KINDS`]: the steps that applicants of the type cannot have, in words, and the number of stored applicants
    /// of the type that have the level.
    excluded_steps: [(Option<String>, u64); 2],
}

impl ReplacedLevels {
    /// Adds a level of the import. This level has replaced another level: a stored level, or an earlier level of the same import.
    pub(super) fn add(&mut self, level: &Level, source: &str, line: u64, rank: u64) {
        let excluded_steps = KINDS.map(|kind| (excluded_steps(level, kind), 0));
        if excluded_steps.iter().all(|(steps, _)| steps.is_none()) {
            self.levels.remove(&level.name);
            return;
        }
        let place = Place { source: source.to_owned(), line, rank };
        if self.levels.len() < COMPARED || self.levels.contains_key(&level.name) {
            self.levels.insert(level.name.clone(), Replaced { place, excluded_steps });
            return;
        }
        match &mut self.passed_over {
            Some((_, more)) => *more = more.saturating_add(1),
            None => self.passed_over = Some((place, 0)),
        }
    }

    /// For each level and applicant type, returns a note if the level has stored applicants of this type, and has steps that they
    /// cannot have. If some levels were not compared, returns one more note about these levels.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if a stored applicant is damaged.
    pub(super) fn notes(
        mut self,
        store: &Store,
        records: &mut RecordWriter<'_>,
    ) -> Result<Vec<ImportNote>, StoreError> {
        if self.levels.is_empty() && self.passed_over.is_none() {
            return Ok(Vec::new());
        }
        let mut damage = None;
        records.each(APPLICANTS, |text| match serde_json::from_str(text) {
            Ok(applicant) => self.count(&applicant),
            Err(fault) => damage = Some(fault),
        })?;
        if let Some(fault) = damage {
            return Err(store.corrupt_record(&fault.to_string()));
        }
        let mut levels: Vec<(String, Replaced)> = self.levels.into_iter().collect();
        levels.sort_by_key(|(_, level)| level.place.rank);
        let mut notes = Vec::new();
        for (name, Replaced { place, excluded_steps }) in levels {
            for (kind, (steps, count)) in KINDS.into_iter().zip(excluded_steps) {
                let Some(steps) = steps.filter(|_| count > 0) else { continue };
                let of = format!("the level {} of {}", quote(&name), counted(count, kind));
                notes.push(place.note(format!("docSets: {}", sentence(&of, kind, &steps))));
            }
        }
        if let Some((place, more)) = self.passed_over {
            let levels = match more {
                0 => String::new(),
                1 => " and 1 later level".to_owned(),
                _ => format!(" and {more} later levels"),
            };
            notes.push(place.note(format!(
                "docSets: the import did not check whether the stored applicants of this level{levels} can have all steps: an import checks at most {COMPARED} levels"
            )));
        }
        Ok(notes)
    }

    fn count(&mut self, applicant: &ApplicantHead) {
        let level = applicant.level_name().and_then(|name| self.levels.get_mut(name));
        let Some(Replaced { excluded_steps, .. }) = level else { return };
        for (kind, (_, count)) in KINDS.into_iter().zip(excluded_steps) {
            if kind == applicant.kind {
                *count = count.saturating_add(1);
            }
        }
    }
}

impl Place {
    fn note(&self, message: String) -> ImportNote {
        let Self { source, line, .. } = self;
        ImportNote { source: source.clone(), line: *line, kind: ImportNoteKind::InapplicableSteps, message }
    }
}

/// Returns a phrase for this number of stored applicants.
fn counted(count: u64, kind: ApplicantKind) -> String {
    let noun = match (kind, count) {
        (ApplicantKind::Individual, 1) => "individual",
        (ApplicantKind::Individual, _) => "individuals",
        (ApplicantKind::Company, 1) => "company",
        (ApplicantKind::Company, _) => "companies",
    };
    format!("{count} stored {noun}")
}
