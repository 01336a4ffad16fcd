//! Applications behind the proxies: commands that serve plain HTTP/1.1 on a given port.
//!
//! A user's application is a command in the study file. The applications of `apps/` have a name, and an entry in [`ALL`].

mod go;
mod image_registry;
mod known;

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hoptax_host::child::{Child, ChildSpec};
use hoptax_host::process_state;
use hoptax_host::sockets;
use hoptax_host::unassigned_port::UnassignedPort;

use crate::origin::{OriginError, OriginProcess};
use crate::placeholders::{FOLDER, filled};
use crate::program;
use known::Known;

/// The applications that come with hoptax.
pub static ALL: [&Known; 2] = [&go::GO, &image_registry::IMAGE_REGISTRY];

/// The folder in the repository in which applications are built.
const BUILT: &str = ".tools/bin";
/// Time limit for an application to be ready. Some load much data before they listen.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// If another process has the port of a command, the command may sleep for this long before it notices and ends. While it works, or waits
/// for a processor, it may still be about to listen.
const HAND_OVER: Duration = Duration::from_secs(3);
/// Time limit for the response to a readiness request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval of polling for readiness.
const POLL: Duration = Duration::from_millis(4);
/// Number of ports to try: another process may bind the chosen port before the application listens on it.
const PORTS: usize = 3;

/// Placeholders of a command.
const PORT: &str = "{port}";
const HOST: &str = "{host}";

/// An application that is started for a study. Two are equal if they are started in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// The program and its arguments, with placeholders.
    command: Vec<String>,
    /// The path that responds with success once the application is ready; none if it is ready when it listens.
    ready: Option<String>,
    known: Option<&'static Known>,
}

impl Application {
    /// The application of `apps/` with this name.
    pub fn named(name: &str) -> Option<Self> {
        let known = *ALL.iter().find(|known| known.name == name)?;
        let command = std::iter::once(known.program).chain(known.arguments.iter().copied());
        Some(Self { command: command.map(str::to_owned).collect(), ready: None, known: Some(known) })
    }

    /// The application of `apps/` that performs functions with these flags.
    pub fn with_flags(flags: &[String]) -> Option<Self> {
        let supports = |known: &&&Known| flags.iter().all(|flag| known.flags.contains(&flag.as_str()));
        Self::named(ALL.iter().find(supports)?.name)
    }

    /// An application of the user. `ready` is the path that responds with success once the application is ready.
    ///
    /// # Errors
    /// When the command has no argument with a port.
    pub fn from_command(command: &[String], ready: Option<&str>) -> Result<Self, String> {
        if !command.iter().skip(1).any(|argument| argument.contains(PORT)) {
            return Err(format!(
                "the command does not say where its port belongs: add an argument with `{PORT}`, such as `--port={PORT}`"
            ));
        }
        Ok(Self { command: command.to_vec(), ready: ready.map(str::to_owned), known: None })
    }

    /// Its name in results: its name in `apps/`, or its command.
    pub fn name(&self) -> String {
        self.known.map_or_else(|| self.command.join(" "), |known| known.name.to_owned())
    }

    /// A short name for sentences and lists: its name in `apps/`, or its program.
    pub fn short_name(&self) -> &str {
        self.known.map_or_else(|| self.program_name(), |known| known.name)
    }

