//! The command `completions`: prints the script by which a shell completes the arguments of casefilter.

use clap::ValueEnum;

use crate::output::failure::Failure;
use crate::output::status::Status;
use crate::output::stdout::Output;

const BASH: &str = include_str!("completions/casefilter.bash");
const ZSH: &str = include_str!("completions/casefilter.zsh");
const FISH: &str = include_str!("completions/casefilter.fish");

/// Print the script by which a shell completes arguments, filters included
///
/// The script lets the shell complete commands, flags and files. In --where, it completes the names of fields, operators, known
/// values and connectives. If the cases are in a database of at most 64 MiB that no service has open, it also completes values of
/// these cases. The words come from --catalog, or else from the catalogue that the database keeps.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter completions bash > ~/.local/share/bash-completion/completions/casefilter
  casefilter completions zsh > ~/.zfunc/_casefilter    # ~/.zfunc is in $fpath before compinit runs
  casefilter completions fish > ~/.config/fish/completions/casefilter.fish
  source <(casefilter completions bash)                # in this shell only")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// A shell that the program has a script for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// GNU Bash 4.4 or newer
    Bash,
    /// The Z shell
    Zsh,
    /// fish 3 or newer
    Fish,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let script = match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
    };
    let mut out = Output::new();
    out.lines(script)?;
    out.finish()?;
    Ok(Status::Fine)
}
