//! Completes filter texts with values that cases have.

use std::collections::BTreeSet;

use crate::catalog::FieldId;
use crate::column::ColumnData;
use crate::engine::handle::Engine;
use crate::engine::snapshot::Slot;
use crate::filter::Completions;

/// The maximum number of values that are offered as completions. Further values are left out.
const MOST_VALUES: usize = 20;

/// The maximum number of strings that are read from each batch. It is larger than the number of offered values, because some
/// strings may belong only to deleted cases.
const MOST_STRINGS: usize = 4 * MOST_VALUES;

impl Engine {
    /// Returns the [completions](Completions::new) at the byte offset `cursor` of a filter text. In a string field, they include up
    /// to 20 values of documents, in the order of code points. Each of these values begins with the part of the value that is
    /// before the cursor.
    ///
    /// The values come from all cases of the engine. Do not show them to a client that may not see all cases.
    ///
    /// ```
    /// use casefilter::{Catalog, Engine};
    /// let engine = Engine::new(Catalog::cases());
    /// engine.upsert_many(br#"{"id":"a","tags":["cash","crypto"]}"#)?;
    /// let completions = engine.completions("tags in (cr", 11);
    /// assert_eq!((completions.range, completions.candidates[0].text.as_str()), (9..11, "crypto"));
    /// # Ok::<(), casefilter::ImportError>(())
    /// ```
    ///
    /// # Complexity
    /// Linear in the number of batches, and logarithmic in the number of distinct strings of a batch. In addition, for each of
    /// these strings, the documents are read up to the first live document that has the string. Batches without the string are not
    /// read.
    #[must_use]
    pub fn completions(&self, text: &str, cursor: usize) -> Completions {
        let mut completions = Completions::new(&self.catalog, text, cursor);
        if let Some((field, written)) = completions.wanted.take() {
            let snapshot = self.current_snapshot();
            let view = snapshot.view(&self.catalog, self.keep);
            let slots: Vec<&Slot> = view.slots().collect();
            let live =
                strings(&slots, field, &written).into_iter().filter(|value| is_live(&slots, field, value));
            live.take(MOST_VALUES).for_each(|value| completions.add_value(value));
        }
        completions
    }
}

/// Returns strings of the batches that begin with `start`, in ascending order.
fn strings<'s>(slots: &[&'s Slot], field: FieldId, start: &str) -> BTreeSet<&'s str> {
    let mut found = BTreeSet::new();
    for slot in slots {
        if let Some(ColumnData::Strings { dictionary, .. }) =
            slot.batch.column(field).map(|column| &column.data)
        {
            found.extend(dictionary.starting_with(start).take(MOST_STRINGS).map(|code| dictionary.get(code)));
        }
    }
    found
}

/// Returns true if a live case has the string.
fn is_live(slots: &[&Slot], field: FieldId, text: &str) -> bool {
    slots.iter().any(|slot| {
        let Some(column) = slot.batch.column(field) else { return false };
        let ColumnData::Strings { dictionary, codes, .. } = &column.data else { return false };
        let Some(code) = dictionary.find_all(&[text]).first().map(|code| *code as usize) else {
            return false;
        };
        let has = |row: usize| slot.live.contains(row) && column.places(row).any(|at| codes.get(at) == code);
        (0..slot.batch.rows()).any(has)
    })
}

#[cfg(test)]
mod tests {
    use crate::catalog::Catalog;
    use crate::engine::handle::Engine;

    #[test]
    fn values_of_live_cases_are_candidates() {
        let engine = Engine::new(Catalog::cases());
        let cases: Vec<String> = (0..200)
            .map(|n| {
                format!(r#"{{"id":"C-{n:03}","name":"Ann {n:03}","priority":"urgent","tags":["t{n:03}"]}}"#)
            })
            .collect();
        engine.upsert_many(cases.join("\n").as_bytes()).unwrap();
        engine.delete("C-000");
        engine.upsert(br#"{"id":"new","tags":["t0005"]}"#).unwrap();
        let texts = |text: &str| {
            let completions = engine.completions(text, text.len());
            completions.candidates.into_iter().map(|candidate| candidate.text).collect::<Vec<_>>()
        };
        let tags = texts("tags in (t0");
        assert_eq!((tags.len(), tags[0].as_str(), tags[5].as_str()), (20, "t0005", "t005"));
        assert_eq!(texts("name = \"Ann 19"), (190..200).map(|n| format!("\"Ann {n}\"")).collect::<Vec<_>>());
        assert_eq!(texts("priority = "), ["low", "medium", "high", "urgent"]);
        assert_eq!(texts("totalAmountInDefaultCurrency > "), [""; 0]);
        assert_eq!(texts("tags = x "), ["and", "or"]);
    }
}
