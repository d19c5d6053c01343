//! The commands, one per file, and code that several commands share.
//!
//! | commands | file |
//! |---|---|
//! | search, count, explain | `search`, `stats`, `why`, `match`, `explain`, `check`, `fields`, `bench` |
//! | databases | `import`, `export`, `delete`, `erase`, `verify`, `backup`, `compact`; `filters` and `watch` for standing filters |
//! | the service | `serve`, `health`, `token`, `sign`, `audit`; `absent` in builds without it |
//! | SQL | `sql`, `ddl` |
//! | first steps | `demo`, `generate` |
//! | shells and manuals | `completions`, `complete`, `man` |
//!
//! Several commands share `extra_columns` (arguments), `hints` and `unknown_ids` (messages on filters). They also share `scanned`
//! (requests on files without loading), `records` (imports and exports of records) and `leftovers` (old database copies).
//!
//! To add a command: add its file, and four lines here: `mod`, the variant of `Command`, its name, and its arm in `run`. If
//! `input/advice.rs` has advice for its name, remove the name from the table there. Add its name to the list in
//! `tests/cli/help.rs`, which checks that its help has a section `Examples:`. If it opens a database, also add it to the help of
//! `serve`, which a test compares with the commands.

#[cfg(not(feature = "service"))]
mod absent;
#[cfg(feature = "service")]
mod audit;
mod backup;
mod bench;
mod check;
mod compact;
mod complete;
mod completions;
mod ddl;
mod delete;
mod demo;
mod erase;
mod explain;
mod export;
mod extra_columns;
mod fields;
mod filters;
mod generate;
#[cfg(feature = "service")]
mod health;
mod hints;
mod import;
mod leftovers;
mod man;
mod r#match;
#[cfg(feature = "service")]
mod records;
mod scanned;
mod search;
#[cfg(feature = "service")]
mod serve;
#[cfg(feature = "service")]
mod sign;
mod sql;
mod stats;
#[cfg(feature = "service")]
mod token;
mod unknown_ids;
mod verify;
mod watch;
mod why;

use clap::Subcommand;

use crate::output::failure::Failure;
use crate::output::status::Status;

/// A command with its arguments.
#[derive(Subcommand)]
pub(crate) enum Command {
    Search(search::Args),
    Stats(stats::Args),
    Check(check::Args),
    Explain(explain::Args),
    Why(why::Args),
    Match(r#match::Args),
    Fields(fields::Args),
    Generate(generate::Args),
    Import(import::Args),
    Export(export::Args),
    Delete(delete::Args),
    Erase(erase::Args),
    Verify(verify::Args),
    Backup(backup::Args),
    Compact(compact::Args),
    Filters(filters::Args),
    Watch(watch::Args),
    #[cfg(feature = "service")]
    Token(token::Args),
    #[cfg(not(feature = "service"))]
    Token(absent::Args),
    #[cfg(feature = "service")]
    Sign(sign::Args),
    #[cfg(not(feature = "service"))]
    Sign(absent::Args),
    #[cfg(feature = "service")]
    Audit(audit::Args),
    #[cfg(not(feature = "service"))]
    Audit(absent::Args),
    Sql(sql::Args),
    Ddl(ddl::Args),
    #[cfg(feature = "service")]
    Serve(Box<serve::Args>),
    #[cfg(not(feature = "service"))]
    Serve(absent::Args),
    #[cfg(feature = "service")]
    Health(health::Args),
    #[cfg(not(feature = "service"))]
    Health(absent::Args),
    Bench(bench::Args),
    Demo(demo::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    Complete(complete::Args),
}

/// Returns the tree of commands. For `serve` and `health`, `--config` or its environment variable may name a configuration file.
/// Then the values of the file are the defaults of the flags of the command.
///
/// # Errors
/// Returns an error for `serve` if the file cannot be read, or is not valid. `health` then prints a note, and ignores the file.
pub(crate) fn configured(tree: clap::Command) -> Result<clap::Command, Failure> {
    #[cfg(feature = "service")]
    let tree = serve::config::configured(tree)?;
    Ok(tree)
}

impl Command {
    /// Lets a command record the origin of its settings: a flag, the environment, the file or a default. `tree` is the tree of
    /// commands that parsed the arguments.
    pub(crate) fn note_settings(&mut self, matches: &clap::ArgMatches, tree: &clap::Command) {
        #[cfg(feature = "service")]
        if let Self::Serve(args) = self {
            args.note_settings(matches, tree);
        }
        #[cfg(not(feature = "service"))]
        let _ = (matches, tree);
    }

    /// Returns the name of the command on the command line.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Search(_) => "search",
            Self::Stats(_) => "stats",
            Self::Check(_) => "check",
            Self::Explain(_) => "explain",
            Self::Why(_) => "why",
            Self::Match(_) => "match",
            Self::Fields(_) => "fields",
            Self::Generate(_) => "generate",
            Self::Import(_) => "import",
            Self::Export(_) => "export",
            Self::Delete(_) => "delete",
            Self::Erase(_) => "erase",
            Self::Verify(_) => "verify",
            Self::Backup(_) => "backup",
            Self::Compact(_) => "compact",
            Self::Filters(_) => "filters",
            Self::Watch(_) => "watch",
            Self::Token(_) => "token",
            Self::Sign(_) => "sign",
            Self::Audit(_) => "audit",
            Self::Sql(_) => "sql",
            Self::Ddl(_) => "ddl",
            Self::Serve(_) => "serve",
            Self::Health(_) => "health",
            Self::Bench(_) => "bench",
            Self::Demo(_) => "demo",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
            Self::Complete(_) => "complete",
        }
    }

    /// Runs the command. `tree` describes the program with its commands and their flags.
    pub(crate) fn run(&self, tree: impl FnOnce() -> clap::Command) -> Result<Status, Failure> {
        match self {
            Self::Search(args) => search::run(args),
            Self::Stats(args) => stats::run(args),
            Self::Check(args) => check::run(args),
            Self::Explain(args) => explain::run(args),
            Self::Why(args) => why::run(args),
            Self::Match(args) => r#match::run(args),
            Self::Fields(args) => fields::run(args),
            Self::Generate(args) => generate::run(args),
            Self::Import(args) => import::run(args),
            Self::Export(args) => export::run(args),
            Self::Delete(args) => delete::run(args),
            Self::Erase(args) => erase::run(args),
            Self::Verify(args) => verify::run(args),
            Self::Backup(args) => backup::run(args),
            Self::Compact(args) => compact::run(args),
            Self::Filters(args) => filters::run(args),
            Self::Watch(args) => watch::run(args),
            #[cfg(feature = "service")]
            Self::Token(args) => token::run(args),
            #[cfg(feature = "service")]
            Self::Sign(args) => sign::run(args),
            #[cfg(feature = "service")]
            Self::Audit(args) => audit::run(args),
            Self::Sql(args) => sql::run(args),
            Self::Ddl(args) => ddl::run(args),
            #[cfg(feature = "service")]
            Self::Serve(args) => serve::run(args),
            #[cfg(feature = "service")]
            Self::Health(args) => health::run(args),
            #[cfg(not(feature = "service"))]
            Self::Token(_) | Self::Sign(_) | Self::Audit(_) | Self::Serve(_) | Self::Health(_) => {
                absent::run(self.name())
            }
            Self::Bench(args) => bench::run(args),
            Self::Demo(args) => demo::run(args),
            Self::Completions(args) => completions::run(args, tree),
            Self::Man(args) => man::run(args, tree()),
            Self::Complete(args) => complete::run(args, &tree()),
        }
    }
}
