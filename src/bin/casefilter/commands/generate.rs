//! The command `generate`: creates sample cases, and records that belong to them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use casefilter::Catalog;
use casefilter::sample::{self, Records};

use crate::input::kind::Kind;
use crate::output::array::Array;
use crate::output::ending::Ending;
use crate::output::failure::Failure;
use crate::output::file::{CHUNK_BYTES, Columns, to_file};
use crate::output::progress::Progress;
use crate::output::status::Status;

/// Make sample cases and records; the same arguments give the same bytes
///
/// The creation times of the cases are spread evenly over the years 2023 to 2025, oldest first. A case has about 900 bytes. The
/// output does not depend on the machine. Compressed files and Parquet files can differ between versions of casefilter. Other files
/// cannot.
///
/// With --kind the command makes the records that the service uses in addition to cases. The first records belong to the applicants
/// `anna` and `firm`. Then come the records of the applicants and AML cases in the sample cases that `generate` makes with the same
/// --cases and --seed. `casefilter import --kind` accepts them, in the order levels, applicants, documents, aml-cases.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter generate --cases 100000 -o cases.ndjson
  casefilter generate --cases 1000000 --seed 7 -o cases.ndjson.zst
  casefilter generate --cases 10000000 -o cases.parquet
  casefilter generate --cases 10 | jq .caseReview.status
  casefilter generate --kind applicants --cases 100000 -o applicants.ndjson")]
pub(crate) struct Args {
    /// Number of cases; with another --kind, the number of cases whose records are made [default: only the two fixed applicants,
    /// `anna` and `firm`]
    #[arg(long, value_name = "N")]
    cases: Option<u64>,

    /// Contents of the output
    #[arg(long, value_enum, default_value_t = Kind::Cases)]
    kind: Kind,

    /// Seed of the random numbers; a different seed makes different cases
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Output file; the ending of its name determines the format: .ndjson or .jsonl, .json (one array), each optionally followed by
    /// .gz or .zst, or .parquet; the name `-` means NDJSON on standard output [default: -]
    #[arg(short, long, value_name = "FILE|-")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let catalog = Catalog::cases();
    let columns = Columns { catalog: &catalog, order: None };
    let ending = Ending::of(output, false)?;
    if let Some(kind) = args.kind.samples() {
        if ending != Ending::Ndjson {
            return Err(Failure::Usage(
                "records are NDJSON: expected a name that ends in .ndjson or .jsonl".to_owned(),
            ));
        }
        let mut records = Some(Records::new(kind, args.cases.unwrap_or(0), args.seed));
        to_file(output, columns, &mut |out| {
            records.take().map_or(Ok(()), |records| write_records(records, out))
        })?;
        return Ok(Status::Fine);
    }
    let Some(count) = args.cases else {
        return Err(Failure::Usage("expected --cases <N>, the number of cases to make".to_owned()));
    };
    let mut cases = Some(sample::Cases::new(count, args.seed));
    to_file(output, columns, &mut |out| {
        let Some(cases) = cases.take() else { return Ok(()) };
        if ending == Ending::Json {
            let mut array = Array::new(out);
            write(cases, count, &mut array)?;
            array.finish()
        } else {
            write(cases, count, out)
        }
    })?;
    Ok(Status::Fine)
}

fn write_records(records: Records, out: &mut dyn Write) -> io::Result<()> {
    for record in records {
        out.write_all(record.as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.flush()
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
