use redb::backends::InMemoryBackend;
use redb::{Database, ReadableDatabase};

use super::super::training::{SAMPLES, train};
use super::*;

/// Returns cases with the same members, and with values of their own.
fn cases() -> Vec<String> {
    let case = |number: usize| {
        let state = ["open", "closed", "waiting for an answer"][number % 3];
        let own = number * 7_919;
        format!(
            r#"{{"id":"c{own:x}","caseReview":{{"status":"{state}","é":[{number},true]}},"createdByType":"byApi","groupByType":"applicant","blueprintReference":{{"blueprintId":"bp00{}"}},"applicantId":"{own}"}}"#,
            number % 7
        )
    };
    (0..SAMPLES).map(case).collect()
}

/// Returns a trained dictionary with this number.
fn trained(number: u32) -> Dictionary {
    Dictionary::new(number, &train(cases().iter().map(String::as_str)).unwrap()).unwrap()
}

fn of(all: Vec<Dictionary>) -> Dictionaries {
    Dictionaries { all: all.into_iter().map(Arc::new).collect(), ..Dictionaries::default() }
}

#[test]
fn documents_are_smaller_and_come_back() {
    let dictionaries = of(vec![trained(1)]);
    let newest = dictionaries.newest();
    let (mut plain, mut packed) = (0, 0);
    for (number, case) in (0..).zip(cases()) {
        let bytes = encode(Some(newest), number, number + 5, &case);
        plain += case.len();
        packed += bytes.len() - 16;
        let found = dictionaries.decode(number, &bytes, |place, text| (place, text.to_owned())).unwrap();
        assert_eq!(found, (number + 5, case));
    }
    assert!(packed * 2 < plain, "{packed} bytes of {plain}");
    assert!(dictionaries.size_bytes() > newest.bytes.len());
}

#[test]
fn documents_for_which_it_does_not_pay_are_plain() {
    let own = trained(1);
    let (empty, long) = (Dictionary::default(), "abcdefgh".repeat(1 << 10));
    assert!(own.encode("{}").is_none());
    assert!(empty.encode(&cases()[0]).is_none());
    assert!(empty.encode(&long).is_none(), "a ratio of more than {MOST_RATIO}");
    let words: String = (0..2_000).map(|word| format!("{word:x} ")).collect();
    let bytes = encode(Some(&empty), 1, 2, &words);
    assert!(bytes.len() < words.len());
    assert_eq!(Dictionaries::default().decode(1, &bytes, |_, text| text == words).ok(), Some(true));
    assert_eq!(encode(None, 1, 2, &words).len(), words.len() + 16);
}

#[test]
fn a_frame_with_any_byte_changed_gives_an_error_or_text_of_the_stated_size() {
    let own = trained(1);
    let case = &cases()[9];
    let frame = own.encode(case).unwrap();
    for at in 0..frame.len() {
        for change in [1, 0x10, 0x80, 0xff] {
            let mut damaged = frame.clone();
            damaged[at] ^= change;
            if let Some(length) = own.decode(&damaged, <[u8]>::len) {
                assert!(length <= damaged.len() * MOST_RATIO);
            }
        }
        assert_eq!(own.decode(&frame[..at], <[u8]>::len), None);
    }
    assert_eq!(own.decode(&[&frame[..], &frame].concat(), <[u8]>::len), None, "a frame after the frame");
    // After faults, the dictionary still decompresses.
    assert_eq!(own.decode(&frame, <[u8]>::to_vec).unwrap(), case.as_bytes());
}

#[test]
fn a_frame_that_promises_too_much_reserves_no_memory() {
    let bomb = zstd::encode_all(&vec![b' '; 1 << 24][..], 3).unwrap();
    let mut promise = zstd::bulk::compress(&vec![b' '; 1 << 24], 3).unwrap();
    let own = Dictionary::default();
    assert_eq!(own.decode(&promise, <[u8]>::len), None);
    assert_eq!(own.decode(&bomb, <[u8]>::len), None);
    promise.extend(vec![0; 1 << 17]);
    assert_eq!(own.decode(&promise, <[u8]>::len), None);
}

#[test]
fn a_document_is_not_decompressed_by_another_dictionary() {
    let dictionaries = of(vec![trained(3)]);
    let bytes = encode(Some(dictionaries.newest()), 7, 1, &cases()[0]);
    let fault = Dictionaries::default().decode(7, &bytes, |_, _| ()).unwrap_err();
    assert_eq!(fault.detail, "no dictionary 3 of document 7");
    let fault = of(vec![trained(1), trained(2)]).decode(7, &bytes, |_, _| ()).unwrap_err();
    assert_eq!(fault.detail, "no dictionary 3 of document 7");
}

#[test]
fn dictionaries_in_a_file_keep_their_numbers() {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    let write = database.begin_write().unwrap();
    let (one, two) = (trained(0), Dictionary::new(0, b"another dictionary").unwrap());
    assert_eq!(add(&write, &Dictionary::default()).unwrap(), 0);
    assert_eq!([add(&write, &one).unwrap(), add(&write, &two).unwrap()], [1, 2]);
    write.commit().unwrap();
    let read = || {
        let table = database.begin_read().unwrap().open_table(DICTIONARIES).unwrap();
        Dictionaries::read(&table, &Dictionaries::default())
    };
    let found = read().unwrap();
    assert_eq!(found.all.iter().map(|own| own.number).collect::<Vec<_>>(), [1, 2]);
    let table = database.begin_read().unwrap().open_table(DICTIONARIES).unwrap();
    let again = Dictionaries::read(&table, &found).unwrap();
    assert!(again.all.iter().zip(&found.all).all(|(again, found)| Arc::ptr_eq(again, found)));

    let write = database.begin_write().unwrap();
    assert_eq!(add(&write, &found.all[0]).unwrap(), 1, "it is there");
    let damage = |change: u8| {
        let mut bytes = dictionary_to_bytes(2, b"another dictionary");
        bytes[11] ^= change;
        write.open_table(DICTIONARIES).unwrap().insert(2, bytes.as_slice()).unwrap();
    };
    damage(1);
    write.commit().unwrap();
    assert_eq!(read().unwrap_err().detail, "the dictionary 2 has a wrong checksum");
}
