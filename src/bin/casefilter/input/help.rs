//! Parses the command line, and prints help whose examples can be copied.

use std::io::Write;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command, Error, Parser};

use crate::input::advice;
use crate::output::part::Part;

/// A placeholder that replaces each space of an example until the help is printed. When clap wraps the text after the options, it
/// breaks long lines at spaces. An example that is broken into two lines is not a valid command.
const UNBROKEN: char = '\u{e000}';

/// Parses the arguments of the process. `tree` is the command of `P`, possibly with other defaults. If the arguments are wrong or
/// request help, prints the error or the help and ends the process.
pub(crate) fn parse<P: Parser>(tree: Command) -> (P, ArgMatches) {
    let matches = unbroken(tree).try_get_matches();
    matches
        .and_then(|matches| P::from_arg_matches(&matches).map(|parsed| (parsed, matches)))
        .unwrap_or_else(|error| exit(&advised(error, &P::command())))
}

/// Changes the error for an unknown command: replaces clap's suggestion with the advice of this program. Clap would suggest the
/// command with the most similar name, even if that command does something else. Also explains an unknown `--source` if this build
/// cannot search PostgreSQL.
fn advised(mut error: Error, command: &Command) -> Error {
    if let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidArg)
        && written.starts_with("--source")
        && Part::Postgres.require(written).is_err()
    {
        let advice = Part::Postgres.missing(&format!("`{written}`"));
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
        return error;
    }
    let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let written = written.clone();
    // Clap's suggestion is good enough for subcommands of a command, such as those of `token`.
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    if !usage.contains("casefilter <COMMAND>") {
        return error;
    }
    error.remove(ContextKind::SuggestedSubcommand);
    error.remove(ContextKind::Suggested);
    let names = command.get_subcommands().map(Command::get_name);
    if let Some(advice) = advice::on_command(&written, names) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    error
}

/// Returns the command with placeholders for the spaces in its examples, and in the examples of its subcommands. The examples are
/// the indented lines after the options.
fn unbroken(command: Command) -> Command {
    let whole = |line: &str| {
        if line.starts_with("  ") {
            line.replace(' ', UNBROKEN.encode_utf8(&mut [0; 4]))
        } else {
            line.to_owned()
        }
    };
    let text = command.get_after_help().map(ToString::to_string);
    let command = match text {
        Some(text) => command.after_help(text.split('\n').map(whole).collect::<Vec<_>>().join("\n")),
        None => command,
    };
    command.mut_subcommands(unbroken)
}

/// Replaces the placeholders in examples by spaces, prints the text, and ends the process as clap does.
fn exit(error: &Error) -> ! {
    let is_help =
        matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand);
    if !is_help {
        error.exit();
    }
    let text = error.render().ansi().to_string().replace(UNBROKEN, " ");
    // Write errors are ignored, as in clap, because the reader may have closed the output.
    let _ = if error.use_stderr() {
        anstream::stderr().write_all(text.as_bytes())
    } else {
        anstream::stdout().write_all(text.as_bytes())
    };
    std::process::exit(error.exit_code())
}
