//! Tests that answers reserve memory before their records are read.

use super::*;

/// Computes an answer. Returns the total number of bytes that it reserved, and the answer.
fn asked<T>(answer: impl FnOnce(&mut Room<'_>) -> Result<T, DomainError>) -> (usize, T) {
    let mut most = 0;
    let answer = answer(&mut Room::new(&mut |bytes| {
        most = bytes;
        true
    }));
    (most, answer.unwrap())
}

/// Computes an answer with a budget of `room` bytes. Returns `None` if the budget is too small.
fn within<T: std::fmt::Debug>(
    room: usize,
    answer: impl FnOnce(&mut Room<'_>) -> Result<T, DomainError>,
) -> Option<T> {
    match answer(&mut Room::new(&mut |bytes| bytes <= room)) {
        Ok(answer) => Some(answer),
        Err(error) => {
            assert_eq!(error.kind(), DomainErrorKind::Busy);
            None
        }
    }
}

#[test]
fn an_answer_asks_for_the_room_of_its_records_and_is_none_without() {
    let world = World::new();
    let large = "x".repeat(100_000);
    import(&world, RecordKind::AmlCases, &format!(
        r#"{{"id":"large","createdAt":"2035-01-01 00:00:00","targetEntityType":"applicant","targetEntityId":"anna","note":"{large}"}}"#
    )).unwrap();
    let token = create_share_token(&world, "anna", TimeDelta::hours(1), now()).unwrap();
    let aml = |room: &mut Room<'_>| aml_case_in(&world, "anna", true, Clients::All, room);
    let shown =
        |room: &mut Room<'_>| preview_in(&world, &token, (Clients::All, &|_, _| true), now(), &|_| {}, room);
    let status = |room: &mut Room<'_>| step_status_in(&world, "anna", Clients::All, room);
    let (bytes, answer) = asked(aml);
    assert_eq!(answer, aml_case(&world, "anna", true).unwrap());
    assert!(answer.contains(&large) && bytes >= 3 * large.len() && bytes < 4 * large.len(), "{bytes}");
    assert_eq!((within(bytes, aml), within(bytes - 1, aml)), (Some(answer), None));
    let (bytes, answer) = asked(shown);
    assert!(bytes > answer.len(), "{bytes}");
    assert_eq!((within(bytes, shown), within(bytes - 1, shown)), (Some(answer), None));
    let (bytes, answer) = asked(status);
    assert!(bytes > answer.len(), "{bytes}");
    assert_eq!((within(bytes, status), within(bytes - 1, status)), (Some(answer), None));
}

#[test]
fn an_update_whose_answer_has_no_room_changes_nothing() {
    let world = World::new();
    let before = get(&world, "applicant", "anna");
    let body = br#"{"stateOfBirth":"x"}"#;
    let update = |room: &mut Room<'_>| update_info_in(&world, "anna", Clients::All, (&body[..], now()), room);
    assert_eq!(within(10, update), None);
    assert_eq!(get(&world, "applicant", "anna"), before);
    let (bytes, answer) = asked(update);
    assert!(bytes >= answer.len(), "{bytes}");
    assert_ne!(get(&world, "applicant", "anna"), before);
}
