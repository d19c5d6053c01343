//! Replaces the connection to a service, on systems without Unix sockets and in builds without the feature `service`: connecting
//! always fails.

use std::fs::File;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::output::failure::Failure;
use crate::output::part::Part;
use crate::output::refusals::Importing;

/// A type without values, because no connection is possible.
pub(crate) enum Service {}

/// A type without values, because no connection is possible.
pub(crate) enum Upload {}

impl Service {
    pub(crate) fn connect(_database: &Path, _socket: Option<&Path>) -> Result<Self, String> {
        match Part::Service.require("connection to a service") {
            Err(Failure::Failed(message)) => Err(message),
            _ => Err("on this system, commands cannot connect to a service".to_owned()),
        }
    }

    pub(crate) fn post<T: DeserializeOwned>(&mut self, _: &str, _: &impl Serialize) -> Result<T, Failure> {
        match *self {}
    }

    pub(crate) fn download(&mut self, _target: &str, _file: &mut File, _name: &str) -> Result<(), Failure> {
        match *self {}
    }

    pub(crate) fn get<T: DeserializeOwned>(&mut self, _: &str) -> Result<T, Failure> {
        match *self {}
    }

    pub(crate) fn frames(
        &mut self,
        _: &str,
        _: &impl Serialize,
        _: impl FnMut(u8, &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match *self {}
    }

    pub(crate) fn upload(self, _target: &str, _importing: Importing) -> Result<Upload, Failure> {
        match self {}
    }
}

impl Upload {
    pub(crate) fn begin(&mut self, _name: &str, _is_parquet: bool) -> Result<(), Failure> {
        match *self {}
    }

    pub(crate) fn push(&mut self, _bytes: &[u8]) -> Result<(), Failure> {
        match *self {}
    }

    pub(crate) fn finish<T: DeserializeOwned>(self) -> Result<T, Failure> {
        match self {}
    }
}
