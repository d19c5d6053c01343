//! The records of the compliance domain (applicants, their verification steps, documents and AML cases), and the operations on
//! them.
//!
//! The *interface document* is the specification that the module [`service`](crate::service) implements. It has the operations 1
//! to 5. Operation 1 searches cases. This module implements the other four, which read or change records:
//!
//! | operation | function |
//! |---|---|
//! | 2, required documents status | [`step_status`] |
//! | 3, preview by share token | [`preview`], with [`create_share_token`] and [`redeem_share_token`] |
//! | 4, AML case | [`aml_case`] |
//! | 5, update of extracted info | [`update_info`] |
//!
//! The interface document also mentions methods that it does not specify: making share tokens, copying a profile, reviewing a hit
//! of an AML case, changing the data of a company, and comparing `info` with `fixedInfo`. The service has these methods under paths
//! of its own.
//!
//! Records are stored in the [store](crate::store) in addition to the cases, as text in the form in which they were imported. An
//! import checks them against the schemas below. Members that a schema does not contain are kept, and numbers keep their spelling.
//! `null` is treated as absent.
//!
//! Answers write every date in the form that the interface document requires for it. They contain no nulls, except for a step
//! without data.
//!
//! # Records
//!
//! [`import_records`] and `casefilter import --kind …` import records, one per line. [`export_records`] and
//! `casefilter export --kind …` export them. Import a record after the records that it refers to: first levels, then applicants,
//! then documents and AML cases. `docs/operations.md` describes each kind of record with examples. `tests/data/domain` has sample
//! records of all four kinds.
//!
//! If one member is invalid, a strict import rejects the whole file, and reports the line and the path. A lenient import
//! ([`import_records_in`]) leaves out the smallest optional part that contains the fault: an optional member, or an element of an
//! optional list. A required member is not such a part. Neither is a member whose absence has a meaning of its own (marked
//! *decides* below). If no optional part contains the fault, the import skips the record. The report lists the parts and records
//! that were left out. If the level of an applicant is not stored, a lenient import stores the applicant without the level.
//!
//! - *Ids* are strings, or integers, which are converted to strings.
//! - *Countries* are codes of ISO 3166-1 alpha-3, or of machine-readable travel documents (ICAO Doc 9303 part 3, section 5: `XXA`,
//!   `RKS`, `UNO`, `GBN`, …). `D` is converted to `DEU`. `RKS` and `XKX` denote the same country.
//! - *Times* are `yyyy-MM-dd HH:mm:ss`, then nothing (UTC) or an offset, such as `+0000` or `+00:00`. Answers write them in UTC
//!   without an offset. The exceptions are `review.createDate` and `review.reviewDate`: answers write them with their offset, in
//!   the form `+0000`. The import counts the values of these two members that have no offset.
//!
//! **`levels`**, by `name`: `type` (*decides*) is `standard`, the default, or `applicantActions`. Only a level for applicant
//! actions may have the step `PAYMENT_METHODS`. `docSets` (required) is the list of steps, in the order in which answers list them.
//! A step has these members:
//!
//! | member | meaning |
//! |---|---|
//! | `idDocSetType` | the identifier of the step: required, unique in its level. A level that has the step `COMPANY` cannot have a step `COMPANY_…`. An unknown step is kept and served, and the import adds a note |
//! | `types`, `countries` | the types and issuing countries of documents that the step accepts; all if absent or empty |
//! | `minDocuments` | the minimum number of documents; by default 1, or 0 for steps with `fields` or `questionnaireId` |
//! | `minImages` | for each type of document, the minimum number of its images, such as `{"ID_CARD":2}`; 1 by default |
//! | `dependsOn` | another step of the level that must be approved first; cycles are errors |
//! | `parts` | the parts that the status of the step `COMPANY` lists; all five if absent |
//! | `fields`, `questionnaireId` | the members of `fixedInfo`, and the questionnaire, that the step requires of the applicant |
//! | `videoRequired`, `nfcVerificationSettings` | shown in the preview. They do not *decide*; all other optional members of a step do |
//!
//! **`applicants`**, by `id`: `id` and `type` (`individual` or `company`) are required. The other members are those that the
//! interface document lists for the preview, in the same formats, and three more: `phone`, `fixedInfo` with the schema of `info`,
//! and `questionnaires`, a list of objects with an `id`. `info` also has `placeOfBirth`, `placeOfBirthEn`, `countryOfBirth` and
//! `stateOfBirth`. `review.levelName` is the name of the level. `clientId` *decides*: it is the client whose tokens see the
//! applicant. If an applicant is a copy, `copiedFrom` lists its origins: the original applicant, and after it each copy that led to
//! this one. It is an addition of this library, and is not in answers. `infoChangedAt` is an addition of this library, too. It has
//! the times when operation 5 changed members of `info`, such as `{"firstName":"2026-11-21 10:00:00+0000"}`. An import keeps the
//! stored value of such a member, unless the imported data is later. The date of the imported data is the latest of `createdAt`,
//! `review.createDate` and `review.reviewDate`. The report of the import lists both the kept and the replaced members. `info` of a
//! company has `companyInfo`, and the record of the company has `companyInfoChangedAt`, with the times when clients changed its
//! members.
//!
//! **`documents`**, by `applicantId` and `id`: the documents that an applicant provided for a step. `applicantId`, `id`, `step` and
//! `createdAt` are required. Optional members are `idDocType`, `country`, `part` (for `COMPANY`, by default `company`; *decides*),
//! `active` (by default `true`; *decides*), `reviewResult` (the review of the whole document), and `images`. An image has `imageId`
//! (required), `idDocSubType` (`FRONT_SIDE` for the front side), `active` (*decides*) and `reviewResult`. A review has
//! `reviewAnswer` (`GREEN`, `RED`), `reviewRejectType` (`RETRY`, `FINAL`), `moderationComment`, `clientComment`, `rejectLabels` and
//! `buttonIds`. For a step that is a check without documents, such as `PHONE_VERIFICATION`, there is a record without images. Its
//! `reviewResult` is the result of the check.
//!
//! **`aml-cases`**, by `targetEntityId` and `id`: the AML case of the interface document. `id`, `createdAt`, `targetEntityType`,
//! `targetEntityId` and the `id` of each hit are required. `active` (by default `true`; *decides*) is an addition of this library,
//! and is not in answers. The members `reviewedBy` and `version` of the review of a hit are also additions, but answers contain
//! them. `reviewedBy` is the app token that has reviewed the hit. Only readers with the permission to view personal data see it.
//! `version` is higher after each review by a client, and after each import that replaces such a review. An import keeps such a
//! review, unless the imported review has a later `modifiedAt`. The report of the import lists both the kept and the replaced
//! reviews.
//!
//! # Names in Latin letters
//!
//! Each change by operation 5 computes `firstNameEn`, `lastNameEn` and `placeOfBirthEn` again, by transliteration of the original
//! values. Greek, Georgian and Armenian letters follow the rules of their script. Latin letters with marks follow ICAO's table: for
//! example, `ü` is UE. The file `transliterate.rs` lists the rules for other scripts. Cyrillic letters follow the rules of one
//! language. The language is chosen by this evidence, strongest first:
//!
//! 1. *The text itself.* A language is ruled out if its alphabet lacks a letter of the text. It is also ruled out if the text
//!    breaks its spelling rules. `і ї є ґ` and the ending `-ський` are not Russian. `ъ` before any letter except `е ё ю я` is
//!    Bulgarian. An apostrophe between a consonant and `я ю є ї е ё і` is Ukrainian or Belarusian. `ы э ё` and the ending `-ский`
//!    are not Ukrainian. `и` is not Ukrainian at the start of a word, after a vowel, or before `а е и о у ю я`, except in the
//!    prefix `при`.
//! 2. *The other texts of the person*, in the order `firstName`, `lastName`, `placeOfBirth`, by the same rules. A text that would
//!    rule out all remaining languages is ignored.
//! 3. *The country*: the first country whose language has not been ruled out. The order is `idDocs[].country`, `country`,
//!    `countryOfBirth`. Countries that do not write Cyrillic are ignored. So a Ukrainian name in a German document is Ukrainian
//!    if `countryOfBirth` is `UKR`.
//! 4. *Otherwise* Russian. If Russian has been ruled out, the first of these languages that has not been ruled out: Ukrainian,
//!    Belarusian, Serbian, Macedonian, Bulgarian, Kazakh.
//!
//! | language | its own letters and endings | countries | rules |
//! |---|---|---|---|
//! | Russian | | `RUS`; `KGZ`, `MNG`, `TJK`, `TKM`, `UZB`, which transliterate the letters like Russia | ICAO Doc 9303 part 3, section 6 |
//! | Ukrainian | `і ї є ґ`, `-ський` | `UKR` | Resolution 55 of the Cabinet of Ministers, 2010 |
//! | Belarusian | `ў` | `BLR` | Instructions 288 (2008) and 200 (2010) of the Ministry of the Interior |
//! | Serbian | `ђ ћ` | `SRB`, `MNE`, `BIH`, `RKS`, `XKX` | ICAO with its exceptions for Serbian, but `г` is G, not H; `ђ` is D, as in ICAO's table |
//! | Macedonian | `ѓ ќ ѕ` | `MKD` | ICAO, with its exceptions for Macedonian |
//! | Bulgarian | `ъ` as a vowel | `BGR` | Transliteration Act, 2009 |
//! | Kazakh | `ә ғ қ ң ө ұ ү һ` | `KAZ` | ICAO; its own letters are written without their marks |
//! | Greek | its script | | ELOT 743, type 2 |
//! | Georgian | its script | | national system of 2002, without apostrophes |
//! | Armenian | its script | | Government Regulation 220-N, 2011: BGN/PCGN 1981 without apostrophes, and `ռ` is R |
//!
//! `tests/data/domain/names` has at least ten surnames in each of these languages except Russian, and the sources of the rules. The
//! rules of three languages are less certain than the others:
//!
//! - *Belarusian*: Instruction 288 governs the population register, from which passports are issued. Instruction 200 governs
//!   passports. It leaves out the marks of Instruction 288, and writes `г` as H. Older passports follow ICAO's table: Maryia, not
//!   Maryja.
//! - *Armenian*: Regulation 220-N of the Government (3 March 2011) is for geographical names in English. Its text has `ծ` ts, `ձ`
//!   dz, `ղ` gh, `ճ` ch, `ք` k, `փ` p, `խ` kh and `ժ` zh. The UNGEGN Working Group on Romanization Systems deduced the other
//!   letters from the place names in the regulation (8 November 2011). Passports follow Government Decision 725-N (2017). Its table
//!   was not available to the authors of this library.
//! - *Kazakh*: according to the same working group (version 4.0, 2016), Kazakhstan has no national standard. The letters that
//!   Kazakh shares with Russian follow ICAO's table. Its own letters, which that table lacks, are written `ә` A, `ғ` G, `қ` K,
//!   `ң` N, `ө` O, `ұ` and `ү` U, `һ` H.
//!
//! # Status of a step
//!
//! - Steps that the applicant cannot have are left out of the status and of the preview. They do not block steps that depend on
//!   them. Individuals cannot have the four steps `COMPANY…`. Companies cannot have `APPLICANT_DATA`, `IDENTITY…`, `SELFIE…` and
//!   `PROOF_OF_RESIDENCE…`. A level that is not for applicant actions cannot have `PAYMENT_METHODS`. The import of an applicant
//!   adds a note on such steps. The import of a level also adds a note, if it replaces the level of stored applicants.
//! - Documents count only if they are active, and have an active image or no image at all. The type and the country of the step are
//!   those of the newest document. The images of the newest document come first. Within a document, images of the front side come
//!   first. For `COMPANY`, the parts come in this order: `company`, `ubos`, `shareholders`, `representatives`, `directors`.
//! - One RED review makes the step RED. If all reviews are GREEN, the step is GREEN. Otherwise, `reviewResult` has no answer. (The
//!   interface document requires `reviewResult` even then, if the applicant has provided anything for the step.) The reject type is
//!   the most severe type of the RED reviews: FINAL before RETRY. The comments are the distinct comments of the reviews that
//!   decided the result, one per line.
//! - `rejectLabels` of a review that is not RED are left out.
//! - A step is unchecked if it depends on a step that is not approved, or that is itself unchecked. Neither an unchecked step nor
//!   its images have a `reviewResult`.
//! - `partialCompletion` is true if the applicant has provided the required numbers of images and documents, and the data that the
//!   step requires. This follows the wording of the interface document.
//! - `forbidden` is true if the step does not accept the type or the country of one of its documents.
//! - A step without documents and data is `null`. A step that has only data has no `reviewResult`.
//! - `stepStatuses` has one entry for each part of the step `COMPANY`. A part without documents is `init`. A part with documents is
//!   `pending` if the step is unchecked, or if one of the part's images or checks has no review. In all other cases, the part is
//!   `completed`.

