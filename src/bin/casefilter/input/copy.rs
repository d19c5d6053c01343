//! A copy of a database that a service has open, for commands that need a file of their own.

use std::fs::File;
use std::path::Path;

use serde::Serialize;
use serde::de::IgnoredAny;

use crate::input::service::Service;
use crate::output::failure::{Failure, mention};
use crate::output::progress::Working;
use crate::output::unnamed::unnamed_beside;

/// A copy of a database, in a file without a name: the system removes it when the process ends, however that comes.
pub(crate) struct Copy {
    pub(crate) file: File,
    /// What messages call it.
    pub(crate) name: String,
}

#[derive(Serialize)]
struct Backup<'p> {
    path: &'p str,
}

impl Copy {
    /// Lets the service that has a database open send a copy of it.
    pub(crate) fn make(database: &Path, mut service: Service) -> Result<Self, Failure> {
        let name = format!("a copy of {}", database.display());
        let file = unnamed_beside(Some(database));
        let mut file = file.map_err(|error| Failure::io("cannot write", &name, &error))?;
        let working = Working::on("a service sends a copy of the database");
        service.download("/copies", &mut file, &name)?;
        drop(working);
        mention("a service has the database open: this is a copy that it made just now\n");
        Ok(Self { file, name })
    }
}

/// Lets a service copy its database into a new file.
pub(crate) fn back_up(service: &mut Service, output: &Path) -> Result<(), Failure> {
    let fail = |error| Failure::io("cannot write", &output.display().to_string(), &error);
    let path = std::path::absolute(output).map_err(fail)?;
    let path = path
        .to_str()
        .ok_or_else(|| Failure::Failed("a service takes only names of files that are UTF-8".to_owned()))?;
    let _working = Working::on("a service copies the database");
    service.post::<IgnoredAny>("/backups", &Backup { path }).map(drop)
}
