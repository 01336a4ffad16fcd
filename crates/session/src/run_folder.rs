//! The run folder of a study, from which a killed study can be resumed.
//!
//! `study.yaml` is the study file, `run.json` holds everything else that the rounds depend on, and each `rounds/N.json` is a complete
//! round. A `result.json` covers all rounds in the folder. A running study holds a lock on the folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::time::SystemTime;

use hoptax_plan::record::RoundRecord;
use hoptax_run::runner::Earlier;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::continuation;
use crate::failure::Failure;
use crate::manifest::{Manifest, check_format_of};
use crate::replaced::{replace, write_study};
use crate::run_files::{MANIFEST, RESULT, RESULTS, ROUNDS, STUDY, round_file, unread};
use crate::study::Study;

/// The content of `rounds/N.json`.
#[derive(Serialize, Deserialize)]
struct StoredRound {
    /// Duration of the study until the end of this round, seconds.
    elapsed_s: f64,
    record: RoundRecord,
}

/// The locked folder of a running study.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    /// Holds the lock.
    _lock: FolderLock,
}

/// The complete rounds of earlier sessions, the end of each in seconds since the start of the study, and the interim looks at them.
#[derive(Debug, Default)]
pub(crate) struct CompleteRounds {
    pub(crate) earlier: Earlier,
    pub(crate) ended_s: Vec<f64>,
    pub(crate) looks: Vec<u32>,
}

/// The run folder: `out`, or one named after the study and the time.
pub(crate) fn path_of(out: Option<&Path>, name: &str) -> PathBuf {
    out.map_or_else(
        || {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let now: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
            PathBuf::from("runs").join(format!("{}-{now}", name.replace(['/', ' '], "-")))
        },
        Path::to_owned,
    )
}

/// Reads the study file and `run.json` of a run folder.
///
/// # Errors
/// When the folder has no study that can be resumed.
pub fn read(path: &Path) -> Result<(String, Manifest), Failure> {
    let refused = |why: &str| {
        let path = path.display();
        Failure::bad_input(format!("`{path}` is not a run folder that can be resumed: {why}"))
    };
    let of_manifest = |error: &dyn std::fmt::Display| refused(&format!("{MANIFEST}: {error}"));
    let text_of = |file: &str| {
        fs::read_to_string(path.join(file)).map_err(|error| refused(&unread(path, file, &error)))
    };
    let (text, manifest) = (text_of(STUDY)?, text_of(MANIFEST)?);
    check_format_of(&manifest).map_err(|why| of_manifest(&why))?;
    let manifest: Manifest = serde_json::from_str(&manifest).map_err(|error| of_manifest(&error))?;
    Ok((text, manifest))
}

/// Reads the study of a run folder, with the conditions of its rounds.
///
/// # Errors
/// When the folder has no study that can be resumed, and all problems of its study file.
pub(crate) fn study(path: &Path) -> Result<(Study, Manifest), Failure> {
    let (text, manifest) = read(path)?;
    let folder = PathBuf::from(&manifest.folder_of_file);
    let study = Study::kept(text, &path.join(STUDY), manifest.file_name.as_deref(), folder)?;
    Ok((study, manifest))
}

/// True if a study is running in a folder.
pub fn is_in_use(path: &Path) -> bool {
    lock(path).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// The lock on a folder, which is released when dropped. It is unlocked explicitly: a child process that another thread is starting holds a
/// duplicate of the descriptor until it calls exec, and closing ours alone would not release the lock.
#[derive(Debug)]
struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Unlocking a locked file cannot fail.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Locks the folder itself. Its files are replaced, so none of them could hold the lock.
fn lock(path: &Path) -> io::Result<FolderLock> {
    let folder = File::open(path)?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(FolderLock(folder))
}

/// Creates a run folder or a subfolder, and returns its absolute path, because Envoy reads and writes there, too. The path must be UTF-8,
/// because Envoy's configuration is JSON. A study in the folder begins with [`RunFolder::begin`].
///
/// # Errors
/// When it cannot be created, or its path is not UTF-8.
pub(crate) fn make_folder(path: &Path) -> Result<PathBuf, Failure> {
    check_encoding(path)?;
    let created = fs::create_dir_all(path).and_then(|()| path.canonicalize());
    let folder = created.map_err(|error| not_created(path, &error))?;
    check_encoding(&folder)?;
    Ok(folder)
}

/// Refuses a path that is not UTF-8.
fn check_encoding(path: &Path) -> Result<(), Failure> {
    if path.to_str().is_some() {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "the path of the folder `{}` is not valid UTF-8, as Envoy's configuration must be: choose another with --out",
        path.display()
    )))
}

