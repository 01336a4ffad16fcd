//! The runs of a store by the names that a user gives them: lists, results, comparisons, labels, removal, export and import.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hoptax_report::document::Document;
use hoptax_report::documents::{self, Overlaid};
use hoptax_result::{RunsBody, RunsResult, StoredRun, counted, grouped};
use hoptax_text::command_line::{path_option, path_words};
use hoptax_text::nearest;

use crate::failure::Failure;
use crate::store::{self, Compacted, Filter, PathImported, Store, StoreError, folder, import_all};
use crate::update::{Say, Update};
use crate::{results, run_files, run_folder};

/// The runs of one store.
pub struct Runs<'a> {
    /// The file that the user named; none for the usual store.
    named: Option<&'a Path>,
    path: PathBuf,
    say: Say<'a>,
}

/// A run whose files were written to a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The run, and the number of its files, in words.
    pub line: String,
    /// The files whose secrets are masked, in words; none if there are none.
    pub note: Option<String>,
}

/// A run that has a result.
struct WithResult {
    run: StoredRun,
    /// The paths of its files.
    paths: Vec<String>,
    /// The text of its result.
    text: String,
}

impl<'a> Runs<'a> {
    /// The runs of the store in this file; without one, those of the usual store.
    ///
    /// # Errors
    /// When there is no home directory for the usual store.
    pub fn of_store(file: Option<&'a Path>, say: Say<'a>) -> Result<Self, Failure> {
        Ok(Self { named: file, path: store::path(file)?, say })
    }

    /// The file of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The runs that match the filter. If there are none, a note says what could be changed.
    ///
    /// # Errors
    /// When there is no store, or it cannot be used.
    pub fn list(&self, filter: &Filter) -> Result<RunsResult, Failure> {
        let runs = self.with(|store| store.list(filter))?;
        if let (true, Some(name)) = (runs.is_empty(), &filter.name) {
            let all = self.with(|store| store.list(&Filter::default()))?;
            let names: BTreeSet<&str> = all.iter().map(|run| run.name.as_str()).collect();
            self.note(&format!("no run of `{name}` matches{}", nearest::hint(name, names)));
        }
        if runs.is_empty() && filter.name.is_none() && (filter.label.is_some() || filter.since.is_some()) {
            self.note("no run matches --label and --since: without them, all are listed");
        }
        Ok(RunsResult::new((), RunsBody { runs }))
    }

    /// The text of the result of a run, as it was stored.
    ///
    /// # Errors
    /// When there is no such run, or it has no result.
    pub fn text(&self, name: &str) -> Result<String, Failure> {
        self.with_result(name).map(|found| found.text)
    }

    /// The document of the result of a run. A note describes the run.
    ///
    /// # Errors
    /// As [`Self::text`], and when the result cannot be read.
    pub fn document(&self, name: &str) -> Result<Document, Failure> {
        let WithResult { run, paths, text } = self.with_result(name)?;
        self.note(&documents::stored_run(&run, &paths));
        let document = results::printable(&text, &format!("the result of run {}", run.run))?;
        Ok(document.shown_by(run.run).in_store(self.named))
    }

    /// The document of runs beside each other, of which the first is the reference.
    ///
    /// # Errors
    /// When there is no such run, one has no result, one is named twice, or a file is named.
    pub fn compare(&self, names: &[String]) -> Result<Document, Failure> {
        // Labels have no slash, and rarely end like the file name of a result.
        let is_file = |name: &&String| {
            name.contains('/')
                || (Path::new(name).extension().is_some_and(|end| end == "json") && run_files::is_path(name))
        };
        let files: Vec<&String> = names.iter().filter(is_file).collect();
        if !files.is_empty() {
            return Err(Failure::bad_input(format!(
                "runs of the store are compared, by their numbers or labels, and not files: `hoptax runs import {}{}` stores them and \
                 prints the numbers",
                path_words(files),
                self.again()
            )));
        }
        let ids = self.with(|store| resolved(store, names))?;
        let mut runs = Vec::new();
        for (place, id) in ids.iter().enumerate() {
            if ids.iter().take(place).any(|other| other == id) {
                return Err(Failure::bad_input(format!("run {id} is named twice: name different runs")));
            }
            let text = self.with(|store| store.measured(*id))?;
            let text = text.ok_or_else(|| {
                let store = self.again();
                Failure::bad_input(format!("run {id} has no result: `hoptax runs show {id}{store}` says why"))
            })?;
            let run = Overlaid::read(*id, &text);
            runs.push(run.map_err(|why| Failure::bad_input(format!("run {id} cannot be compared: {why}")))?);
        }
        Ok(documents::overlay(&runs).in_store(self.named))
    }

    /// Adds a label to a run, and returns its number. With `is_only`, the label is removed from all other runs.
    ///
    /// # Errors
    /// When there is no such run, or the store cannot be written.
    pub fn label(&self, name: &str, label: &str, is_only: bool) -> Result<i64, Failure> {
        self.with(|store| {
            let id = store.resolve(name)?;
            store.label(id, label, is_only)?;
            Ok(id)
        })
    }

