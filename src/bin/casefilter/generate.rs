//! `generate`: sample cases.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use casefilter::sample;

use crate::Status;
use crate::array::Array;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::file::{CHUNK_BYTES, to_file};
use crate::progress::Progress;

/// Make sample cases, the same bytes for the same arguments
///
/// Cases lie evenly over the years 2023 to 2025, oldest first, about 900 bytes each. The bytes
/// depend on --cases and --seed only: not on the machine, and, but for compression and Parquet, not on
/// the version of casefilter.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter generate --cases 100000 -o cases.ndjson
  casefilter generate --cases 1000000 --seed 7 -o cases.ndjson.zst
  casefilter generate --cases 10000000 -o cases.parquet
  casefilter generate --cases 10 | jq .caseReview.status")]
pub(crate) struct Args {
    /// How many
    #[arg(long, value_name = "N")]
    cases: u64,

    /// Other cases for every seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Output file: NDJSON if the name ends in .ndjson or .jsonl, a JSON array if in .json, each compressed if .gz or .zst comes
    /// after it; Parquet if it ends in .parquet; - for NDJSON on standard output [default: -]
    #[arg(short, long, value_name = "FILE|-")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let mut cases = Some(sample::Cases::new(args.cases, args.seed));
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let ending = Ending::of(output, false)?;
    to_file(output, None, &mut |out| {
        let Some(cases) = cases.take() else { return Ok(()) };
        if ending == Ending::Json {
            let mut array = Array::new(out);
            write(cases, args.cases, &mut array)?;
            array.finish()
        } else {
            write(cases, args.cases, out)
        }
    })?;
    Ok(Status::Fine)
}

fn write(mut cases: sample::Cases, count: u64, out: &mut dyn Write) -> io::Result<()> {
    let progress = Progress::of_cases(count);
    progress.say("making".to_owned());
    let mut chunk = Vec::with_capacity(CHUNK_BYTES.saturating_add(4096));
    loop {
        let mut made = 0_u64;
        while chunk.len() < CHUNK_BYTES && cases.write_next(&mut chunk) {
            chunk.push(b'\n');
            made = made.saturating_add(1);
        }
        if made == 0 {
            return out.flush();
        }
        out.write_all(&chunk)?;
        chunk.clear();
        progress.advance(made);
    }
}
