//! Opens a database, or connects to the service that has it open. Waits if another process has the database open.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use casefilter::{StoreError, StoreErrorKind};

use crate::input::service::Service;
use crate::input::{duration, holder};
use crate::output::escape::escape;
use crate::output::failure::{Failure, failed};

/// The time between two attempts to open a database that another process has open.
const PAUSE: Duration = Duration::from_millis(50);

/// The argument for the path of a service's admin socket.
#[derive(clap::Args)]
pub(crate) struct Socket {
    /// Socket of the service that has the database open, if any [default: FILE.sock]
    #[arg(long = "admin-socket", value_name = "PATH", env = "CASEFILTER_ADMIN_SOCKET")]
    pub(crate) path: Option<PathBuf>,
}

/// The arguments of commands that use a database. Another process possibly has this database open.
#[derive(clap::Args)]
pub(crate) struct Admin {
    #[command(flatten)]
    socket: Socket,

    /// Wait this long, such as 30s or 5m, for another process that has the database open [default: not at all]
    #[arg(long, value_name = duration::VALUE, value_parser = duration::seconds, env = "CASEFILTER_WAIT")]
    wait: Option<Duration>,
}

/// An open database.
pub(crate) enum Opened<T> {
    /// This process opened the database.
    Local(T),
    /// A service has the database open.
    Served(Service),
}

impl Admin {
    /// Opens a database, or connects to the service that has it open. If another process has it open, waits for at most the time of
    /// --wait.
    pub(crate) fn open<T>(
        &self,
        database: &Path,
        mut open: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<Opened<T>, Failure> {
        let start = Instant::now();
        loop {
            let error = match open() {
                Ok(opened) => return Ok(Opened::Local(opened)),
                Err(error) if error.kind() == StoreErrorKind::BeingCreated => {
                    if self.may_wait(start) {
                        continue;
                    }
                    return Err(Failure::Failed(format!(
                        "{}; {}",
                        escape(&error.to_string()),
                        self.waited()
                    )));
                }
                Err(error) if error.kind() == StoreErrorKind::InUse => error,
                Err(error) => return Err(failed(&error)),
            };
            let why = match Service::connect(database, self.socket.path.as_deref()) {
                Ok(service) => return Ok(Opened::Served(service)),
                Err(why) => why,
            };
            if !self.may_wait(start) {
                return Err(self.locked(database, &error, &why));
            }
        }
    }

    /// Waits a moment. Returns false, at once, if the time of --wait has passed since `start`.
    fn may_wait(&self, start: Instant) -> bool {
        let left = self.wait.unwrap_or_default().saturating_sub(start.elapsed());
        if !left.is_zero() {
            thread::sleep(PAUSE.min(left));
        }
        !left.is_zero()
    }

    /// Returns the failure for a locked database. It names the processes that have the database open, if they are known, and
    /// contains advice.
    fn locked(&self, database: &Path, error: &StoreError, why: &str) -> Failure {
        let name = escape(&database.display().to_string()).into_owned();
        let who = match holder::of(database) {
            Some(holders) => format!("{name}: {holders} it open"),
            None => escape(&error.to_string()).into_owned(),
        };
        Failure::Failed(format!("{who}; {}; {}", escape(why), self.waited()))
    }

    /// Returns a part of a message: the time that the command has waited, or the advice to use --wait.
    fn waited(&self) -> String {
        match self.wait {
            None => "wait for it by --wait 30s".to_owned(),
            Some(wait) => format!("waited {} s", wait.as_secs_f64()),
        }
    }
}
