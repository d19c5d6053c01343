//! Searches on a server.

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

use super::bound::Bound;
use super::check::check;
use super::connect::{Connection, Loan, Manager};
use super::error::{PostgresError, PostgresErrorKind};
use super::options::PostgresOptions;
use crate::catalog::Catalog;
use crate::engine::{AnswerWriter, WrittenAnswer};
use crate::error::Error;
use crate::filter::{Filter, Request};
use crate::sql::{Dialect, Statement, Table};

/// The cases in a table of PostgreSQL, to be searched as an [`Engine`](crate::Engine) is.
///
/// Cloning is cheap; clones share their connections.
#[derive(Clone)]
pub struct PostgresSource {
    inner: std::sync::Arc<Inner>,
}

struct Inner {
    table: Table,
    pool: Pool<Manager>,
    /// For those on a connection, and those that wait for one.
    seats: Semaphore,
    /// After which a connection that says nothing is given up.
    patience: Duration,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    prepared: AtomicU64,
    reused: AtomicU64,
    failed: [AtomicU64; PostgresErrorKind::ALL.len()],
}

/// How a [`PostgresSource`] fares.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PostgresStats {
    /// Connections that are open.
    pub connections: usize,
    /// Those of them that nobody uses.
    pub idle: usize,
    /// Searches that wait for one.
    pub waiting: usize,
    /// Searches that were answered.
    pub answered: u64,
    /// Statements that had to be prepared.
    pub prepared: u64,
    /// Statements that were prepared before.
    pub reused: u64,
    /// Searches that were not answered, by kind.
    pub failed: [(PostgresErrorKind, u64); PostgresErrorKind::ALL.len()],
}

/// Room is made for as many cases of a page, before they come.
const USUAL_PAGE: usize = 128;

/// Begins what sees one state of the table from its first statement to its last.
const BEGIN: &str = "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";

