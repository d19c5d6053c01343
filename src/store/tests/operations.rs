//! Random operations on a store and on its expected contents.

use super::*;
#[cfg(feature = "service")]
use crate::standing::{MARK, key_of};

/// The reason for abandoning a write of records: an error of the file, or `None` if the test abandons it on purpose.
struct Unwanted(Option<StoreError>);

impl From<StoreError> for Unwanted {
    fn from(error: StoreError) -> Self {
        Self(Some(error))
    }
}

/// Runs one random operation on `store` and `plain`. Returns true if all writes are on disk afterwards.
pub(super) fn operate(store: &Store, plain: &mut Plain, dice: &mut Dice) -> Result<bool, StoreError> {
    let synced = dice.one_in(2);
    let durability = if synced { Durability::Synced } else { Durability::Grouped };
    match dice.below(17) {
        0..5 => {
            let (id, document) = case(dice);
            plain.upsert(&id, &document);
            store.upsert(document.as_bytes(), durability)?;
        }
        5 => {
            let cases: Vec<(String, String)> = (0..dice.below(9)).map(|_| case(dice)).collect();
            plain.write(&cases);
            store.upsert_each(cases.iter().map(|(_, document)| document.as_bytes()), durability)?;
        }
        6 => {
            let id = format!("c{}", dice.below(40));
            plain.delete(&id);
            store.delete(&id, durability)?;
        }
        7 => {
            let cases: Vec<(String, String)> = (0..dice.below(30)).map(|_| case(dice)).collect();
            let mut import = store.import(ImportMode::Strict)?;
            for (_, document) in &cases {
                import.push(document.as_bytes())?;
                import.push(b"\n")?;
            }
            if dice.one_in(4) {
                // The import may buffer documents, so it may be the commit that returns the error.
                let refused = match import.push(b"{\"id\":7}\n") {
                    Ok(()) => import.commit().unwrap_err(),
                    Err(refused) => refused,
                };
                assert!(
                    [StoreErrorKind::RejectedDocument, StoreErrorKind::Io].contains(&refused.kind()),
                    "{refused}"
                );
                return Ok(false);
            }
            if dice.one_in(4) {
                return Ok(false);
            }
            plain.write(&cases);
            import.commit()?;
            return Ok(true);
        }
        8 => {
            store.sync()?;
            return Ok(true);
        }
        9 | 10 => {
            let text = "r".repeat([1, 300, 6000][dice.below(3) as usize]);
            let keys: Vec<String> = (0..dice.below(5)).map(|_| format!("k{}", dice.below(9))).collect();
            let is_refused = dice.one_in(5);
            for key in keys.iter().filter(|_| !is_refused) {
                if plain.1.get(key).is_some_and(|old| old.len() > 300) {
                    plain.1.remove(key);
                } else {
                    plain.1.insert(key.clone(), text.clone());
                }
            }
            store
                .write_records(|records| {
                    for key in &keys {
                        if records.get("kind", key)?.is_some_and(|old| old.len() > 300) {
                            records.remove("kind", key)?;
                        } else {
                            records.put("kind", key, &text)?;
                        }
                    }
                    match is_refused {
                        true => Err(Unwanted(None)),
                        false => Ok(()),
                    }
                })
                .or_else(|unwanted| unwanted.0.map_or(Ok(()), Err))?;
            // If no record was changed, nothing was written or synced.
            return Ok(!is_refused && !keys.is_empty());
        }
        12 | 13 => {
            let name = format!("f{}", dice.below(4));
            let number = dice.below(FILTERS.len() as u64) as usize;
            let filter = standing(&name, number);
            plain.2.filters.insert(name.clone(), number);
            if dice.one_in(3) {
                let mut entered = Vec::new();
                for (id, document) in &plain.0 {
                    if reference::matches(filter.filter(), document).unwrap() {
                        entered.push(id.clone());
                    }
                }
                entered.iter().for_each(|id| plain.2.tell(id, format!("{name} entered")));
                store.insert_entering([filter])?;
            } else {
                store.insert_standing([filter])?;
            }
            return Ok(true);
        }
        14 => {
            let name = format!("f{}", dice.below(4));
            let is_there = plain.2.filters.remove(&name).is_some();
            assert_eq!(store.remove_standing(&name)?, is_there);
            return Ok(is_there);
        }
        15 => {
            store.sync()?;
            let groups = plain.groups();
            let past = groups.iter().take(dice.below(groups.len() as u64 / 2 + 1) as usize);
            let past: usize = past.map(|(_, all)| all.len()).sum();
            plain.2.forgotten += past;
            store.forget_events(plain.2.forgotten as u64)?;
            return Ok(true);
        }
        #[cfg(feature = "service")]
        16 => {
            change_restrictions(store, plain, dice.below(FILTERS.len() as u64) as usize)?;
            return Ok(true);
        }
        _ => {
            store.checkpoint()?;
            return Ok(false);
        }
    }
    Ok(synced)
}

/// Replaces the filters of an owner, as a service does when the restrictions of a token change.
#[cfg(feature = "service")]
fn change_restrictions(store: &Store, plain: &mut Plain, number: usize) -> Result<(), StoreError> {
    let key = key_of(Some(&format!("t:{number}")), "own");
    plain.2.filters.retain(|other, _| !other.starts_with(MARK));
    plain.2.filters.insert(key.to_string(), number);
    plain.2.tell("", "restrictions changed entered".to_owned());
    let removed = store.owned_filters("t:", |_| false)?;
    let inserted = vec![NewOwnedFilter { filter: standing(&key, number), body: String::new() }];
    store.exchange_owned(Exchange { removed: &removed, inserted, changed: Some("t:") })
}
