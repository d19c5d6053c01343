//! The arguments for the filter, the order and the page, which several commands share.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use casefilter::internal::check_text;
use casefilter::{Catalog, Errors, FacetsRequest, Filter, FilterBuilder, SearchParams, SearchRequest};
use chrono::FixedOffset;

use crate::input::admin::Admin;
use crate::input::syntax::{Syntax, unpaged};
use crate::output::dash::{ONE_STDIN, is_stdin};
use crate::output::diagnostics::{self as report, Source};
use crate::output::failure::Failure;

/// The maximum number of bytes of a body that are read. It is far above the limit for bodies, so that the error can contain the
/// length.
const MOST_BODY_BYTES: u64 = 64 << 20;

/// The arguments for a filter, an order and a page.
#[derive(clap::Args)]
pub(crate) struct Selection {
    #[command(flatten)]
    criteria: Criteria,

    /// Sort by up to 8 fields, joined by commas; `-createdAt` sorts descending
    #[arg(long, alias = "sort", value_name = "FIELD,…", allow_hyphen_values = true)]
    order: Option<String>,

    /// Skip the first N selected cases [default: 0]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    offset: Option<String>,

    /// Return at most N selected cases; `all` returns all selected cases [default: 100]
    #[arg(long, value_name = "N|all", allow_hyphen_values = true)]
    limit: Option<String>,

    /// Count all selected cases, as countTotalItems=true does; a table always shows the count
    #[arg(long)]
    count: bool,

    /// Return a cursor with the page: the member `pageInfo.next` of the JSON, unless the page is the last page
    #[arg(long)]
    cursor: bool,

    /// Return the page after a cursor; the --order must be that of the earlier page
    #[arg(long, value_name = "CURSOR", allow_hyphen_values = true)]
    after: Option<String>,
}

/// The arguments for a filter, without order and page. Without a filter, every case is selected.
#[derive(Clone, clap::Args)]
pub(crate) struct Criteria {
    /// The filter as a JSON body, from a file or from standard input
    #[arg(long, value_name = "FILE|-", conflicts_with = "text")]
    body: Option<PathBuf>,

    /// The filter in the text syntax, such as 'status = open and tags in (vip, crypto)'
    #[arg(long = "where", value_name = "TEXT")]
    text: Option<String>,

    #[command(flatten)]
    syntax: Syntax,
}

impl Criteria {
    /// Returns the catalogue for the filter: that of --catalog, else that of the database, else that of cases.
    pub(crate) fn catalog(&self, database: Option<&Path>, admin: &Admin) -> Result<Catalog, Failure> {
        self.syntax.catalog(database, admin)
    }

    /// Returns true if the body is read from standard input.
    pub(crate) fn uses_stdin(&self) -> bool {
        self.body.as_deref().is_some_and(is_stdin)
    }

    /// Returns the path of the file that contains the body.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.body.as_deref()
    }

    /// Returns true if a filter was given.
    pub(crate) fn is_given(&self) -> bool {
        self.body.is_some() || self.text.is_some()
    }

    /// Returns the UTC offset of the days in the filter.
    pub(crate) fn utc_offset(&self) -> FixedOffset {
        self.syntax.utc_offset()
    }

    /// Reads a request for counts, in the form of the service. Returns it with its text.
    pub(crate) fn facets(&self, catalog: &Catalog, path: &Path) -> Result<(FacetsRequest, String), Failure> {
        let body = read_body(path)?;
        let builder = FilterBuilder::new(catalog).with_limits(unpaged());
        let request = check_text(&body).map_err(Errors::from).and_then(|()| builder.facets(&body));
        let text = String::from_utf8_lossy(&body).into_owned();
        let request = request.map_err(|errors| {
            let name = if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() };
            let shown = if check_text(&body).is_ok() { body } else { Vec::new() };
            let source = Source::file(&name, shown);
            let sources = errors.as_slice().iter().map(|_| source.clone()).collect();
            Failure::BadFilter(report::Fault { errors, sources }.render())
        })?;
        Ok((request, text))
    }

    /// Returns a request with the filter, compiled for another catalogue. It is an error if the filter was read from standard
    /// input.
    pub(crate) fn request_again(&self, catalog: &Catalog) -> Result<SearchRequest, Failure> {
        match self.uses_stdin() {
            true => Err(Failure::Usage(ONE_STDIN.to_owned())),
            false => self.request(catalog, None),
        }
    }

    /// Returns a request for all cases that the filter selects. If `order` is given, they are sorted by it.
    pub(crate) fn request(&self, catalog: &Catalog, order: Option<&str>) -> Result<SearchRequest, Failure> {
        let (offset, limit, order) = (None, None, order.map(str::to_owned));
        let (count, cursor, after) = (false, false, None);
        let all = Selection { criteria: self.clone(), order, offset, limit, count, cursor, after };
        Ok(all.request(catalog)?.with_limit(u64::MAX))
    }
}

impl Selection {
    /// Returns the catalogue for which filters are compiled, including the filters of --requests. This is the catalogue of
    /// --catalog, else that of the database, else that of cases.
    pub(crate) fn catalog(&self, database: Option<&Path>, admin: &Admin) -> Result<Catalog, Failure> {
        self.criteria.catalog(database, admin)
    }

    /// Returns the catalogue for the filters of a command that reads no cases: that of --catalog, else that of cases.
    pub(crate) fn catalog_alone(&self) -> Result<Catalog, Failure> {
        self.criteria.syntax.catalog_alone()
    }

