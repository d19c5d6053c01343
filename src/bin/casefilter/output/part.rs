//! The parts of the program that need a cargo feature, and the error message if a part is not in this build.

use crate::output::failure::Failure;

/// A part of the program that is built only with a further cargo feature besides `cli`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Reading and writing Parquet files.
    Parquet,
    /// Searching a table of PostgreSQL.
    Postgres,
    /// The service, and the records that it reads.
    Service,
}

impl Part {
    const ALL: [Self; 3] = [Self::Parquet, Self::Postgres, Self::Service];

    /// Returns true if this build contains the part.
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

    /// Returns an error if this build does not contain the part. `what` is the user's request in words, such as `` `serve` ``.
    pub(crate) fn require(self, what: &str) -> Result<(), Failure> {
        if self.is_built_in() { Ok(()) } else { Err(Failure::Failed(self.missing(what))) }
    }

    /// Returns the error message for a part that is not in this build. It says what is missing, and which features add it. Does not
    /// check that the part is missing; see [`require`](Self::require).
    pub(crate) fn missing(self, what: &str) -> String {
        let features = Self::ALL.into_iter().filter(|part| *part == self || part.is_built_in());
        let features: String = features.map(|part| format!(",{}", part.feature())).collect();
        format!("this build has no {what}: build with `--features full` (or `cli{features}`)")
    }
}
