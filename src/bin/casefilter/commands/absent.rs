//! Commands that come with the feature `service`, in a build without it.

use std::ffi::OsString;

use crate::output::failure::Failure;
use crate::output::part::Part;
use crate::output::status::Status;

/// Not in this build, which lacks the feature `service`
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// What the command takes in a build that has it
    #[arg(hide = true, allow_hyphen_values = true, trailing_var_arg = true)]
    _arguments: Vec<OsString>,
}

/// Says how to build a program that has the command.
pub(crate) fn run(command: &str) -> Result<Status, Failure> {
    Err(Failure::Failed(Part::Service.missing(&format!("`{command}`"))))
}