    /// Returns true if the body is read from standard input.
    pub(crate) fn uses_stdin(&self) -> bool {
        self.criteria.uses_stdin()
    }

    /// Returns the path of the file that contains the body.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.criteria.file()
    }

    /// Returns true if there are no arguments for a filter, an order or a page.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { criteria: Criteria { body, text, syntax: _ }, order, offset, limit, count, cursor, after } =
            self;
        let has_page = order.is_some() || offset.is_some() || limit.is_some() || after.is_some();
        body.is_none() && text.is_none() && !(has_page || *count || *cursor)
    }

    /// Returns a request with the filter, compiled for another catalogue. It is an error if the filter was read from standard
    /// input.
    pub(crate) fn request_again(&self, catalog: &Catalog) -> Result<SearchRequest, Failure> {
        self.criteria.request_again(catalog)
    }

    /// Returns the request that the arguments describe. If it has errors, the failure contains them as text.
    pub(crate) fn request(&self, catalog: &Catalog) -> Result<SearchRequest, Failure> {
        self.timed_request(catalog).map(|(request, _)| request)
    }

    /// Returns the UTC offset of the argument `--utc-offset`. It is zero if the argument is absent.
    pub(crate) fn utc_offset(&self) -> FixedOffset {
        self.criteria.syntax.utc_offset()
    }

    /// Does the same as [`request`](Self::request), and also returns the time that compiling took.
    pub(crate) fn timed_request(&self, catalog: &Catalog) -> Result<(SearchRequest, Duration), Failure> {
        match self.timed_compile(catalog)? {
            (Ok(request), took) => Ok((request, took)),
            (Err(fault), _) => Err(Failure::BadFilter(fault.render())),
        }
    }

    /// Returns the request or its errors. Returns a failure only if a file cannot be read.
    pub(crate) fn compile(&self, catalog: &Catalog) -> Result<Compiled, Failure> {
        self.timed_compile(catalog).map(|(compiled, _)| compiled)
    }

    fn timed_compile(&self, catalog: &Catalog) -> Result<(Compiled, Duration), Failure> {
        let limits = unpaged();
        let body = self.criteria.body.as_deref().map(read_body).transpose()?;
        let builder = self.criteria.syntax.builder(catalog);
        let start = Instant::now();
        let filter = match (&body, &self.criteria.text) {
            (Some(body), _) => check_text(body).map_err(Errors::from).and_then(|()| builder.json(body)),
            (None, Some(text)) => builder.text(text),
            (None, None) => Ok(Filter::all(catalog)),
        };
        let took = start.elapsed();
        // If the body is in another encoding, an excerpt of it would be unreadable.
        let body = body.map(|body| if check_text(&body).is_ok() { body } else { Vec::new() });
        let source = match (body, &self.criteria.body, &self.criteria.text) {
            (Some(body), Some(path), _) if is_stdin(path) => Source::file("standard input", body),
            (Some(body), Some(path), _) => Source::file(&path.display().to_string(), body),
            (_, _, Some(text)) => Source::argument("--where", text),
            _ => Source::argument("", ""),
        };
        let of_filter = filter.as_ref().err().map_or(0, |errors| errors.as_slice().len());
        let params = SearchParams::new()
            .offset(self.offset.as_deref())
            .limit(self.limit.as_deref().filter(|limit| *limit != EVERY_CASE))
            .order(self.order.as_deref())
            .count(self.count.then_some("true"))
            .cursor(self.cursor.then_some("true"))
            .after(self.after.as_deref());
        let parameter = |path: &str| match path {
            "offset" => self.offset.clone(),
            "limit" => self.limit.clone(),
            "order" => self.order.clone(),
            "after" => self.after.clone(),
            _ => None,
        };
        // Like --where, --order does not need --extended: it may always name several fields.
        let both = Errors::both(filter, params.parse(&catalog.extended(), &limits));
        let request = both.map(|(filter, paging)| SearchRequest::new(filter).with_paging(paging));
        let request = request.map(|request| match self.limit.as_deref() {
            Some(EVERY_CASE) => request.with_limit(ALL),
            _ => request,
        });
        let request = request.map_err(|errors| {
            let sources = errors.as_slice().iter().enumerate().map(|(place, error)| {
                if place < of_filter {
                    return source.clone();
                }
                let text = parameter(&error.path).unwrap_or_default();
                Source::value(&format!("--{}", error.path), &text)
            });
            let sources = sources.collect();
            report::Fault { errors, sources }
        });
        Ok((request, took))
    }
}

/// A request, or its errors with the texts in which they occur.
type Compiled = Result<SearchRequest, report::Fault>;

/// The number that `--limit all` stands for.
pub(crate) const ALL: u64 = i64::MAX.unsigned_abs();

/// The value of `--limit` that selects all cases.
const EVERY_CASE: &str = "all";

fn read_body(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let read = if is_stdin(path) {
        io::stdin().lock().take(MOST_BODY_BYTES).read_to_end(&mut body)
    } else {
        File::open(path).and_then(|file| file.take(MOST_BODY_BYTES).read_to_end(&mut body))
    };
    match read {
        Ok(_) => Ok(body),
        Err(error) if is_stdin(path) => Err(Failure::io("cannot read", "standard input", &error)),
        Err(_) if path.to_string_lossy().trim_start().starts_with('{') => {
            let message =
                "--body takes the name of a file: write the JSON to a file, or pipe it in with `--body -`";
            Err(Failure::Usage(message.to_owned()))
        }
        Err(error) => Err(Failure::io("cannot read", &path.display().to_string(), &error)),
    }
}
