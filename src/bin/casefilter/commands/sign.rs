//! The command `sign`: prints the headers of a signed request, and the bytes that are signed.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use casefilter::service::{TokenFile, sign};
use chrono::{DateTime, Utc};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::output::dash::is_stdin;
use crate::output::escape::escape;
use crate::output::failure::{Failure, note};
use crate::output::status::Status;
use crate::output::stdout::Output;

/// Sign a request to a service: print its headers, and the exact bytes that are signed
///
/// If a service answers 401, compare these bytes and headers with those of the client. The log of the service has the cause of each
/// 401. The headers are written to standard output, for `curl -H @-`, and the bytes to standard error. In the bytes, control
/// characters are escaped as in `\u{a}`. If the bytes are not UTF-8, they are escaped as in Rust: `\xff`, `\n`, `\"`, `\\`. The
/// JSON also has the bytes in hexadecimal.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  casefilter sign --token dashboard.json GET /resources/applicants/6512f0/requiredIdDocsStatus
  casefilter sign --token app.json POST '/resources/api/caseManagement/v2/cases/byFilter?limit=5' @body.json |
    curl -H @- --data-binary @body.json 'http://127.0.0.1:8080/resources/api/caseManagement/v2/cases/byFilter?limit=5'")]
pub(crate) struct Args {
    /// The file with the token and its secret, as `token app -o` writes it; or a token file with one token
    #[arg(long, value_name = "FILE", env = "CASEFILTER_TOKEN")]
    token: PathBuf,

    /// Seconds since the Unix epoch, the value of X-App-Access-Ts [default: now]
    #[arg(long, value_name = "SECONDS")]
    timestamp: Option<i64>,

    /// The headers as lines, or JSON with the headers and the signed bytes
    #[arg(long, value_enum, default_value_t = Form::Headers)]
    format: Form,

    /// The method, such as POST
    method: String,

    /// The path with its query, exactly as it is sent. If a URL is given, its path and query are used
    path: String,

    /// The body: a text, @FILE for the bytes of a file, or - for standard input [default: no body]
    #[arg(allow_hyphen_values = true)]
    body: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    Headers,
    Json,
}

/// The contents of the file that `token app -o` writes.
#[derive(Deserialize)]
struct Credentials {
    token: String,
    secret: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Signed<'a> {
    headers: [(&'static str, &'a str); 3],
    /// The signed bytes, if they are UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed: Option<&'a str>,
    signed_hex: String,
}

pub(crate) fn run(args: &Args) -> Result<Status, Failure> {
    let method = args.method.as_str();
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(Failure::Usage(format!(
            "found the method `{}`, expected capital letters, such as GET or POST",
            escape(method)
        )));
    }
    let target = target_of(&args.path)?;
    let Credentials { token, secret } = credentials(&args.token)?;
    let body = args.body.as_deref().map_or(Ok(Vec::new()), body_of)?;
    let timestamp_s = args.timestamp.unwrap_or_else(|| DateTime::<Utc>::from(SystemTime::now()).timestamp());
    let signature = sign(&secret, timestamp_s, method, target, &body);
    let timestamp = timestamp_s.to_string();
    let headers = [
        ("X-App-Token", token.as_str()),
        ("X-App-Access-Ts", timestamp.as_str()),
        ("X-App-Access-Sig", signature.as_str()),
    ];
    let bytes = [timestamp.as_bytes(), method.as_bytes(), target.as_bytes(), &body].concat();
    let mut out = Output::new();
    match args.format {
        Form::Headers => {
            for (name, value) in headers {
                out.line(&format!("{name}: {value}"))?;
            }
            let shown = match str::from_utf8(&bytes) {
                Ok(text) => escape(text).into_owned(),
                Err(_) => bytes.escape_ascii().to_string(),
            };
            note(format!("signed {} bytes: {shown}\n", bytes.len()));
        }
        Form::Json => {
            let signed = str::from_utf8(&bytes).ok();
            let signed_hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            out.json(&Signed { headers, signed, signed_hex })?;
        }
    }
    out.finish()?;
    Ok(Status::Fine)
}

/// Returns the path and the query of a URL, or the path itself.
fn target_of(path: &str) -> Result<&str, Failure> {
    let rest = ["http://", "https://"].iter().find_map(|scheme| path.strip_prefix(scheme));
    let target = match rest {
        None => path,
        Some(rest) => rest.find(['/', '?']).map_or("/", |start| rest.get(start..).unwrap_or_default()),
    };
    let is_sent = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
    if target.starts_with('/') && target.bytes().all(is_sent) {
        return Ok(target);
    }
    let found = escape(path);
    Err(Failure::Usage(format!(
        "found the path `{found}`, expected one that begins with `/`, with spaces and other characters escaped as they are sent"
    )))
}

fn body_of(text: &str) -> Result<Vec<u8>, Failure> {
    if is_stdin(Path::new(text)) {
        let mut body = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut body);
        read.map_err(|error| Failure::io("cannot read", "standard input", &error))?;
        return Ok(body);
    }
    match text.strip_prefix('@') {
        Some(path) => fs::read(path).map_err(|error| Failure::io("cannot read", path, &error)),
        None => Ok(text.as_bytes().to_vec()),
    }
}

/// Reads a token with its secret. Errors never contain the secret.
fn credentials(path: &Path) -> Result<Credentials, Failure> {
    let name = path.display().to_string();
    let fail = |error: io::Error| Failure::io("cannot read", &name, &error);
    let text = fs::read(path).map_err(fail)?;
    if let Ok(credentials) = serde_json::from_slice(&text) {
        return Ok(credentials);
    }
    let file = TokenFile::read(path).ok();
    match file.as_ref().map(TokenFile::entries) {
        Some([entry]) => {
            Ok(Credentials { token: entry.token().to_owned(), secret: entry.secret().to_owned() })
        }
        Some(entries) => Err(Failure::Failed(format!(
            "{} has {} tokens, expected one, such as the file of `casefilter token app -o FILE`",
            escape(&name),
            entries.len()
        ))),
        None => Err(Failure::Failed(format!(
            "{} is not a file with a `token` and its `secret`, as `casefilter token app -o FILE` writes it",
            escape(&name)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_a_url_is_its_path_and_query() {
        for (path, expected) in
            [("/a/b?c=d", "/a/b?c=d"), ("http://host:8080/a?b", "/a?b"), ("https://host", "/"), ("/", "/")]
        {
            assert_eq!(target_of(path).ok(), Some(expected), "{path}");
        }
        for path in ["a", "", "/a b", "/a#b", "/é", "https://host?a"] {
            assert!(target_of(path).is_err(), "{path}");
        }
    }
}
