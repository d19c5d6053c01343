//! A copy of a database that a service has open, for commands that need a file of their own.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::IgnoredAny;

use crate::admin::Service;
use crate::failure::{Failure, mention};

/// A copy beside the database, which goes when this is dropped.
pub(crate) struct Copy(PathBuf);

#[derive(Serialize)]
struct Backup<'p> {
    path: &'p str,
}

impl Copy {
    /// Lets the service that has a database open copy it.
    pub(crate) fn make(database: &Path, mut service: Service) -> Result<Self, Failure> {
        let mut name = database.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.copy", std::process::id()));
        let copy = Self(database.with_file_name(name));
        back_up(&mut service, &copy.0)?;
        mention("a service has the database open: this is a copy that it made just now\n");
        Ok(copy)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Lets a service copy its database into a new file.
pub(crate) fn back_up(service: &mut Service, output: &Path) -> Result<(), Failure> {
    let fail = |error| Failure::io("cannot write", &output.display().to_string(), &error);
    let path = std::path::absolute(output).map_err(fail)?;
    let path = path
        .to_str()
        .ok_or_else(|| Failure::Failed("a service takes only names of files that are UTF-8".to_owned()))?;
    service.post::<IgnoredAny>("/backups", &Backup { path }).map(drop)
}