    /// Returns the advice for a missing program.
    pub fn remedy(&self) -> &'static str {
        self.known.map_or("install it, or correct `command`", |known| known.remedy)
    }

    /// Returns true if functions may add this flag to its command.
    pub fn has_flag(&self, flag: &str) -> bool {
        self.known.is_some_and(|known| known.flags.contains(&flag))
    }

    /// The name of its program, as in its command.
    pub fn program_name(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// The path of its program; none if it is missing. `folder` is that of the study file.
    pub fn program(&self, folder: &Path) -> Option<PathBuf> {
        self.program_in(folder, &env::var_os("PATH").unwrap_or_default())
    }

    /// Like [`Self::program`], with the folders of `search_path`, in the format of `PATH`.
    pub fn program_in(&self, folder: &Path, search_path: &OsStr) -> Option<PathBuf> {
        let name = self.program_name();
        let built = self.known.map(|_| Path::new(BUILT).join(name)).filter(|path| path.is_file());
        built.or_else(|| program::find(name, folder, search_path))?.canonicalize().ok()
    }

    /// The files among its arguments that determine its behaviour, by their names in the arguments. `folder` is that of the study file.
    pub fn inputs(&self, folder: &Path) -> BTreeMap<String, PathBuf> {
        program::inputs_of_command(&self.command, folder)
    }

    /// Starts it on `listen` with more flags, and waits until it is ready. Its log is truncated. `folder` is that of the
    /// study file.
    ///
    /// # Errors
    /// When its program is missing or cannot be executed, when it exits, and when it is not ready in time.
    pub fn start(
        &self,
        folder: &Path,
        listen: IpAddr,
        flags: &[(String, String)],
        log: &Path,
        processors: &[u32],
    ) -> Result<OriginProcess, OriginError> {
        let program = self.program(folder).ok_or_else(|| OriginError::NoProgram {
            program: self.program_name().to_owned(),
            remedy: self.remedy(),
        })?;
        self.start_at(&program, || Port::choose(listen), flags, folder, log, processors)
    }

    /// Starts it like [`Self::start`], on a port from `choose`. Tries another port if a process has taken the first one since it was
    /// chosen.
    fn start_at(
        &self,
        program: &Path,
        mut choose: impl FnMut() -> io::Result<Port>,
        flags: &[(String, String)],
        folder: &Path,
        log: &Path,
        processors: &[u32],
    ) -> Result<OriginProcess, OriginError> {
        let run_error = |source| OriginError::Run { program: program.to_owned(), source };
        let mut tried = 0;
        loop {
            let Port { address, _kept } = choose().map_err(run_error)?;
            tried += 1;
            std::fs::write(log, "").map_err(run_error)?;
            let spec = ChildSpec {
                program: program.to_owned(),
                arguments: self.arguments(folder, address, flags),
                environment: Vec::new(),
                log: log.to_owned(),
                processors: processors.to_vec(),
            };
            let child = Child::start(&spec).map_err(run_error)?;
            let mut process = OriginProcess::new(child, program.to_owned(), address);
            match self.wait(&mut process, log) {
                Ok(()) => return Ok(process),
                Err(OriginError::Ended { .. }) if tried < PORTS && is_taken(address) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn arguments(&self, folder: &Path, address: SocketAddr, flags: &[(String, String)]) -> Vec<OsString> {
        let (port, host) = (address.port().to_string(), address.ip().to_string());
        let folder = folder.to_string_lossy();
        let values = [(PORT, port.as_str()), (HOST, host.as_str()), (FOLDER, &*folder)];
        let own = self.command.iter().skip(1).map(|argument| filled(argument, &values));
        let more = flags.iter().flat_map(|(name, value)| [format!("--{name}"), value.clone()]);
        own.chain(more).map(OsString::from).collect()
    }

    fn wait(&self, process: &mut OriginProcess, log: &Path) -> Result<(), OriginError> {
        let began = Instant::now();
        loop {
            process.check()?;
            let is_ready = match &self.ready {
                None => TcpStream::connect(process.address).is_ok(),
                Some(path) => answers(process.address, path),
            };
            if is_ready {
                return end_of_another(process);
            }
            if began.elapsed() > START_TIMEOUT {
                return Err(OriginError::NotListening {
                    seconds: START_TIMEOUT.as_secs(),
                    log: log.to_owned(),
                });
            }
            std::thread::sleep(POLL);
        }
    }
}

/// Displays it in a sentence.
impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known {
            Some(known) => f.write_str(known.title),
            None => write!(f, "the application `{}`", self.program_name()),
        }
    }
}

/// Fails if a process ends although something responds on its port: another process then has the port.
///
/// If the process or one of its descendants listens, the response came from it. A command that hands over to a server elsewhere, such as in
/// a container, does not listen itself, so it gets time to end in case it cannot bind the port.
fn end_of_another(process: &mut OriginProcess) -> Result<(), OriginError> {
    let (began, mut asleep) = (Instant::now(), Duration::ZERO);
    loop {
        process.check()?;
        let is_own = sockets::listens(process.id(), process.address.port()).unwrap_or(false);
        if is_own || asleep > HAND_OVER || began.elapsed() > START_TIMEOUT {
            return Ok(());
        }
        std::thread::sleep(POLL);
        asleep += if process_state::sleeps(process.id()) { POLL } else { Duration::ZERO };
    }
}

/// A port for an application.
struct Port {
    address: SocketAddr,
    /// Reserves the port until the application listens; none if the port is only known to be free a moment ago.
    _kept: Option<UnassignedPort>,
}

impl Port {
    fn choose(listen: IpAddr) -> io::Result<Self> {
        let kept = UnassignedPort::choose(listen)?;
        let address = match &kept {
            Some(port) => port.address(),
            None => TcpListener::bind(SocketAddr::new(listen, 0))?.local_addr()?,
        };
        Ok(Self { address, _kept: kept })
    }
}

/// Returns true if a process listens on an address.
fn is_taken(address: SocketAddr) -> bool {
    TcpListener::bind(address).is_err()
}

/// Returns true if a GET request for a path gets a status below 400.
fn answers(address: SocketAddr, path: &str) -> bool {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(ANSWER_TIMEOUT))
        .proxy(None)
        // A redirect already counts as a response, and may lead elsewhere.
        .max_redirects(0)
        .build()
        .into();
    agent.get(format!("http://{address}{path}")).call().is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn command(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    /// Starts a shell script that serves with Python, like a user's application.
    fn start(script: &str, ready: Option<&str>) -> Result<OriginProcess, OriginError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("server.sh"), script).unwrap();
        let application =
            Application::from_command(&command(&["sh", "{folder}/server.sh", "{port}", "{host}"]), ready)
                .unwrap();
        let inputs = application.inputs(folder.path());
        assert_eq!(inputs, [("server.sh".to_owned(), folder.path().join("server.sh"))].into());
        let log = folder.path().join("log");
        application.start(folder.path(), [127, 0, 0, 1].into(), &[], &log, &[])
    }

    #[test]
    fn a_command_without_a_port_is_refused() {
        let error = Application::from_command(&command(&["./{port}", "--listen"]), None).unwrap_err();
        assert!(error.contains("`--port={port}`"), "{error}");
    }

    #[test]
    fn every_application_gets_its_port_and_the_flags_of_functions() {
        for known in ALL {
            let application = Application::named(known.name).unwrap();
            assert_eq!(application.name(), known.name);
            let flags = [("limit".to_owned(), "5".to_owned())];
            let address = ([127, 0, 0, 1], 4001).into();
            let arguments = application.arguments(Path::new("/study"), address, &flags);
            let text = arguments.join(std::ffi::OsStr::new(" ")).into_string().unwrap();
            assert!(text.contains("4001") && text.ends_with("--limit 5") && !text.contains('{'), "{text}");
        }
        assert!(Application::named("rust").is_none());
    }

    #[test]
    fn a_program_with_a_slash_starts_at_the_folder_of_the_study() {
        let folder = tempfile::tempdir().unwrap();
        let application = Application::from_command(&command(&["./server", "{port}"]), None).unwrap();
        assert_eq!(application.program(folder.path()), None);
        let program = folder.path().join("server");
        fs::write(&program, "").unwrap();
        assert_eq!(application.program(folder.path()), program.canonicalize().ok());
    }

    /// Another process takes the port between the choice of a port and the start of the application.
    #[test]
    fn an_application_that_cannot_have_its_port_gets_another_one_three_times_at_most() {
        let folder = tempfile::tempdir().unwrap();
        let script = "from http.server import *; import sys\n\
                      ThreadingHTTPServer((sys.argv[2], int(sys.argv[1])), BaseHTTPRequestHandler).serve_forever()\n";
        fs::write(folder.path().join("server.py"), script).unwrap();
        let words = ["python3", "{folder}/server.py", "{port}", "{host}"];
        let application = Application::from_command(&command(&words), None).unwrap();
        let program = application.program(folder.path()).unwrap();
        let log = folder.path().join("log");
        let start = |taken: usize| {
            let (mut chosen, mut others) = (Vec::new(), Vec::new());
            let choose = || {
                let mut port = Port::choose([127, 0, 0, 1].into())?;
                if chosen.len() < taken {
                    // It accepts connections, so something answers on the port.
                    let other = TcpListener::bind(("127.0.0.1", 0))?;
                    port.address = other.local_addr()?;
                    others.push(other);
                }
                chosen.push(port.address);
                Ok(port)
            };
            let started = application.start_at(&program, choose, &[], folder.path(), &log, &[]);
            (started, chosen)
        };
        let (started, chosen) = start(2);
        assert_eq!((started.unwrap().address, chosen.len()), (chosen[2], 3));
        let (started, chosen) = start(3);
        let error = started.err().unwrap().to_string();
        assert!(error.contains("Address already in use") && chosen.len() == 3, "{chosen:?}: {error}");
        // A failure for another reason is not retried.
        fs::write(folder.path().join("server.py"), "raise SystemExit('out of luck')\n").unwrap();
        let (started, chosen) = start(0);
        let error = started.err().unwrap().to_string();
        assert!(error.contains("out of luck") && chosen.len() == 1, "{chosen:?}: {error}");
    }

    /// Includes a server that sets no socket option, so that no other socket may be bound to its port.
    #[test]
    fn every_server_is_started_once() {
        let folder = tempfile::tempdir().unwrap();
        let words = ["python3", "{folder}/server.py", "{port}", "{host}"];
        let application = Application::from_command(&command(&words), None).unwrap();
        for option in ["", "SO_REUSEADDR", "SO_REUSEPORT"] {
            let set = if option.is_empty() {
                String::new()
            } else {
                format!("s.setsockopt(SOL_SOCKET, {option}, 1)\n")
            };
            let script = format!(
                "from socket import *; import sys\nprint('started', file=open(sys.path[0] + '/starts', 'a'))\ns = socket()\n{set}\
                 s.bind((sys.argv[2], int(sys.argv[1])))\ns.listen()\nwhile True: s.accept()\n"
            );
            fs::write(folder.path().join("server.py"), script).unwrap();
            fs::write(folder.path().join("starts"), "").unwrap();
            let log = folder.path().join("log");
            let server = application.start(folder.path(), [127, 0, 0, 1].into(), &[], &log, &[]).unwrap();
            assert!(TcpStream::connect(server.address).is_ok(), "{option}");
            assert_eq!(fs::read_to_string(folder.path().join("starts")).unwrap(), "started\n", "{option}");
        }
    }

    #[test]
    fn an_application_that_exits_or_is_missing_has_the_reason() {
        let error = start("echo out of luck; exit 7\n", None).unwrap_err().to_string();
        assert!(error.contains("out of luck") && error.contains('7'), "{error}");
        let missing = Application::from_command(&command(&["no-such-program", "{port}"]), None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let start = missing.start(folder.path(), [127, 0, 0, 1].into(), &[], &folder.path().join("log"), &[]);
        let error = start.unwrap_err().to_string();
        assert!(error.contains("no-such-program") && error.contains("install it"), "{error}");
    }
}
