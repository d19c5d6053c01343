//! Runs searches on the PostgreSQL table: takes a connection, prepares statements, and reads pages and counts.

use std::fmt;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{Pool, PoolConfig, QueueMode, Timeouts};
use futures_core::Stream as _;
use tokio::sync::Semaphore;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use super::check::check;
use super::connect::{Connection, Manager, PooledConnection};
use super::error::{PostgresError, PostgresErrorKind};
use super::facets::FacetRows;
use super::options::PostgresOptions;
use super::page_end::{Ending, PageEnd, PageRow};
use super::parameter::Parameter;
use crate::catalog::Catalog;
use crate::engine::{AnswerWriter, SearchAnswer};
use crate::error::Error;
use crate::facet::{FacetsAnswer, FacetsRequest, place_of};
use crate::filter::{Filter, SearchRequest};
use crate::sql::{Dialect, Statement, Table};
use crate::stop::StopConditions;

/// A table of documents in PostgreSQL that is searched like an [`Engine`](crate::Engine).
///
/// Cloning is cheap. Clones share one pool of connections.
#[derive(Clone)]
pub struct PostgresSource {
    inner: std::sync::Arc<Inner>,
}

struct Inner {
    table: Table,
    pool: Pool<Manager>,
    /// Permits for searches. Each search that uses a connection or waits for a connection holds a permit.
    permits: Semaphore,
    /// The maximum time of one statement on the server.
    statement_timeout: Duration,
    /// The time that a request may use its connection, in addition to the time of its statements.
    margin: Duration,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    prepared: AtomicU64,
    reused: AtomicU64,
    failed: [AtomicU64; PostgresErrorKind::ALL.len()],
}

/// Counters of a [`PostgresSource`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PostgresStats {
    /// The number of open connections.
    pub connections: usize,
    /// The number of open connections that are not in use.
    pub idle: usize,
    /// The number of searches that wait for a connection.
    pub waiting: usize,
    /// The number of successful searches.
    pub answered: u64,
    /// The number of statements that were not in the cache and had to be prepared.
    pub prepared: u64,
    /// The number of statements that were in the cache, already prepared.
    pub reused: u64,
    /// The number of failed searches, by kind of error.
    pub failed: [(PostgresErrorKind, u64); PostgresErrorKind::ALL.len()],
}

/// The maximum number of cases for which an answer reserves memory before the cases arrive. For more cases, the answer grows when
/// they arrive.
const RESERVED_CASES: usize = 128;

/// The statement that starts a read-only transaction on one snapshot.
const BEGIN: &str = "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";

impl PostgresSource {
    /// Connects to a server and checks its table against the catalogue.
    ///
    /// The connection string has the format of `libpq`: `postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require` or
    /// `host=… dbname=…`. The [module docs](super#connection-strings) list the supported options.
    ///
    /// ```no_run
    /// use casefilter::postgres::{PostgresOptions, PostgresSource};
    /// use casefilter::{Catalog, Filter, SearchRequest};
    /// # async fn search() -> Result<(), Box<dyn std::error::Error>> {
    /// let catalog = Catalog::cases();
    /// let source = PostgresSource::connect("postgres://officer@db.example/compliance", &catalog, &PostgresOptions::default()).await?;
    /// let filter = Filter::compile_text(&catalog, "status = open and priority = high")?;
    /// let answer = source.search(&SearchRequest::new(filter).with_limit(20).with_count(true)).await?;
    /// println!("{} of {:?}: {}", answer.len(), answer.total(), answer.to_json());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Options`](PostgresErrorKind::Options) if the connection string or another option is invalid.
    /// - [`Unavailable`](PostgresErrorKind::Unavailable) if the server cannot be reached.
    /// - [`Table`](PostgresErrorKind::Table) if the table does not exist, may not be read, or differs from [`Table::script`]. The
    ///   message names the first column that differs. Folded columns and element columns are optional: the source uses those that
    ///   the table has.
    ///
    /// # Panics
    /// Panics outside a Tokio runtime with I/O and time enabled, like all other methods that open connections.
    pub async fn connect(
        url: &str,
        catalog: &Catalog,
        options: &PostgresOptions,
    ) -> Result<Self, PostgresError> {
        let wrong = |message: String| PostgresError::new(PostgresErrorKind::Options, message);
        let table = Table::new(catalog).named(&options.table).map_err(|error| wrong(error.to_string()))?;
        let timeouts = Timeouts {
            wait: Some(options.acquire_timeout),
            create: Some(options.connect_timeout),
            recycle: Some(options.connect_timeout),
        };
        // LIFO order prefers the connections that were used most recently. They have the most frequent statements prepared.
        let config =
            PoolConfig { max_size: options.max_connections.max(1), timeouts, queue_mode: QueueMode::Lifo };
        let pool = Pool::builder(Manager::new(url, options)?).config(config).runtime(Runtime::Tokio1);
        let pool = pool.build().map_err(|error| wrong(error.to_string()))?;
        let permits = options
            .max_connections
            .max(1)
            .saturating_add(options.max_waiting_searches)
            .min(Semaphore::MAX_PERMITS);
        let permits = Semaphore::new(permits);
        let inner = Inner {
            table,
            pool,
            permits,
            statement_timeout: options.statement_timeout,
            // A request may take this much longer than its statements, because of the network.
            margin: options.connect_timeout,
            counts: Counts::default(),
        };
        let mut source = Self { inner: std::sync::Arc::new(inner) };
        let checked = source.with_connection(SEARCH_STATEMENTS, async |connection| {
            check(&connection.client, &source.inner.table).await
        });
        let table = checked.await?;
        // The source has not been cloned yet, so this always succeeds.
        if let Some(inner) = std::sync::Arc::get_mut(&mut source.inner) {
            inner.table = table;
        }
        source.ping().await?;
        Ok(source)
    }

