//! Runs the code blocks of `docs/service.md` that start the service and call it, unchanged, with only the binary.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Returns the code block of the page after a comment.
fn block(name: &str) -> String {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/service.md")).unwrap();
    let (_, rest) = page.split_once(&format!("<!-- {name} -->\n```sh\n")).unwrap();
    rest.split_once("\n```").unwrap().0.to_owned()
}

fn run(folder: &Path, script: &str) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_casefilter"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder).env("PATH", path).stdin(Stdio::null());
    command.env_remove("CASEFILTER_DB").env_remove("CASEFILTER_ADMIN_SOCKET").output().unwrap()
}

#[test]
fn the_quick_start_works_in_an_empty_folder_and_a_second_time() {
    for tool in ["openssl", "curl"] {
        if Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
            return;
        }
    }
    let folder = TempDir::new().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let metrics = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let on_ports = |text: String| {
        text.replace("127.0.0.1:8080", &format!("127.0.0.1:{port}"))
            .replace("127.0.0.1:9100", &format!("127.0.0.1:{metrics}"))
    };
    let [service, calls, admin] = ["service", "calls", "admin"].map(|name| on_ports(block(name)));
    // The service stops in any case. Its log goes to a file, separate from the output of the calls.
    let script = format!(
        "umask 022\n{}\npid=$!\ntrap 'kill $pid; wait $pid' EXIT\n\
         for _ in $(seq 200); do curl -s http://127.0.0.1:{port}/readyz >/dev/null && break; sleep 0.1; done\n\
         {calls}\necho; echo ADMIN\n{admin}\n",
        service.replace(&format!("{metrics} &"), &format!("{metrics} 2>log &"))
    );
    assert!(script.contains("2>log &"), "{script}");
    let first = run(folder.path(), &script);
    let said = String::from_utf8_lossy(&first.stderr).into_owned();
    let out = String::from_utf8(first.stdout).unwrap();
    assert!(!said.contains("error"), "{said}");
    let (answers, administered) = out.split_once("ADMIN").unwrap();
    let answers: Vec<Value> = answers
        .lines()
        .filter(|line| line.starts_with(['{', '[']))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // The last call is `/readyz`.
    let answers = &answers[answers.len() - 10..];
    assert!(answers[0]["list"]["totalItems"].as_u64().unwrap() > 100, "{out}");
    assert_eq!(answers[0]["list"]["items"].as_array().unwrap().len(), 2);
    assert!(answers[1].as_array().unwrap().len() > 40);
    assert_eq!(answers[2]["IDENTITY"]["reviewResult"]["reviewAnswer"], "GREEN");
    assert_eq!(answers[3]["id"], "anna");
    assert_eq!(answers[4]["targetEntityId"], "anna");
    assert_eq!(answers[5]["name"], "urgent");
    assert_eq!(answers[6]["events"], serde_json::json!([]));
    assert_eq!(answers[7]["firstName"], "Юлия");
    assert_eq!(answers[8]["token"].as_str().unwrap().len(), 64);
    assert!(out.contains("casefilter_build_info"), "{out}");
    assert!(administered.contains("\"cases\":10000") || administered.contains("10000"), "{administered}");

    // All files are in one folder, which others cannot enter and git ignores.
    let made: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(made, ["demo"], "{made:?}");
    let ignored = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".gitignore")).unwrap();
    assert!(ignored.lines().any(|line| line == "/demo"), "{ignored}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &str| fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("demo"), 0o700);
        for secret in ["demo/tokens.json", "demo/app.json"] {
            assert_eq!(mode(secret), 0o600, "{secret}");
        }
    }

    // The second time there is still one token, and all calls are answered.
    let tokens = fs::read(folder.path().join("demo/tokens.json")).unwrap();
    fs::remove_file(folder.path().join("demo/monday.db")).unwrap();
    let again = run(folder.path(), &script);
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(said.contains("has a token named `me` already"), "{said}");
    assert_eq!(fs::read(folder.path().join("demo/tokens.json")).unwrap(), tokens);
    let out = String::from_utf8(again.stdout).unwrap();
    let good = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    assert!(good.clone().any(|answer| answer["firstName"] == "Юлия"), "{out}");
    assert!(!good.clone().any(|answer| answer.get("code").is_some()), "{out}");
}
