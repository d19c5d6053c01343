//! Sends HTTP requests to a service over its Unix socket.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::{Bytes, BytesMut};
use casefilter::service::AdminSocket;
use http_body_util::BodyExt;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

use super::answers::{next_frame, read_answer};
use super::pieces::{PIECES, Piece, Pieces};
use crate::output::escape::escape;
use crate::output::failure::Failure;
use crate::output::refusals::Importing;

/// A service that has a database open.
pub(crate) struct Service {
    runtime: Runtime,
    sender: SendRequest<Pieces>,
    path: PathBuf,
    database: String,
}

/// An import that is executed by a service. If it is dropped before its end, nothing is imported.
pub(crate) struct Upload {
    service: Service,
    pieces: Sender<Piece>,
    answer: Option<JoinHandle<Answer>>,
    importing: Importing,
}

type Answer = hyper::Result<(StatusCode, Bytes)>;

impl Service {
    /// Connects to the service that has a database open.
    ///
    /// # Errors
    /// Returns the reason why the connection failed, with advice.
    pub(crate) fn connect(database: &Path, socket: Option<&Path>) -> Result<Self, String> {
        let path = socket.map_or_else(|| AdminSocket::default_path(database), Path::to_owned);
        let shown = path.display();
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let connected = runtime.block_on(async {
            let (sender, connection) =
                handshake(TokioIo::new(UnixStream::connect(&path).await?)).await.map_err(io::Error::other)?;
            // An error of the connection is returned by the request that it affects.
            tokio::spawn(connection);
            io::Result::Ok(sender)
        });
        let sender = connected.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => format!(
                "no service answers at {shown} (if the socket of a service has another path, give it by --admin-socket)"
            ),
            io::ErrorKind::PermissionDenied => {
                format!("permission denied: only the user of the service may open {shown}")
            }
            _ => format!("cannot ask the service at {shown}: {error}"),
        })?;
        let database = AdminSocket::database_id(database).map_err(|error| error.to_string())?;
        let mut service = Self { runtime, sender, path, database };
        // Before sending anything else, check that the other side is a service and has this database open.
        let told: Result<IgnoredAny, Failure> = service.ask("GET", "/", Vec::new());
        told.map(|_| service).map_err(|failure| match failure {
            Failure::Failed(message) => message,
            _ => "the service does not answer".to_owned(),
        })
    }

    /// Sends a GET request.
    pub(crate) fn get<T: DeserializeOwned>(&mut self, target: &str) -> Result<T, Failure> {
        self.ask("GET", target, Vec::new())
    }

    /// Sends a request whose response consists of frames. Calls `take` for each frame as soon as it arrives. A frame consists of
    /// one byte for its kind, four bytes for the length of its contents, and its contents.
    pub(crate) fn frames(
        &mut self,
        target: &str,
        body: &impl Serialize,
        mut take: impl FnMut(u8, &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let body = serde_json::to_vec(body).map_err(|error| Failure::Failed(error.to_string()))?;
        let (pieces, request) = self.request("POST", target, "application/json")?;
        // The channel has capacity for both pieces.
        let _ = pieces.try_send(Piece::Data(body.into()));
        let _ = pieces.try_send(Piece::End);
        let response = self.runtime.block_on(self.sender.send_request(request));
        let response = response.map_err(|error| self.went(&error))?;
        let is_good = response.status().is_success();
        let mut body = response.into_body();
        let mut waiting = BytesMut::new();
        while let Some(frame) = self.runtime.block_on(body.frame()) {
            if let Ok(data) = frame.map_err(|error| self.went(&error))?.into_data() {
                waiting.extend_from_slice(&data);
            }
            while is_good && let Some((sort, bytes)) = next_frame(&mut waiting) {
                take(sort, &bytes)?;
            }
        }
        match is_good {
            true => Ok(()),
            false => read_answer::<IgnoredAny>(false, &waiting, None).map(drop),
        }
    }

    /// Sends a POST request with a JSON body.
    pub(crate) fn post<T: DeserializeOwned>(
        &mut self,
        target: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        let body = serde_json::to_vec(body).map_err(|error| Failure::Failed(error.to_string()))?;
        self.ask("POST", target, body)
    }

    fn ask<T: DeserializeOwned>(&mut self, method: &str, target: &str, body: Vec<u8>) -> Result<T, Failure> {
        let (pieces, answer) = self.send(method, target, "application/json")?;
        // The channel has capacity for both pieces. If the connection is lost, the response is an error.
        let _ = pieces.try_send(Piece::Data(body.into()));
        let _ = pieces.try_send(Piece::End);
        let answer = self.runtime.block_on(answer);
        self.read(answer.map_err(|error| Failure::Failed(error.to_string()))?, None)
    }

    /// Sends a POST request whose response is a file, and writes it to `file`. Error messages call the file `name`.
    pub(crate) fn download(&mut self, target: &str, file: &mut File, name: &str) -> Result<(), Failure> {
        let (pieces, request) = self.request("POST", target, "application/json")?;
        // The channel has capacity for this piece. If the connection is lost, the response is an error.
        let _ = pieces.try_send(Piece::End);
        let lost = |error: hyper::Error| lost(&self.path, &error);
        let answer = self.sender.send_request(request);
        self.runtime.block_on(async {
            let answer = answer.await.map_err(lost)?;
            let is_good = answer.status().is_success();
            let mut body = answer.into_body();
            if !is_good {
                let body = body.collect().await.map_err(lost)?.to_bytes();
                return read_answer::<IgnoredAny>(false, &body, None).map(drop);
            }
            while let Some(frame) = body.frame().await {
                if let Ok(data) = frame.map_err(lost)?.into_data() {
                    file.write_all(&data).map_err(|error| Failure::io("cannot write", name, &error))?;
                }
            }
            Ok(())
        })
    }

    /// Starts an import. The caller then sends the files through the returned [`Upload`].
    pub(crate) fn upload(mut self, target: &str, importing: Importing) -> Result<Upload, Failure> {
        let (pieces, answer) = self.send("POST", target, "application/vnd.casefilter.sources")?;
        Ok(Upload { service: self, pieces, answer: Some(answer), importing })
    }

    fn send(
        &mut self,
        method: &str,
        target: &str,
        content_type: &str,
    ) -> Result<(Sender<Piece>, JoinHandle<Answer>), Failure> {
        let (pieces, request) = self.request(method, target, content_type)?;
        let answer = self.sender.send_request(request);
        let answer = self.runtime.spawn(async move {
            let answer = answer.await?;
            let status = answer.status();
            Ok((status, answer.into_body().collect().await?.to_bytes()))
        });
        Ok((pieces, answer))
    }

    /// Returns a request that can be sent immediately, and the sender of its body.
    fn request(
        &mut self,
        method: &str,
        target: &str,
        content_type: &str,
    ) -> Result<(Sender<Piece>, Request<Pieces>), Failure> {
        let (pieces, body) = channel(PIECES);
        let request = self.message(method, target, content_type, body)?;
        let ready = self.runtime.block_on(self.sender.ready());
        ready.map_err(|error| lost(&self.path, &error))?;
        Ok((pieces, request))
    }

    fn message(
        &self,
        method: &str,
        target: &str,
        content_type: &str,
        body: Receiver<Piece>,
    ) -> Result<Request<Pieces>, Failure> {
        let request = Request::builder()
            .method(method)
            .uri(target)
            .header("Host", "casefilter")
            .header("Content-Type", content_type)
            .header("X-Casefilter-Database", &self.database)
            .body(Pieces(body));
        request.map_err(|error| Failure::Failed(error.to_string()))
    }

    /// Returns the error for a connection that was closed before the response was complete.
    fn went(&self, error: &hyper::Error) -> Failure {
        let path = self.path.display().to_string();
        Failure::Failed(format!(
            "the service at {} ended or disconnected before its answer was complete ({error})",
            escape(&path)
        ))
    }

    fn read<T: DeserializeOwned>(&self, answer: Answer, importing: Option<Importing>) -> Result<T, Failure> {
        let (status, body) = answer.map_err(|error| lost(&self.path, &error))?;
        read_answer(status.is_success(), &body, importing)
    }
}

