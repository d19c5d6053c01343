//! The command `man`: writes the manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use clap_mangen::Man;

use crate::output::failure::Failure;
use crate::output::file::replace;
use crate::output::status::Status;
use crate::output::stdout::Output;

/// Print a manual page, or write all manual pages to a folder
///
/// Without -o, prints the page of the program, or of one command. With -o, writes casefilter.1 and one page for each command, such
/// as casefilter-search.1.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter man -o ~/.local/share/man/man1
      then `man casefilter-search` shows the page of search
  casefilter man search | man -l -")]
pub(crate) struct Args {
    /// The command whose page is printed [default: the page of the program]
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Option<String>,

    /// Write all pages to this folder, which is created if it does not exist
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Prints or writes the pages. `tree` is the program with its commands.
pub(crate) fn run(args: &Args, tree: clap::Command) -> Result<Status, Failure> {
    let mut tree = tree.disable_help_subcommand(true);
    tree.build();
    if let Some(folder) = &args.output {
        fs::create_dir_all(folder)
            .map_err(|error| Failure::io("cannot create", &folder.display().to_string(), &error))?;
        write_all(&tree, folder)?;
        return Ok(Status::Fine);
    }
    let command = match &args.command {
        None => &tree,
        Some(name) => tree.find_subcommand(name).filter(|found| !found.is_hide_set()).ok_or_else(|| {
            Failure::Usage(format!(
                "found `{}`, expected the name of a command",
                crate::output::escape::escape(name)
            ))
        })?,
    };
    let mut out = Output::new();
    out.lines(&page(command)?)?;
    out.finish()?;
    Ok(Status::Fine)
}

/// Writes the pages of a command and of its subcommands.
fn write_all(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let text = page(command)?;
    replace(&folder.join(format!("{name}.1")), &mut |mut file| {
        std::io::Write::write_all(&mut file, text.as_bytes())
    })?;
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    commands.into_iter().try_for_each(|command| write_all(command, folder))
}

/// Returns the page of a command, in the format roff. Its examples keep their line breaks.
fn page(command: &clap::Command) -> Result<String, Failure> {
    let mut text = Vec::new();
    let title = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command.clone().after_help("").after_long_help(""));
    let man = man.title(title.to_uppercase()).source(format!("casefilter {}", env!("CARGO_PKG_VERSION")));
    man.render(&mut text).map_err(|error| Failure::Failed(error.to_string()))?;
    let mut text = String::from_utf8(text).map_err(|error| Failure::Failed(error.to_string()))?;
    if !examples.is_empty() {
        text.push_str(".SH EXAMPLES\n.nf\n");
        for line in examples.lines() {
            let line = line.replace('\\', "\\e").replace('-', "\\-");
            // At the start of a line, a dot or an apostrophe would begin a request of roff.
            let before = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
            text.push_str(&format!("{before}{line}\n"));
        }
        text.push_str(".fi\n");
    }
    Ok(text)
}
