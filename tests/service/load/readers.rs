//! The clients that read events. They go on after each restart of the service, and end at an event of a marker.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::server::{EVENTS, STREAM};
use super::connection::Connection;
use super::{Load, Tenant};

/// An event, as a client is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) number: u64,
    pub(super) filter: String,
    pub(super) kind: String,
    pub(super) id: String,
}

impl Told {
    fn new(event: &Value) -> Self {
        let text = |name: &str| event[name].as_str().unwrap().to_owned();
        let number = event["number"].as_u64().unwrap();
        Self { number, filter: text("filter"), kind: text("kind"), id: text("id") }
    }

    fn is_last(&self) -> bool {
        self.id.starts_with("marker")
    }
}

/// Returns a case that only the filter `every` of the tenant selects.
pub(super) fn marker(tenant: Tenant) -> Value {
    json!({"id": format!("marker-{}", tenant.name), "clientId": tenant.clients[0]})
}

/// Reads the events of a tenant by long polls.
pub(super) fn poll(load: &Load, tenant: Tenant) -> Vec<Told> {
    let mut connection = Connection::new(load);
    let (mut told, mut after): (Vec<Told>, _) = (Vec::new(), 0);
    while !told.last().is_some_and(Told::is_last) {
        let target = format!("{EVENTS}?after={after}&wait=5&limit=100");
        let answer = connection.call(tenant.name, "GET", &target, b"").response.good();
        told.extend(answer["events"].as_array().unwrap().iter().map(Told::new));
        let last = answer["last"].as_u64().unwrap();
        assert!(last >= after, "{answer}, after {after}");
        after = last;
    }
    told
}

/// Reads the events of a tenant from a stream. Opens it again when it has ended.
pub(super) fn stream(load: &Load, tenant: Tenant) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    while !told.last().is_some_and(Told::is_last) {
        let mut connection = Connection::new(load);
        let (epoch, after) = (load.epoch(), told.last().map_or(0, |event| event.number));
        match connection.open_stream(tenant.name, STREAM, after) {
            Ok(Ok(())) => {
                let end = read(&mut connection, &mut told);
                assert!(end.is_ok() || load.was_down_since(epoch), "{end:?}");
            }
            Ok(Err(refused)) => {
                // The permit of the previous stream may not be free yet, and a secret may have been rotated.
                let is_expected = [429, 401].contains(&refused.status) || load.was_down_since(epoch);
                assert!(is_expected, "{}", refused.text());
            }
            Err(error) => assert!(load.was_down_since(epoch), "{error}"),
        }
        connection.close();
        thread::sleep(Duration::from_millis(20));
    }
    told
}

/// Reads a stream until its end, or until the marker.
fn read(connection: &mut Connection<'_>, told: &mut Vec<Told>) -> std::io::Result<()> {
    let mut text = String::new();
    while let Some(chunk) = connection.chunk()? {
        text += &chunk;
        while let Some((block, rest)) = text.split_once("\n\n") {
            if let Some(data) = block.lines().find_map(|line| line.strip_prefix("data: ")) {
                told.push(Told::new(&serde_json::from_str(data).unwrap()));
            }
            text = rest.to_owned();
        }
        if told.last().is_some_and(Told::is_last) {
            break;
        }
    }
    Ok(())
}