fn not_created(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!("cannot create the folder `{}`: {error}", path.display()))
}

/// Checks if a new study could begin in a folder, and leaves nothing behind.
///
/// # Errors
/// When the folder holds a result or rounds that must not be overwritten, its path is not UTF-8, or nothing can be created in it, or in the
/// nearest folder above it that exists.
pub(crate) fn check_new(path: &Path, held: Held) -> Result<(), Failure> {
    check_free(path, held)?;
    check_encoding(path)?;
    let existing = path.ancestors().find(|folder| fs::symlink_metadata(folder).is_ok());
    // Permissions do not tell: those of `/proc` let the superuser write there.
    let attempt = existing.unwrap_or(Path::new(".")).join(format!(".hoptax-{}", process::id()));
    let created = fs::create_dir(&attempt).and_then(|()| fs::remove_dir(&attempt));
    created.map_err(|error| not_created(path, &error))
}

/// Creates the run folder of a study whose slices are measured in the pods of a cluster: `out`, or a folder named after the study and the
/// time.
///
/// # Errors
/// When it cannot be created, or holds a result that would be overwritten without `force`.
pub fn for_pods(out: Option<&Path>, study: &str, force: bool) -> Result<PathBuf, Failure> {
    let path = path_of(out, study);
    check_free(&path, Held::unless_forced(force))?;
    make_folder(&path)
}

/// The treatment of a study or a result that the folder of a new study already holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The new study is refused.
    Refused,
    /// The new study is refused; the command has an option `--force`, which replaces the other.
    RefusedWithoutForce,
    /// The new study replaces it.
    Replaced,
}

impl Held {
    /// The treatment by a command with an option `--force`.
    pub fn unless_forced(force: bool) -> Self {
        if force { Self::Replaced } else { Self::RefusedWithoutForce }
    }
}

/// Refuses a folder whose results or rounds a study would overwrite, unless these are to be replaced.
pub(crate) fn check_free(path: &Path, treatment: Held) -> Result<(), Failure> {
    let exists = |name: &str| fs::symlink_metadata(path.join(name)).is_ok();
    let (is_run, has_rounds) = (exists(MANIFEST), path.join(round_file(0)).exists());
    let named = path.display();
    let held = match (exists(RESULT), has_rounds) {
        (true, _) if is_run => format!("`{named}` already holds a study and its result"),
        (true, _) => format!("`{named}` holds a result.json that this study would overwrite"),
        (false, true) => format!("`{named}` already holds rounds of a study"),
        (false, false) => return Ok(()),
    };
    if treatment == Held::Replaced {
        return Ok(());
    }
    let more_rounds = if has_rounds { continuation::more_rounds(path) } else { None };
    let force = (treatment == Held::RefusedWithoutForce).then(|| "--force   overwrites it".to_owned());
    let others: String = more_rounds.into_iter().chain(force).map(|way| format!("\n  {way}")).collect();
    let or = if others.is_empty() { "" } else { ", or use" };
    Err(Failure::bad_input(format!("{held}; choose another folder with --out{or}{others}")))
}

/// The folders in `parent` that hold a result of this study, with their `run.json`, by start time.
pub(crate) fn results(parent: &Path, study: &str) -> Vec<(PathBuf, Manifest)> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(PathBuf, Manifest)> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join(RESULT).is_file())
        .filter_map(|path| Some((read(&path).ok()?.1, path)))
        .filter(|(manifest, _)| manifest.study == study)
        .map(|(manifest, path)| (path, manifest))
        .collect();
    found.sort_by(|(_, a), (_, b)| a.started_at.cmp(&b.started_at));
    found
}

