//! The input of the commands: arguments, files of cases and requests, databases, and services.
//!
//! | task | file |
//! |---|---|
//! | parse the command line, and print help; advice for unknown commands | `help`; `advice` |
//! | arguments for cases, databases, catalogues and PostgreSQL tables | `cases`, `database`, `catalog`, `source`, `kind` |
//! | arguments for CSV files | `csv_cases` |
//! | arguments for filters, columns, counts, moments and durations | `syntax`, `selection`, `columns`, `facets`, `as_of`, `duration` |
//! | read files: format, compression, documents, CSV | `file_format`, `unpack`, `reading`, `csv_rows`, `csv_cases` |
//! | read files of ids | `ids` |
//! | copy streams, so that they can be read again | `streams` |
//! | read files of requests | `request_lines`, `request` |
//! | read files of standing filters | `standing` |
//! | open a database, or connect to the service that has it open | `admin`, with `holder`, `service` and `copy` |
//! | search: in memory or a database, through a service, in PostgreSQL | `loaded`; `served`; `postgres` |
//! | explanations of requests | `explained` |
//! | the targets of an import | `taker` |

pub(crate) mod admin;
pub(crate) mod advice;
pub(crate) mod as_of;
pub(crate) mod cases;
pub(crate) mod catalog;
pub(crate) mod columns;
pub(crate) mod copy;
pub(crate) mod csv_cases;
pub(crate) mod csv_rows;
pub(crate) mod database;
pub(crate) mod duration;
pub(crate) mod explained;
pub(crate) mod facets;
pub(crate) mod file_format;
pub(crate) mod help;
pub(crate) mod holder;
pub(crate) mod ids;
pub(crate) mod kind;
pub(crate) mod load_reason;
pub(crate) mod loaded;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod reading;
pub(crate) mod request;
pub(crate) mod request_lines;
pub(crate) mod selection;
pub(crate) mod served;
pub(crate) mod service;
pub(crate) mod source;
pub(crate) mod standing;
pub(crate) mod streams;
pub(crate) mod syntax;
pub(crate) mod taker;
pub(crate) mod unpack;