    /// Removes a label from a run, and returns its number.
    ///
    /// # Errors
    /// When there is no such run, it does not have the label, or the store cannot be written.
    pub fn unlabel(&self, name: &str, label: &str) -> Result<i64, Failure> {
        let (id, had_it) = self.with(|store| {
            let id = store.resolve(name)?;
            Ok((id, store.unlabel(id, label)?))
        })?;
        if had_it { Ok(id) } else { Err(Failure::bad_input(format!("run {id} has no label `{label}`"))) }
    }

    /// Removes runs from the store, and returns their numbers. None is removed if one of them does not exist.
    ///
    /// # Errors
    /// When there is no such run, or the store cannot be written.
    pub fn remove(&self, names: &[String]) -> Result<Vec<i64>, Failure> {
        self.with(|store| {
            let mut ids = resolved(store, names)?;
            // A run that is named twice, as by its number and its label, is removed once.
            let mut removed = BTreeSet::new();
            ids.retain(|id| removed.insert(*id));
            ids.iter().try_for_each(|id| store.remove(*id))?;
            Ok(ids)
        })
    }

    /// Writes the files of a run to a folder that is empty or does not exist.
    ///
    /// # Errors
    /// When there is no such run, or a file cannot be written.
    pub fn export(&self, name: &str, target: &Path) -> Result<Exported, Failure> {
        let (run, documents) = self.with(|store| {
            let id = store.resolve(name)?;
            Ok((id, store.documents(id)?))
        })?;
        folder::write(target, &documents)?;
        let files = counted(documents.len() as u64, "file");
        let redacted = documents.into_iter().filter(|document| document.is_redacted);
        let redacted: Vec<String> = redacted.map(|document| document.path).collect();
        let note = format!("written with their secrets masked: {}", redacted.join(", "));
        Ok(Exported {
            line: format!("run {run}: {files} in {}", target.display()),
            note: (!redacted.is_empty()).then_some(note),
        })
    }

    /// Imports all that can be imported, and calls `on_imported` with a line about each run. A store that does not exist is
    /// created when there is a run for it.
    ///
    /// # Errors
    /// When anything cannot be imported, and errors of `on_imported`.
    pub fn import(
        &self,
        paths: &[PathBuf],
        on_imported: &mut dyn FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let outcomes = store::salvaging(&self.path, || import_all(&self.path, paths), self.say)?;
        let mut problems = Vec::new();
        for PathImported { path, outcome } in outcomes {
            match outcome {
                Ok(imported) => on_imported(&imported.described(&path))?,
                // Its study is running and has no complete round yet, which is not an error.
                Err(_) if path.is_dir() && run_folder::is_in_use(&path) => self.note(&format!(
                    "`{}` is not imported: its study still runs, and no round of it is complete",
                    path.display()
                )),
                Err(problem) => problems.push(problem.to_string()),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Failure::bad_input(problems.join("\n"))) }
    }

    /// Verifies the store, and gives the space of removed runs back to the file system. Returns the outcome in words.
    ///
    /// # Errors
    /// When there is no store, it is damaged, or it cannot be written.
    pub fn compact(&self) -> Result<String, Failure> {
        let Compacted { verified, before_bytes, after_bytes } = self.with(Store::compact)?;
        let mib = |bytes: u64| grouped(bytes as f64 / f64::from(1 << 20), 1);
        Ok(format!(
            "{}: {verified} contents verified, {} MiB before, {} MiB now",
            self.path.display(),
            mib(before_bytes),
            mib(after_bytes)
        ))
    }

    /// The run with this name. It must have a result.
    fn with_result(&self, name: &str) -> Result<WithResult, Failure> {
        let mut is_unknown = !self.path.exists();
        let found = self.with(|store| {
            let resolved = store.resolve(name);
            is_unknown = matches!(resolved, Err(StoreError::NoRun { .. }));
            let id = resolved?;
            let result = match store.result(id)? {
                Some(text) => Ok(text),
                None => Err(store.way_to_continue(id, "DIR")?),
            };
            Ok((store.run(id)?, store.paths(id)?, result))
        });
        // The name may be a misspelt file name.
        let (run, paths, result) = found.map_err(|failure| {
            if is_unknown {
                failure.with(format!("; `{name}` is neither a file nor a run folder"))
            } else {
                failure
            }
        })?;
        match result {
            Ok(text) => Ok(WithResult { run, paths, text }),
            Err(way) => {
                self.note(&documents::stored_run(&run, &paths));
                Err(Failure::bad_input(format!(
                    "run {id} has no result: it has {has}. `hoptax runs export {id} DIR{store}` writes its files to a folder; {way}",
                    id = run.run,
                    has = counted(run.rounds.into(), "complete round"),
                    store = self.again()
                )))
            }
        }
    }

    /// Calls `work` with the store, which must exist.
    fn with<T>(&self, work: impl FnMut(&mut Store) -> Result<T, StoreError>) -> Result<T, Failure> {
        store::with_existing(&self.path, work, self.say)
    }

    fn note(&self, text: &str) {
        (self.say)(Update::Note(text));
    }

