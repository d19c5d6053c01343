//! Applicants, their verification steps, documents and AML cases: what four of the five operations answer from.
//!
//! Records lie in the [store](crate::store) beside the cases, as text, in the form in which they were
//! imported. An import checks them against the schemas below; members that no schema names are kept, and number
//! spellings too. `null` counts as absent.
//!
//! | operation | function |
//! |---|---|
//! | 2, required documents status | [`step_status`] |
//! | 3, preview by share token | [`preview`], with [`mint_share_token`] and [`use_share_token`] |
//! | 4, AML case | [`aml_case`] |
//! | 5, update of extracted info | [`update_info`] |
//!
//! Answers have every date in the form that the interface document states for it, whatever form it came in, and no nulls but for a
//! step without data.
//!
//! # Records
//!
//! One a line, imported with [`import_records`] or `casefilter import --kind …`, exported with [`each_record`] or `casefilter export
//! --kind …`. What a record refers to is stored before it: levels, applicants, then the other two. `tests/data/domain` has samples of
//! all four.
//!
//! A strict import refuses all of a file for one wrong member, with line and path. A lenient one ([`import_records_in`]) leaves out
//! the smallest part that a fault lies in and that the record can do without: an optional member, or an element of a list. Where the
//! fault lies in what is needed, or in what decides by its absence (marked *decides* below), the record is skipped. The report
//! lists what was left out. An applicant whose level is not stored is kept without the level.
//!
//! - *Ids* are strings, or integers, which become strings.
//! - *Countries* are codes of ISO 3166-1 alpha-3, or of machine-readable travel documents (ICAO Doc 9303 part 3, section 5: `XXA`,
//!   `RKS`, `UNO`, `GBN`, …). `D` becomes `DEU`; `RKS` and `XKX` are one country.
//! - *Times* are `yyyy-MM-dd HH:mm:ss`, then nothing (UTC) or an offset, such as `+0000` or `+00:00`. Answers have them in UTC without
//!   an offset, but `review.createDate` and `review.reviewDate` with the offset that they came with, written like `+0000`. Such a
//!   one without an offset is counted by the import.
//!
//! **`levels`**, by `name`: `type` (*decides*), `standard` when absent, or `applicantActions`, which alone has the step
//! `PAYMENT_METHODS`; `docSets` (needed), the steps in the order in which they are answered, each with
//!
//! | member | what |
//! |---|---|
//! | `idDocSetType` | the step's identifier, needed, each once in a level; `COMPANY` is not beside `COMPANY_…`; one that is not known is noted by the import, kept and served |
//! | `types`, `countries` | what documents are accepted; all of them when absent or empty |
//! | `minDocuments` | how many documents are needed; 1, or 0 for steps with `fields` or `questionnaireId` |
//! | `minImages` | how many images a document of a type needs, such as `{"ID_CARD":2}`; 1 when absent |
//! | `dependsOn` | another step of the level, without circles |
//! | `fields` | the members of the applicant's `fixedInfo` that the step asks for |
//! | `questionnaireId` | the id of the questionnaire that the step asks for |
//! | `parts` | for `COMPANY`: which of `company`, `ubos`, `shareholders`, `representatives`, `directors`; all when absent |
//! | `videoRequired`, `nfcVerificationSettings` | shown in the preview; all others *decide* |
//!
//! **`applicants`**, by `id`: `id`, `type` (`individual` or `company`) are needed; then all that the
//! interface document lists for the preview, with the same formats; `fixedInfo` in the schema of `info`,
//! `info` with `placeOfBirth`, `placeOfBirthEn`, `countryOfBirth` and `stateOfBirth` besides; `phone`;
//! `questionnaires`, a list of objects with an `id`. `review.levelName` names the level. `infoChangedAt` is ours: when operation 5
//! changed members of `info`, such as `{"firstName":"2026-11-21 10:00:00+0000"}`. An import leaves such a member as it is, unless
//! the latest of `createdAt`, `review.createDate` and `review.reviewDate` is later, by the second; it reports both.
//!
//! **`documents`**, by `applicantId` and `id`: what an applicant gave for a step. Needed are these two,
//! `step` and `createdAt`. Then `idDocType`, `country`, `part` (for `COMPANY`; `company` when absent;
//! *decides*), `active` (`true` when absent; *decides*), `reviewResult` of the whole, and `images`, each
//! with `imageId` (needed), `idDocSubType` (`FRONT_SIDE` for the front), `active` (*decides*) and `reviewResult`. A
//! review has `reviewAnswer` (`GREEN`, `RED`), `reviewRejectType` (`RETRY`, `FINAL`), `moderationComment`,
//! `clientComment`, `rejectLabels`, `buttonIds`. Steps without documents, such as `PHONE_VERIFICATION`, have
//! a record without images whose `reviewResult` is that of the check.
//!
//! **`aml-cases`**, by `targetEntityId` and `id`: the AML case of the interface document; `id`, `createdAt`,
//! `targetEntityType`, `targetEntityId` and the hits' `id` are needed. `active` (`true` when absent; *decides*) is
//! ours, and not served.
//!
//! # Names in Latin letters
//!
//! Operation 5 makes `firstNameEn`, `lastNameEn` and `placeOfBirthEn` anew. The script tells how Greek, Georgian and Armenian letters
//! are written. Cyrillic letters are written by the rules of one language. The evidence for it, the strongest first:
//!
//! 1. *The text itself.* A language is ruled out if it lacks a letter of the text, or spells otherwise. `і ї є ґ` and the ending `-ський`
//!    are not Russian. `ъ` before any letter except `е ё ю я` is Bulgarian. An apostrophe between a consonant and `я ю є ї е ё і` is
//!    Ukrainian or Belarusian. Not Ukrainian are `ы э ё`, the ending `-ский`, and `и` at the start of a word, after a vowel, or before
//!    `а е и о у ю я`.
//! 2. *The person's other texts*, `firstName`, `lastName`, then `placeOfBirth`, by the same marks, unless that leaves no language.
//! 3. *The country*: the first of `idDocs[].country` in their order, `country`, and `countryOfBirth` whose language is left. Countries
//!    that do not write Cyrillic tell nothing: a Ukrainian name in a German document is Ukrainian if `countryOfBirth` is `UKR`.
//! 4. *Otherwise* Russian, if it is left, then the first of Ukrainian, Belarusian, Serbian, Macedonian, Bulgarian, Kazakh.
//!
//! | language | letters of its own | countries | rules |
//! |---|---|---|---|
//! | Russian | | `RUS`; `KGZ`, `MNG`, `TJK`, `TKM`, `UZB`, whose letters are written as the Russian ones are | ICAO Doc 9303 part 3, section 6 |
//! | Ukrainian | `і ї є ґ`, `-ський` | `UKR` | Resolution 55 of the Cabinet of Ministers, 2010 |
//! | Belarusian | `ў` | `BLR` | ICAO, with its exceptions for Belarusian |
//! | Serbian | `ђ ћ` | `SRB`, `MNE`, `BIH`, `RKS`, `XKX` | ICAO, with its exceptions for Serbian, except that `г` is G; `ђ` is D |
//! | Macedonian | `ѓ ќ ѕ` | `MKD` | ICAO, with its exceptions for Macedonian |
//! | Bulgarian | `ъ` as a vowel | `BGR` | Transliteration Act, 2009 |
//! | Kazakh | `ә ғ қ ң ө ұ ү һ` | `KAZ` | ICAO; its own letters without their marks |
//! | Greek | its script | | ELOT 743, type 2 |
//! | Georgian | its script | | national system of 2002, without apostrophes |
//! | Armenian | its script | | BGN/PCGN 1981, without apostrophes, and `ռ` is R |
//!
//! `tests/data/domain/names` has at least ten surnames in each of these languages except Russian, and the sources of the rules. Three of
//! them are less certain than the others:
//!
//! - *Belarusian*: Instruction 288 of the Ministry of the Interior (2008), made for the population register, has other letters: J for `й`,
//!   JA for `я` at the start and after vowels, W for `ў`. Names in passports have ICAO's letters, such as Maryia, so this library has them.
//! - *Armenian*: Government Decision 725-N (2017) governs passports. Its table was not available to the authors.
//! - *Kazakh*: no regulation with a table was available to the authors.
//!
//! # How the status of a step is computed
//!
//! - Steps that the applicant cannot have are left out, here and in the preview, and hold up none that depends on them: the four
//!   `COMPANY…` of an individual; `APPLICANT_DATA`, `IDENTITY…`, `SELFIE…` and `PROOF_OF_RESIDENCE…` of a company;
//!   `PAYMENT_METHODS` in a level that is not for applicant actions. The import of an applicant notes it, and so does the import of a
//!   level that replaces the level of stored applicants.
//! - Documents that count are active and have an active image, or no image at all. The newest leads: its type
//!   and country are the step's, its images come first, of each document those of the front side; for
//!   `COMPANY` the parts come in their order.
//! - One RED review makes the step RED, all GREEN make it GREEN, otherwise `reviewResult` is there without an
//!   answer: something was provided, so the interface document wants it there, but nobody has decided. The
//!   gravest reject type counts, FINAL before RETRY; comments are those of the reviews that decided, each
//!   once, a line each.
//! - `rejectLabels` of a review that is not RED are left out.
//! - A step that depends on one that is not approved, or does not count as approved itself for that reason,
//!   is unchecked: it has no `reviewResult`, and its images have none.
//! - `partialCompletion` is true when the minimum of images and documents was uploaded, as the interface
//!   document words it, and the data that the step asks for given.
//! - `forbidden` is true when the type or the country of one of the documents is not accepted.
//! - A step for which nothing was given is `null`. One for which data alone was given has no `reviewResult`.
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
mod schema;
mod schemas;
mod step_status;
mod steps;
#[cfg(test)]
mod tests;
mod time;
mod transliterate;

pub use aml::aml_case;
pub(crate) use error::Cause;
pub use error::{DomainError, DomainErrorKind};
pub use export::each_record;
pub use import::{RecordImport, import_records, import_records_in};
pub use info::update_info;
pub use kind::RecordKind;
pub use profile::{mint_share_token, preview, use_share_token};
pub use report::{ImportNote, ImportNoteKind, Imported};
pub use steps::step_status;
