//! A check of the bytes of standing filters and events, for fuzzers.

use super::standing_bytes::{EntryWriter, Fields, events_of, stored_filter_of};
use crate::catalog::{Catalog, FieldId};
use crate::filter::Filter;
use crate::standing::{CaseEvent, CaseEventKind, Event, EventKind, StandingFilter, has_form, key_of};

/// Decodes any bytes as an entry of events, and as a standing filter with and without an owner. Asserts that each result is an
/// error, or has the form that the store writes. The bytes have no checksum. This function is for fuzzers.
///
/// # Panics
/// Panics if an invariant does not hold.
#[doc(hidden)]
pub fn check_stored_standing(bytes: &[u8]) {
    let catalog = Catalog::cases();
    let fields = Fields::of(&catalog);
    if let Ok(events) = events_of(1, bytes, &catalog, &fields) {
        assert_eq!(written(&events, &catalog), bytes, "{events:?}");
    }
    for key in ["name", "\0owner\0name"] {
        let Ok(stored) = stored_filter_of(key, bytes, &fields) else { continue };
        let Ok(filter) = Filter::of_stored_text(&catalog, stored.text) else { continue };
        let filter = StandingFilter::of_key(key, &filter).with_fields(stored.fields.iter().copied());
        assert_eq!((&*filter.key(), filter.fields()), (key, &*stored.fields));
        // The text of a forged filter may differ from the text of its normal form.
        let again = Filter::of_stored_text(&catalog, &filter.filter().to_text());
        assert_eq!(again.as_ref(), Ok(filter.filter()));
    }
}

/// Checks events of one entry, and returns the bytes that a store writes for them.
fn written(events: &[Event], catalog: &Catalog) -> Vec<u8> {
    let mut writer = EntryWriter::new(1);
    let first = events.first().map(|first| (first.time, &first.id));
    for (number, event) in (1..).zip(events) {
        assert_eq!((event.number, Some((event.time, &event.id))), (number, first));
        assert!(has_form(event.owner.as_deref(), &event.filter, StandingFilter::MAX_NAME_BYTES));
        let key = key_of(event.owner.as_deref(), &event.filter);
        let fields: Vec<FieldId> = match &event.kind {
            EventKind::Changed(names) => names.iter().filter_map(|name| catalog.find(name)).collect(),
            _ => Vec::new(),
        };
        let kind = match &event.kind {
            EventKind::Entered => CaseEventKind::Entered,
            EventKind::Left => CaseEventKind::Left,
            EventKind::Changed(_) => CaseEventKind::Changed(&fields),
        };
        writer.push(&CaseEvent { filter: &key, kind });
    }
    first.map(|(time, id)| writer.contents(time, id)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_refused_or_have_the_form_that_is_written() {
        let entry = [
            &7_i64.to_le_bytes()[..],
            &3_u32.to_le_bytes(),
            &2_u32.to_le_bytes(),
            b"id",
            &[0, 1, b'n', 1, 8, 0, b'o', b'w', b'n', b'e', b'r', 0, b'n', 2, 1, b'n', 2, 0, 1, 0, 5, 0],
        ]
        .concat();
        let filter = [&[1, 0, 3, 0][..], b"tags = vip"].concat();
        let owned = [&[0, 0][..], &2_u32.to_le_bytes(), b"{}", b"tags = vip"].concat();
        for bytes in [&entry, &filter, &owned] {
            check_stored_standing(bytes);
            let mut state = 77_u64;
            let mut below = |bound: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % bound
            };
            for _ in 0..20_000 {
                let mut changed = bytes.clone();
                for _ in 0..=below(3) {
                    let at = below(changed.len());
                    changed[at] = below(256) as u8;
                }
                check_stored_standing(&changed);
            }
        }
        let catalog = Catalog::cases();
        let events = events_of(1, &entry, &catalog, &Fields::of(&catalog)).unwrap();
        let told: Vec<_> = events.iter().map(|event| (event.owner.as_deref(), event.kind.name())).collect();
        assert_eq!(told, [(None, "entered"), (Some("owner"), "left"), (None, "changed")]);
    }
}
