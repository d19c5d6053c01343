//! Tests of hints about members that are not fields. The hints are computed from the cases that are currently stored.

use super::*;
use crate::filter::WarningKind;

fn hints(store: &Store, text: &str) -> Vec<String> {
    let filter = Filter::compile_text(store.catalog(), text).unwrap();
    let hints = store.unknown_members(&filter);
    assert!(hints.iter().all(|hint| hint.kind == WarningKind::UnknownMember));
    // `hints` includes all hints of `unknown_members`.
    let all = store.hints(&filter);
    assert!(hints.iter().all(|hint| all.contains(hint)));
    hints.iter().map(ToString::to_string).collect()
}

fn put(store: &Store, document: &str) {
    store.upsert(document.as_bytes(), Durability::Grouped).unwrap();
}

const MEANT: &str = "which is not a field and is not searched; did you mean `state`?";

#[test]
fn members_are_counted_as_they_are_stored_now() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 0).unwrap();
    assert_eq!(hints(&store, "state = x"), [""; 0]);
    put(&store, r#"{"id":"a","State":"x"}"#);
    put(&store, r#"{"id":"b","State":"x","amount":1}"#);
    put(&store, r#"{"id":"c","State":"x","state":"x"}"#);
    put(&store, r#"{"id":"d","sate":"x","Amount":1}"#);
    let state = |count: &str| format!("criteria[0]: {count} the member `State`, {MEANT}");
    let sate = format!("criteria[0]: 1 of 4 cases has the member `sate`, {MEANT}");
    // A case that has both the member and the field is not counted.
    assert_eq!(hints(&store, "state = x"), [state("2 of 4 cases have"), sate.clone()]);
    assert_eq!(hints(&store, "amount > 0 or state <> y").len(), 3);
    assert_eq!(hints(&store, "tags = vip"), [""; 0]);
    assert_eq!(hints(&store, "true"), [""; 0]);
    put(&store, r#"{"id":"b","state":"x"}"#);
    assert_eq!(hints(&store, "state = x"), [state("1 of 4 cases has"), sate.clone()]);
    store.delete("a", Durability::Synced).unwrap();
    let left = format!("criteria[0]: 1 of 3 cases has the member `sate`, {MEANT}");
    assert_eq!(hints(&store, "state = x"), std::slice::from_ref(&left));
    drop(store);
    let store = open(&disk, 0).unwrap();
    assert_eq!(hints(&store, "state = x"), [left]);
    let own = |text: &str| Filter::compile_text(store.catalog(), text).unwrap();
    let joined = own("state = x").and(&own("amount = 1")).unwrap();
    assert_eq!(store.unknown_members(&joined), [], "its author may not see all cases");
}

#[test]
fn of_many_cases_a_sample_is_looked_at() {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, 1).unwrap();
    let mut import = store.import(ImportMode::Strict).unwrap();
    for id in 0..2_500 {
        let member = if id % 2 == 0 { "State" } else { "state" };
        import.push(format!("{{\"id\":\"c{id}\",\"{member}\":\"x\"}}\n").as_bytes()).unwrap();
    }
    import.commit().unwrap();
    // The sample contains cases with odd and with even numbers, even if all cases are shifted by one.
    for _ in 0..2 {
        let hints = hints(&store, "state = x");
        let rest = hints[0].strip_prefix("criteria[0]: ").unwrap();
        let numbers: Vec<u64> = rest.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [count, cases] = numbers[..] else { panic!("{hints:?}") };
        assert!((1_200..=1_300).contains(&cases) && (400..=850).contains(&count), "{hints:?}");
        assert_eq!(rest, format!("{count} of {cases} examined cases have the member `State`, {MEANT}"));
        assert!(store.delete("c0", Durability::Synced).unwrap());
        put(&store, r#"{"id":"c0","state":"x"}"#);
    }
}