impl RunFolder {
    /// Starts a study in a folder, and removes the results and the rounds of an earlier study.
    pub(crate) fn begin(path: &Path, study: &str, manifest: &Manifest) -> Result<Self, Failure> {
        let folder = Self::locked(path)?;
        let write = || -> io::Result<()> {
            RESULTS.iter().try_for_each(|name| remove(&path.join(name)))?;
            match fs::remove_dir_all(path.join(ROUNDS)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => fs::create_dir_all(path.join(ROUNDS))?,
            }
            write_study(&path.join(STUDY), study)
        };
        write().map_err(|error| unusable(path, &error))?;
        folder.write(manifest)?;
        Ok(folder)
    }

    /// Resumes a study with the complete rounds in its folder.
    pub(crate) fn resume(
        path: &Path,
        earlier: &Manifest,
        current: &Manifest,
    ) -> Result<(Self, CompleteRounds), Failure> {
        let differences = earlier.resume_differences(current);
        if !differences.is_empty() {
            return Err(Failure::bad_input(format!(
                "cannot resume `{}`: its rounds differ in their conditions ({}); start a new study",
                path.display(),
                differences.join("; ")
            )));
        }
        let folder = Self::locked(path)?;
        let mut complete = CompleteRounds { looks: earlier.looks.clone(), ..CompleteRounds::default() };
        while let Some(round) = stored_round(path, complete.ended_s.len() as u32)? {
            complete.earlier.elapsed_s = round.elapsed_s;
            complete.earlier.rounds.push(round.record);
            complete.ended_s.push(round.elapsed_s);
        }
        Ok((folder, complete))
    }

    fn locked(path: &Path) -> Result<Self, Failure> {
        match lock(path) {
            Ok(lock) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(Failure::bad_input(format!("the study in `{}` is still running", path.display())))
            }
            Err(error) => Err(unusable(path, &error)),
        }
    }

    /// Writes `run.json`.
    pub(crate) fn write(&self, manifest: &Manifest) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(manifest).map_err(Failure::environment)?;
        replace(&self.path.join(MANIFEST), &text).map_err(|error| unusable(&self.path, &error))
    }

    /// Writes `run.json` again if the study has made interim looks since, so that they count after it is resumed.
    pub(crate) fn record_looks(&self, manifest: &Manifest, looks: &[u32]) -> Result<(), Failure> {
        if manifest.looks == looks {
            return Ok(());
        }
        let mut manifest = manifest.clone();
        manifest.looks = looks.to_vec();
        self.write(&manifest)
    }

    /// Stores a complete round, and first removes the results of a resumed study, which do not cover this round. They are kept until then,
    /// so a study that is killed before the end of its first new round loses nothing.
    pub(crate) fn store_round(&self, round: u32, record: &RoundRecord, elapsed_s: f64) -> io::Result<()> {
        RESULTS.iter().try_for_each(|name| remove(&self.path.join(name)))?;
        let stored = serde_json::json!({"elapsed_s": elapsed_s, "record": record});
        replace(&self.path.join(round_file(round)), &stored.to_string())
    }
}

/// Reads a round; none after the last one. A round is written atomically, so one that cannot be read was damaged later. To go on before it
/// would overwrite the rounds after it.
fn stored_round(path: &Path, round: u32) -> Result<Option<StoredRound>, Failure> {
    let file = path.join(round_file(round));
    let refused = |why: &dyn std::fmt::Display| {
        Failure::bad_input(format!(
            "cannot resume `{}`: the round `{}` cannot be read ({why}): restore it, or remove it and all later rounds, which are then \
             measured again",
            path.display(),
            file.display()
        ))
    };
    match fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| refused(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !has_later_round(path, round) => Ok(None),
        Err(error) => Err(refused(&error)),
    }
}

