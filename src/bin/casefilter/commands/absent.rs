//! Stand-ins for the commands of the feature `service`, in a build without it.

use std::ffi::OsString;

use crate::output::failure::Failure;
use crate::output::part::Part;
use crate::output::status::Status;

/// Not in this build, which lacks the feature `service`
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// The arguments, which this build ignores
    #[arg(hide = true, allow_hyphen_values = true, trailing_var_arg = true)]
    _arguments: Vec<OsString>,
}

/// Returns the failure that says how to build a program with the command.
pub(crate) fn run(command: &str) -> Result<Status, Failure> {
    Err(Failure::Failed(Part::Service.missing(&format!("`{command}`"))))
}