impl PostgresSource {
    /// Connects to a server, and holds its table against the catalogue.
    ///
    /// The connection string is that of `libpq`, `postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require` or
    /// `host=… dbname=…`; the [module](super) says which of its parts are known.
    ///
    /// ```no_run
    /// use casefilter::postgres::{PostgresOptions, PostgresSource};
    /// use casefilter::{Catalog, Filter, Request};
    /// # async fn search() -> Result<(), Box<dyn std::error::Error>> {
    /// let catalog = Catalog::cases();
    /// let source = PostgresSource::connect("postgres://officer@db.example/compliance", &catalog, &PostgresOptions::default()).await?;
    /// let filter = Filter::compile_text(&catalog, "status = open and priority = high")?;
    /// let answer = source.search(&Request::new(filter).limit(20).count(true)).await?;
    /// println!("{} of {:?}: {}", answer.len(), answer.total(), answer.as_json());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Options`](PostgresErrorKind::Options) and [`Unavailable`](PostgresErrorKind::Unavailable) faults;
    /// [`Table`](PostgresErrorKind::Table) when the table is not there or may not be read, with the first column that is not as
    /// [`Table::script`] has it.
    ///
    /// # Panics
    /// Outside a Tokio runtime that has I/O and time, as all else here.
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
        // The connections that were used last have what is asked for most.
        let config =
            PoolConfig { max_size: options.connections.max(1), timeouts, queue_mode: QueueMode::Lifo };
        let pool = Pool::builder(Manager::new(url, options)?).config(config).runtime(Runtime::Tokio1);
        let pool = pool.build().map_err(|error| wrong(error.to_string()))?;
        // Two statements, and as much again for what comes between them and the wire.
        let patience = options.statement_timeout.saturating_mul(2).saturating_add(options.connect_timeout);
        let seats = options.connections.max(1).saturating_add(options.waiting).min(Semaphore::MAX_PERMITS);
        let inner = Inner { table, pool, seats: Semaphore::new(seats), patience, counts: Counts::default() };
        let source = Self { inner: std::sync::Arc::new(inner) };
        source.lent(async |connection| check(&connection.client, &source.inner.table).await).await?;
        source.ping().await?;
        Ok(source)
    }

    /// The catalogue whose fields the table has.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        self.inner.table.catalog()
    }

    /// Finds a page of cases, and counts all that are selected if the request asks for it, in one state of the table.
    ///
    /// A search that is dropped before it is answered is cancelled on the server, as well as that goes.
    ///
    /// # Errors
    /// Those that [are transient](PostgresErrorKind::is_transient) may be gone a moment later; [`Table`](PostgresErrorKind::Table)
    /// and [`Refused`](PostgresErrorKind::Refused) stay until somebody mends the table.
    /// [`Request`](PostgresErrorKind::Request) when the filter was compiled for a catalogue that is not
    /// [within](Catalog::is_within) the table's, or hides the field of the order.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub async fn search(&self, request: &Request) -> Result<WrittenAnswer, PostgresError> {
        let expected = usize::try_from(request.limit).unwrap_or(usize::MAX).min(USUAL_PAGE);
        let mut answer = AnswerWriter::new(request, None, 0, expected);
        let push = |id: &str, document: &str| {
            answer.push(id, document);
            ControlFlow::Continue(())
        };
        let total = self.search_each(request, push).await?;
        answer.set_total(total);
        Ok(answer.finish())
    }

    /// As [`search`](Self::search), with each case handed to `take` as it comes from the server; gives the count, if the
    /// request asks for it. When `take` breaks off, no more cases are read, and none are counted.
    pub(crate) async fn search_each(
        &self,
        request: &Request,
        take: impl FnMut(&str, &str) -> ControlFlow<()>,
    ) -> Result<Option<u64>, PostgresError> {
        let counts = &self.inner.counts;
        let result = self.find(request, take).await;
        match &result {
            Ok(_) => add(&counts.answered),
            Err(error) => counts.failed.get(error.kind() as usize).into_iter().for_each(add),
        }
        result
    }

    /// Asks whether the table can be searched now.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub async fn ping(&self) -> Result<(), PostgresError> {
        let nothing = Request::new(Filter::none(self.catalog())).limit(0);
        self.find(&nothing, |_, _| ControlFlow::Continue(())).await.map(drop)
    }

    /// How it fares.
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
        request: &Request,
        mut take: impl FnMut(&str, &str) -> ControlFlow<()>,
    ) -> Result<Option<u64>, PostgresError> {
        let table = &self.inner.table;
        let misfit = |error: Error| PostgresError::new(PostgresErrorKind::Request, error.to_string());
        let page = table.page(Dialect::Postgres, request).map_err(misfit)?;
        let count = request.count.then(|| table.count(Dialect::Postgres, &request.filter));
        let count = count.transpose().map_err(misfit)?;
        self.lent(async |connection| {
            let page = self.prepare(connection, page).await?;
            match count {
                None => page.each(&connection.client, &mut take).await.map(|()| None),
                Some(count) => {
                    let count = self.prepare(connection, count).await?;
                    both(&connection.client, &page, &count, &mut take).await.map(Some)
                }
            }
        })
        .await
    }

    /// Does something on a connection. One that failed, or took all patience, is not used again.
    async fn lent<T>(
        &self,
        work: impl AsyncFnOnce(&mut Connection) -> Result<T, PostgresError>,
    ) -> Result<T, PostgresError> {
        let crowded =
            || PostgresError::new(PostgresErrorKind::Exhausted, "too many searches wait for PostgreSQL");
        let _seat = self.inner.seats.try_acquire().map_err(|_| crowded())?;
        let mut loan = Loan::new(self.inner.pool.get().await?);
        let outcome = tokio::time::timeout(self.inner.patience, work(loan.connection()?)).await;
        let result = outcome.map_err(|_| {
            PostgresError::new(PostgresErrorKind::Timeout, "PostgreSQL did not answer in time")
        })?;
        if result.is_ok() {
            loan.give_back();
        }
        result
    }

    async fn prepare(
        &self,
        connection: &mut Connection,
        statement: Statement,
    ) -> Result<Ready, PostgresError> {
        let (prepared, is_known) = connection.prepared.get(&connection.client, statement.sql()).await?;
        add(if is_known { &self.inner.counts.reused } else { &self.inner.counts.prepared });
        Ok(Ready { prepared, statement })
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A statement that the server knows, with its parameters.
struct Ready {
    prepared: tokio_postgres::Statement,
    statement: Statement,
}

impl Ready {
    async fn rows(&self, client: &Client) -> Result<Vec<Row>, tokio_postgres::Error> {
        let bound: Vec<Bound<'_>> = self.statement.params().iter().map(Bound).collect();
        let params: Vec<&(dyn ToSql + Sync)> = bound.iter().map(|bound| bound as _).collect();
        client.query(&self.prepared, &params).await
    }

    /// Hands ids and documents to `take` as they come, until it breaks off: the driver passes over the others.
    async fn each(
        &self,
        client: &Client,
        take: &mut impl FnMut(&str, &str) -> ControlFlow<()>,
    ) -> Result<(), PostgresError> {
        let params = self.statement.params().iter().map(Bound);
        let mut rows = pin!(client.query_raw(&self.prepared, params).await?);
        while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await {
            let row = row?;
            if take(row.try_get(0)?, row.try_get(1)?).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// A page and its count in one state of the table: four messages that are sent at once, in this order.
async fn both(
    client: &Client,
    page: &Ready,
    count: &Ready,
    take: &mut impl FnMut(&str, &str) -> ControlFlow<()>,
) -> Result<u64, PostgresError> {
    let (begun, taken, counted, ended) = tokio::join!(
        biased;
        client.batch_execute(BEGIN),
        page.each(client, take),
        count.rows(client),
        client.batch_execute("COMMIT")
    );
    begun?;
    taken?;
    let counted = counted?;
    ended?;
    let none = || PostgresError::new(PostgresErrorKind::Refused, "a count has no row");
    let count: i64 = counted.first().ok_or_else(none)?.try_get(0)?;
    Ok(u64::try_from(count).unwrap_or_default())
}

impl fmt::Debug for PostgresSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.inner.table.qualified_name();
        f.debug_struct("PostgresSource").field("table", &name).finish_non_exhaustive()
    }
}
