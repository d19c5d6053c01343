//! Types of levels, steps that are not for an applicant, and steps that are not known.

use super::*;

const ACTIONS: &str =
    r#"{"name":"actions","type":"applicantActions","docSets":[{"idDocSetType":"PAYMENT_METHODS"}]}"#;

/// The steps of an applicant of a type and a level, in the status and in the preview.
fn steps_of(world: &World, kind: &str, level: &str) -> (Vec<String>, Imported) {
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
    // Levels that a version before this one stored, with and without something under `type`.
    for kind in ["", "\"type\":{\"x\":1},", "\"type\":null,", "\"type\":\"individual\","] {
        let sets = r#"[{"idDocSetType":"IDENTITY"},{"idDocSetType":"PAYMENT_METHODS"},{"idDocSetType":"SELFIE","dependsOn":"PAYMENT_METHODS"}]"#;
        put(&world, "level", "old", &format!("{{{kind}\"name\":\"old\",\"docSets\":{sets}}}"));
        let (steps, imported) = steps_of(&world, "individual", "old");
        assert_eq!(steps, ["IDENTITY", "SELFIE"], "{kind}");
        assert_eq!(imported.notes[0].kind, ImportNoteKind::StepsOfOthers);
    }
    // What depends on a step that the applicant cannot have is checked.
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
    // Noted once for a level and a type of applicants.
    let many: String = (0..9)
        .map(|n| {
            format!("{{\"id\":\"m{n}\",\"type\":\"individual\",\"review\":{{\"levelName\":\"COMPANY\"}}}}\n")
        })
        .collect();
    assert_eq!(import(&world, RecordKind::Applicants, &many).unwrap().notes.len(), 1);
}

#[test]
fn steps_that_are_not_known_are_kept_noted_and_served() {
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
