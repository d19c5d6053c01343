//! Help whose examples can be copied.

use std::io::Write;

use clap::error::ErrorKind;
use clap::{Command, Error, Parser};

/// Stands for a space of an example until help is printed: clap breaks the lines of what follows the options like any other text, at spaces,
/// and a command of two lines is none.
const UNBROKEN: char = '\u{e000}';

/// Reads the arguments of the process, or ends it with help or with what is wrong.
pub(crate) fn parse<P: Parser>() -> P {
    let matches = unbroken(P::command()).try_get_matches();
    matches.and_then(|matches| P::from_arg_matches(&matches)).unwrap_or_else(|error| exit(&error))
}

/// A command whose examples, the indented lines behind its options, stay whole, and those of its subcommands.
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

/// Ends the process as clap does, but for the spaces in examples.
fn exit(error: &Error) -> ! {
    let is_help =
        matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand);
    if !is_help {
        error.exit();
    }
    let text = error.render().ansi().to_string().replace(UNBROKEN, " ");
    // As with clap, nobody is told that nobody reads it.
    let _ = if error.use_stderr() {
        anstream::stderr().write_all(text.as_bytes())
    } else {
        anstream::stdout().write_all(text.as_bytes())
    };
    std::process::exit(error.exit_code())
}
