//! Tests the copy of a profile on disks that fail: the share token is used and the copy is there, or neither.

use chrono::{DateTime, TimeDelta, Utc};

use super::*;
use crate::domain::{
    Clients, CopyRequest, DomainError, DomainErrorKind, RecordKind, Room, copy_profile_in,
    create_share_token, import_records,
};

/// The number of documents of the profile. It is greater than the number of records that a copy reads at a time.
const DOCUMENTS: usize = 300;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

/// Returns a disk with a profile, and a share token for it.
fn shared_profile(seed: u64) -> (Vec<u8>, String) {
    let disk = Disk::new(Vec::new(), Trouble::None, false);
    let store = open(&disk, seed).unwrap();
    let anna = br#"{"id":"anna","type":"individual","clientId":"acme","info":{"lastName":"Jung"}}"#;
    import_records(&store, RecordKind::Applicants, |import| import.push(anna)).unwrap();
    let document = |number: usize| {
        format!(
            r#"{{"id":"d{number}","applicantId":"anna","step":"IDENTITY","createdAt":"2026-01-01 00:00:00"}}"#
        )
    };
    let documents: Vec<String> = (0..DOCUMENTS).map(document).collect();
    import_records(&store, RecordKind::Documents, |import| import.push(documents.join("\n").as_bytes()))
        .unwrap();
    let token = create_share_token(&store, "anna", TimeDelta::hours(1), now()).unwrap();
    store.close().unwrap();
    (disk.contents(), token)
}

fn copy(store: &Store, token: &str) -> Result<String, DomainError> {
    let clients = ["other".to_owned()];
    let request = CopyRequest {
        query_tokens: vec![token.to_owned()],
        body: b"",
        clients: Clients::Only(&clients),
        may_share: &|_, _| true,
        now: now(),
    };
    copy_profile_in(store, request, &|_| {}, &mut Room::new(&mut |_| true))
}

/// Returns the number of copies in a store. Checks that each copy is complete. Also checks that the token is marked as used exactly
/// if there is a copy.
fn copies(store: &Store) -> usize {
    let records = store.records().unwrap();
    let applicants = records.with_prefix("applicant", "").unwrap();
    let copies: Vec<_> = applicants.iter().filter(|(id, _)| id != "anna").collect();
    for (id, text) in &copies {
        assert_eq!(
            *text,
            format!(
                r#"{{"id":"{id}","type":"individual","clientId":"other","info":{{"lastName":"Jung"}},"copiedFrom":[{{"applicantId":"anna","at":"2027-01-15 08:00:00+0000"}}]}}"#
            )
        );
        let documents = records.with_prefix("document", &format!("{id}\0")).unwrap();
        assert_eq!(documents.len(), DOCUMENTS);
        assert!(documents.iter().all(|(_, text)| text.contains(&format!(r#""applicantId":"{id}""#))));
        assert!(records.get("client-applicant", &format!("other\0{id}")).unwrap().is_some());
    }
    let all = records.with_prefix("document", "").unwrap();
    assert_eq!(all.len(), DOCUMENTS * applicants.len(), "documents without an applicant");
    let token = records.with_prefix("share-token", "").unwrap();
    assert_eq!(token[0].1.contains(r#""isUsed":true"#), !copies.is_empty(), "{}", token[0].1);
    copies.len()
}

#[test]
fn a_share_token_is_used_for_one_copy_on_disks_that_fail() {
    let (mut finished, mut failed, mut kept_after_crash) = (0, 0, 0);
    for seed in 0..150_u64 {
        let mut dice = Dice::new(seed);
        let (contents, token) = shared_profile(seed);
        let disk = Disk::new(contents, Trouble::None, false);
        let store = open(&disk, seed).unwrap();
        let at = disk.operations() + dice.below(40);
        disk.begin(match dice.below(4) {
            0 => Trouble::Crash(at),
            1 => Trouble::Once(at),
            2 => Trouble::Full(at),
            _ => Trouble::Unreadable(at),
        });
        let answer = copy(&store, &token);
        drop(store);
        // After a crash, or after the process has ended.
        let contents = if dice.one_in(2) { disk.after_crash(&mut dice) } else { disk.contents() };
        let disk = Disk::new(contents, Trouble::None, false);
        let store = open(&disk, seed).unwrap();
        let found = copies(&store);
        match answer {
            Ok(_) => {
                assert_eq!(found, 1, "seed {seed}: an acknowledged copy is gone");
                finished += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), DomainErrorKind::Store, "seed {seed}: {error}");
                assert!(found <= 1, "seed {seed}");
                failed += 1;
                kept_after_crash += found;
            }
        }
        // The token can be used exactly as long as there is no copy.
        assert_eq!(copy(&store, &token).is_ok(), found == 0, "seed {seed}");
        assert_eq!(copy(&store, &token).unwrap_err().kind(), DomainErrorKind::Unauthorized);
        assert_eq!(copies(&store), 1, "seed {seed}");
    }
    assert!(finished > 10 && failed > 50, "{finished} finished, {failed} failed, {kept_after_crash} kept");
}
