//! Tests of audit logs without a service: restarts, rotations, crashes at any byte, and changes of each kind.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::files::rotated;
use super::*;

mod hang;

/// The lines of a log, each with its file.
type Lines = Vec<(PathBuf, String)>;

/// A log in a folder of its own.
struct World {
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("audit.ndjson")
    }

    fn open(&self, rotate_bytes: u64) -> AuditLog {
        let options = AuditOptions { rotate_bytes, ..AuditOptions::default() };
        AuditLog::open(self.path(), options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Opens the log, writes records, and closes it.
    fn run(&self, records: u64, rotate_bytes: u64) -> AuditHead {
        let log = self.open(rotate_bytes);
        for number in 0..records {
            assert!(record(&log, format!("\"operation\":\"o{number}\",\"status\":200").as_bytes()));
        }
        log.close().unwrap()
    }

    fn verify(&self) -> Result<AuditReport, AuditError> {
        verify(&self.path(), None)
    }

    /// Returns the fault that verification finds.
    fn fault(&self) -> (AuditErrorKind, u64) {
        let error = self.verify().expect_err("no fault was found");
        (error.kind(), error.number())
    }

    /// Returns all lines of the log, each with its file.
    fn lines(&self) -> Lines {
        let mut lines = Vec::new();
        for path in audit_files(&self.path()).unwrap() {
            let text = fs::read_to_string(&path).unwrap();
            lines.extend(text.lines().map(|line| (path.clone(), line.to_owned())));
        }
        lines
    }

    /// Replaces the lines of the log.
    fn write(&self, lines: &[(PathBuf, String)]) {
        for path in audit_files(&self.path()).unwrap() {
            let own = lines.iter().filter(|(of, _)| *of == path);
            let text: String = own.map(|(_, line)| format!("{line}\n")).collect();
            fs::write(path, text).unwrap();
        }
    }
}

/// Records a request, and waits until its record has been written or refused.
fn record(log: &AuditLog, members: &[u8]) -> bool {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    }
    RUNTIME.with(|runtime| runtime.block_on(log.record(members.to_vec())))
}

/// Verifies a log that must be complete.
fn verify(path: &Path, head: Option<AuditHead>) -> Result<AuditReport, AuditError> {
    verify_audit_log(path, head, AuditBeginning::Complete)
}

fn append(path: &Path, bytes: &[u8]) {
    let mut text = fs::read(path).unwrap();
    text.extend_from_slice(bytes);
    fs::write(path, text).unwrap();
}

