//! `generate`: sample cases.

use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use casefilter::{Order, sample};
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use crate::Status;
use crate::args::is_stdin;
use crate::failure::Failure;
use crate::parquet::ParquetFile;
use crate::progress::Progress;

/// How much is made before it is written.
const CHUNK_BYTES: usize = 256 << 10;

/// Whether the user has interrupted the writing of a file.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

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

    /// Where to: Parquet if the name ends in .parquet, else NDJSON, compressed if it ends in .gz or .zst
    /// [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let cases = sample::Cases::new(args.cases, args.seed);
    match args.output.as_deref().filter(|path| !is_stdin(path)) {
        None => {
            write(cases, args.cases, &mut io::stdout().lock()).map_err(|error| Failure::stdout(&error))?;
        }
        Some(path) => {
            let mut cases = Some(cases);
            to_file(path, None, &mut |out| {
                cases.take().map_or(Ok(()), |cases| write(cases, args.cases, out))
            })?;
        }
    }
    Ok(Status::Fine)
}

/// Writes NDJSON.
type Fill<'f> = &'f mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// Writes NDJSON into a file, packed as its name says; see [`replace`]. The cases come in `order`, if there is one.
pub(crate) fn to_file(path: &Path, order: Option<Order>, fill: Fill<'_>) -> Result<(), Failure> {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    replace(path, &mut |file| pack(&extension.to_string_lossy(), order, fill, file))
}

/// Writes a file under a temporary name first, so that nobody ever sees half of it.
pub(crate) fn replace(
    path: &Path,
    write: &mut dyn FnMut(&mut fs::File) -> io::Result<()>,
) -> Result<(), Failure> {
    let name = path.display().to_string();
    let fail = |error: io::Error| Failure::io("cannot write", &name, &error);
    let found = fs::metadata(path).ok();
    if found.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(fail(io::ErrorKind::IsADirectory.into()));
    }
    if found.is_some_and(|found| !found.is_file()) {
        // A device or a pipe cannot be replaced.
        let mut file = fs::OpenOptions::new().write(true).open(path).map_err(fail)?;
        return match write(&mut file) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
            result => result.map_err(fail),
        };
    }
    // From here on an interruption ends the run in order, so that the temporary file is removed.
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Failed(format!("cannot listen for interruptions: {error}")))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = temporary_in(folder).map_err(fail)?;
    write(file.as_file_mut()).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}

/// A file with the rights of any other new file, removed unless it gets its name.
fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".casefilter-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(Permissions::from_mode(0o666)).tempfile_in(folder)
    }
    #[cfg(not(unix))]
    builder.tempfile_in(folder)
}

fn pack(
    extension: &str,
    order: Option<Order>,
    fill: Fill<'_>,
    out: &mut (impl Write + Send),
) -> io::Result<()> {
    match extension {
        "gz" => {
            let mut packed = GzEncoder::new(BufWriter::new(out), Compression::default());
            fill(&mut packed)?;
            packed.finish()?.flush()
        }
        "zst" => {
            let mut packed = zstd::Encoder::new(BufWriter::new(out), 3)?;
            fill(&mut packed)?;
            packed.finish()?.flush()
        }
        "parquet" => {
            let mut file = ParquetFile::new(out, order)?;
            fill(&mut file)?;
            file.finish()
        }
        _ => {
            let mut out = BufWriter::with_capacity(CHUNK_BYTES, out);
            fill(&mut out)?;
            out.flush()
        }
    }
}

fn write(mut cases: sample::Cases, count: u64, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
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
        if INTERRUPTED.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        out.write_all(&chunk)?;
        chunk.clear();
        progress.advance(made);
    }
}