    /// The option that names the store again in a command, with a space before it; empty if the user named none.
    fn again(&self) -> String {
        path_option("--store", self.named)
    }
}

/// The numbers of the runs with these names.
fn resolved(store: &Store, names: &[String]) -> Result<Vec<i64>, StoreError> {
    names.iter().map(|name| store.resolve(name)).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, slice};

    use hoptax_plan::record::RoundRecord;

    use super::*;
    use crate::manifest::tests::manifest;
    use crate::run_folder::RunFolder;

    #[test]
    fn different_runs_are_compared_by_their_names_and_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let (file, store) = (folder.path().join("result.json"), folder.path().join("my store"));
        let study = hoptax_result::sample::study("quick", "2026-11-01T00:00:00Z", 5.0);
        fs::write(&file, serde_json::to_string(&study).unwrap()).unwrap();
        let say = |_: Update<'_>| ();
        let runs = Runs::of_store(Some(&store), &say).unwrap();
        let mut lines = Vec::new();
        let mut on_imported = |line: &str| {
            lines.push(line.to_owned());
            Ok(())
        };
        runs.import(slice::from_ref(&file), &mut on_imported).unwrap();
        assert!(lines.len() == 1 && lines[0].starts_with("run 1: "), "{lines:?}");
        let refused =
            |other: &str| runs.compare(&["1".to_owned(), other.to_owned()]).unwrap_err().to_string();
        assert_eq!(refused("1"), "run 1 is named twice: name different runs");
        let import = format!("`hoptax runs import {} --store '{}'`", file.display(), store.display());
        let of_file = refused(&file.display().to_string());
        assert!(of_file.contains(&import), "{of_file}");
        assert!(refused("2").contains("has no run `2`"), "{}", refused("2"));
        let shown = runs.text("2").unwrap_err().to_string();
        assert!(shown.ends_with(" lists the runs; `2` is neither a file nor a run folder"), "{shown}");
        let labelled = runs.label(&file.display().to_string(), "x", false).unwrap_err().to_string();
        assert!(labelled.contains(&format!("; import it first: {import}")), "{labelled}");
    }

    #[test]
    fn a_run_without_a_result_says_what_it_has_and_which_command_continues_it() {
        let folder = tempfile::tempdir().unwrap();
        let (at, store) = (folder.path().join("run"), folder.path().join("my store"));
        fs::create_dir(&at).unwrap();
        let mut manifest = manifest();
        manifest.command = Some("price".to_owned());
        let begun = RunFolder::begin(&at, "name: a\n", &manifest).unwrap();
        begun.store_round(0, &RoundRecord::default(), 1.0).unwrap();
        drop(begun);
        let say = |_: Update<'_>| ();
        let runs = Runs::of_store(Some(&store), &say).unwrap();
        runs.import(&[at], &mut |_| Ok(())).unwrap();
        let expected = format!(
            "run 1 has no result: it has 1 complete round. `hoptax runs export 1 DIR --store '{}'` writes its files to a folder; \
             `hoptax price CONFIG --resume DIR`, with the same configuration and options, continues it",
            store.display()
        );
        assert_eq!(runs.text("1").unwrap_err().to_string(), expected);
        assert_eq!(runs.document("1").unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_is_done_is_in_words_a_missing_label_cannot_be_removed_and_a_wrong_name_removes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (file, store) = (folder.path().join("result.json"), folder.path().join("store.sqlite"));
        let study = hoptax_result::sample::study("quick", "2026-11-01T00:00:00Z", 5.0);
        fs::write(&file, serde_json::to_string(&study).unwrap()).unwrap();
        let say = |_: Update<'_>| ();
        let runs = Runs::of_store(Some(&store), &say).unwrap();
        runs.import(&[file], &mut |_| Ok(())).unwrap();
        let out = folder.path().join("out");
        let Exported { line, note } = runs.export("1", &out).unwrap();
        assert!(line.starts_with("run 1: ") && line.ends_with(&format!(" in {}", out.display())), "{line}");
        assert_eq!(note, None);
        let refused = runs.export("1", &store).unwrap_err().to_string();
        assert!(refused.ends_with("store.sqlite`: it is a file: name a folder"), "{refused}");
        let compacted = runs.compact().unwrap();
        assert!(compacted.starts_with(&format!("{}: ", store.display())), "{compacted}");
        assert_eq!(runs.label("1", "nightly", false).unwrap(), 1);
        assert_eq!(runs.unlabel("nightly", "nightly").unwrap(), 1);
        let refused = runs.unlabel("1", "nightly").unwrap_err().to_string();
        assert_eq!(refused, "run 1 has no label `nightly`");
        assert!(runs.remove(&["1".to_owned(), "2".to_owned()]).is_err());
        assert_eq!(runs.list(&Filter::default()).unwrap().runs.len(), 1);
        assert_eq!(runs.remove(&["1".to_owned(), "1".to_owned()]).unwrap(), [1], "it is removed once");
        assert!(runs.list(&Filter::default()).unwrap().runs.is_empty());
    }
}
