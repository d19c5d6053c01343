//! Parts of the program that come with a cargo feature, and the message of a build that lacks one.

use crate::output::failure::Failure;

/// A part of the program that a cargo feature adds to the feature `cli`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Reading and writing Parquet files.
    Parquet,
    /// Searching a table of PostgreSQL.
    Postgres,
    /// The service, and the records that it answers from.
    Service,
}

impl Part {
    const ALL: [Self; 3] = [Self::Parquet, Self::Postgres, Self::Service];

    /// Returns whether this build has it.
    fn is_built_in(self) -> bool {
        match self {
            Self::Parquet => cfg!(feature = "arrow"),
            Self::Postgres => cfg!(feature = "postgres"),
            Self::Service => cfg!(feature = "service"),
        }
    }

    fn feature(self) -> &'static str {
        match self {
            Self::Parquet => "arrow",
            Self::Postgres => "postgres",
            Self::Service => "service",
        }
    }

    /// Refuses what needs this part in a build that lacks it; `what` names it to the user, such as `` `serve` ``.
    pub(crate) fn require(self, what: &str) -> Result<(), Failure> {
        if self.is_built_in() { Ok(()) } else { Err(Failure::Failed(self.missing(what))) }
    }

    /// Returns the message of a build without this part: what is missing, and with which features it is there.
    pub(crate) fn missing(self, what: &str) -> String {
        let features = Self::ALL.into_iter().filter(|part| *part == self || part.is_built_in());
        let features: String = features.map(|part| format!(",{}", part.feature())).collect();
        format!("this build has no {what}: build with `--features full` (or `cli{features}`)")
    }
}
