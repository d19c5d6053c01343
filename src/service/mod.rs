//! The service: the five operations over HTTP, from one database file.
//!
//! [`Service`] answers as the interface document has it; `casefilter serve` is one in a process of its own. Searches run
//! on the columns in memory, documents and [records](crate::domain) are read from the file, updates are on disk before they
//! are answered. Clients write nothing but updates of extracted info; cases, records and share tokens come by
//! [operators](#operators), while the service runs or while it is down.
//!
//! | operation | route | permission |
//! |---|---|---|
//! | 1, cases by filters | `POST /resources/api/caseManagement/v2/cases/byFilter` | `viewCases` |
//! | 1, the fields to filter by | `GET /resources/api/caseManagement/v2/cases/filters` | `viewCases` |
//! | 2, required documents status | `GET /resources/applicants/{applicantId}/requiredIdDocsStatus` | `viewApplicants` |
//! | 3, preview by share token | `GET /resources/applicants/-/import/preview?shareToken=…` | `createApplicants` |
//! | 4, AML case | `GET /resources/api/applicants/{applicantId}/amlCase` | `viewAmlScreening` |
//! | 5, update of extracted info | `PATCH /resources/applicants/{applicantId}/info` | `changePersonalData` |
//! | | `GET /healthz` `/readyz` `/openapi.json` | none, not signed |
//!
//! # Where cases are searched
//!
//! In the columns of the file, or, with `Service::with_source` (feature `postgres`, `casefilter serve --source`), in a table of
//! PostgreSQL, which then has the cases; those of the file are passed over. Answers, errors, limits and what tokens are held to are the
//! same. What may fail there and be well a moment later, a statement that took too long, a lost connection, no free
//! connection, is a 503 with `Retry-After`, its cause in the log; any other fault of the table is a 500. `/readyz`
//! is 503 while the source does not answer, asked at most once a second. Searches that wait for PostgreSQL count as
//! [`concurrency`](ServiceOptions::concurrency), which their own bound should stay below so that the other operations
//! find room, and go on to their end when their client leaves.
//!
//! # Tokens
//!
//! A file names those who may call, `{"tokens":[…]}`, each with
//!
//! | member | what |
//! |---|---|
//! | `token` | what clients send as `X-App-Token`: visible ASCII characters, no secret |
//! | `secret` | what they sign with, at least 16 bytes; the key is the text itself, as UTF-8 |
//! | `permissions` | a list of those in the table, and `viewPersonalData`, without which AML cases lack `reviewerName`, `attributes` and `clusteredLinks` |
//! | `name` | what logs call the token; its number in the file when absent |
//! | `fields` | the fields that the token sees of cases, and `id`; all when absent |
//! | `filter` | a filter in the text syntax, such as `clientId = acme`: no other case is there for the token |
//!
//! Other members are refused. `casefilter token app` makes an entry with random 256 bits for a secret.
//!
//! To a token with `fields` any other is no field at all, in criteria and in `order`, and is cut out of the
//! documents, together with all members that no field names. `filter` may name any field; it is
//! [and-ed](crate::Filter::and) to each search after that is compiled, so that no criteria reach around it, and the page and the count
//! are made of what is left. **Both hold for searches of cases alone**: a token with permissions for operations 2 to 5 may
//! be used for every applicant whose id, or share token, its holder has. `casefilter token app` and `casefilter serve` warn of such
//! tokens ([`TokenEntry::cautions`]).
//!
//! Objects and elements of arrays of which no field is left are cut out as well, so that neither they nor the length of a list tell
//! what was in them. A field that is left may still tell of one that is hidden: a case that has `createdByRule.title` was created
//! by a rule, which `createdByType` says. Hide both, or neither.
//!
//! # Signatures
//!
//! `X-App-Access-Sig` is the lower-case hex HMAC-SHA256 of timestamp, method, path with query, and body, one
//! after the other as they are on the wire; `X-App-Access-Ts` is that timestamp, in seconds since the Unix epoch, at most
//! [`clock_window`](ServiceOptions::clock_window) away from the clock here. It is checked before anything of the body
//! is read as JSON, in constant time, and the answer does not tell what was wrong. With
//! [`refuses_replays`](ServiceOptions::refuses_replays) no signature is good twice: off by default, because two equal
//! requests in one second carry equal signatures and every operation can be repeated. Each token has a memory of its own for
//! [`remembered_signatures`](ServiceOptions::remembered_signatures), so that one that fills it turns away none of the others.
//!
//! # Bounds
//!
//! [`ServiceOptions`] has them all. A request has [`read_timeout`](ServiceOptions::read_timeout) for its head, once more for its
//! body, and the client as long as [`write_timeout`](ServiceOptions::write_timeout) to take the whole answer. Heads
//! well over 64 KiB, or of more than 100 headers, get 431, bodies over the limit 413. A head that is refused, as too long or as none
//! of HTTP, is answered without the envelope; one that does not arrive in time is not answered. Bodies on their way in take
//! [`buffered_bytes`](ServiceOptions::buffered_bytes) together: one half is divided equally among the
//! [`connections`](ServiceOptions::connections) (32 KiB each, unless set), and a body that fits its part always has room. What is
//! beyond comes from the other half, of which a token at one peer gets at most as much as is left for all others; one that
//! gets no more is told 503. So whoever knows the name of a token, and not its secret, cannot fill it. Requests of which
//! the head alone shows that they will be refused (no known token, no timestamp of this minute) keep none of their body, though they are
//! told so no sooner. A connection beyond [`connections`](ServiceOptions::connections), or beyond
//! [`connections_per_peer`](ServiceOptions::connections_per_peer), is told 503, a request beyond
//! [`concurrency`](ServiceOptions::concurrency), or an update that waits longer than
//! [`turn_timeout`](ServiceOptions::turn_timeout) behind others, too, each with `Retry-After`. Where there are several tokens, each
//! gets at most half of `concurrency`.
//!
//! A page of up to 256 KiB is made in one buffer. A larger one is measured, and then sent in pieces of about that size, each read
//! from the file when the connection can take it; it is of one moment, whatever is written meanwhile. A page that would be larger than
//! [`answer_bytes`](ServiceOptions::answer_bytes) is a 400, which names the first item beyond and the `limit` that fits; a page of one
//! case is always answered. Answers on their way out take [`outgoing_bytes`](ServiceOptions::outgoing_bytes) together, of which one
//! token gets at most half, and what finds no room is a 503. Not counted are 32 KiB for each connection. A larger answer counts as it
//! is; a page that is sent in pieces counts as two of them, 512 KiB or twice its largest case. Parts of large pages are read a few at a time,
//! one for each processor and at least two, in turn, so that small requests do not wait for them. `casefilter_outgoing_bytes` has what is held.
//!
//! # Memory
//!
//! A service holds the columns and indexes of its cases (`casefilter_memory_bytes`), the cache of the file
//! ([`StoreOptions::cache_bytes`](crate::StoreOptions::cache_bytes), 64 MiB), compiled filters (32 MiB, and 4 MiB for each token with a filter or
//! fields of its own), and what is in flight, at most the sum of
//!
//! | what | bound | by default |
//! |---|---|---|
//! | bodies on their way in | `buffered_bytes` | 64 MiB |
//! | answers on their way out | `outgoing_bytes` + `connections` × 32 KiB | 160 MiB |
//! | heads of requests and buffers of connections | `connections` × 128 KiB | 128 MiB |
//! | searches and reads at work | `concurrency` × (256 KiB + the largest case or record) | 32 MiB, and the cases |
//! | one import at a time | the columns and indexes of its cases, and of the batches that they are merged with | |
//! | each backup or copy, and a compaction | the cache of its file, as large as that of the database | 64 MiB |
//!
//! An allocator keeps some of the memory that was given back. The command line has jemalloc on Linux with glibc, which returns it to the
//! system within some ten seconds. A host of [`Service`] chooses for itself: with glibc's own allocator `MALLOC_ARENA_MAX=1` keeps the
//! process small; without, its arenas may hold several times what is in use.
//!
//! Whatever waits for the file or may take long runs on threads of its own, away from those that talk to clients: updates, one
//! after the other, reads of records, and searches. Except for searches that were quick the last time: handing one
//! over costs more than most take (some 10 µs against 2 to 5), so one whose body, query and token took
//! less than 200 µs when it was last answered is answered where it was read.
//!
//! A client that closes its side once it has sent all gets its answers. A request goes on to its end if its client leaves, and is
//! logged and counted as any other; one that is given up before, since its connection failed or the grace period of a shutdown is
//! over, is logged and counted with the status 499, and an update may be stored then.
//!
//! A panic is a 500, with its cause in the log. On shutdown `/readyz` is 503 at once. Connections are taken for
//! [`drain`](ServiceOptions::drain) longer, so that a load balancer, which asks `/readyz` every few seconds, sends no more
//! requests before the port is closed. Then no connection is taken any more, and those without a request are
//! closed after a quarter of a second, in which what was sent already is read; requests in flight are answered, for
//! [`grace`](ServiceOptions::grace) at most, and the store is checkpointed.
//!
//! With [`Service::with_tls`] connections are TLS, by rustls; a handshake has
//! [`read_timeout`](ServiceOptions::read_timeout) too. Only HTTP/1.1 is spoken.
//!
//! # Operators
//!
//! One process at a time has the file. With `Service::with_admin` (on Unix) the service therefore listens on an `AdminSocket` too, a
//! socket in the file system, `casefilter serve` on `FILE.sock`, which its owner alone may open: no request is signed there.
//! `casefilter search`, `explain`, `why`, `import`, `token share`, `backup`, `compact`, `verify`, `export` and `bench` use it by themselves when
//! the service has their database open, and print what they print offline; the last three work on a copy. It speaks HTTP/1.1, with the
//! error envelope:
//!
//! | request | what |
//! |---|---|
//! | `GET /` | version, database, how many cases |
//! | `GET /metrics` | metrics |
//! | `POST /imports/{kind}` | imports the body, `kind` being `cases`, `levels`, `applicants`, `documents` or `aml-cases`; `?mode=lenient` as `--lenient`, `?format=parquet` for cases, `?source=` how errors call it; each at most once |
//! | `POST /share-tokens` | `{"applicantId":…,"lifetimeS":…}` makes a share token |
//! | `POST /backups` | `{"path":…}`, absolute, copies the database into a new file, as the user whom the service runs as |
//! | `POST /copies` | answers with a copy of the database, from a file without a name |
//! | `POST /compactions` | `{}` puts a copy without free pages in the place of the database, see [`Store::compact_online`](crate::Store::compact_online); updates wait for it as for an import |
//! | `POST /searches` | `{"ask":…,"body":…,"order":…,"offset":…,"limit":…,"count":…}` searches without the bounds of clients; `ask` is `page`, `count`, `explain`, `analyze` or `hints`; `body`, a filter as JSON text, is absent for all cases; a page comes in frames |
//!
//! An import is put aside in a file without a name beside the database until its body is whole, so that one that breaks off leaves
//! nothing, and one that is slow holds up nobody. Then it is stored as `casefilter import` stores it, whole or not at all, in turn with
//! updates, which wait for it as long as [`turn_timeout`](ServiceOptions::turn_timeout) and are told to come again after that;
//! searches go on. The next request sees what it stored. One whose client leaves is given up. A body of several files has the content type
//! `application/vnd.casefilter.sources` and is made of frames: a byte, `T` for the name of a source of text, `P` for that of a Parquet file,
//! `D` for bytes of it; the length of what follows, four bytes, the most significant first; and so many bytes.
//!
//! A request with the header `X-Casefilter-Database`, the numbers of device and inode of a file with a `-` between, is refused
//! unless that is the service's database. Requests that change something are logged at level `info`, with the number of the user; searches at `debug`.
//! A socket that a dead process left is replaced; one that somebody listens on is not.
//!
//! # Logs and metrics
//!
//! Each answer has an `X-Correlation-Id`, in the envelope too; [`tracing`] events at level `info` for
//! what was refused, `error` for what failed here, `debug` for all else, carry it as `correlation_id`, with
//! operation, status, time and the token's name. Of requests with one status and one token (or none) there are at most 20 lines a second
//! of `info` or `warn`; a line per second counts those left out, and a last one when the service ends. Bodies, queries, signatures and secrets are in none.
//! A correlation id is the beginning of a keyed hash, which does not tell how many requests others make.
//! `/readyz` is 503 on the way down and while the source of cases is away: when searches are not answered. Once a write failed for a reason of the
//! file, such as a full disk, searches go on, `/readyz` is 200 with `"writes":"failing"` and `casefilter_writes_failing` is 1. The file is opened again
//! and tried every second; updates are 503 until that, or the next update, succeeds, without a restart. Only after a sync that
//! failed, which the log tells, updates stay refused until one: it is not known then what is on disk. `/healthz`, `/readyz` and
//! `/openapi.json` are for all who reach the port.
//!
//! `/metrics` is Prometheus text. It is not on the public port, since counters such as `casefilter_rows_examined_total` tell a client
//! whether cases that its token does not see have a value. It has a listener of its own ([`Service::with_metrics`],
//! `casefilter serve --metrics-listen`), and is on the admin socket. `process_*` metrics are there on Linux.
//!
//! # Query parameters
//!
//! A parameter that an operation does not know is ignored, unless it is near one that it knows: equal but for case, or at most two
//! edits away, as `oder` and `Limit` are. That is a 400 which suggests the known one. `unsetFields`, by which other services clear
//! members in operation 5, is a 400 too: here `null` in the body does.
//!
//! # Errors
//!
//! An error answer is `{"code", "correlationId", "description", "errorCode", "type"}`. `errorCode` and `type` are those of the first
//! error, of this table ([`ErrorCode::ALL`]), in answers of the service and in those of `casefilter search --requests`. The admin socket
//! has names of the store, such as `refused`, as `type` where it knows them, and no `errorCode` then.
//!
//! | `errorCode` | `type` | `code` | what |
//! |---|---|---|---|
//! | 4000 | `BadRequestException` | 400 | the request is not well formed HTTP, such as a body that breaks off |
//! | 4001 | `InvalidApplicantException` | 400 | operation 5: the applicant id is unknown or that of a company |
//! | 4010 | `UnauthorizedException` | 401 | token, signature or timestamp is missing or wrong |
//! | 4011 | `InvalidShareTokenException` | 401 | operation 3: the share token is missing, unknown, expired or used |
//! | 4030 | `ForbiddenException` | 403 | the app token lacks the permission |
//! | 4040 | `NotFoundException` | 404 | there is no such path |
//! | 4041 | `ApplicantNotFoundException` | 404 | operation 2: no applicant has the id |
//! | 4042 | `AmlCaseNotFoundException` | 404 | operation 4: the applicant has no active AML case, or is unknown |
//! | 4050 | `MethodNotAllowedException` | 405 | the path does not have the method |
//! | 4080 | `RequestTimeoutException` | 408 | the body did not arrive in time |
//! | 4090 | `ConflictException` | 409 | admin socket: another database, or a file that exists |
//! | 4100 | `InvalidParametersException` | 400 | the body or a query parameter is wrong, in a way not listed below |
//! | 4101 | `InvalidParametersException` | 400 | not JSON |
//! | 4102 | `InvalidParametersException` | 400 | not UTF-8 |
//! | 4103 | `InvalidParametersException` | 400 | a JSON value of the wrong type |
//! | 4104 | `InvalidParametersException` | 400 | neither `ids` nor `criteria` |
//! | 4105 | `InvalidParametersException` | 400 | a key or a query parameter that has no meaning there |
//! | 4106 | `InvalidParametersException` | 400 | a key or a query parameter that stands there twice |
//! | 4107 | `InvalidParametersException` | 400 | a key is missing |
//! | 4108 | `InvalidParametersException` | 400 | a criterion both complex and of a field |
//! | 4109 | `InvalidParametersException` | 400 | an empty array where an element is needed |
//! | 4110 | `InvalidParametersException` | 400 | an unknown operator |
//! | 4111 | `InvalidParametersException` | 400 | an unknown field |
//! | 4112 | `InvalidParametersException` | 400 | an operator that the type of the field lacks |
//! | 4113 | `InvalidParametersException` | 400 | more than one value for an operator that takes one |
//! | 4114 | `InvalidParametersException` | 400 | a value that is not a number |
//! | 4115 | `InvalidParametersException` | 400 | a value that is not a timestamp |
//! | 4116 | `InvalidParametersException` | 400 | a value that is not `true` or `false` |
//! | 4117 | `InvalidParametersException` | 400 | a value that is not allowed there |
//! | 4118 | `InvalidParametersException` | 400 | order by a field with many values |
//! | 4119 | `InvalidParametersException` | 400 | an `offset` or `limit` that is not a number or does not fit |
//! | 4120 | `InvalidParametersException` | 400 | a `limit` above the largest page |
//! | 4121 | `InvalidParametersException` | 400 | a `countTotalItems` that is not `true` or `false` |
//! | 4122 | `InvalidParametersException` | 400 | a body over the limit of the parser |
//! | 4123 | `InvalidParametersException` | 400 | criteria nested too deeply |
//! | 4124 | `InvalidParametersException` | 400 | more criteria than the limit |
//! | 4125 | `InvalidParametersException` | 400 | more values than the limit |
//! | 4126 | `InvalidParametersException` | 400 | more ids than the limit |
//! | 4127 | `InvalidParametersException` | 400 | a string longer than the limit |
//! | 4128 | `InvalidParametersException` | 400 | a page of more bytes than an answer may have; the description has the `limit` that fits |
//! | 4130 | `PayloadTooLargeException` | 413 | the body is over the limit |
//! | 4150 | `UnsupportedMediaTypeException` | 415 | admin socket: the format cannot be imported |
//! | 4220 | `UnprocessableException` | 422 | admin socket: data was refused |
//! | 4290 | `TooManyRequestsException` | 429 | a limit of the token or the peer is used up |
//! | 5000 | `InternalServerErrorException` | 500 | the request could not be answered; the log says why |
//! | 5010 | `NotImplementedException` | 501 | a transfer coding other than `chunked` |
//! | 5030 | `ServiceUnavailableException` | 503 | too many requests at once, or the service is not ready |
//! | 5031 | `WriteQueueException` | 503 | an update waited too long for other writes; nothing was changed |
//! | 5032 | `SourceUnavailableException` | 503 | PostgreSQL cannot search the cases at the moment |
//! | 5070 | `InsufficientStorageException` | 507 | admin socket: the disk is full |

#[cfg(unix)]
mod admin;
mod auth;
mod dispatch;
mod http;
mod metrics;
mod operations;
mod options;
mod shutdown;
mod state;
mod work;

#[cfg(unix)]
pub use admin::AdminSocket;
pub use auth::{Permission, TokenEntry, TokenFile, Tokens};
pub use http::{Service, Tls};
pub use options::ServiceOptions;

pub use crate::envelope::{Envelope, ErrorCode};