fn lost(path: &Path, error: &hyper::Error) -> Failure {
    let path = path.display().to_string();
    Failure::Failed(format!(
        "the service at {} ended or disconnected before it answered ({error}): the request was carried out completely, or not at all",
        escape(&path)
    ))
}

impl Upload {
    /// Starts the next file of the import.
    pub(crate) fn begin(&mut self, name: &str, is_parquet: bool) -> Result<(), Failure> {
        self.frame(if is_parquet { b'P' } else { b'T' }, name.as_bytes())
    }

    /// Sends the next bytes of the file.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() { Ok(()) } else { self.frame(b'D', bytes) }
    }

    fn frame(&mut self, sort: u8, bytes: &[u8]) -> Result<(), Failure> {
        let length =
            u32::try_from(bytes.len()).map_err(|_| Failure::Failed("a piece is too long".to_owned()))?;
        let mut frame = Vec::with_capacity(bytes.len().saturating_add(5));
        frame.push(sort);
        frame.extend_from_slice(&length.to_be_bytes());
        frame.extend_from_slice(bytes);
        match self.pieces.blocking_send(Piece::Data(frame.into())) {
            Ok(()) => Ok(()),
            Err(_) => Err(match self.answer::<IgnoredAny>() {
                Ok(_) => Failure::Failed(
                    "the service answered before it had received the complete request".to_owned(),
                ),
                Err(failure) => failure,
            }),
        }
    }

    /// Ends the import, and waits for the response.
    pub(crate) fn finish<T: DeserializeOwned>(mut self) -> Result<T, Failure> {
        let _ = self.pieces.blocking_send(Piece::End);
        self.answer()
    }

    fn answer<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let answer = self.answer.take().map(|answer| self.service.runtime.block_on(answer));
        match answer {
            Some(Ok(answer)) => self.service.read(answer, Some(self.importing)),
            _ => Err(Failure::Failed("the service did not answer".to_owned())),
        }
    }
}