    /// Returns the catalogue of the table.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        self.inner.table.catalog()
    }

    /// Returns a page of documents, and the total if it is requested. Page and total come from one snapshot of the table.
    ///
    /// If the future is dropped, the source asks the server to cancel the statement. If the cancellation is lost, the statement
    /// ends at its timeout.
    ///
    /// # Errors
    /// - A [transient](PostgresErrorKind::is_transient) kind if a repetition of the search may succeed.
    /// - [`Table`](PostgresErrorKind::Table) or [`Rejected`](PostgresErrorKind::Rejected) if the server rejects the statement, for
    ///   example because the definition or the permissions of the table have changed.
    /// - [`Request`](PostgresErrorKind::Request) if the catalogue of the filter is not [within](Catalog::is_within) the catalogue
    ///   of the table, or hides a sort field; also if the [cursor](SearchRequest::with_after) belongs to another order or another
    ///   catalogue, or if the request has both a cursor and an offset.
    /// - [`Unsupported`](PostgresErrorKind::Unsupported) if the table lacks a column that the filter needs: a folded column for
    ///   `$match`, or element columns for `$elem`.
    /// - [`Stopped`](PostgresErrorKind::Stopped) if the token or the deadline of the request has stopped the search. Both are
    ///   tested every two milliseconds. If the search is stopped, its statement is cancelled on the server.
    ///
    /// # Panics
    /// Panics outside a Tokio runtime.
    pub async fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, PostgresError> {
        let expected = usize::try_from(request.limit).unwrap_or(usize::MAX).min(RESERVED_CASES);
        let mut answer = AnswerWriter::new(request, None, 0, expected);
        let push = |id: &str, document: &str| {
            answer.push(id, document);
            ControlFlow::Continue(())
        };
        let Ending { total, next } = self.search_each(request, push).await?;
        answer.set_total(total);
        answer.set_next(next);
        Ok(answer.finish())
    }

    /// Calls `take` with the id and the document of each case when the case arrives. Returns the total and the cursor, if they are
    /// requested.
    ///
    /// If `take` returns `Break`, no more cases are read.
    pub(crate) async fn search_each(
        &self,
        request: &SearchRequest,
        take: impl FnMut(&str, &str) -> ControlFlow<()>,
    ) -> Result<Ending, PostgresError> {
        self.counted(self.find(request, take).await)
    }

    /// Counts the values of fields in the selected documents, as [`Engine::facets`](crate::Engine::facets) does. All counts come
    /// from one snapshot of the table. The [`Limits`](crate::Limits) are the default ones.
    ///
    /// The total and each facet take one statement each. A facet that leaves out its [own
    /// criteria](crate::Facet::with_own_criteria_apart) may need a second statement. Sums of doubles may differ from those of an
    /// engine by 1 part in 10⁹.
    ///
    /// ```no_run
    /// use casefilter::postgres::PostgresSource;
    /// use casefilter::{Facet, FacetsRequest, Filter};
    /// # async fn count(source: &PostgresSource) -> Result<(), Box<dyn std::error::Error>> {
    /// let filter = Filter::compile_text(source.catalog(), "status = open")?;
    /// let request = FacetsRequest::new(filter).with_facet(Facet::values(source.catalog(), "priority")?);
    /// println!("{}", source.facets(&request).await?.to_json());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`search`](Self::search). Returns [`Request`](PostgresErrorKind::Request) also for the errors of
    /// [`Engine::facets`](crate::Engine::facets), such as a histogram of too many buckets.
    ///
    /// # Panics
    /// Panics outside a Tokio runtime.
    pub async fn facets(&self, request: &FacetsRequest) -> Result<FacetsAnswer, PostgresError> {
        self.counted(self.count_values(request).await)
    }

    /// Adds the result of a request to the counters.
    fn counted<T>(&self, result: Result<T, PostgresError>) -> Result<T, PostgresError> {
        let counts = &self.inner.counts;
        match &result {
            Ok(_) => add(&counts.answered),
            Err(error) => counts.failed.get(error.kind() as usize).into_iter().for_each(add),
        }
        result
    }

    /// Checks that the table can be searched now.
    ///
    /// # Errors
    /// Returns the errors of [`search`](Self::search).
    pub async fn ping(&self) -> Result<(), PostgresError> {
        let nothing = SearchRequest::new(Filter::none(self.catalog())).with_limit(0);
        self.find(&nothing, |_, _| ControlFlow::Continue(())).await.map(drop)
    }

    /// Returns the current counters.
    #[must_use]
    pub fn stats(&self) -> PostgresStats {
        let (counts, pool) = (&self.inner.counts, self.inner.pool.status());
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let failed = |kind: PostgresErrorKind| (kind, counts.failed.get(kind as usize).map_or(0, read));
        PostgresStats {
            connections: pool.size,
            idle: pool.available,
            waiting: pool.waiting,
            answered: read(&counts.answered),
            prepared: read(&counts.prepared),
            reused: read(&counts.reused),
            failed: PostgresErrorKind::ALL.map(failed),
        }
    }

    async fn find(
        &self,
        request: &SearchRequest,
        mut take: impl FnMut(&str, &str) -> ControlFlow<()>,
    ) -> Result<Ending, PostgresError> {
        let table = &self.inner.table;
        let longer = PageEnd::of(request);
        let page = match &longer {
            Some((longer, _)) if request.order.is_none() => table.page_with_places(Dialect::Postgres, longer),
            Some((longer, _)) => table.page(Dialect::Postgres, longer),
            None => table.page(Dialect::Postgres, request),
        };
        let page = page.map_err(PostgresError::of_request)?;
        let mut end = longer.map(|(_, end)| end);
        let mut take = |row: PageRow<'_>| match &mut end {
            Some(end) => end.meet(row, &mut take),
            None => take(row.id, row.document),
        };
        let count = request.count.then(|| table.count(Dialect::Postgres, &request.filter));
        let count = count.transpose().map_err(PostgresError::of_request)?;
        let work = self.with_connection(SEARCH_STATEMENTS, async |connection| {
            let page = self.prepare(connection, page).await?;
            match count {
                None => page.each(&connection.client, &mut take).await.map(|()| None),
                Some(count) => {
                    let count = self.prepare(connection, count).await?;
                    page_and_count(&connection.client, &page, &count, &mut take).await.map(Some)
                }
            }
        });
        let total = until_stopped(&request.stop, work).await?;
        let next = match end {
            None => None,
            Some(end) => {
                let keys = request.check(table.catalog(), "table").map_err(PostgresError::of_request)?;
                end.cursor(table.catalog(), &keys).map_err(PostgresError::of_request)?
            }
        };
        Ok(Ending { total, next })
    }

    async fn count_values(&self, request: &FacetsRequest) -> Result<FacetsAnswer, PostgresError> {
        let table = &self.inner.table;
        let counting = table.facets(Dialect::Postgres, request).map_err(PostgresError::of_request)?;
        let of_request = request.selected().map_err(PostgresError::of_request)?;
        let mut facets = Vec::with_capacity(request.facets.len());
        for (facet, statement) in request.facets.iter().zip(counting.facets) {
            let selection = request.selected_for(facet).map_err(PostgresError::of_request)?;
            let count = match selection.filter == of_request {
                true => Total::OfRequest,
                false if !facet.field().is_many() => Total::OfRows,
                false => Total::Counted(
                    table.count(Dialect::Postgres, &selection.filter).map_err(PostgresError::of_request)?,
                ),
            };
            facets.push((FacetRows::new(facet), statement, count, selection.with_own_criteria));
        }
        let statements = u32::try_from(facets.len()).unwrap_or(u32::MAX).saturating_mul(2).saturating_add(1);
        let work = self.with_connection(statements, async |connection| {
            connection.client.batch_execute(BEGIN).await.map_err(PostgresError::of_driver)?;
            let total = self.prepare(connection, counting.total).await?.count(&connection.client).await?;
            let mut answers = Vec::with_capacity(facets.len());
            for (number, (mut rows, statement, count, with_own_criteria)) in facets.into_iter().enumerate() {
                let text = rows.select(&statement.to_sql());
                let statement = self.prepare_as(connection, text, statement).await?;
                statement.each_row(&connection.client, |row| rows.add(row)).await?;
                let own = match count {
                    Total::OfRequest => Some(total),
                    Total::OfRows => None,
                    Total::Counted(count) => {
                        Some(self.prepare(connection, count).await?.count(&connection.client).await?)
                    }
                };
                let answer = rows.finish(own, with_own_criteria);
                let answer = answer.map_err(|error| PostgresError::of_request(error.at(place_of(number))))?;
                answers.push(answer);
            }
            connection.client.batch_execute("COMMIT").await.map_err(PostgresError::of_driver)?;
            Ok(FacetsAnswer { total, facets: answers })
        });
        until_stopped(&request.stop, work).await
    }

    /// Runs `work` on a connection from the pool. After an error or a timeout, the connection is closed.
    ///
    /// The timeout is long enough for `statements` statements. Because of the timeout, a request ends even if the server does not
    /// respond at all.
    async fn with_connection<T>(
        &self,
        statements: u32,
        work: impl AsyncFnOnce(&mut Connection) -> Result<T, PostgresError>,
    ) -> Result<T, PostgresError> {
        let exhausted =
            || PostgresError::new(PostgresErrorKind::Exhausted, "too many searches wait for PostgreSQL");
        let _permit = self.inner.permits.try_acquire().map_err(|_| exhausted())?;
        let mut pooled = PooledConnection::new(self.inner.pool.get().await.map_err(PostgresError::of_pool)?);
        let timeout =
            self.inner.statement_timeout.saturating_mul(statements).saturating_add(self.inner.margin);
        let outcome = tokio::time::timeout(timeout, work(pooled.connection()?)).await;
        let result = outcome.map_err(|_| {
            PostgresError::new(PostgresErrorKind::Timeout, "PostgreSQL did not answer in time")
        })?;
        if result.is_ok() {
            pooled.release();
        }
        result
    }

    async fn prepare(
        &self,
        connection: &mut Connection,
        statement: Statement,
    ) -> Result<PreparedStatement, PostgresError> {
        self.prepare_as(connection, statement.to_sql(), statement).await
    }

    /// Prepares an SQL text that contains the text of `statement`, and so has the same parameters.
    async fn prepare_as(
        &self,
        connection: &mut Connection,
        text: String,
        statement: Statement,
    ) -> Result<PreparedStatement, PostgresError> {
        let prepared = connection.prepared.get(&connection.client, text).await;
        let (prepared, is_cached) = prepared.map_err(PostgresError::of_driver)?;
        add(if is_cached { &self.inner.counts.reused } else { &self.inner.counts.prepared });
        Ok(PreparedStatement { prepared, statement })
    }
}

