//! The command `completions`: prints the script with which a shell completes the arguments of casefilter.

use clap::ValueEnum;

use crate::output::failure::Failure;
use crate::output::status::Status;
use crate::output::stdout::Output;

const BASH: &str = include_str!("completions/casefilter.bash");
const ZSH: &str = include_str!("completions/casefilter.zsh");
const FISH: &str = include_str!("completions/casefilter.fish");

/// Print the script with which a shell completes arguments, filters included
///
/// The script lets the shell complete commands, flags and files. In --where, it completes the names of fields, operators, known
/// values and connectives. It also completes the fields of --order, --columns and --by. The fields come from --catalog, or else
/// from the catalogue that the database keeps.
///
/// If the cases are in a database of at most 64 MiB, the script also completes values of these cases. It completes no values while
/// a service has the database open.
///
/// The scripts for PowerShell and Elvish complete only commands and flags.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter completions bash > ~/.local/share/bash-completion/completions/casefilter
  casefilter completions zsh > ~/.zfunc/_casefilter    # ~/.zfunc is in $fpath before compinit runs
  casefilter completions fish > ~/.config/fish/completions/casefilter.fish
  source <(casefilter completions bash)                # in this shell only
  casefilter completions powershell >> $PROFILE")]
pub(crate) struct Args {
    /// The shell
    shell: ScriptedShell,
}

/// A shell for which the program has its own script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// GNU Bash 4.4 or newer
    Bash,
    /// The Z shell
    Zsh,
    /// fish 3 or newer
    Fish,
}

/// A shell whose script can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScriptedShell {
    /// GNU Bash 4.4 or newer
    Bash,
    /// The Z shell
    Zsh,
    /// fish 3 or newer
    Fish,
    /// PowerShell 5 or newer
    #[value(name = "powershell")]
    PowerShell,
    /// Elvish
    Elvish,
}

/// Prints the script. `tree` is the program with its commands.
pub(crate) fn run(args: &Args, tree: impl FnOnce() -> clap::Command) -> Result<Status, Failure> {
    let script = match args.shell {
        ScriptedShell::Bash => BASH.to_owned(),
        ScriptedShell::Zsh => ZSH.to_owned(),
        ScriptedShell::Fish => FISH.to_owned(),
        ScriptedShell::PowerShell => generated(clap_complete::Shell::PowerShell, tree())?,
        ScriptedShell::Elvish => generated(clap_complete::Shell::Elvish, tree())?,
    };
    let mut out = Output::new();
    out.lines(&script)?;
    out.finish()?;
    Ok(Status::Fine)
}

/// Returns the script that clap generates. It completes commands and flags.
fn generated(shell: clap_complete::Shell, mut tree: clap::Command) -> Result<String, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut tree, "casefilter", &mut script);
    String::from_utf8(script).map_err(|error| Failure::Failed(error.to_string()))
}
