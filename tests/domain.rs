//! Tests that acknowledged updates of extracted info are not lost when the process is killed.

#![cfg(feature = "service")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, thread};

use casefilter::domain::{
    RecordKind, create_share_token, import_records, preview, redeem_share_token, update_info,
};
use casefilter::{Catalog, Store, StoreError, StoreOptions};
use chrono::{DateTime, TimeDelta};
use serde_json::Value;
use tempfile::TempDir;

fn open(path: &Path) -> Store {
    Store::open(path, Catalog::cases(), StoreOptions::default()).unwrap()
}

fn update(store: &Store, body: &str) -> Value {
    let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    serde_json::from_str(&update_info(store, "a", body.as_bytes(), now).unwrap()).unwrap()
}

/// Runs in the process that is killed: writes, and prints each acknowledged write.
fn update_until_killed(path: &Path) {
    let store = open(path);
    let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    let mut out = std::io::stdout();
    for round in 0_u64.. {
        update(&store, &format!("{{\"firstName\":\"Ян {round}\",\"stateOfBirth\":\"{round}\"}}"));
        writeln!(out, "updated {round}").unwrap();
        let token = create_share_token(&store, "a", TimeDelta::hours(1), now).unwrap();
        writeln!(out, "made {token}").unwrap();
        if round % 2 == 0 {
            redeem_share_token(&store, &token, now).unwrap();
            writeln!(out, "used {token}").unwrap();
        }
        out.flush().unwrap();
    }
}

#[test]
fn acknowledged_updates_and_tokens_survive_a_kill_at_any_instant() {
    const PATH: &str = "CASEFILTER_UPDATE_UNTIL_KILLED";
    if let Some(path) = env::var_os(PATH) {
        return update_until_killed(Path::new(&path));
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("cases.db");
    let store = Store::create(&path, Catalog::cases(), StoreOptions::default()).unwrap();
    import_records(&store, RecordKind::Applicants, |import| {
        import.push(br#"{"id":"a","type":"individual","x":1.50}"#)?;
        Ok::<_, StoreError>(())
    })
    .unwrap();
    drop(store);
    let mut acknowledged = 0;
    for kill in 0..6 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "acknowledged_updates_and_tokens_survive_a_kill_at_any_instant", "--nocapture"])
            .env(PATH, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let reader = thread::spawn(move || lines.lines().map_while(Result::ok).collect::<Vec<String>>());
        thread::sleep(Duration::from_millis(120 + kill * 7919 % 300));
        child.kill().unwrap();
        child.wait().unwrap();
        let lines = reader.join().unwrap();
        // The test harness prints before the first line, and the last line may be incomplete.
        let said = |word: &str| {
            let word = format!("{word} ");
            let rest =
                lines.iter().filter_map(move |line| line.split_once(&word).map(|(_, rest)| rest.to_owned()));
            rest.filter(|rest| !rest.contains(' ')).collect::<Vec<_>>()
        };

        let store = open(&path);
        let info = update(&store, "{\"dob\":null}");
        let Some(state) = info["stateOfBirth"].as_str() else {
            assert!(said("updated").is_empty(), "kill {kill}: {info}");
            continue;
        };
        // The update after the last acknowledged one may be stored, as a whole.
        assert_eq!(
            (&info["firstName"], &info["firstNameEn"]),
            (&format!("Ян {state}").into(), &format!("Ian {state}").into())
        );
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        if let Some(last) = said("updated").last().and_then(|round| round.parse::<u64>().ok()) {
            let found: u64 = state.parse().unwrap();
            assert!(found == last || found == last + 1, "kill {kill}: {found}, acknowledged {last}");
            acknowledged += last;
            // The last token may have been used without a printed line.
            let (made, used) = (said("made"), said("used"));
            for token in made.iter().rev().skip(1).filter(|token| token.len() == 64).take(50) {
                let is_good = preview(&store, token, now).is_ok();
                assert_eq!(is_good, !used.contains(token), "kill {kill}: {token}");
            }
        }
        let stored = store.records().unwrap().get("applicant", "a").unwrap().unwrap();
        assert!(stored.contains("\"x\":1.50"), "{stored}");
        store.close().unwrap();
    }
    assert!(acknowledged > 0);
    assert_eq!(Store::verify(&path, &Catalog::cases(), &StoreOptions::default()).unwrap().documents, 0);
}
