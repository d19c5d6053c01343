//! Bodies of unverified requests are spooled to temporary files: a forged signature blocks no other request and takes no memory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use casefilter::service::ServiceOptions;
use tempfile::TempDir;

use super::client::{Client, Key, head};
use super::process::Process;
use super::server::{Database, SEARCH, Server, changed, info_of, key};

const BODY: &[u8] = br#"{"ids":["x"]}"#;

/// The largest body by default.
const LARGEST: usize = 4 << 20;

fn options() -> ServiceOptions {
    ServiceOptions::default()
}

/// Returns a body with trailing spaces.
fn padded(len: usize) -> Vec<u8> {
    let mut body = BODY.to_vec();
    body.resize(len, b' ');
    body
}

/// Returns the key of a client that knows a token but not its secret.
fn forged(key: &Key) -> Key {
    Key { secret: "a secret that is not the right one".to_owned(), ..key.clone() }
}

/// Connects from the given loopback address, so that the service sees another peer.
fn client_at(address: [u8; 4], server: &Server) -> Client {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((address, 0).into()).unwrap();
        socket.connect(server.address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    Client::of(stream)
}

#[test]
fn forged_bodies_leave_space_for_the_same_token_at_other_peers() {
    // Half of it, eight bodies, is for a token at one peer.
    let server =
        Server::with("plain.cases.ndjson", changed(options(), |options| options.spooled_bytes = 64 << 20));
    let own = key("own");
    let forged = Key { secret: "a secret that is not the right one".to_owned(), ..own.clone() };
    let large = vec![b' '; (4 << 20) - 1];
    let mut padded = BODY.to_vec();
    padded.resize(4 << 20, b' ');
    let start = Instant::now();
    let send = || {
        let mut client = client_at([127, 0, 0, 2], &server);
        let head = head(&forged, "POST", SEARCH, &large);
        client.send(format!("{head}\r\n").as_bytes()).unwrap();
        // Some are rejected while they are sent.
        let _ = client.send(&large[1..]);
        client
    };
    // Once they are read, the token cannot send a large body from the same peer, but it can from another one.
    let is_refused = || {
        let mut client = client_at([127, 0, 0, 2], &server);
        client.send(format!("{}\r\n", head(&own, "POST", SEARCH, &padded)).as_bytes()).unwrap();
        // The body is rejected while it is sent.
        let _ = client.send(&padded);
        client.receive().map_or(503, |answer| answer.status) == 503
    };
    // One after the other: bodies that grow at the same time may all be rejected.
    let mut held = vec![send()];
    while !is_refused() {
        assert!(start.elapsed() < options().read_timeout, "the forged bodies use no space");
        held.push(send());
    }
    client_at([127, 0, 0, 3], &server).call(&own, "POST", SEARCH, &padded).good();
    server.client().call(&own, "POST", SEARCH, &padded).good();
    client_at([127, 0, 0, 2], &server).call(&own, "POST", SEARCH, BODY).good();
    assert!(start.elapsed() < options().read_timeout, "the space of the forged bodies is not released");
    drop(held);
    server.stop();
}

/// Returns the value of a line of /proc/PID/status, in bytes.
fn memory_of(process: &Process, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Returns the modes and lengths of the open files of a process that are or were in a folder.
fn open_files(process: &Process, folder: &Path) -> Vec<(u32, u64)> {
    let links = fs::read_dir(format!("/proc/{}/fd", process.child.id())).unwrap().flatten();
    let own = links.filter(|link| fs::read_link(link.path()).is_ok_and(|target| target.starts_with(folder)));
    own.filter_map(|link| fs::metadata(link.path()).ok()).map(|found| (found.mode(), found.len())).collect()
}

#[test]
fn forged_large_bodies_block_no_other_request_and_take_no_memory() {
    const FORGERS: usize = 64;
    let database = Database::new("plain.cases.ndjson");
    let folder = TempDir::new().unwrap();
    let folder = fs::canonicalize(folder.path()).unwrap();
    let process =
        Process::start(&database, &["--spool-dir", folder.to_str().unwrap(), "--read-timeout", "60s"]);
    let (all, own) = (key("all"), key("own"));
    // The same token and another one, at the same peer.
    let honest = || {
        thread::scope(|scope| {
            for key in [&own, &all] {
                for body in [BODY.to_vec(), padded(LARGEST)] {
                    let process = &process;
                    scope.spawn(move || {
                        for _ in 0..20 {
                            process.client().call(key, "POST", SEARCH, &body).good();
                            thread::sleep(Duration::from_millis(50));
                        }
                    });
                }
            }
        });
    };
    honest();
    let before = memory_of(&process, "VmHWM");
    let large = vec![b' '; LARGEST];
    let mut forgers: Vec<Client> = (0..FORGERS).map(|_| process.client()).collect();
    let forged_head = format!("{}\r\n", head(&forged(&own), "POST", SEARCH, &large));
    // While the forged bodies arrive and are held.
    thread::scope(|scope| {
        scope.spawn(honest);
        for forger in &mut forgers {
            forger.send(forged_head.as_bytes()).unwrap();
        }
        for piece in large[1..].chunks(128 << 10) {
            for forger in &mut forgers {
                forger.send(piece).unwrap();
            }
        }
    });
    let files = open_files(&process, &folder);
    assert_eq!(files.len(), FORGERS);
    for (mode, len) in files {
        assert_eq!(mode & 0o7777, 0o600);
        assert!((3 << 20..=4 << 20).contains(&len), "{len} bytes");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "the files have no names");
    for key in [&own, &all] {
        process.client().call(key, "POST", SEARCH, BODY).good();
        process.client().call(key, "POST", SEARCH, &padded(LARGEST)).good();
    }
    // The forged bodies have 256 MiB. Each may take a read buffer of 64 KiB and 32 KiB more. The memory that the allocator keeps
    // after the first load differs from run to run: 28 to 55 MiB more than before were measured.
    let peak = memory_of(&process, "VmHWM").saturating_sub(before);
    assert!(peak < 96 << 20, "{peak} bytes more than before");
    for mut forger in forgers {
        forger.send(b" ").unwrap();
        forger.receive().unwrap().failure(401);
    }
    let start = Instant::now();
    while !open_files(&process, &folder).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(5), "the files are still open");
        thread::sleep(Duration::from_millis(10));
    }
    process.terminate();
}

