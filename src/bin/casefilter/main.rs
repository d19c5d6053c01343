//! The command-line program of casefilter: parses the arguments and runs the command. The commands are in `commands/`.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

/// The memory allocator of the program. The allocator of glibc keeps memory for each thread, so a service would not return freed
/// memory to the system. docs/service.md contains measurements.
#[cfg(all(feature = "jemalloc", target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod commands;
mod input;
mod output;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use casefilter::Store;
use clap::{CommandFactory, Parser};

use commands::Command;
use input::help;
use output::failure::Failure;

#[derive(Parser)]
#[command(name = "casefilter", version, about, after_help = FIRST_STEPS, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The text below the list of commands in the help: the first commands to try, and the exit statuses.
const FIRST_STEPS: &str = "\
First steps:
  casefilter demo
      shows what casefilter does, in one minute
  casefilter generate --cases 100000 -o cases.ndjson
      makes sample cases
  casefilter fields
      lists the fields that a filter can name
  casefilter search cases.ndjson --where 'status = open and priority = high' --order -createdAt
      finds cases, newest first
  casefilter import --db cases.db cases.ndjson
      stores cases in a database, which opens fast and is searched like a file
  casefilter serve --db cases.db --tokens tokens.json
      answers over HTTP; `casefilter token app` makes tokens
  casefilter check --where 'status = opne'
      shows the meaning of a filter, or its errors
  casefilter why cases.ndjson --id c-17 --where 'priority = high'
      shows why a case is selected, or is not
  casefilter explain cases.ndjson --where 'priority = high' --analyze
      shows how the answer is found, and what that costs

On a terminal the output is a table, in a pipe it is JSON; --format decides
otherwise. Exit status: 0 done, even when no case is found; 1 could not be done;
2 wrong usage or a filter that does not compile, a bad line of --requests only under
--fail-on-error; 3 case data rejected, or left out under --lenient; 4 a filter with
warnings under check --deny-warnings; 5 and 6 only of audit replay.";

/// The source location of the last panic of this process, except for panics that the store catches.
static PANICKED_AT: Mutex<Option<String>> = Mutex::new(None);

/// Runs the command. A panic of this program is reported like any other error. The store converts panics of redb, its database
/// library, to errors.
fn main() -> ExitCode {
    let tree = match commands::configured(Cli::command()) {
        Ok(tree) => tree,
        Err(failure) => return failure.report(),
    };
    let (cli, matches) = help::parse::<Cli>(tree.clone());
    let mut command = cli.command;
    command.note_settings(&matches, &tree);
    std::panic::set_hook(Box::new(|panic| {
        if !Store::catches_panics() {
            let place = panic.location().map(ToString::to_string);
            *PANICKED_AT.lock().unwrap_or_else(PoisonError::into_inner) = place;
        }
    }));
    catch_unwind(AssertUnwindSafe(|| run(&command))).unwrap_or_else(|_panic| {
        let place = PANICKED_AT.lock().unwrap_or_else(PoisonError::into_inner).take();
        let place = place.unwrap_or_else(|| "an unknown place".to_owned());
        let message = format!("stopped by a bug in casefilter, at {place}; please report it");
        Failure::Failed(message).report()
    })
}

fn run(command: &Command) -> ExitCode {
    match command.run(Cli::command) {
        Ok(status) => status.into(),
        Err(Failure::Usage(message)) => wrong_usage(command.name(), &message),
        Err(failure) => failure.report(),
    }
}

/// Prints an error and ends the process, as clap does for wrong arguments of a subcommand.
fn wrong_usage(subcommand: &str, message: &str) -> ! {
    let mut cli = Cli::command();
    cli.build();
    let command = cli.find_subcommand_mut(subcommand).map(std::mem::take).unwrap_or_default();
    command
        .bin_name(format!("casefilter {subcommand}"))
        .error(clap::error::ErrorKind::ArgumentConflict, message)
        .exit()
}
