//! The command line of casefilter. `casefilter --help` explains it.

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

mod commands;
mod input;
mod output;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use casefilter::store_catches_panics;
use clap::{CommandFactory, Parser, Subcommand};

use commands::{
    backup, bench, check, compact, ddl, demo, explain, export, fields, generate, import, search, serve, sql,
    token, verify, why,
};
use input::help;
use output::failure::{self, Failure};

#[derive(Parser)]
#[command(name = "casefilter", version, about, after_help = FIRST_STEPS, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Filters compliance cases by nested JSON criteria.
const FIRST_STEPS: &str = "\
First steps:
  casefilter demo
      what it does, in one minute
  casefilter generate --cases 100000 -o cases.ndjson
      sample cases to try things on
  casefilter fields
      what can be filtered by
  casefilter search cases.ndjson --where 'status = open and priority = high' --order -createdAt
      cases that are selected, in an order
  casefilter import --db cases.db cases.ndjson
      into a database, which opens at once and can be searched like a file
  casefilter serve --db cases.db --tokens tokens.json
      answers over HTTP; make tokens by `casefilter token app`
  casefilter check --where 'status = opne'
      what a filter means, or where it is wrong
  casefilter why cases.ndjson --id c-17 --where 'priority = high'
      why a case is selected, or is not
  casefilter explain cases.ndjson --where 'priority = high' --analyze
      how the answer is found, and what that costs

On a terminal the output is a table, in a pipe it is JSON; --format decides
otherwise. Exit status: 0 fine; 1 could not be done; 2 wrong usage or a filter
that does not compile; 3 case data refused, or left out under --lenient; 4 a filter
with warnings under check --deny-warnings.";

#[derive(Subcommand)]
enum Command {
    Search(search::Args),
    Check(check::Args),
    Explain(explain::Args),
    Why(why::Args),
    Fields(fields::Args),
    Generate(generate::Args),
    Import(import::Args),
    Export(export::Args),
    Verify(verify::Args),
    Backup(backup::Args),
    Compact(compact::Args),
    Token(token::Args),
    Sql(sql::Args),
    Ddl(ddl::Args),
    Serve(serve::Args),
    Bench(bench::Args),
    Demo(demo::Args),
}

/// What the process says when it could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// All well.
    Fine,
    /// A filter did not compile; standard output says so.
    BadFilter,
    /// Case data was left out.
    LeftOut,
    /// A filter has warnings, and they were to be denied.
    Warned,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Fine => Self::SUCCESS,
            Status::BadFilter => Self::from(failure::BAD_REQUEST),
            Status::LeftOut => Self::from(failure::REFUSED),
            Status::Warned => Self::from(failure::WARNED),
        }
    }
}

/// Where this process panicked last, if the store did not catch it.
static PANICKED_AT: Mutex<Option<String>> = Mutex::new(None);

/// Runs the command. A panic of this program is told as an error like others; the store turns those of its library into errors.
fn main() -> ExitCode {
    let command = help::parse::<Cli>().command;
    std::panic::set_hook(Box::new(|panic| {
        if !store_catches_panics() {
            let place = panic.location().map(ToString::to_string);
            *PANICKED_AT.lock().unwrap_or_else(PoisonError::into_inner) = place;
        }
    }));
    catch_unwind(AssertUnwindSafe(|| run(command))).unwrap_or_else(|_panic| {
        let place = PANICKED_AT.lock().unwrap_or_else(PoisonError::into_inner).take();
        let place = place.unwrap_or_else(|| "a place that is not known".to_owned());
        let message = format!("stopped by a fault in casefilter itself, at {place}; please report it");
        Failure::Failed(message).report()
    })
}

fn run(command: Command) -> ExitCode {
    let (name, result) = match command {
        Command::Search(args) => ("search", search::run(&args)),
        Command::Check(args) => ("check", check::run(&args)),
        Command::Explain(args) => ("explain", explain::run(&args)),
        Command::Why(args) => ("why", why::run(&args)),
        Command::Fields(args) => ("fields", fields::run(&args)),
        Command::Generate(args) => ("generate", generate::run(&args)),
        Command::Import(args) => ("import", import::run(&args)),
        Command::Export(args) => ("export", export::run(&args)),
        Command::Verify(args) => ("verify", verify::run(&args)),
        Command::Backup(args) => ("backup", backup::run(&args)),
        Command::Compact(args) => ("compact", compact::run(&args)),
        Command::Token(args) => ("token", token::run(&args)),
        Command::Sql(args) => ("sql", sql::run(&args)),
        Command::Ddl(args) => ("ddl", ddl::run(&args)),
        Command::Serve(args) => ("serve", serve::run(&args)),
        Command::Bench(args) => ("bench", bench::run(&args)),
        Command::Demo(args) => ("demo", demo::run(&args)),
    };
    match result {
        Ok(status) => status.into(),
        Err(Failure::Usage(message)) => wrong_usage(name, &message),
        Err(failure) => failure.report(),
    }
}

/// Ends as clap does when it finds the arguments of a subcommand wrong.
fn wrong_usage(subcommand: &str, message: &str) -> ! {
    let mut cli = Cli::command();
    cli.build();
    let command = cli.find_subcommand_mut(subcommand).map(std::mem::take).unwrap_or_default();
    command
        .bin_name(format!("casefilter {subcommand}"))
        .error(clap::error::ErrorKind::ArgumentConflict, message)
        .exit()
}
