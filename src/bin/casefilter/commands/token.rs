//! The command `token`: creates and lists share tokens for profiles; creates, lists, rotates and revokes app tokens for clients of
//! the service.

mod app;
mod common;
mod file;
mod list;
mod revoke;
mod rotate;
mod share;
mod shares;

use crate::output::failure::Failure;
use crate::output::status::Status;

/// Make, list, rotate and revoke tokens
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    token: Token,
}

#[derive(clap::Subcommand)]
enum Token {
    Share(share::Share),
    Shares(shares::Shares),
    App(app::App),
    List(list::List),
    Rotate(rotate::Rotate),
    Revoke(revoke::Revoke),
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    match &args.token {
        Token::Share(args) => share::share(args),
        Token::Shares(args) => shares::shares(args),
        Token::App(args) => app::app(args),
        Token::List(args) => list::list(args),
        Token::Rotate(args) => rotate::rotate(args),
        Token::Revoke(args) => revoke::revoke(args),
    }
}