/// The maximum number of statements of a search.
const SEARCH_STATEMENTS: u32 = 2;

/// The time between two calls of the stop check of a search.
const STOP_INTERVAL: Duration = Duration::from_millis(2);

/// Runs `work` until the request must stop. `work` is then dropped, which cancels its statement.
async fn until_stopped<T>(
    conditions: &StopConditions,
    work: impl Future<Output = Result<T, PostgresError>>,
) -> Result<T, PostgresError> {
    tokio::select! {
        biased;
        error = stopped(conditions) => Err(PostgresError::new(PostgresErrorKind::Stopped, error.to_string())),
        done = work => done,
    }
}

/// The source of the number of documents that a facet counts.
enum Total {
    /// The total of the request, because the facet counts the same documents.
    OfRequest,
    /// The sum of the counts in the rows of the facet.
    OfRows,
    /// A further statement, which counts the documents of the facet.
    Counted(Statement),
}

/// Waits until a search must stop, and returns the error of the stopped search.
async fn stopped(conditions: &StopConditions) -> Error {
    if conditions.check().is_none() {
        return std::future::pending().await;
    }
    loop {
        if let Err(error) = conditions.verdict_now() {
            return error;
        }
        tokio::time::sleep(STOP_INTERVAL).await;
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A prepared statement with its parameters.
struct PreparedStatement {
    prepared: tokio_postgres::Statement,
    statement: Statement,
}

impl PreparedStatement {
    async fn rows(&self, client: &Client) -> Result<Vec<Row>, tokio_postgres::Error> {
        let bound: Vec<Parameter<'_>> = self.statement.params().iter().map(Parameter).collect();
        let params: Vec<&(dyn ToSql + Sync)> = bound.iter().map(|bound| bound as _).collect();
        client.query(&self.prepared, &params).await
    }

    /// Calls `take` with each row of a page when the row arrives, until `take` returns `Break`.
    async fn each(
        &self,
        client: &Client,
        take: &mut impl FnMut(PageRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), PostgresError> {
        self.each_row(client, |row| {
            let mut read = || {
                let place = if row.len() > 2 { Some(row.try_get(2)?) } else { None };
                Ok(take(PageRow { id: row.try_get(0)?, document: row.try_get(1)?, place }))
            };
            read().map_err(PostgresError::of_driver)
        })
        .await
    }

    /// Calls `take` with each row when the row arrives, until `take` returns `Break`. The driver then discards the remaining rows.
    async fn each_row(
        &self,
        client: &Client,
        mut take: impl FnMut(&Row) -> Result<ControlFlow<()>, PostgresError>,
    ) -> Result<(), PostgresError> {
        let params = self.statement.params().iter().map(Parameter);
        let mut rows =
            pin!(client.query_raw(&self.prepared, params).await.map_err(PostgresError::of_driver)?);
        while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await {
            if take(&row.map_err(PostgresError::of_driver)?)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the number in the only row of a count.
    async fn count(&self, client: &Client) -> Result<u64, PostgresError> {
        let rows = self.rows(client).await.map_err(PostgresError::of_driver)?;
        count_in(&rows)
    }
}

/// Returns the number in the only row of a count.
fn count_in(rows: &[Row]) -> Result<u64, PostgresError> {
    let no_row = || PostgresError::new(PostgresErrorKind::Rejected, "the count returned no row");
    let count = rows.first().ok_or_else(no_row)?.try_get(0);
    let count: i64 = count.map_err(PostgresError::of_driver)?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// Runs the page and the count in one transaction. Sends the start, the page, the count and the commit in this order, without
/// waiting for the responses in between.
async fn page_and_count(
    client: &Client,
    page: &PreparedStatement,
    count: &PreparedStatement,
    take: &mut impl FnMut(PageRow<'_>) -> ControlFlow<()>,
) -> Result<u64, PostgresError> {
    let (begun, taken, counted, ended) = tokio::join!(
        biased;
        client.batch_execute(BEGIN),
        page.each(client, take),
        count.rows(client),
        client.batch_execute("COMMIT")
    );
    begun.map_err(PostgresError::of_driver)?;
    taken?;
    let counted = counted.map_err(PostgresError::of_driver)?;
    ended.map_err(PostgresError::of_driver)?;
    count_in(&counted)
}

impl fmt::Debug for PostgresSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.inner.table.qualified_name();
        f.debug_struct("PostgresSource").field("table", &name).finish_non_exhaustive()
    }
}
