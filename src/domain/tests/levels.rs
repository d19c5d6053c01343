//! Tests of the types of levels, of steps that an applicant cannot have, and of unknown steps.

use std::fmt::Write as _;

use super::*;

const ACTIONS: &str =
    r#"{"name":"actions","type":"applicantActions","docSets":[{"idDocSetType":"PAYMENT_METHODS"}]}"#;

/// Imports an applicant with this type and level. Checks that its status and its preview have the same steps. Returns the steps and
/// the report.
fn steps_of(world: &World, kind: &str, level: &str) -> (Vec<String>, RecordImportReport) {
    let applicant = format!(r#"{{"id":"x","type":"{kind}","review":{{"levelName":"{level}"}}}}"#);
    let imported = import(world, RecordKind::Applicants, &applicant).unwrap();
    let steps: Vec<String> =
        parsed(&step_status(world, "x").unwrap()).as_object().unwrap().keys().cloned().collect();
    let shown = parsed(&preview_of(world, "x"));
    let shown = shown["requiredIdDocs"]["docSets"].as_array().unwrap().iter();
    let mut shown: Vec<String> =
        shown.map(|step| step["idDocSetType"].as_str().unwrap().to_owned()).collect();
    shown.sort();
    assert_eq!(shown, steps);
    (steps, imported)
}

#[test]
fn payment_methods_are_for_levels_of_applicant_actions() {
    let world = World::empty();
    import(&world, RecordKind::Levels, ACTIONS).unwrap();
    assert_eq!(steps_of(&world, "individual", "actions").0, ["PAYMENT_METHODS"]);
    for other in [
        ACTIONS.replace("applicantActions", "standard"),
        ACTIONS.replace("\"type\":\"applicantActions\",", ""),
    ] {
        let error = import(&world, RecordKind::Levels, &other).unwrap_err().to_string();
        assert!(error.contains("`PAYMENT_METHODS` in a level that is not for applicant actions"), "{error}");
        assert_eq!(import_leniently(&world, RecordKind::Levels, &other).skipped, 1);
    }
    let error = import(&world, RecordKind::Levels, &ACTIONS.replace("Actions\"", "action\""))
        .unwrap_err()
        .to_string();
    assert!(error.contains("expected one of `standard`, `applicantActions`; did you mean"), "{error}");
    // Earlier versions stored levels with any JSON value in `type`, and levels without `type`.
    for kind in ["", "\"type\":{\"x\":1},", "\"type\":null,", "\"type\":\"individual\","] {
        let sets = r#"[{"idDocSetType":"IDENTITY"},{"idDocSetType":"PAYMENT_METHODS"},{"idDocSetType":"SELFIE","dependsOn":"PAYMENT_METHODS"}]"#;
        put(&world, "level", "old", &format!("{{{kind}\"name\":\"old\",\"docSets\":{sets}}}"));
        let (steps, imported) = steps_of(&world, "individual", "old");
        assert_eq!(steps, ["IDENTITY", "SELFIE"], "{kind}");
        assert_eq!(imported.notes[0].kind, ImportNoteKind::InapplicableSteps);
    }
    // A step is checked even if it depends on a step that the applicant cannot have.
    let selfie = r#"{"id":"d","applicantId":"x","step":"SELFIE","createdAt":"2026-01-01 00:00:00","images":[{"imageId":"i","reviewResult":{"reviewAnswer":"GREEN"}}]}"#;
    import(&world, RecordKind::Documents, selfie).unwrap();
    let status = parsed(&step_status(&world, "x").unwrap());
    assert_eq!(status["SELFIE"]["reviewResult"], json!({"reviewAnswer": "GREEN"}));
}

#[test]
fn steps_of_companies_are_for_companies_and_those_of_persons_for_individuals() {
    let world = World::empty();
    let all = |company: &str| {
        let steps =
            ["APPLICANT_DATA", "IDENTITY4", "SELFIE2", "PROOF_OF_RESIDENCE", "QUESTIONNAIRE", "E_SIGN"];
        let steps: Vec<String> = steps
            .iter()
            .copied()
            .chain(company.split(' '))
            .map(|step| format!("{{\"idDocSetType\":\"{step}\"}}"))
            .collect();
        format!("{{\"name\":\"{company}\",\"docSets\":[{}]}}", steps.join(","))
    };
    for company in ["COMPANY", "COMPANY_BENEFICIARIES COMPANY_DATA COMPANY_DOCUMENTS"] {
        import(&world, RecordKind::Levels, &all(company)).unwrap();
        let (steps, imported) = steps_of(&world, "company", company);
        let mut expected: Vec<&str> = company.split(' ').collect();
        expected.extend(["E_SIGN", "QUESTIONNAIRE"]);
        assert_eq!(steps, expected);
        assert!(imported.notes[0].message.contains("`SELFIE2`"), "{:?}", imported.notes);
        let (steps, imported) = steps_of(&world, "individual", company);
        let expected =
            ["APPLICANT_DATA", "E_SIGN", "IDENTITY4", "PROOF_OF_RESIDENCE", "QUESTIONNAIRE", "SELFIE2"];
        assert_eq!(steps, expected);
        assert_eq!((imported.notes.len(), imported.notes[0].line), (1, 1));
        assert!(
            imported.notes[0].message.contains("which an individual does not have"),
            "{:?}",
            imported.notes
        );
    }
    // There is one note for each pair of level and applicant type.
    let many: String = (0..9)
        .map(|n| {
            format!("{{\"id\":\"m{n}\",\"type\":\"individual\",\"review\":{{\"levelName\":\"COMPANY\"}}}}\n")
        })
        .collect();
    assert_eq!(import(&world, RecordKind::Applicants, &many).unwrap().notes.len(), 1);
}

#[test]
fn unknown_steps_are_kept_noted_and_served() {
    let world = World::empty();
    let levels = concat!(
        "{\"name\":\"l\",\"docSets\":[{\"idDocSetType\":\"IDENTITY5\"},{\"idDocSetType\":\"VIDEO_CALL\",\"dependsOn\":\"IDENTITY5\"}]}\n",
        "{\"name\":\"m\",\"docSets\":[{\"idDocSetType\":\"VIDEO_CALL\"}]}"
    );
    let imported = import(&world, RecordKind::Levels, levels).unwrap();
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    assert_eq!((imported.stored, notes.len()), (2, 2));
    let expected = "file: line 1: docSets[0].idDocSetType: found `IDENTITY5`, expected a step that the interface document \
                    lists; did you mean `IDENTITY";
    assert!(notes[0].starts_with(expected) && notes[0].ends_with("`?; kept as it is"), "{notes:?}");
    assert!(notes[1].starts_with("file: line 1: docSets[1].idDocSetType: found `VIDEO_CALL`"), "{notes:?}");
    assert_eq!(steps_of(&world, "individual", "l").0, ["IDENTITY5", "VIDEO_CALL"]);
    assert_eq!(steps_of(&world, "company", "l").0, ["IDENTITY5", "VIDEO_CALL"]);
    let document = r#"{"id":"d","applicantId":"x","step":"IDENTITY5","createdAt":"2026-01-01 00:00:00","images":[{"imageId":1,"reviewResult":{"reviewAnswer":"GREEN"}}]}"#;
    assert_eq!(import(&world, RecordKind::Documents, document).unwrap().notes.len(), 1);
    let status = parsed(&step_status(&world, "x").unwrap());
    assert_eq!(status["IDENTITY5"]["reviewResult"], json!({"reviewAnswer": "GREEN"}));
    assert_eq!(status["VIDEO_CALL"], Value::Null);
}

/// Returns the text of a level with these steps.
fn level(name: &str, steps: &str) -> String {
    let steps: Vec<Value> = steps.split(' ').map(|step| json!({"idDocSetType": step})).collect();
    json!({"name": name, "docSets": steps}).to_string()
}

/// Returns the text of an applicant with this level.
fn applicant(id: &str, kind: &str, level: &str) -> String {
    json!({"id": id, "type": kind, "review": {"levelName": level}}).to_string()
}

/// Returns the notes of an import as text.
fn notes(imported: &RecordImportReport) -> Vec<String> {
    assert!(imported.notes.iter().all(|note| note.kind == ImportNoteKind::InapplicableSteps));
    imported.notes.iter().map(ToString::to_string).collect()
}

#[test]
fn steps_that_an_applicant_cannot_have_are_noted_by_the_import_that_brings_both_together() {
    let lines = |lines: &[String]| lines.join("\n");
    let people = lines(&[
        applicant("a", "individual", "x"),
        applicant("b", "company", "x"),
        applicant("c", "individual", "x"),
        applicant("d", "individual", "other"),
        json!({"id": "e", "type": "individual"}).to_string(),
    ]);
    let all = lines(&[level("x", "QUESTIONNAIRE"), level("other", "IDENTITY"), level("unused", "COMPANY")]);
    let mixed = lines(&[
        level("new", "COMPANY SELFIE"),
        level("unused", "COMPANY SELFIE"),
        level("other", "SELFIE"),
        level("x", "IDENTITY SELFIE COMPANY_DATA"),
    ]);
    // The level is imported first, so the import of the applicants adds the notes.
    let world = World::empty();
    import(&world, RecordKind::Levels, &all).unwrap();
    assert_eq!(notes(&import(&world, RecordKind::Levels, &mixed).unwrap()), [""; 0]);
    let by_applicants = [
        "file: line 1: review.levelName: found the level `x` of an individual, with the step `COMPANY_DATA`, which an individual does not have; it is left out of the answers",
        "file: line 2: review.levelName: found the level `x` of a company, with the steps `IDENTITY`, `SELFIE`, which a company does not have; they are left out of the answers",
    ];
    assert_eq!(notes(&import(&world, RecordKind::Applicants, &people).unwrap()), by_applicants);
    let answers = ["a", "b"].map(|id| step_status(&world, id).unwrap());
    assert_eq!(answers, [r#"{"IDENTITY":null,"SELFIE":null}"#, r#"{"COMPANY_DATA":null}"#]);
    // The applicants are imported first. So the import of the new levels adds the notes, in strict and in lenient mode.
    for lenient in [false, true] {
        let world = World::empty();
        import(&world, RecordKind::Levels, &all).unwrap();
        assert_eq!(notes(&import(&world, RecordKind::Applicants, &people).unwrap()), [""; 0]);
        let imported = match lenient {
            false => import(&world, RecordKind::Levels, &mixed).unwrap(),
            true => import_leniently(&world, RecordKind::Levels, &mixed),
        };
        let by_levels = [
            "file: line 4: docSets: found the level `x` of 2 stored individuals, with the step `COMPANY_DATA`, which an individual does not have; it is left out of the answers",
            "file: line 4: docSets: found the level `x` of 1 stored company, with the steps `IDENTITY`, `SELFIE`, which a company does not have; they are left out of the answers",
        ];
        assert_eq!(notes(&imported), by_levels);
        assert_eq!((imported.stored, imported.replaced, imported.unlisted), (1, 3, 0));
        assert_eq!(["a", "b"].map(|id| step_status(&world, id).unwrap()), answers);
    }
}

#[test]
fn of_a_level_that_comes_several_times_in_one_import_the_last_is_compared_with_the_applicants() {
    let world = World::empty();
    for (name, kind) in [("x", "individual"), ("y", "company"), ("z", "company")] {
        import(&world, RecordKind::Levels, &level(name, "QUESTIONNAIRE")).unwrap();
        import(&world, RecordKind::Applicants, &applicant(name, kind, name)).unwrap();
    }
    let sources = [
        ("one", [level("x", "COMPANY"), level("y", "SELFIE"), level("z", "COMPANY")].join("\n")),
        ("two", format!("[{},\n\n{}]", level("y", "COMPANY"), level("x", "COMPANY_DATA"))),
        ("three", [level("z", "SELFIE2"), level("v", "COMPANY SELFIE"), level("v", "COMPANY")].join("\n")),
    ];
    let imported = import_records(&world, RecordKind::Levels, |import| {
        sources.iter().try_for_each(|(name, text)| {
            import.source(name)?;
            import.push(text.as_bytes())
        })
    });
    let imported = imported.unwrap_or_else(|error: StoreError| panic!("{error}"));
    let expected = [
        "two: line 3: docSets: found the level `x` of 1 stored individual, with the step `COMPANY_DATA`, which an individual does not have; it is left out of the answers",
        "three: line 1: docSets: found the level `z` of 1 stored company, with the step `SELFIE2`, which a company does not have; it is left out of the answers",
    ];
    assert_eq!(notes(&imported), expected);
    // A rejected import has no report. A skipped record is not compared.
    let faulty = format!("{}\n{}", level("x", "COMPANY"), level("x", "COMPANY COMPANY_DATA"));
    assert!(import(&world, RecordKind::Levels, &faulty).is_err());
    let faulty = format!("{}\n{}", level("x", "COMPANY COMPANY_DATA"), level("y", "SELFIE PAYMENT_METHODS"));
    assert_eq!(notes(&import_leniently(&world, RecordKind::Levels, &faulty)), [""; 0]);
}

#[test]
fn ten_thousand_replaced_levels_are_compared_with_all_applicants_in_one_pass() {
    let world = World::empty();
    let levels = |steps: &str, count: usize| {
        (0..count).fold(String::new(), |mut text, n| {
            writeln!(text, "{}", level(&format!("l{n}"), steps)).unwrap();
            text
        })
    };
    import(&world, RecordKind::Levels, &levels("SELFIE", 10_003)).unwrap();
    let mut people = String::new();
    for n in 0..2 * 10_003 {
        writeln!(people, "{}", applicant(&n.to_string(), "individual", &format!("l{}", n / 2))).unwrap();
    }
    import(&world, RecordKind::Applicants, &people).unwrap();
    let imported = import(&world, RecordKind::Levels, &levels("COMPANY", 10_003)).unwrap();
    let notes = notes(&imported);
    assert_eq!(notes.len(), 10_001);
    for (n, note) in notes[..10_000].iter().enumerate() {
        let start =
            format!("file: line {}: docSets: found the level `l{n}` of 2 stored individuals, with", n + 1);
        assert!(note.starts_with(&start), "{note}");
    }
    let rest = "file: line 10001: docSets: the import did not check whether the stored applicants of this level and 2 later levels can have all steps: an import checks at most 10000 levels";
    assert_eq!(notes[10_000], rest);
}

#[test]
fn a_level_that_was_not_compared_has_a_note_even_if_no_level_was_compared() {
    let world = World::empty();
    let levels = |steps: &str, count: usize| -> String {
        (0..count).map(|n| level(&format!("l{n}"), steps) + "\n").collect()
    };
    import(&world, RecordKind::Levels, &levels("SELFIE", 10_001)).unwrap();
    // The later records replace all levels that would have been compared.
    let replacing = levels("COMPANY", 10_001) + &levels("QUESTIONNAIRE", 10_000);
    let imported = import(&world, RecordKind::Levels, &replacing).unwrap();
    let note = "file: line 10001: docSets: the import did not check whether the stored applicants of this level can have all steps: an import checks at most 10000 levels";
    assert_eq!(notes(&imported), [note]);
}

#[test]
fn a_damaged_applicant_fails_the_comparison_and_stores_nothing() {
    let world = World::empty();
    import(&world, RecordKind::Levels, &level("x", "SELFIE")).unwrap();
    put(&world, "applicant", "a", "{}");
    assert_eq!(import(&world, RecordKind::Levels, &level("x", "QUESTIONNAIRE")).unwrap().replaced, 1);
    let before = get(&world, "level", "x");
    let error = import(&world, RecordKind::Levels, &level("x", "COMPANY")).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    assert_eq!(get(&world, "level", "x"), before);
}