mod aml;
mod body;
mod changes;
mod check;
mod check_errors;
mod clients;
mod company;
mod comparison;
mod copied_profile;
mod copy;
mod country;
mod erase;
mod error;
mod export;
mod hit_review;
mod hits;
mod import;
mod info;
mod kind;
mod levels;
mod members;
mod new_share_token;
mod profile;
mod record_import;
mod records;
mod replaced_levels;
mod report;
mod rewrite;
mod room;
mod schema;
mod schemas;
mod share_token;
mod share_token_list;
mod step_status;
mod steps;
#[cfg(test)]
mod tests;
mod time;
mod transliterate;

pub use aml::aml_case;
pub(crate) use aml::aml_case_in;
pub(crate) use clients::{Clients, index_clients, is_client_id};
pub(crate) use company::{company_info_in, update_company_info_in};
pub(crate) use comparison::compare_info_in;
pub(crate) use copied_profile::{CopyIds, CopyRequest, copy_profile_in};
pub use erase::{copies_of_applicant, erasure_of_applicant};
pub(crate) use error::Cause;
pub use error::{DomainError, DomainErrorKind};
pub use export::export_records;
pub(crate) use hit_review::{ReviewRequest, review_hit_in};
pub use import::{RecordImport, import_records, import_records_in};
pub use info::update_info;
pub(crate) use info::update_info_in;
pub use kind::RecordKind;
pub use new_share_token::create_share_token;
pub(crate) use new_share_token::share_profile_in;
pub(crate) use profile::preview_in;
pub use profile::{preview, preview_for_client};
pub use report::{ImportNote, ImportNoteKind, RecordImportReport};
pub(crate) use room::Room;
pub use share_token::{redeem_share_token, redeem_share_token_for_client};
pub use share_token_list::{ListedShareToken, share_tokens};
pub use steps::step_status;
pub(crate) use steps::step_status_in;