#[test]
fn the_chain_goes_on_after_restarts_and_rotations() {
    for rotate_bytes in [u64::MAX, 1000, 0] {
        let world = World::new();
        let mut heads = Vec::new();
        for run in 0..5 {
            heads.push(world.run(run * 3, rotate_bytes));
            let report = world.verify().unwrap();
            assert_eq!((report.first, report.head), (1, heads[heads.len() - 1]));
            assert_eq!((report.torn, report.is_closed, report.ends_torn), (0, true, false));
        }
        let lines = world.lines();
        assert_eq!(lines.len() as u64, heads[4].number());
        let rotated = rotated(&world.path()).unwrap();
        match rotate_bytes {
            u64::MAX => assert!(rotated.is_empty()),
            _ => assert!(rotated.len() > 5, "{rotated:?}"),
        }
        for path in &rotated {
            let (_, last) = lines.iter().rev().find(|(of, _)| of == path).unwrap();
            let number = last.split(['{', ':', ',']).nth(2).unwrap();
            assert!(path.to_str().unwrap().ends_with(&format!(".{number:0>12}")), "{path:?}");
        }
        // The log still contains each head that `run` returned.
        for head in heads {
            assert!(verify(&world.path(), Some(head)).is_ok());
        }
    }
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_a_log() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.run(20, 500);
    for path in audit_files(&world.path()).unwrap() {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn no_record_follows_the_end() {
    let world = World::new();
    let log = world.open(u64::MAX);
    assert!(record(&log, b"\"status\":200"));
    let head = log.end().unwrap();
    assert!(!record(&log, b"\"status\":200"));
    drop(log);
    let report = world.verify().unwrap();
    assert_eq!((report.head, report.is_closed), (head, true));
}

#[test]
fn two_services_cannot_write_one_log() {
    let world = World::new();
    let log = world.open(u64::MAX);
    let error = AuditLog::open(world.path(), AuditOptions::default()).unwrap_err();
    assert!(error.to_string().contains("another service"), "{error}");
    drop(log);
    world.run(1, u64::MAX);
    assert!(world.verify().is_ok());
}

#[test]
fn a_file_that_is_no_log_is_not_touched() {
    let world = World::new();
    for text in ["some notes", "a,b\n1,2\n", "{}\n", "\n"] {
        fs::write(world.path(), text).unwrap();
        assert!(AuditLog::open(world.path(), AuditOptions::default()).is_err(), "{text}");
        assert_eq!(fs::read_to_string(world.path()).unwrap(), text);
    }
}

#[test]
fn each_changed_left_out_or_added_record_is_named() {
    for rotate_bytes in [u64::MAX, 900] {
        let world = World::new();
        world.run(6, rotate_bytes);
        world.run(2, rotate_bytes);
        let whole = world.lines();
        let count = whole.len() as u64;
        for at in 0..whole.len() {
            let number = at as u64 + 1;
            let changed = |change: &dyn Fn(&mut Lines)| {
                let mut lines = whole.clone();
                change(&mut lines);
                world.write(&lines);
            };
            // Each of these places gets another character. Some places are in the number or in the hash.
            let length = whole[at].1.len();
            for place in [2, 6, 20, length / 2, length - 70, length - 10, length - 1] {
                changed(&|lines| {
                    let mut bytes = lines[at].1.clone().into_bytes();
                    bytes[place] = if bytes[place] == b'1' { b'2' } else { b'1' };
                    lines[at].1 = String::from_utf8(bytes).unwrap();
                });
                let (kind, named) = world.fault();
                // A changed number may be reported as a missing record. The fault still has the number of the changed record.
                assert_eq!(named, number, "{kind:?} {place}");
            }
            changed(&|lines| lines[at].1 = "garbage".to_owned());
            // The last line may be garbage after a crash, but then it has no line end.
            assert_eq!(world.fault(), (AuditErrorKind::Changed, number));
            if number < count {
                changed(&|lines| drop(lines.remove(at)));
                // No file begins with the record of a request.
                match number {
                    1 => assert_eq!(world.fault(), (AuditErrorKind::Beginning, 2)),
                    _ => assert_eq!(world.fault(), (AuditErrorKind::LeftOut, number)),
                }
            }
            changed(&|lines| lines.insert(at, lines[at].clone()));
            assert_eq!(world.fault(), (AuditErrorKind::PutIn, number));
            changed(&|lines| lines.insert(at, (lines[at].0.clone(), "{\"n\":7}".to_owned())));
            assert_eq!(world.fault(), (AuditErrorKind::PutIn, number));
            if at > 0 && at + 1 < whole.len() {
                changed(&|lines| {
                    let (first, second) = (lines[at].1.clone(), lines[at + 1].1.clone());
                    (lines[at].1, lines[at + 1].1) = (second, first);
                });
                let expected = match whole[at].0 == whole[at + 1].0 {
                    true => (AuditErrorKind::PutIn, number + 1),
                    // The first of the two files now ends with the later record, so the earlier record seems to be missing.
                    false => (AuditErrorKind::LeftOut, number),
                };
                assert_eq!(world.fault(), expected);
                // A record that is put in with a right hash is reported with the number of the record that it displaces.
                let before = chain::Line::read(whole[at - 1].1.as_bytes()).unwrap().head();
                let mut line = Vec::new();
                before.seal(b"\"status\":200", &mut line);
                let forged = String::from_utf8(line).unwrap().trim_end().to_owned();
                changed(&|lines| lines.insert(at, (lines[at].0.clone(), forged.clone())));
                assert_eq!(world.fault(), (AuditErrorKind::PutIn, number));
                // A changed record with a right hash is reported with its own number.
                changed(&|lines| lines[at].1.clone_from(&forged));
                assert_eq!(world.fault(), (AuditErrorKind::Changed, number));
            }
        }
        world.write(&whole);
        assert!(world.verify().is_ok());
    }
}

#[test]
fn a_missing_file_is_named_unless_older_ones_may_be_missing() {
    let world = World::new();
    world.run(30, 900);
    let files = rotated(&world.path()).unwrap();
    assert!(files.len() > 3);
    let text = fs::read(&files[1]).unwrap();
    fs::remove_file(&files[1]).unwrap();
    let first = world.lines().iter().filter(|(path, _)| *path == files[0]).count() as u64 + 1;
    assert_eq!(world.fault(), (AuditErrorKind::LeftOut, first));
    fs::write(&files[1], text).unwrap();
    assert_eq!(world.verify().unwrap().first, 1);
    fs::remove_file(&files[0]).unwrap();
    assert_eq!(world.fault(), (AuditErrorKind::Beginning, first));
    for beginning in [AuditBeginning::OlderRemoved, AuditBeginning::At(first)] {
        let report = verify_audit_log(&world.path(), None, beginning).unwrap();
        assert_eq!((report.first, report.files), (first, files.len()));
    }
    for number in [1, first - 1, first + 1] {
        let error = verify_audit_log(&world.path(), None, AuditBeginning::At(number)).unwrap_err();
        assert_eq!((error.kind(), error.number()), (AuditErrorKind::Beginning, first));
    }
    // The log goes on.
    let head = world.run(3, 900);
    assert_eq!(verify_audit_log(&world.path(), None, AuditBeginning::OlderRemoved).unwrap().head, head);
}

#[test]
fn a_removed_beginning_of_a_file_is_named() {
    let world = World::new();
    world.run(3, u64::MAX);
    append(&world.path(), b"{\"n\":6,\"pre");
    world.run(3, u64::MAX);
    let lines = world.lines();
    for at in 1..lines.len() {
        world.write(&lines[at..]);
        for beginning in [AuditBeginning::Complete, AuditBeginning::OlderRemoved] {
            assert!(verify_audit_log(&world.path(), None, beginning).is_err(), "{at}: {}", lines[at].1);
        }
    }
}

#[test]
fn an_older_copy_is_not_continued_and_no_rotated_file_is_replaced() {
    let world = World::new();
    world.run(9, 900);
    let copy = fs::read(&rotated(&world.path()).unwrap()[0]).unwrap();
    let newest = fs::read(world.path()).unwrap();
    fs::write(world.path(), copy).unwrap();
    let error = AuditLog::open(world.path(), AuditOptions::default()).unwrap_err();
    assert!(error.to_string().contains("an older copy"), "{error}");
    fs::write(world.path(), newest).unwrap();
    world.run(1, 900);
    assert!(world.verify().is_ok());
    let log = world.open(u64::MAX);
    let obstacle = files::rotated_path(&world.path(), log.head().number() + 1);
    log.close().unwrap();
    fs::write(&obstacle, "precious").unwrap();
    assert!(AuditLog::open(world.path(), AuditOptions { rotate_bytes: 0, is_best_effort: false }).is_err());
    assert_eq!(fs::read_to_string(obstacle).unwrap(), "precious");
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_other_things_than_files_are_refused() {
    let (world, other) = (World::new(), World::new());
    std::os::unix::fs::symlink(other.path(), world.path()).unwrap();
    assert!(AuditLog::open(world.path(), AuditOptions::default()).is_err(), "it leads to no file");
    let head = other.run(1, 900);
    assert_eq!(world.verify().unwrap().head, head);
    world.run(20, 900);
    assert!(rotated(&other.path()).unwrap().len() > 3 && rotated(&world.path()).unwrap().is_empty());
    assert_eq!(world.verify(), other.verify());
    for path in ["/dev/null", "/"] {
        let error = AuditLog::open(path, AuditOptions::default()).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
}

#[test]
fn a_record_that_is_too_long_for_verification_has_a_digest_instead() {
    let note = record::Note::default();
    note.applicant(&"a".repeat(40 << 20));
    let by = record::By::Client { operation: "o", token: None };
    let members = record::Answered { correlation_id: "i", by, status: 200, note: Some(&note) }.members();
    let text = String::from_utf8(members).unwrap();
    assert!(text.len() < 400 && text.contains("\"omittedBytes\":41943055,\"omittedHash\":\""), "{text}");
}

#[test]
fn records_that_were_cut_off_are_named_if_the_last_one_was_noted() {
    let world = World::new();
    let head = world.run(5, u64::MAX);
    let lines = world.lines();
    for left in 1..lines.len() {
        world.write(&lines[..left]);
        let report = world.verify().unwrap();
        assert_eq!((report.head.number(), report.is_closed), (left as u64, false));
        let error = verify(&world.path(), Some(head)).unwrap_err();
        assert_eq!((error.kind(), error.number()), (AuditErrorKind::CutOff, left as u64 + 1));
    }
    // Without an earlier head, verification finds no fault in a log that was rewritten as a whole.
    fs::remove_file(world.path()).unwrap();
    world.run(7, u64::MAX);
    assert!(world.verify().is_ok());
    let error = verify(&world.path(), Some(head)).unwrap_err();
    assert_eq!((error.kind(), error.number()), (AuditErrorKind::Changed, head.number()));
}

#[test]
fn a_part_of_a_record_after_a_crash_at_any_byte_is_accepted() {
    let world = World::new();
    world.run(3, u64::MAX);
    let text = fs::read(world.path()).unwrap();
    let last = text[..text.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for end in last + 1..text.len() {
        fs::write(world.path(), &text[..end]).unwrap();
        let before = world.verify().unwrap();
        assert!(before.ends_torn && !before.is_closed);
        let head = world.run(1, u64::MAX);
        let report = world.verify().unwrap();
        // If only the line end was missing, the record is complete.
        let torn = u64::from(end + 1 < text.len());
        assert_eq!((report.head, report.torn, report.is_closed), (head, torn, true), "{end}");
        // A later change of the torn bytes is detected.
        let mut changed = fs::read(world.path()).unwrap();
        changed[last] ^= 1;
        fs::write(world.path(), &changed).unwrap();
        assert_eq!(world.fault().0, AuditErrorKind::Changed);
    }
}

#[test]
fn a_crash_while_a_part_of_a_record_is_handled_is_accepted() {
    let world = World::new();
    world.run(3, u64::MAX);
    append(&world.path(), b"{\"n\":6,\"pre");
    let torn = fs::read(world.path()).unwrap();
    world.run(0, u64::MAX);
    let handled = fs::read(world.path()).unwrap();
    let end = torn.len() + handled[torn.len() + 1..].iter().position(|byte| *byte == b'\n').unwrap() + 2;
    for end in torn.len()..end {
        fs::write(world.path(), &handled[..end]).unwrap();
        let head = world.run(1, u64::MAX);
        let report = world.verify().unwrap();
        assert_eq!((report.head, report.torn), (head, 1), "{end}");
    }
    // A crash while the very first record is written is accepted, too.
    let first = handled.iter().position(|byte| *byte == b'\n').unwrap();
    for end in 0..first {
        let world = World::new();
        fs::write(world.path(), &handled[..end]).unwrap();
        let head = world.run(1, u64::MAX);
        let report = world.verify().unwrap();
        assert_eq!((report.head, report.torn), (head, u64::from(end > 0)), "{end}");
    }
}

#[test]
fn a_crash_during_a_rotation_is_accepted() {
    let world = World::new();
    let head = world.run(3, u64::MAX);
    fs::rename(world.path(), files::rotated_path(&world.path(), head.number())).unwrap();
    assert_eq!(world.verify().unwrap().head, head);
    for part in ["", "{\"n\":"] {
        fs::write(world.path(), part).unwrap();
        let head = world.run(1, u64::MAX);
        let report = world.verify().unwrap();
        assert_eq!((report.first, report.head, report.files), (1, head, 2));
        fs::remove_file(world.path()).unwrap();
    }
}

#[test]
fn the_removal_of_a_file_in_use_is_noticed() {
    let world = World::new();
    let log = world.open(u64::MAX);
    assert!(record(&log, b"\"status\":200") && !log.refuses());
    fs::remove_file(world.path()).unwrap();
    let start = std::time::Instant::now();
    while !log.refuses() {
        record(&log, b"\"status\":200");
        assert!(start.elapsed().as_secs() < 20, "the removal is not noticed");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(!record(&log, b"\"status\":200"));
    // The log does not recover with a new file, because the records are lost.
    std::thread::sleep(std::time::Duration::from_millis(1200));
    assert!(log.refuses());
}

#[test]
fn a_removed_file_is_noticed_without_records_and_at_the_end() {
    let world = World::new();
    let log = world.open(u64::MAX);
    assert!(record(&log, b"\"status\":200"));
    fs::remove_file(world.path()).unwrap();
    // The removal is noticed even before the thread that syncs checks the path.
    assert!(log.end().is_err());
    drop(log);
    let world = World::new();
    let log = world.open(u64::MAX);
    assert!(record(&log, b"\"status\":200"));
    // This is long enough for a sync of all records.
    std::thread::sleep(std::time::Duration::from_millis(1200));
    fs::remove_file(world.path()).unwrap();
    let start = std::time::Instant::now();
    while !log.refuses() {
        assert!(start.elapsed().as_secs() < 20, "the removal is not noticed");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(log.close().is_err());
}

#[test]
fn a_sync_that_fails_while_the_log_recovers_is_not_forgotten() {
    let world = World::new();
    let log = world.open(u64::MAX);
    let state = log.state();
    // The disk is full. While the keeper opens the file again, the thread that syncs finds that a sync has failed.
    state.fail(&std::io::Error::other("the disk is full"));
    let error = state.slot.fail(&std::io::Error::other("the disk is broken"));
    state.slot.set(None);
    state.fail(&error);
    state.recovered();
    assert!(log.is_failing() && !record(&log, b"\"status\":200"));
    assert!(log.close().is_err());
}

#[test]
fn records_are_refused_from_a_failed_sync_on() {
    let world = World::new();
    let log = world.open(u64::MAX);
    let text = fs::read(world.path()).unwrap();
    // The thread that syncs notes its failure before it reports it.
    log.state().slot.fail(&std::io::Error::other("the disk is broken"));
    assert!(!record(&log, b"\"status\":200"));
    assert!(log.close().is_err());
    assert_eq!(fs::read(world.path()).unwrap(), text);
}

#[test]
fn a_log_without_records_is_not_whole() {
    let world = World::new();
    for text in ["", "{\"n\":1,\"prev\":\"00"] {
        fs::write(world.path(), text).unwrap();
        for beginning in [AuditBeginning::Complete, AuditBeginning::OlderRemoved, AuditBeginning::At(7)] {
            let error = verify_audit_log(&world.path(), None, beginning).unwrap_err();
            assert_eq!((error.kind(), error.number()), (AuditErrorKind::CutOff, 1), "{text} {beginning:?}");
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_is_written_until_a_restart() {
    let world = World::new();
    let log = world.open(u64::MAX);
    assert!(record(&log, b"\"status\":200"));
    log.fail_sync();
    let text = fs::read(world.path()).unwrap();
    // Longer than the time between two attempts to write again.
    std::thread::sleep(std::time::Duration::from_millis(1200));
    // All accesses to the disk hang now. The request is refused without waiting for the writer.
    log.state().slot.gate.set(sync::Hanging::All);
    assert!(log.refuses() && !record(&log, b"\"status\":200"));
    log.state().slot.gate.set(sync::Hanging::Nothing);
    assert!(log.close().is_err());
    assert_eq!(fs::read(world.path()).unwrap(), text);
    let head = world.run(1, u64::MAX);
    assert_eq!(world.verify().unwrap().head, head);
}

#[cfg(unix)]
#[test]
fn the_end_tells_the_number_of_requests_without_a_record() {
    let world = World::new();
    let options = AuditOptions { is_best_effort: true, ..AuditOptions::default() };
    let log = AuditLog::open(world.path(), options).unwrap();
    let aside = world.folder.path().join("aside");
    fs::rename(world.path(), &aside).unwrap();
    let start = std::time::Instant::now();
    while !log.is_failing() {
        assert!(record(&log, b"\"status\":200"));
        assert!(start.elapsed().as_secs() < 20, "the removal is not noticed");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    for _ in 0..3 {
        assert!(record(&log, b"\"status\":200"));
    }
    fs::rename(&aside, world.path()).unwrap();
    log.close().unwrap();
    assert!(world.verify().unwrap().is_closed);
    let lines = world.lines();
    let resumed: Vec<&String> =
        lines.iter().map(|(_, line)| line).filter(|line| line.contains("resumed")).collect();
    assert_eq!(resumed.len(), 1);
    assert!(resumed[0].contains("\"unrecorded\":3"), "{resumed:?}");
}

#[cfg(unix)]
#[test]
fn a_rotation_while_a_log_is_read_leaves_no_record_out() {
    use std::io::Read;
    let world = World::new();
    let log = world.open(900);
    let write = || {
        for _ in 0..9 {
            assert!(record(&log, b"\"status\":200"));
        }
    };
    write();
    let expected: Vec<String> = world.lines().into_iter().map(|(_, line)| line).collect();
    let files = open_audit_files(&world.path()).unwrap();
    write();
    let mut text = String::new();
    for (_, file) in files {
        file.unwrap().read_to_string(&mut text).unwrap();
    }
    let read: Vec<&str> = text.lines().collect();
    assert_eq!(read[..expected.len()], expected);
    assert!(read.len() < world.lines().len());
    // Verification of a log that is written without a pause.
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| (0..300).for_each(|_| write()));
        while !writing.is_finished() {
            world.verify().unwrap();
        }
    });
}
