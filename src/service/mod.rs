//! The HTTP service: serves the five operations over one database file.
//!
//! [`Service`] implements the *interface document*, the specification of the HTTP interface of a compliance service. `casefilter
//! serve` runs a service in its own process. Searches run on columns in memory. Documents and [records](crate::domain) are read
//! from the file. An update is on disk before it is acknowledged. Clients can change extracted data of applicants, review AML hits,
//! create share tokens, and copy profiles. [Operators](#operators) import cases and records, and create share tokens, while the
//! service runs or while it is stopped.
//!
//! The operations have the numbers of the interface document. Operations without a number are not part of it:
//!
//! | operation | route | permission |
//! |---|---|---|
//! | 1, cases by filters | `POST /resources/api/caseManagement/v2/cases/byFilter` | `viewCases` |
//! | 1, counts by value | `POST /resources/api/caseManagement/v2/cases/facets` | `viewCases` |
//! | 1, the fields to filter by | `GET /resources/api/caseManagement/v2/cases/filters` | `viewCases` |
//! | standing filters | `PUT` `GET` `DELETE /resources/api/caseManagement/v2/cases/standingFilters/{name}` | `manageFilters` |
//! | list of standing filters | `GET /resources/api/caseManagement/v2/cases/standingFilters` | `manageFilters` |
//! | events | `GET /resources/api/caseManagement/v2/cases/events` | `manageFilters` |
//! | stream of events | `GET /resources/api/caseManagement/v2/cases/events/stream` | `manageFilters` |
//! | 2, required documents status | `GET /resources/applicants/{applicantId}/requiredIdDocsStatus` | `viewApplicants` |
//! | 3, preview by share token | `GET /resources/applicants/-/import/preview?shareToken=…` | `createApplicants` |
//! | 4, AML case | `GET /resources/api/applicants/{applicantId}/amlCase` | `viewAmlScreening` |
//! | 5, update of extracted info | `PATCH /resources/applicants/{applicantId}/info` | `changePersonalData` |
//! | share tokens | `POST /resources/applicants/{applicantId}/shareTokens` | `shareApplicants` |
//! | review of an AML hit | `PATCH /resources/api/applicants/{applicantId}/amlCase/hitReview` | `reviewAmlHits` |
//! | company data | `GET` `PATCH /resources/applicants/{applicantId}/companyInfo` | `viewApplicants`, `changePersonalData` |
//! | comparison of `info` with `fixedInfo` | `GET /resources/applicants/{applicantId}/infoComparison` | `viewApplicants` |
//! | copy of a profile | `POST /resources/applicants/-/import?shareToken=…` | `createApplicants` |
//! | | `GET /healthz` `/readyz` `/openapi.json` | none, not signed |
//!
//! # Source of cases
//!
//! By default, searches read the cases in the database file. With `Service::with_source` (feature `postgres`,
//! `casefilter serve --source`), they read a PostgreSQL table instead, and the cases in the file are ignored. Responses, errors,
//! limits and the restrictions of tokens are the same. Only sums of doubles may differ, by 1 part in 10⁹.
//!
//! A temporary error of PostgreSQL (statement timeout, lost connection, no free connection) gives status 503, with `Retry-After`
//! and a log entry. Any other error gives 500. `/readyz` is 503 while the source does not respond. The source is checked at most
//! once per second. Searches in PostgreSQL count towards [`concurrency`](ServiceOptions::concurrency). Configure fewer connections
//! to PostgreSQL than that, so that searches do not block other operations. If a search is stopped (see [threads](#threads)), its
//! statement is cancelled on the PostgreSQL server.
//!
//! # Tokens
//!
//! A token file, `{"tokens":[…]}`, lists the clients. The members of an entry:
//!
//! | member | value |
//! |---|---|
//! | `token` | the value of `X-App-Token`: visible ASCII characters; it is not secret |
//! | `secret` | the secret for signatures, at least 16 bytes; its UTF-8 text is the key of the HMAC |
//! | `permissions` | a list of permissions: those from the table above, `viewPersonalData` and `viewHistory`. Without `viewPersonalData`, AML cases lack `reviewerName`, `reviewedBy`, `attributes` and `clusteredLinks`, company data lacks `email`, `phone` and unknown members, and comparisons lack values about persons. With `viewHistory`, searches and counts may have the parameter `asOf` |
//! | `name` | the name that logs show; by default the number of the entry in the file |
//! | `fields` | the fields of cases that the token may see, in addition to `id`; by default all fields |
//! | `filter` | a filter in the text syntax, such as `clientId = acme`; the token can see only the cases that the filter selects |
//! | `clients` | the clients that the token is bound to: it sees only cases and applicants with these values of `clientId`; by default those of all clients |
//! | `expires` | the time from which the token is no longer valid, such as `2027-01-31T00:00:00Z` |
//! | `previous` | `{"secret":…,"until":…}`: a secret that is also valid until that time, after the secret was rotated |
//!
//! Unknown members are rejected. `casefilter token app` creates an entry with a random 256-bit secret. `casefilter token list`,
//! `rotate` and `revoke` show and change the entries. `casefilter serve` applies a change of the file within a second. Requests
//! that have begun still use the earlier tokens. In a program, [`TokenUpdater`] replaces the tokens.
//!
//! If a token has `fields`, all other fields are unknown in criteria and in `order`. They are removed from documents, together with
//! all members that are not fields. `filter` may use any field. It is [combined](crate::Filter::and) with each search after
//! compilation. So criteria cannot bypass it, and totals count only cases that match it.
//!
//! **`fields` and `filter` restrict only searches of cases.** With the permissions for operations 2 to 5, a token without `clients`
//! gives access to every applicant whose id or share token its client knows. `casefilter token app` and `casefilter serve` warn
//! about tokens with such permissions ([`TokenEntry::warnings`]).
//!
//! **`clients` restrict all operations, except for operation 3.** A client in this sense is a value of `clientId` in cases and
//! applicants. Searches do not find cases with other values, just as they do not find cases that `filter` does not select. For
//! operations 2, 4 and 5, an applicant with another `clientId` is an unknown applicant: the response, the log line and the reads of
//! the file are the same. The same holds for the operations without a number that read or change an applicant. For operation 3, the
//! share token alone selects the applicant. But a share token that was created for one client is invalid for app tokens that are
//! bound to other clients. An applicant without `clientId` is visible only to tokens without `clients`.
//!
//! Objects and array elements without a visible field are also removed from documents, so that their presence and number reveal
//! nothing. But a visible field may reveal a hidden field. For example, a case with `createdByRule.title` was created by a rule,
//! and this is the value of `createdByType`. Hide both fields or neither.
//!
//! # Standing filters
//!
//! A token with the permission `manageFilters` stores [standing filters](crate::StandingFilter), and reads their events after an
//! event number. It reads them by a request that may wait, or as server-sent events. Each token has filters and events of its own.
//! Each filter is stored with `filter`, `fields` and `clients` of the token, so its events are about cases that the token may see.
//! If one of these restrictions changes, the filters are stored anew, without events about cases. A request for earlier events then
//! gets 410, and the client must read the cases of its filters again. An event that was created under the present restrictions is
//! returned even if its case is no longer visible, because it was visible then. Standing filters and events are not in the
//! interface document.
//!
//! One thread reads each new event once, and wakes the requests that wait. A request that waits takes no thread, no permit of
//! [`concurrency`](ServiceOptions::concurrency) and no transaction of the store. A read of events needs one of the few permits for
//! the chunks of large pages (see [limits](#limits)). [`event_listeners`](ServiceOptions::event_listeners) limits requests that
//! wait, and streams. A stream reads its next piece, of about 16 KiB, when the connection can accept it. A service [on
//! PostgreSQL](#source-of-cases) has no standing filters.
//!
//! # Signatures
//!
//! `X-App-Access-Sig` is the HMAC-SHA256 in hexadecimal. The hashed bytes are the timestamp, the method, the path with
//! the query, and the body, concatenated exactly as they are sent. `X-App-Access-Ts` is the timestamp in seconds since the Unix
//! epoch. It may differ from the clock of the service by at most [`clock_window`](ServiceOptions::clock_window). The signature is
//! verified in constant time, before the body is parsed. The 401 response does not say which part was wrong.
//!
//! With [`reject_replays`](ServiceOptions::reject_replays), each signature is accepted only once. This is off by default, because
//! two equal requests within one second have equal signatures. A repeated search or update has the same effect as a single one. A
//! repeated request for a share token creates another share token, and a repeated copy gets 401. Each token has its own memory for
//! [`remembered_signatures`](ServiceOptions::remembered_signatures), so a token with many requests does not affect other tokens.
//!
//! # Audit log
//!
//! With [`Service::with_audit`], each answered request has a record in an [`AuditLog`]: time, correlation id, token, operation,
//! status, and the id of the applicant. The record of a search also has the filter in normal form with its fingerprint, the order
//! and the page. About the response, it has the total, the number of cases, the digest of their ids, and the number of the last
//! write. `docs/service.md` lists the members of a record. The log never contains secrets, documents, or values of updates. A
//! request on the admin socket has a record with its method, its path and the user id of the operator.
//!
//! A record is written before its response is sent. If it cannot be written, the request gets 503 with the error code 5035, and so
//! do later requests, before anything is done for them. An update whose own record failed may have been stored. With
//! [`is_best_effort`](AuditOptions::is_best_effort), a request whose record cannot be written is answered anyway, and is counted.
//!
//! The records form a hash chain, which continues after restarts and rotations. [`verify_audit_log`] names the first record that
//! was changed, removed or inserted. Without an `expected` record, it cannot detect that the last records were removed, or that
//! they were rewritten with new hashes. Its argument [`AuditBeginning`] says if the oldest records may be missing.
//!
//! # Limits
//!
//! [`ServiceOptions`] contains all limits.
//!
//! - **Time.** A client has the time [`read_timeout`](ServiceOptions::read_timeout) to send the head, and the same time again to
//!   send the body. It has the time [`write_timeout`](ServiceOptions::write_timeout) to receive the whole response. If a head does
//!   not arrive in time, there is no response.
//! - **Request size.** A head of much more than 64 KiB, or with more than 100 headers, gets 431. The response to a rejected head
//!   has no error envelope. A body over the limit gets 413.
//! - **Connections.** A connection over [`connections`](ServiceOptions::connections) or
//!   [`connections_per_peer`](ServiceOptions::connections_per_peer) gets 503. While a request runs on an HTTP/2 connection, each
//!   further request on it counts as a connection. See [HTTP/2](#http2).
//! - **Concurrency.** A request over [`concurrency`](ServiceOptions::concurrency) gets 503. An update also gets 503 if it waits for
//!   other writes longer than [`write_queue_timeout`](ServiceOptions::write_queue_timeout). If there are several tokens, each token
//!   gets at most half of `concurrency`.
//! - **Rate.** A token that sends more than [`requests_per_second`](ServiceOptions::requests_per_second) gets 429. So does a token
//!   that has more than [`bytes_in_flight`](ServiceOptions::bytes_in_flight) in request bodies and responses together.
//! - **Searches.** A search that takes longer than [`search_timeout`](ServiceOptions::search_timeout) gets 503. A search is also
//!   stopped if its client disconnects (see [threads](#threads)). `casefilter_searches_stopped_total` counts both kinds of stopped
//!   searches.
//! - **Standing filters.** [`standing_filters`](ServiceOptions::standing_filters) limits the number of filters of a token, and
//!   [`standing_bytes`](ServiceOptions::standing_bytes) the sum of their sizes as they are stored. A request for events gets 429
//!   over [`event_listeners_per_token`](ServiceOptions::event_listeners_per_token), and 503 over
//!   [`event_listeners`](ServiceOptions::event_listeners).
//! - **Request bodies** share [`buffered_bytes`](ServiceOptions::buffered_bytes). One half is divided equally among the
//!   [`connections`](ServiceOptions::connections) (32 KiB each by default). A body up to that size is always accepted. If a body is
//!   larger, only a part of about that size stays in memory until the signature is verified. The other bytes go to a temporary file
//!   (see [spool](#spool)). After the verification, the file is read back into the other half. A token gets at most half of this
//!   half; beyond that, its requests get 503. So a client that knows a token but not its secret uses none of this memory. For some
//!   requests, the head alone shows that they will be rejected (unknown token, timestamp outside the window). The service drops the
//!   body of such a request, and rejects the request only after its body has arrived.
//! - **Response bodies** share [`outgoing_bytes`](ServiceOptions::outgoing_bytes). A token gets at most half of it; beyond that,
//!   its requests get 503. The first 32 KiB of each response do not count. A streamed page counts as two chunks: 512 KiB, or twice
//!   its largest case if that is more. Before operations 2 to 4 read their records, they reserve three times the size of these
//!   records. When the response is built, they release the memory that it does not need. An update that cannot reserve memory for
//!   its response changes nothing. Records that never fit get 500 with the error code 5001, because a retry would fail, too. The
//!   log says which `outgoing_bytes` is needed. `casefilter_outgoing_bytes` reports the reserved memory.
//!
//! Each 429 and 503 response has the header `Retry-After`, with one exception. If an app token has created too many share tokens,
//! its 429 response has none.
//!
//! JSON responses of 1 KiB or more are compressed with zstd or gzip, if the header `Accept-Encoding` asks for it. All limits are
//! about the uncompressed size. A request that accepts none of zstd, gzip and `identity` gets 400. A token uses at most half of the
//! encoders for large responses, and so does a peer without a token. Further responses are not compressed. If a client accepts only
//! compressed responses, it gets 503.
//!
//! A page of up to 256 KiB is built in one buffer. A larger page is first measured, and then streamed in chunks of about 256 KiB.
//! Each chunk is read when the connection can accept it. All chunks come from one snapshot, even if cases are written in between. A
//! page over [`max_response_bytes`](ServiceOptions::max_response_bytes) gets 400. The message contains the position of the first
//! item that does not fit, and a value of the parameter `limit` that fits. A page of one case is always sent. Only a few chunks are
//! read at the same time (one per processor, at least two). So small requests do not wait for large requests.
//!
//! # Spool
//!
//! The signature covers the body. It is computed as the body arrives, so the body of an unverified request need not be in memory.
//! Until the signature is verified, about 32 KiB of a larger body are in memory, and all other bytes are in an unnamed file. Only
//! its owner can read it (mode 0600). The system frees the space when the file is closed: at once after a wrong signature, and when
//! the process ends.
//!
//! The files are in [`spool_folder`](ServiceOptions::spool_folder). By default this is the folder of the database. If it cannot be
//! written, it is the temporary folder of the system. Together they have at most [`spooled_bytes`](ServiceOptions::spooled_bytes)
//! (1 GiB). After a reservation, one token at one peer has at most as much space as is still free. So it gets at most half. One
//! token at all peers together gets at most two thirds, and so does one peer with all tokens together. Requests beyond that get
//! 503. `casefilter_spooled_bytes` reports the sum.
//!
//! If a file cannot be written or read, for example because the disk is full, the request gets 503 with the error code 5034. The
//! log has the cause. Smaller bodies are still accepted, and the state of the database does not change. Files are written and read
//! on at most 16 blocking threads.
//!
//! # Memory
//!
//! A running service keeps in memory:
//!
//! - the columns and indexes of its cases (`casefilter_memory_bytes`);
//! - the cache for pages of the file ([`StoreOptions::cache_bytes`](crate::StoreOptions::cache_bytes), 64 MiB);
//! - compiled filters: 32 MiB for all tokens together, and 4 MiB for each token that has `filter`, `fields` or `clients`.
//!
//! In addition, running requests need at most the sum of:
//!
//! | memory | limit | default |
//! |---|---|---|
//! | request bodies | `buffered_bytes` | 64 MiB |
//! | response bodies | `outgoing_bytes` + `connections` × 32 KiB | 160 MiB |
//! | request heads and connection buffers | `connections` × 128 KiB, over HTTP/2 320 KiB | 128 MiB, over HTTP/2 320 MiB |
//! | running searches and reads | `concurrency` × (256 KiB + the largest case or record) | 32 MiB, plus the cases |
//! | compression of responses | 64 encoders of at most 1 MiB | 64 MiB |
//! | one import at a time | the columns and indexes of the imported cases, and of the stored batches with which the import merges them | |
//! | each backup, copy and compaction | a file cache as large as the file cache of the database | 64 MiB |
//!
//! An allocator keeps a part of the memory that was freed. On Linux with glibc, the command line uses jemalloc, which returns freed
//! memory to the system within about ten seconds. A host program that embeds [`Service`] chooses its own allocator. With the
//! allocator of glibc, set `MALLOC_ARENA_MAX=1`. Without this setting, its arenas may keep several times the memory that is in use.
//!
//! # Threads
//!
//! Work that waits for the file or may take long runs on blocking threads, not on the threads that serve connections. This includes
//! reads of records, searches, and updates (one update at a time). There is one exception. A search runs on the connection's thread
//! if it took less than 200 µs the last time, with the same body, query and token. Most searches take only 2 to 5 µs, and moving a
//! search to another thread costs about 10 µs. The exception does not apply to bodies over 4 KiB, to searches in PostgreSQL, or
//! while writes fail.
//!
//! A client may close its sending side, and still receives its responses. If a client disconnects, its request continues, and is
//! logged and counted as usual. Only a search is stopped: immediately if the connection has failed, and one second after the end of
//! the client's input otherwise. Over [HTTP/2](#http2), all requests but updates are aborted instead. A request is also aborted if
//! writing to its connection fails, or if the grace period of a shutdown ends. An aborted request is logged and counted with the
//! status 499. An aborted update may still be stored.
//!
//! A panic in a request gives status 500, and its cause is logged.
//!
//! # Shutdown
//!
//! 1. `/readyz` becomes 503 immediately. The service still accepts connections for
//!    [`shutdown_delay`](ServiceOptions::shutdown_delay). In this time, load balancers can notice the shutdown and stop sending
//!    requests.
//! 2. At the same time, requests that wait for events are answered, and streams of events end.
//! 3. The port is closed. Connections without a request are closed after 250 ms. In this time, a request that has already arrived
//!    is still read.
//! 4. Running requests are answered, for at most [`shutdown_timeout`](ServiceOptions::shutdown_timeout). Then the store makes a
//!    checkpoint.
//!
//! # TLS
//!
//! [`Service::with_tls`] enables TLS, with the library rustls. The time limit of a TLS handshake is also
//! [`read_timeout`](ServiceOptions::read_timeout). Connections without TLS use HTTP/1.1.
//!
//! # HTTP/2
//!
//! In the TLS handshake, a client may choose HTTP/2, unless [`http2`](ServiceOptions::http2) is false. hyper implements it, with
//! the crate `h2`. Requests and responses are the same as over HTTP/1.1, except for these rules:
//!
//! - Each connection has one place, which counts towards the limits on connections. The first of its simultaneous requests uses
//!   this place. Each further one needs a place of its own, as if it were a connection. Without a free place, it gets 503. So the
//!   memory that is divided equally among the connections has a share for each of these requests. A request has its place until its
//!   response has been sent. A connection has at most 100 streams.
//! - If a client resets a stream or disconnects, the request is aborted immediately. An update that has been received is completed.
//! - A connection without a request is closed after [`read_timeout`](ServiceOptions::read_timeout), however many other frames
//!   arrive.
//! - If a piece of a response is not sent within [`write_timeout`](ServiceOptions::write_timeout), the connection is closed, with
//!   all its requests. A client causes this if it does not read, or does not open its flow-control window.
//! - Errors that close an HTTP/1.1 connection do not close an HTTP/2 connection. During a shutdown, and over the limit of
//!   connections, a response is followed by GOAWAY.
//!
//! # Operators
//!
//! Only one process at a time can have the file open. So operators use the running service: with `Service::with_admin` (on Unix),
//! it also listens on an `AdminSocket`. This is a Unix socket, by default `FILE.sock`, which only its owner can open. Requests on
//! it are not signed. Commands use the socket automatically if a service has their database open. They print the same output as
//! without a service. These commands are `search`, `stats`, `explain`, `why`, `match`, `import`, `delete`, `erase`, `filters`,
//! `watch`, `audit replay`, `token share`, `token shares`, `backup` and `compact`. The commands `verify`, `export` and `bench` get
//! a copy of the database through the socket. The socket uses HTTP/1.1 with the error envelope:
//!
//! | request | meaning |
//! |---|---|
//! | `GET /` | returns the version, the database, and the number of cases |
//! | `GET /metrics` | returns the metrics |
//! | `POST /imports/{kind}` | imports the body; `kind` is `cases`, `levels`, `applicants`, `documents` or `aml-cases`. Query parameters, each at most once: `mode=lenient` like `--lenient`, `format=parquet` for cases, `source=` for the name in error messages |
//! | `GET /share-tokens` | lists the share tokens, without their texts, and the copies that were made with them |
//! | `POST /share-tokens` | `{"applicantId":…,"lifetimeS":…}` creates a share token |
//! | `POST /backups` | `{"path":…}` copies the database to a new file, with the rights of the service's user; the path must be absolute |
//! | `POST /copies` | sends a copy of the database, which is written to an unnamed file first |
//! | `POST /compactions` | `{}` replaces the database by a copy without free pages, see [`Store::compact_online`](crate::Store::compact_online); updates wait for it, as for the commit of an import |
//! | `POST /searches` | `{"ask":…,"body":…,"order":…,"offset":…,"limit":…,"count":…}` searches, with higher limits on filters and without a maximum `limit`; `ask` is `page`, `count`, `explain`, `analyze`, `hints` or `members`; `body` is a filter as JSON text, absent for all cases; a page is sent in frames |
//! | `POST /facets` | `{"body":…,"by":[…]}` counts by value; `by` has facets such as `createdAt:month`; filters have higher limits |
//! | `GET /standing-filters` | lists all standing filters, also those of tokens, with their owners |
//! | `POST /standing-filters` | `{"filters":[{"name":…,"where":…,"fields":[…]}],"entering":…}` stores standing filters, all or none |
//! | `POST /standing-filters/removals` | `{"owner":…,"names":[…]}` removes standing filters in this order; stops at a name that no filter has, and returns it as `unknown` |
//! | `POST /events` | `{"after":…,"limit":…,"wait_ms":…}` returns events of all owners, and waits if there are none |
//! | `POST /deletions` | `{"body":…,"expected":…}` deletes the selected cases, if `expected` is their number; without `expected`, only counts them |
//! | `POST /erasures` | `{"applicant":…,"cases":[…]}` erases the cases and records of an applicant, and the cases with these ids, see [`Store::erase`](crate::Store::erase). The answer also lists standing filters with these ids, and copies of the applicant |
//!
//! The body of an import is first spooled to an unnamed file in the folder of the database. So an incomplete body stores nothing,
//! and a slow client blocks no other writes. Then the spooled body is imported in one transaction, as by `casefilter import`. An
//! import of cases spools its documents to a second unnamed file, and only one such import runs at a time. Updates wait only for
//! its commit. In contrast, updates wait for a whole import of records. An update waits at most
//! [`write_queue_timeout`](ServiceOptions::write_queue_timeout), then it gets 503. Searches continue. After the import, the next
//! request sees the imported data. An import is cancelled if its client disconnects.
//!
//! A body with several files has the content type `application/vnd.casefilter.sources` and consists of frames. A frame consists of
//! its type (1 byte), the length of its content (4 bytes, big-endian), and its content. The type is `T` for the name of a text
//! file, and `P` for that of a Parquet file. It is `D` for data of that file.
//!
//! The header `X-Casefilter-Database` may contain the expected database: the device number and the inode number of its file,
//! separated by `-`. If the service has another database, it rejects the request. Requests that change or copy data are logged at
//! level `info` with the user id. Requests that only read are logged at `debug`. When the service starts, it replaces a stale
//! socket file, but not a socket on which a process listens.
//!
//! # Logs and metrics
//!
//! Each response has an `X-Correlation-Id`, unless its request was rejected before its head was complete. This id is also in the
//! error envelope and in the log. It is a part of a keyed hash, so it does not reveal the number of requests. The [`tracing`] event
//! of a request has the correlation id, operation, status, time and token name. Its level is `info` for rejected requests, `warn`
//! for 503, `error` for other errors of the service, and `debug` for all other requests. For each pair of token and status, at most
//! 20 lines of `info` or `warn` are logged per second. One line per second reports the number of suppressed lines. Requests without
//! a verified token share one limit. Bodies, queries, signatures and secrets are never logged.
//!
//! `/readyz` is 503 during a shutdown, and while the source of cases does not respond. It is also 503 while the audit log cannot be
//! written, except with [`is_best_effort`](AuditOptions::is_best_effort).
//!
//! A failed write, for example on a full disk, stops updates but not searches. Then `/readyz` is 200 with `"writes":"failing"`,
//! `casefilter_writes_failing` is 1, and updates get 503. Once per second, the service reopens the file and tries again, so updates
//! resume without a restart. After a failed sync, which is logged, updates are rejected until a restart, because it is unknown
//! which data is on disk.
//!
//! Every client that can reach the port may request `/healthz`, `/readyz` and `/openapi.json`.
//!
//! `/metrics` is text in the format of Prometheus. It is not on the public port. From counters such as
//! `casefilter_rows_examined_total`, a client could learn if cases outside its filter have a certain value. `/metrics` is on a
//! separate listener ([`Service::with_metrics`], `casefilter serve --ops-listen`) and on the admin socket. The `process_*`
//! metrics exist only on Linux.
//!
//! # Query parameters
//!
//! An unknown query parameter is ignored, unless it looks like a misspelt known parameter. A parameter looks misspelt if it differs
//! from a known one only in case, or by at most two edits, such as `oder` or `Limit`. In that case, the request gets 400, with the
//! known parameter as a suggestion. In other services, the parameter `unsetFields` clears members. Operation 5 rejects it with 400:
//! here, set the member to `null` in the body.
//!
//! # Errors
//!
//! An error response is `{"code", "correlationId", "description", "errorCode", "type"}`. If there are several errors, `errorCode`
//! and `type` describe the first error. Both come from the following table ([`ErrorCode::ALL`]), in the service and in `casefilter
//! search --requests`. On the admin socket, `type` may also be the name of a kind of store error, such as `refused`. It may also be
//! `other_database` or `given_up`. Such a response has no `errorCode`.
//!
//! | `errorCode` | `type` | `code` | meaning |
//! |---|---|---|---|
//! | 4000 | `BadRequestException` | 400 | the request is not valid HTTP, such as a body that ends early |
//! | 4001 | `InvalidApplicantException` | 400 | no applicant has the id, or the applicant is a company (operation 5) or an individual (company data) |
//! | 4010 | `UnauthorizedException` | 401 | token, signature or timestamp is missing or wrong |
//! | 4011 | `InvalidShareTokenException` | 401 | the share token is missing, unknown, expired, used, or for another client |
//! | 4030 | `ForbiddenException` | 403 | the app token lacks the permission |
//! | 4040 | `NotFoundException` | 404 | unknown path |
//! | 4041 | `ApplicantNotFoundException` | 404 | no applicant has the id, or the applicant is not a company (company data) |
//! | 4042 | `AmlCaseNotFoundException` | 404 | the applicant has no such active AML case, or is unknown |
//! | 4043 | `StandingFilterNotFoundException` | 404 | the token has no standing filter of this name |
//! | 4044 | `NoStandingFiltersException` | 404 | the service has no standing filters: it searches PostgreSQL, or its database has an earlier format |
//! | 4045 | `AmlHitNotFoundException` | 404 | the AML case has no hit with the id |
//! | 4050 | `MethodNotAllowedException` | 405 | the path does not support the method |
//! | 4080 | `RequestTimeoutException` | 408 | the body did not arrive in time |
//! | 4090 | `ConflictException` | 409 | admin socket: another database, or a file that already exists |
//! | 4091 | `ReviewConflictException` | 409 | the review of the hit does not have the version `ifVersion` |
//! | 4100 | `InvalidParametersException` | 400 | the body or a query parameter is wrong, in a way not listed below |
//! | 4101 | `InvalidParametersException` | 400 | not JSON |
//! | 4102 | `InvalidParametersException` | 400 | not UTF-8 |
//! | 4103 | `InvalidParametersException` | 400 | a JSON value of the wrong type |
//! | 4104 | `InvalidParametersException` | 400 | neither `ids` nor `criteria`, or an update without members |
//! | 4105 | `InvalidParametersException` | 400 | an unknown key or query parameter |
//! | 4106 | `InvalidParametersException` | 400 | a duplicate key or query parameter |
//! | 4107 | `InvalidParametersException` | 400 | a missing key |
//! | 4108 | `InvalidParametersException` | 400 | a criterion with the keys of both a complex criterion and a field criterion |
//! | 4109 | `InvalidParametersException` | 400 | an empty array where an element is needed |
//! | 4110 | `InvalidParametersException` | 400 | an unknown operator |
//! | 4111 | `InvalidParametersException` | 400 | an unknown field |
//! | 4112 | `InvalidParametersException` | 400 | an operator that the type of the field does not support |
//! | 4113 | `InvalidParametersException` | 400 | more than one value for an operator that takes one |
//! | 4114 | `InvalidParametersException` | 400 | a value that is not a number |
//! | 4115 | `InvalidParametersException` | 400 | a value that is not a timestamp |
//! | 4116 | `InvalidParametersException` | 400 | a value that is not `true` or `false` |
//! | 4117 | `InvalidParametersException` | 400 | a value that is not allowed in its place |
//! | 4118 | `InvalidParametersException` | 400 | an order by a multi-valued field |
//! | 4119 | `InvalidParametersException` | 400 | a value such as `offset`, `limit`, `after`, `wait`, `ttlInSecs` or `ifVersion` that is not an integer or is out of range |
//! | 4120 | `InvalidParametersException` | 400 | a `limit` above the largest page, or a `limit` of a facet above its limit |
//! | 4121 | `InvalidParametersException` | 400 | a `countTotalItems` or `pageCursor` that is not `true` or `false` |
//! | 4122 | `InvalidParametersException` | 400 | a body over the limit of the parser |
//! | 4123 | `InvalidParametersException` | 400 | criteria nested too deeply |
//! | 4124 | `InvalidParametersException` | 400 | more criteria than the limit |
//! | 4125 | `InvalidParametersException` | 400 | more values than the limit |
//! | 4126 | `InvalidParametersException` | 400 | more ids than the limit |
//! | 4127 | `InvalidParametersException` | 400 | a string longer than the limit |
//! | 4128 | `InvalidParametersException` | 400 | a page over the byte limit of a response; the description has a `limit` that fits |
//! | 4129 | `InvalidParametersException` | 400 | a string without the text that the operator needs |
//! | 4130 | `PayloadTooLargeException` | 413 | the body is over the limit |
//! | 4131 | `InvalidParametersException` | 400 | an `order` by more fields than the limit |
//! | 4132 | `InvalidParametersException` | 400 | a field that occurs twice in `order` |
//! | 4133 | `InvalidParametersException` | 400 | an `after` that is not a cursor of this order |
//! | 4134 | `InvalidParametersException` | 400 | more facets than the limit |
//! | 4135 | `InvalidParametersException` | 400 | a histogram with more buckets than the limit |
//! | 4136 | `InvalidParametersException` | 400 | more standing filters, or more bytes of standing filters, than the limit |
//! | 4140 | `EventsGoneException` | 410 | events that are not kept any more, that have not happened yet, or that are from before a change of the token's restrictions |
//! | 4150 | `UnsupportedMediaTypeException` | 415 | admin socket: the format cannot be imported |
//! | 4220 | `UnprocessableException` | 422 | admin socket: data was rejected |
//! | 4290 | `TooManyRequestsException` | 429 | a limit of the token or the peer is used up |
//! | 5000 | `InternalServerErrorException` | 500 | the request could not be answered; the log says why |
//! | 5001 | `RecordsTooLargeException` | 500 | the records of the applicant are too large for the memory that one token may use |
//! | 5010 | `NotImplementedException` | 501 | a transfer coding other than `chunked` |
//! | 5030 | `ServiceUnavailableException` | 503 | too many requests at once, or the service is not ready |
//! | 5031 | `WriteQueueException` | 503 | an update waited too long for other writes; nothing was changed |
//! | 5032 | `SourceUnavailableException` | 503 | PostgreSQL cannot search the cases at the moment |
//! | 5033 | `SearchTimeoutException` | 503 | the search took longer than the service allows |
//! | 5034 | `BodySpoolException` | 503 | the service cannot write a large body to a temporary file |
//! | 5035 | `AuditLogException` | 503 | the service cannot record requests in its audit log |
//! | 5070 | `InsufficientStorageException` | 507 | admin socket: the disk is full |

#[cfg(unix)]
mod admin;
mod audit;
mod auth;
mod dispatch;
mod events;
mod http;
mod metrics;
mod openapi;
mod operations;
mod options;
mod search_stop;
mod shutdown;
mod state;
mod work;

#[cfg(unix)]
pub use admin::AdminSocket;
pub use audit::{
    AuditBeginning, AuditError, AuditErrorKind, AuditHead, AuditLog, AuditOptions, AuditReport,
    audit_digest_of_ids, audit_files, check_audit_file, open_audit_files, verify_audit_log,
};
pub use auth::{Permission, TokenEntry, TokenError, TokenFile, TokenUpdater, Tokens, sign};
pub use http::{Service, Tls, TlsError};
pub use options::ServiceOptions;

pub use crate::envelope::{Envelope, ErrorCode};