/// True if a folder has a round after this one.
fn has_later_round(path: &Path, round: u32) -> bool {
    let files = fs::read_dir(path.join(ROUNDS)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut rounds = files.filter(|file| file.extension().is_some_and(|ending| ending == "json"));
    rounds.any(|file| {
        let number = file.file_stem().and_then(|stem| stem.to_str()?.parse::<u32>().ok());
        number.is_some_and(|number| number > round)
    })
}

/// Removes a file, if it exists.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!("cannot use the folder `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use hoptax_text::command_line::path_word;

    use super::*;
    use crate::failure::Kind;
    use crate::manifest::tests::manifest;

    #[test]
    fn the_looks_of_a_session_are_known_when_the_study_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let first = RunFolder::begin(at, "name: a\n", &manifest()).unwrap();
        first.store_round(0, &RoundRecord::default(), 1.0).unwrap();
        first.record_looks(&manifest(), &[1]).unwrap();
        drop(first);
        let (_, then) = read(at).unwrap();
        let (_resumed, complete) = RunFolder::resume(at, &then, &manifest()).unwrap();
        assert_eq!((then.looks.as_slice(), complete.looks.as_slice()), (&[1][..], &[1][..]));
    }

    #[test]
    fn a_study_with_a_damaged_or_missing_round_is_refused_and_keeps_the_rounds_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let first = RunFolder::begin(at, "name: a\n", &manifest()).unwrap();
        for round in 0..3 {
            first.store_round(round, &RoundRecord::default(), 1.0).unwrap();
        }
        drop(first);
        let resumed =
            || RunFolder::resume(at, &manifest(), &manifest()).map(|(_, rounds)| rounds.ended_s.len());
        assert_eq!(resumed().map_err(|failure| failure.to_string()), Ok(3));
        let second = at.join(round_file(1));
        let whole = fs::read_to_string(&second).unwrap();
        let refused = || resumed().unwrap_err().to_string();
        let named = format!("the round `{}` cannot be read", second.display());
        fs::write(&second, &whole[..whole.len() / 2]).unwrap();
        assert!(refused().contains(&named), "{}", refused());
        fs::remove_file(&second).unwrap();
        assert!(refused().contains(&named), "{}", refused());
        assert!(at.join(round_file(2)).exists());
        // Without the rounds after it, there is nothing to lose.
        fs::remove_file(at.join(round_file(2))).unwrap();
        assert_eq!(resumed().map_err(|failure| failure.to_string()), Ok(1));
    }

    #[test]
    fn a_study_goes_on_with_other_thresholds_but_not_with_another_limit_of_quiet_slices() {
        let folder = tempfile::tempdir().unwrap();
        let then = manifest();
        drop(RunFolder::begin(folder.path(), "name: a\n", &then).unwrap());
        let with = |set: &[(&str, f64)]| {
            let set = set.iter().map(|(name, value)| ((*name).to_owned(), *value));
            let mut now = manifest();
            now.thresholds = set.collect();
            RunFolder::resume(folder.path(), &then, &now).map(drop).map_err(|failure| failure.to_string())
        };
        assert_eq!(with(&[("steal", 0.02), ("quiet-wait", 0.01)]), Ok(()));
        let refused = with(&[("quiet-wait", 0.02)]).unwrap_err();
        assert!(
            refused.contains("(threshold `quiet-wait` 0.01 then, 0.02 now); start a new study"),
            "{refused}"
        );
    }

    #[test]
    fn a_folder_of_another_format_is_refused_by_its_format_and_names_the_program_for_it() {
        let folder = tempfile::tempdir().unwrap();
        drop(RunFolder::begin(folder.path(), "name: a\n", &manifest()).unwrap());
        let of_newer = r#"{"format": "hoptax.run/99", "hoptax_version": "99.1.0"}"#;
        fs::write(folder.path().join(MANIFEST), of_newer).unwrap();
        let refused = read(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("its format is `hoptax.run/99`"), "{refused}");
        assert!(refused.ends_with("use hoptax 99.1.0 or a later one"), "{refused}");
        fs::write(folder.path().join(MANIFEST), "").unwrap();
        let refused = read(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("can be resumed: run.json: EOF"), "{refused}");
    }

    #[test]
    fn a_folder_is_checked_without_being_created() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let kind = |path: &Path, force: bool| {
            check_new(path, Held::unless_forced(force)).map_err(|failure| failure.kind)
        };
        assert_eq!(kind(&at.join("a/b"), false), Ok(()));
        assert_eq!(fs::read_dir(at).unwrap().count(), 0, "nothing is left behind");
        fs::write(at.join("file"), "").unwrap();
        for path in [at.join("file"), at.join("file/a"), "/proc/a".into()] {
            assert_eq!(kind(&path, false), Err(Kind::Environment), "{}", path.display());
        }
        fs::write(at.join(RESULT), "{}").unwrap();
        assert_eq!((kind(at, false), kind(at, true)), (Err(Kind::BadInput), Ok(())));
    }

    #[test]
    fn a_result_is_removed_by_a_further_round_and_by_a_new_study() {
        let folder = tempfile::tempdir().unwrap();
        let (at, result) = (folder.path(), folder.path().join(RESULT));
        let manifest = manifest();
        for name in RESULTS {
            fs::write(at.join(name), "{}").unwrap();
        }
        let first = RunFolder::begin(at, "name: a\n", &manifest).unwrap();
        assert!(RESULTS.iter().all(|name| !at.join(name).exists()), "they were those of another study");
        first.store_round(0, &RoundRecord::default(), 1.0).unwrap();
        drop(first);
        for name in RESULTS {
            fs::write(at.join(name), "{}").unwrap();
        }
        let (resumed, complete) = RunFolder::resume(at, &manifest, &manifest).unwrap();
        assert!(complete.ended_s.len() == 1 && result.exists(), "it is about all rounds so far");
        resumed.store_round(1, &RoundRecord::default(), 2.0).unwrap();
        assert!(RESULTS.iter().all(|name| !at.join(name).exists()), "they do not cover the new round");
        assert!(at.join(round_file(1)).exists());
    }

    #[test]
    fn a_folder_that_is_in_use_names_the_command_that_adds_rounds_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let refused = |command: Option<&str>, treatment: Held| {
            let mut manifest = manifest();
            manifest.command = command.map(str::to_owned);
            let begun = RunFolder::begin(at, "name: a\n", &manifest).unwrap();
            begun.store_round(0, &RoundRecord::default(), 1.0).unwrap();
            check_free(at, treatment).map_err(|failure| failure.to_string()).unwrap_err()
        };
        let more = format!("--resume {} --rounds NUMBER   adds rounds to it", path_word(at));
        let force = "\n  --force   overwrites it";
        let of_user = refused(Some("study"), Held::RefusedWithoutForce);
        assert!(of_user.ends_with(&format!("or use\n  hoptax study {more}{force}")), "{of_user}");
        let of_earlier_build = refused(None, Held::RefusedWithoutForce);
        assert!(of_earlier_build.ends_with(&format!("with --out, or use{force}")), "{of_earlier_build}");
        let ended = |command: &str| refused(Some(command), Held::Refused);
        for (command, begins) in [("compare", "hoptax compare SUBJECT..."), ("price", "hoptax price CONFIG")]
        {
            let text = ended(command);
            assert!(text.contains(&format!("or use\n  {begins} {more}, with the same ")), "{text}");
            assert!(!text.contains("--force"), "{text}");
        }
        assert!(ended("gate").ends_with("; choose another folder with --out"), "{}", ended("gate"));
        let of_short_form = refused(Some(continuation::SHORT_FORM), Held::RefusedWithoutForce);
        assert!(of_short_form.ends_with(&format!("with --out, or use{force}")), "{of_short_form}");
        assert_eq!(check_free(at, Held::Replaced).map_err(|failure| failure.to_string()), Ok(()));
    }
}
