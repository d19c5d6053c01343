//! The arguments that say how filters are read, which several commands share.

use std::path::Path;
use std::time::SystemTime;

use casefilter::{Catalog, FilterBuilder, Limits, Timestamp};
use chrono::{DateTime, FixedOffset, Utc};

use crate::input::admin::Admin;
use crate::input::catalog::CatalogFile;
use crate::output::failure::Failure;

/// The arguments that say how filters are read: their catalogue, their operators, and their days.
#[derive(Clone, clap::Args)]
pub(crate) struct Syntax {
    /// The UTC offset of the days in text filters, such as +02:00; it also applies to `today`
    #[arg(
        long,
        value_name = "±HH:MM",
        default_value = "+00:00",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub(crate) utc_offset: FixedOffset,

    /// Also allow $not, $elem, $exists, $startsWith, $substring and $match in JSON filters; text filters always allow them
    #[arg(long)]
    extended: bool,

    #[command(flatten)]
    catalog: CatalogFile,
}

impl Syntax {
    /// Returns the catalogue for filters: that of --catalog, else that of the database, else that of cases.
    pub(crate) fn catalog(&self, database: Option<&Path>, admin: &Admin) -> Result<Catalog, Failure> {
        Ok(extended(self.catalog.or_stored(database, admin)?, self.extended))
    }

    /// Returns the catalogue for filters that are compiled without any cases.
    pub(crate) fn catalog_alone(&self) -> Result<Catalog, Failure> {
        Ok(extended(self.catalog.or_cases()?, self.extended))
    }

    /// Returns a builder of filters that knows the present time.
    pub(crate) fn builder(&self, catalog: &Catalog) -> FilterBuilder {
        FilterBuilder::new(catalog)
            .with_limits(unpaged())
            .now(Timestamp::from(DateTime::<Utc>::from(SystemTime::now())))
            .utc_offset(self.utc_offset)
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
