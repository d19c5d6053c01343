//! The arguments that say how filters are read, which several commands share.

use std::path::Path;
use std::time::SystemTime;

use casefilter::{Catalog, FilterBuilder, Limits, Timestamp};
use chrono::{DateTime, FixedOffset, Utc};

use crate::input::admin::Admin;
use crate::input::catalog::CatalogFile;
use crate::output::failure::Failure;

/// The arguments that say how filters are read: the UTC offset of the days in them, and the operators that JSON filters may use.
#[derive(Clone, clap::Args)]
pub(crate) struct Dialect {
    /// The UTC offset of the days in text filters, such as +02:00; it also applies to `today`
    #[arg(
        long,
        value_name = "±HH:MM",
        default_value = "+00:00",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    utc_offset: FixedOffset,

    /// Also allow $not, $elem, $exists, $startsWith, $substring and $match in JSON filters; text filters always allow them
    #[arg(long)]
    extended: bool,
}

/// The arguments that say how filters are read, and for which catalogue.
#[derive(Clone, clap::Args)]
pub(crate) struct Syntax {
    #[command(flatten)]
    dialect: Dialect,

    #[command(flatten)]
    catalog: CatalogFile,
}

impl Dialect {
    /// Returns the catalogue. If the extended operators are allowed, JSON filters for the returned catalogue may use them.
    pub(crate) fn extend(&self, catalog: Catalog) -> Catalog {
        extended(catalog, self.extended)
    }

    /// Returns a builder of filters that knows the present time.
    pub(crate) fn builder(&self, catalog: &Catalog) -> FilterBuilder {
        FilterBuilder::new(catalog)
            .with_limits(unpaged())
            .now(Timestamp::from(DateTime::<Utc>::from(SystemTime::now())))
            .utc_offset(self.utc_offset)
    }
}

impl Syntax {
    /// Returns the catalogue for filters: that of --catalog, else that of the database, else that of cases.
    pub(crate) fn catalog(&self, database: Option<&Path>, admin: &Admin) -> Result<Catalog, Failure> {
        Ok(self.dialect.extend(self.catalog.or_stored(database, admin)?))
    }

    /// Returns the catalogue for the filters of a command that reads no cases: that of --catalog, else that of cases.
    pub(crate) fn catalog_alone(&self) -> Result<Catalog, Failure> {
        Ok(self.dialect.extend(self.catalog.or_cases()?))
    }

    /// Returns a builder of filters that knows the present time.
    pub(crate) fn builder(&self, catalog: &Catalog) -> FilterBuilder {
        self.dialect.builder(catalog)
    }

    /// Returns the UTC offset of the days in filters.
    pub(crate) fn utc_offset(&self) -> FixedOffset {
        self.dialect.utc_offset
    }
}

/// Returns the catalogue. If `is_extended`, JSON filters for the returned catalogue may use the extended operators.
pub(crate) fn extended(catalog: Catalog, is_extended: bool) -> Catalog {
    if is_extended { catalog.extended() } else { catalog }
}

/// Returns the limits for requests on the command line. The length of a page is not limited.
pub(crate) fn unpaged() -> Limits {
    Limits::default().with_page(u64::MAX)
}
