//! Replaces each command of the feature `service` in a build without this feature: prints that the command is missing.

use std::ffi::OsString;

use crate::output::failure::Failure;
use crate::output::part::Part;
use crate::output::status::Status;

/// Not in this build, because it was built without the feature `service`
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// The arguments, which this build ignores
    #[arg(hide = true, allow_hyphen_values = true, trailing_var_arg = true)]
    _arguments: Vec<OsString>,
}

/// Returns the failure, which says how to build a program that has the command.
pub(crate) fn run(command: &str) -> Result<Status, Failure> {
    Err(Failure::Failed(Part::Service.missing(&format!("`{command}`"))))
}
