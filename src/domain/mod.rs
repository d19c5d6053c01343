//! Applicants, their verification steps, documents and AML cases: the records that operations 2 to 5 answer from.
//!
//! Records are stored in the [store](crate::store) as text, in the form in which they were imported, in addition to the cases. An import
//! checks them against the schemas below. Members that no schema names are kept, as are the spellings of numbers. `null` counts as absent.
//!
//! | operation | function |
//! |---|---|
//! | 2, required documents status | [`step_status`] |
//! | 3, preview by share token | [`preview`], with [`create_share_token`] and [`redeem_share_token`] |
//! | 4, AML case | [`aml_case`] |
//! | 5, update of extracted info | [`update_info`] |
//!
//! Answers have every date in the form that the interface document states for it. They have no nulls, except for a step without data.
//!
//! # Records
//!
//! [`import_records`] and `casefilter import --kind …` import records, one per line. [`export_records`] and `casefilter export --kind …`
//! export them. A record is imported after the records that it refers to: first levels, then applicants, then documents and AML cases.
//! `docs/operations.md` describes each kind with examples. `tests/data/domain` has samples of all four.
//!
//! A strict import rejects the whole file for one invalid member, and names the line and the path. A lenient import ([`import_records_in`])
//! leaves out the smallest optional part around the fault: an optional member, or an element of a list. It skips a record if the fault is
//! in a required member, or in a member whose absence changes the meaning (marked *decides* below). The report lists the parts that were
//! left out. A lenient import stores an applicant whose level is not stored without the level.
//!
//! - *Ids* are strings, or integers, which become strings.
//! - *Countries* are codes of ISO 3166-1 alpha-3, or of machine-readable travel documents (ICAO Doc 9303 part 3, section 5: `XXA`,
//!   `RKS`, `UNO`, `GBN`, …). `D` becomes `DEU`. `RKS` and `XKX` are one country.
//! - *Times* are `yyyy-MM-dd HH:mm:ss`, then nothing (UTC) or an offset, such as `+0000` or `+00:00`. Answers have them in UTC without
//!   an offset. `review.createDate` and `review.reviewDate` keep their offset, written like `+0000`. The import counts how often these two
//!   have no offset.
//!
//! **`levels`**, by `name`: `type` (*decides*) is `standard`, the default, or `applicantActions`. Only a level for applicant actions
//! may have the step `PAYMENT_METHODS`. `docSets` (required) has the steps in the order in which they are answered, each with
//!
//! | member | meaning |
//! |---|---|
//! | `idDocSetType` | the step's identifier: required, unique in its level. `COMPANY` excludes `COMPANY_…`. The import notes an unknown one, and it is kept and served |
//! | `types`, `countries` | the accepted documents; all if absent or empty |
//! | `minDocuments` | the number of documents needed; by default 1, or 0 for steps with `fields` or `questionnaireId` |
//! | `minImages` | the number of images that a document of a type needs, such as `{"ID_CARD":2}`; 1 by default |
//! | `dependsOn` | another step of the level, without cycles |
//! | `fields` | the members of the applicant's `fixedInfo` that the step requires |
//! | `questionnaireId` | the id of the questionnaire that the step requires |
//! | `parts` | for `COMPANY`: some of `company`, `ubos`, `shareholders`, `representatives`, `directors`; all by default |
//! | `videoRequired`, `nfcVerificationSettings` | shown in the preview; all other members *decide* |
//!
//! **`applicants`**, by `id`: `id` and `type` (`individual` or `company`) are required. The other members are the members that the
//! interface document lists for the preview, in the same formats, and three more: `phone`, `fixedInfo` in the schema of `info`, and
//! `questionnaires`, a list of objects with an `id`. `info` has `placeOfBirth`, `placeOfBirthEn`, `countryOfBirth` and `stateOfBirth` too.
//! `review.levelName` names the level. `infoChangedAt` is an addition of this library: the time when operation 5 changed a member of
//! `info`, such as `{"firstName":"2026-11-21 10:00:00+0000"}`. An import keeps such a member, unless the latest of `createdAt`,
//! `review.createDate` and `review.reviewDate` is later, to the second. It reports both cases.
//!
//! **`documents`**, by `applicantId` and `id`: the documents that an applicant gave for a step. `applicantId`, `id`, `step` and `createdAt`
//! are required. Optional members are `idDocType`, `country`, `part` (for `COMPANY`, by default `company`; *decides*), `active` (by default
//! `true`; *decides*), `reviewResult` of the whole, and `images`. An image has `imageId` (required), `idDocSubType` (`FRONT_SIDE` for the
//! front), `active` (*decides*) and `reviewResult`. A review has `reviewAnswer` (`GREEN`, `RED`), `reviewRejectType` (`RETRY`, `FINAL`),
//! `moderationComment`, `clientComment`, `rejectLabels` and `buttonIds`. A step without documents, such as `PHONE_VERIFICATION`, has a
//! record without images. Its `reviewResult` is the result of the check.
//!
//! **`aml-cases`**, by `targetEntityId` and `id`: the AML case of the interface document. `id`, `createdAt`, `targetEntityType`,
//! `targetEntityId` and the hits' `id` are required. `active` (by default `true`; *decides*) is an addition of this library. It is not
//! served.
//!
//! # Names in Latin letters
//!
//! Operation 5 creates `firstNameEn`, `lastNameEn` and `placeOfBirthEn` again. Greek, Georgian and Armenian letters are written by the
//! rules of their script. Cyrillic letters are written by the rules of one language. The evidence for the language, strongest first:
//!
//! 1. *The text itself.* A language is ruled out if it lacks a letter of the text, or spells otherwise. `і ї є ґ` and the ending `-ський`
//!    are not Russian. `ъ` before any letter except `е ё ю я` is Bulgarian. An apostrophe between a consonant and `я ю є ї е ё і` is
//!    Ukrainian or Belarusian. `ы э ё` and the ending `-ский` are not Ukrainian. Neither is `и` at the start of a word, after a vowel, or
//!    before `а е и о у ю я`.
//! 2. *The person's other texts*, `firstName`, `lastName`, then `placeOfBirth`, by the same marks, unless that leaves no language.
//! 3. *The country*: the first of `idDocs[].country` in their order, `country`, and `countryOfBirth` whose language is left. Countries that
//!    do not write Cyrillic are no evidence: a Ukrainian name in a German document is Ukrainian if `countryOfBirth` is `UKR`.
//! 4. *Otherwise* Russian, if it is left, then the first of Ukrainian, Belarusian, Serbian, Macedonian, Bulgarian, Kazakh.
//!
//! | language | letters of its own | countries | rules |
//! |---|---|---|---|
//! | Russian | | `RUS`; `KGZ`, `MNG`, `TJK`, `TKM`, `UZB`, whose letters are written as the Russian ones are | ICAO Doc 9303 part 3, section 6 |
//! | Ukrainian | `і ї є ґ`, `-ський` | `UKR` | Resolution 55 of the Cabinet of Ministers, 2010 |
//! | Belarusian | `ў` | `BLR` | Instructions 288 (2008) and 200 (2010) of the Ministry of the Interior |
//! | Serbian | `ђ ћ` | `SRB`, `MNE`, `BIH`, `RKS`, `XKX` | ICAO, with its exceptions for Serbian, except that `г` is G; `ђ` is D |
//! | Macedonian | `ѓ ќ ѕ` | `MKD` | ICAO, with its exceptions for Macedonian |
//! | Bulgarian | `ъ` as a vowel | `BGR` | Transliteration Act, 2009 |
//! | Kazakh | `ә ғ қ ң ө ұ ү һ` | `KAZ` | ICAO; its own letters without their marks |
//! | Greek | its script | | ELOT 743, type 2 |
//! | Georgian | its script | | national system of 2002, without apostrophes |
//! | Armenian | its script | | Government Regulation 220-N, 2011: BGN/PCGN 1981 without apostrophes, and `ռ` is R |
//!
//! `tests/data/domain/names` has at least ten surnames in each of these languages except Russian, and the sources of the rules. Three of
//! them are less certain than the others:
//!
//! - *Belarusian*: Instruction 288 is for the population register, from which passports are made. Instruction 200 drops its marks and
//!   writes `г` as H. Older passports have ICAO's letters: Maryia, not Maryja.
//! - *Armenian*: Regulation 220-N of the Government (3 March 2011) is for geographical names in English. Its text has `ծ` ts, `ձ` dz, `ղ` gh,
//!   `ճ` ch, `ք` k, `փ` p, `խ` kh and `ժ` zh. The UNGEGN Working Group on Romanization Systems deduced the other letters from its list of
//!   places (8 November 2011). Passports follow Government Decision 725-N (2017), whose table was not available to the authors.
//! - *Kazakh*: Kazakhstan has no national standard, says the same working group (version 4.0, 2016). The letters that Kazakh shares with
//!   Russian follow ICAO's table. Its own letters, which that table lacks, are written `ә` A, `ғ` G, `қ` K, `ң` N, `ө` O, `ұ` and `ү` U, `һ` H.
//!
//! # Status of a step
//!
//! - Steps that the applicant cannot have are left out of the status and of the preview, and do not block steps that depend on them.
//!   Individuals cannot have the four steps `COMPANY…`. Companies cannot have `APPLICANT_DATA`, `IDENTITY…`, `SELFIE…` and
//!   `PROOF_OF_RESIDENCE…`. A level that is not for applicant actions cannot have `PAYMENT_METHODS`. The import of an applicant adds a note
//!   on such steps. So does the import of a level that replaces the level of stored applicants.
//! - Only active documents that have an active image, or no image at all, count. The step has the type and country of the newest document,
//!   and the images of the newest document come first. Within a document, images of the front side come first. For `COMPANY` the parts come
//!   in their order.
//! - One RED review makes the step RED; if all reviews are GREEN, the step is GREEN. Otherwise `reviewResult` has no answer; the interface
//!   document requires `reviewResult` as soon as something was provided. The most severe reject type counts, FINAL before RETRY. The
//!   comments are the distinct comments of the deciding reviews, one per line.
//! - `rejectLabels` of a review that is not RED are left out.
//! - A step is unchecked if it depends on a step that is not approved or is unchecked itself. Neither an unchecked step nor its images have
//!   a `reviewResult`.
//! - `partialCompletion` is true if the minimum of images and documents was uploaded and the data that the step requires was given. This
//!   follows the wording of the interface document.
//! - `forbidden` is true if the type or the country of one of the documents is not accepted.
//! - A step without documents and data is `null`. A step with only data has no `reviewResult`.
//! - `stepStatuses` are `init` without documents, `pending` while any image is unreviewed, then `completed`.

mod aml;
mod changes;
mod check;
mod check_errors;
mod copy;
mod country;
mod error;
mod export;
mod import;
mod info;
mod kind;
mod levels;
mod members;
mod profile;
mod record_import;
mod records;
mod replaced_levels;
mod report;
mod rewrite;
mod room;
mod schema;
mod schemas;
mod step_status;
mod steps;
#[cfg(test)]
mod tests;
mod time;
mod transliterate;

pub use aml::aml_case;
pub(crate) use aml::aml_case_in;
pub(crate) use error::Cause;
pub use error::{DomainError, DomainErrorKind};
pub use export::export_records;
pub use import::{RecordImport, import_records, import_records_in};
pub use info::update_info;
pub(crate) use info::update_info_in;
pub use kind::RecordKind;
pub(crate) use profile::preview_in;
pub use profile::{create_share_token, preview, redeem_share_token};
pub use report::{ImportNote, ImportNoteKind, RecordImportReport};
pub(crate) use room::Room;
pub use steps::step_status;
pub(crate) use steps::step_status_in;