#[test]
fn a_folder_that_cannot_be_written_rejects_large_bodies_only() {
    let database = Database::new("plain.cases.ndjson");
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("spool");
    fs::create_dir(&path).unwrap();
    let process = Process::start(&database, &["--spool-dir", path.to_str().unwrap()]);
    fs::remove_dir(&path).unwrap();
    let (all, large) = (key("all"), padded(1 << 20));
    let answer = process.client().call(&all, "POST", SEARCH, &large);
    let description = answer.failure(503);
    assert!(description.contains("cannot keep a body of this size"), "{description}");
    assert_eq!(answer.code(), (5034, "BodySpoolException".to_owned()));
    assert_eq!((answer.header("retry-after"), answer.header("connection")), (Some("1"), Some("close")));
    // The response does not reveal which tokens exist.
    let unknown = Key { token: "token-of-nobody".to_owned(), ..all.clone() };
    assert_eq!(process.client().call(&unknown, "POST", SEARCH, &large).code(), answer.code());
    // Nothing else is affected.
    let mut client = process.client();
    client.call(&all, "POST", SEARCH, BODY).good();
    client.call(&all, "PATCH", &info_of("anna"), b"{\"stateOfBirth\":\"here\"}").good();
    assert!(!client.get("/readyz").text().contains("failing"));
    fs::create_dir(&path).unwrap();
    process.client().call(&all, "POST", SEARCH, &large).good();
    process.client().call(&unknown, "POST", SEARCH, &large).failure(401);
    let log = process.terminate();
    assert!(log.contains("cannot write a temporary file for a request body in"), "{log}");
}

#[test]
fn every_size_of_body_is_verified_and_read_back() {
    let server = Server::start();
    let all = key("all");
    let server = &server;
    for len in [32 << 10, (32 << 10) + 1, 65 << 10, 200_000, 1 << 20, LARGEST] {
        let mut body = format!("{{\"ids\":[\"{}\",\"x\"]}}", "0".repeat(200)).into_bytes();
        body.resize(len, b' ');
        // In one part, in two, and in small parts.
        for part in [len, len / 2 + 1, 1000] {
            let mut client = server.client();
            client.send(format!("{}\r\n", head(&all, "POST", SEARCH, &body)).as_bytes()).unwrap();
            for part in body.chunks(part) {
                client.send(part).unwrap();
            }
            client.receive().unwrap().good();
            // The connection is still usable. A changed byte is found wherever it is.
            for at in [len - 1, len / 2, 300] {
                client.send(format!("{}\r\n", head(&all, "POST", SEARCH, &body)).as_bytes()).unwrap();
                let mut changed = body.clone();
                changed[at] = b'\n';
                client.send(&changed).unwrap();
                client.receive().unwrap().failure(401);
            }
        }
    }
}
