//! Requests a copy of a database from the service that has it open, for commands that must open a file themselves.

use std::fs::File;
use std::path::Path;

use serde::Serialize;
use serde::de::IgnoredAny;

use crate::input::service::Service;
use crate::output::failure::{Failure, note_on_terminal};
use crate::output::progress::Working;
use crate::output::unnamed::unnamed_beside;

/// A copy of a database in an unnamed file. The system removes it when the process ends, even after a crash.
pub(crate) struct Copy {
    pub(crate) file: File,
    /// The name of the copy in messages.
    pub(crate) name: String,
}

#[derive(Serialize)]
struct Backup<'p> {
    path: &'p str,
}

impl Copy {
    /// Downloads a copy from the service that has the database open.
    pub(crate) fn make(database: &Path, mut service: Service) -> Result<Self, Failure> {
        let name = format!("a copy of {}", database.display());
        let file = unnamed_beside(Some(database));
        let mut file = file.map_err(|error| Failure::io("cannot write", &name, &error))?;
        let working = Working::on("a service sends a copy of the database");
        service.download("/copies", &mut file, &name)?;
        drop(working);
        note_on_terminal("a service has the database open: this is a copy that it sent\n");
        Ok(Self { file, name })
    }
}

/// Asks the service to copy its database to a new file.
pub(crate) fn back_up(service: &mut Service, output: &Path) -> Result<(), Failure> {
    let fail = |error| Failure::io("cannot write", &output.display().to_string(), &error);
    let path = std::path::absolute(output).map_err(fail)?;
    let path = path
        .to_str()
        .ok_or_else(|| Failure::Failed("a service takes only file names in UTF-8".to_owned()))?;
    let _working = Working::on("a service copies the database");
    service.post::<IgnoredAny>("/backups", &Backup { path }).map(drop)
}
