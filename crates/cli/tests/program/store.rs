//! The store of results: `hoptax runs` and `hoptax runs history` on files, without measuring.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use hoptax_result::{HistoryBody, HistoryResult, StudyResult, sample};
use serde_json::{Value, json};

use crate::support::{Guarded, Ran, checked, hoptax, ran};

/// A folder with run folders and a store.
struct Runs(tempfile::TempDir);

impl Runs {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn store(&self) -> PathBuf {
        self.path("data/hoptax/store.sqlite")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = hoptax();
        command.env("XDG_DATA_HOME", self.path("data")).args(words);
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        ran(&mut self.command(words))
    }

    /// Returns the output of a command, which must succeed.
    fn printed(&self, words: &[&str]) -> String {
        let ran = self.run(words).succeeded();
        ran.stdout
    }

    /// A run folder of a study of `lua` with this cost.
    fn study(&self, folder: &str, result: &StudyResult) {
        let text = serde_json::to_string_pretty(result).unwrap();
        let folder = self.path(folder);
        write(&folder.join("result.json"), &text);
        write(&folder.join("study.yaml"), &format!("name: {}\narms: [baseline, lua]\n", result.name));
        write(&folder.join("rounds/0.json"), &json!({"of": text}).to_string());
        write(&folder.join("arms/lua/bootstrap.json"), "{\"admin\": {}}\n");
        write(&folder.join("arms/lua/envoy.log"), "[info] starting\n");
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns the start of a run: a day after the one before.
fn day(number: u32) -> String {
    format!("2026-{:02}-{:02}T08:00:00Z", 1 + number / 28, 1 + number % 28)
}

#[test]
fn runs_are_imported_listed_labelled_exported_and_removed() {
    let runs = Runs::new();
    for (number, name) in ["quick", "quick", "other"].into_iter().enumerate() {
        runs.study(&format!("runs/{number}"), &sample::study(name, &day(number as u32), 5.0));
    }
    let history = HistoryBody { number: "max_rate".to_owned(), significance: 0.01, series: Vec::new() };
    let history = HistoryResult::new((), history);
    write(&runs.path("history.json"), &serde_json::to_string(&history).unwrap());
    write(&runs.path("load.json"), &serde_json::to_string(&sample::load()).unwrap());
    runs.run(&["runs", "list"]).fails(2, "hoptax runs import");

    let (folder, history, load) = (runs.text("runs"), runs.text("history.json"), runs.text("load.json"));
    let imported = runs.printed(&["runs", "import", &folder, &history, &load]);
    assert_eq!(imported.lines().count(), 5, "{imported}");
    assert!(imported.contains("left out: 1 logs"), "{imported}");
    let again = runs.printed(&["runs", "import", &folder]);
    assert_eq!(again.matches("already stored").count(), 3, "{again}");

    let listed = |more: &[&str]| -> Vec<i64> {
        let text = runs.printed(&[&["runs", "list", "--json"], more].concat());
        let list = checked("runs", &text);
        list["runs"].as_array().unwrap().iter().map(|run| run["run"].as_i64().unwrap()).collect()
    };
    assert_eq!(listed(&["--study", "quick"]), [2, 1]);
    assert_eq!(listed(&["--since", "2026-01-02", "--study", "quick"]), [2]);
    let misspelt = runs.run(&["runs", "list", "--study", "quikc"]).stderr;
    assert!(misspelt.contains("did you mean `quick`?"), "{misspelt}");
    runs.printed(&["runs", "label", "2", "nightly"]);
    assert_eq!(listed(&["--label", "nightly"]), [2]);
    let table = runs.printed(&["runs", "list"]);
    assert!(table.contains("5 runs of 3 kinds, the newest of "), "{table}");
    let line = "2    quick                2026-01-02 08:00:00  study    sound         4  1.40.0  nightly\n";
    assert!(table.contains(line), "{table}");
    runs.printed(&["runs", "label", "1", "nightly", "--only"]);
    assert_eq!(listed(&["--label", "nightly"]), [1]);

    let shown = runs.run(&["runs", "show", "nightly"]);
    assert!(
        shown.code == Some(0) && shown.stdout.contains("lua") && shown.stderr.contains("run 1:"),
        "{shown:?}"
    );
    let json = runs.printed(&["runs", "show", "nightly", "--json"]);
    assert_eq!(json, fs::read_to_string(runs.path("runs/0/result.json")).unwrap() + "\n");
    assert!(runs.printed(&["runs", "show", "5"]).contains("20,000"), "the load");
    let of_folder = runs.printed(&["runs", "show", &runs.text("runs/0"), "--store", "/nonexistent"]);
    // The next command names what was asked for.
    let result = |text: &str| text.split_once("\nnext: ").map(|(result, _)| result.to_owned());
    assert!(result(&of_folder).is_some(), "{of_folder}");
    assert_eq!(result(&of_folder), result(&shown.stdout), "the run folder of run 1");
    runs.run(&["runs", "show", "9"]).fails(2, "`hoptax runs list` lists the runs");
    let nowhere = runs.run(&["runs", "show", "nosuch", "--store", "/nonexistent"]);
    nowhere.fails(2, "`nosuch` is neither a file nor a run folder");
    let all = runs.printed(&["runs", "show", &load, "--details"]);
    assert!(all.contains("20,000") && all.len() > runs.printed(&["runs", "show", "5"]).len(), "{all}");
    runs.run(&["runs", "show", &runs.text("runs/0/study.yaml")]).fails(2, "not a hoptax result");
    let of_files = runs.run(&["runs", "show", "4"]);
    assert!(
        of_files.stdout.contains("max rate") && of_files.stderr.contains("run 4: history"),
        "{of_files:?}"
    );

    runs.printed(&["runs", "export", "nightly", &runs.text("exported")]);
    for name in ["result.json", "study.yaml", "rounds/0.json", "arms/lua/bootstrap.json"] {
        let [exported, original] =
            ["exported", "runs/0"].map(|folder| fs::read(runs.path(folder).join(name)).unwrap());
        assert_eq!(exported, original, "{name}");
    }
    assert!(!runs.path("exported/arms/lua/envoy.log").exists());
    runs.run(&["runs", "export", "nightly", &runs.text("exported")]).fails(2, "not empty");

    runs.printed(&["runs", "label", "1", "nightly", "--remove"]);
    runs.run(&["runs", "rm", "1", "nightly"]).fails(2, "no run `nightly`");
    assert_eq!(listed(&[]).len(), 5, "a wrong name removes nothing");
    runs.printed(&["runs", "rm", "1", "5"]);
    assert_eq!(listed(&[]), [4, 3, 2]);
    assert!(runs.printed(&["runs", "gc"]).contains("contents verified"));
}

#[test]
fn a_study_that_still_runs_keeps_no_other_from_being_imported() {
    let runs = Runs::new();
    runs.study("runs/done", &sample::study("quick", &day(1), 5.0));
    write(&runs.path("runs/running/run.json"), "{}");
    runs.run(&["runs", "import", &runs.text("runs")]).fails(2, "before its first round");
    let lock = fs::File::open(runs.path("runs/running")).unwrap();
    lock.lock().unwrap();
    let running = runs.run(&["runs", "import", &runs.text("runs")]);
    assert!(running.code == Some(0) && running.stdout.contains("runs/done"), "{running:?}");
    assert!(running.stderr.contains("runs/running` is not imported: its study still runs"), "{running:?}");
    drop(lock);
}

#[test]
fn what_cannot_be_imported_is_named_and_the_rest_is_imported() {
    let runs = Runs::new();
    runs.study("runs/good", &sample::study("quick", &day(1), 5.0));
    write(&runs.path("runs/sittings/result.json"), "{\"format\": \"hoptax.sittings/1\"}");
    write(&runs.path("runs/killed/run.json"), "{}");
    let ran = runs.run(&["runs", "import", &runs.text("runs"), &runs.text("data")]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(2), 1), "{ran:?}");
    for problem in ["hoptax.sittings/1", "before its first round", "there is no run folder in it"] {
        assert!(ran.stderr.contains(problem), "{problem}: {}", ran.stderr);
    }
}

#[test]
fn an_import_of_nothing_creates_no_store() {
    let runs = Runs::new();
    fs::create_dir(runs.path("runs")).unwrap();
    runs.run(&["runs", "import", &runs.text("runs")]).fails(2, "there is no run folder in it");
    assert!(!runs.store().exists());
}

#[test]
fn secrets_of_a_study_file_never_reach_the_store() {
    let runs = Runs::new();
    runs.study("runs/a", &sample::study("quick", &day(1), 5.0));
    let text = "name: quick\narms:\n  - {name: a, url: \"http://joe:hunter2pass@127.0.0.1:1/\", request: {headers: {authorization: Bearer abc-def-ghi}}}\n";
    write(&runs.path("runs/a/study.yaml"), text);
    write(&runs.path("runs/a/report.md"), "sent Bearer abc-def-ghi\n");
    let imported = runs.printed(&["runs", "import", &runs.text("runs")]);
    assert!(imported.contains("secrets masked in report.md, study.yaml"), "{imported}");
    let files = fs::read_dir(runs.store().parent().unwrap()).unwrap();
    for file in files.map(|file| file.unwrap().path()) {
        let bytes = fs::read(&file).unwrap();
        for secret in ["hunter2pass", "abc-def-ghi"] {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{}", file.display());
        }
    }
    let exported = runs.run(&["runs", "export", "1", &runs.text("out")]);
    assert!(exported.stderr.contains("with their secrets masked"), "{exported:?}");
}

#[test]
fn two_processes_import_at_once_and_killed_ones_leave_whole_runs() {
    let runs = Runs::new();
    for number in 0..24 {
        let half = if number % 2 == 0 { "even" } else { "odd" };
        runs.study(&format!("{half}/{number}"), &sample::study("quick", &day(number), f64::from(number)));
    }
    let import = |half: &str| {
        let mut command = runs.command(&["runs", "import", &runs.text(half)]);
        Guarded(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    };
    for wait_ms in [0, 3, 6, 12, 25, 50, 100] {
        let mut killed = import("even");
        thread::sleep(Duration::from_millis(wait_ms));
        killed.0.kill().unwrap();
        killed.0.wait().unwrap();
    }
    let mut both = ["even", "odd"].map(import);
    for process in &mut both {
        assert_eq!(process.0.wait().unwrap().code(), Some(0));
    }
    assert!(runs.printed(&["runs", "gc"]).contains("contents verified"), "nothing is damaged");
    let list: Value = serde_json::from_str(&runs.printed(&["runs", "list", "--json"])).unwrap();
    assert_eq!(list["runs"].as_array().unwrap().len(), 24);
}

#[test]
fn a_damaged_store_is_reported_copied_aside_and_salvaged() {
    let runs = Runs::new();
    for number in 0..3 {
        runs.study(&format!("runs/{number}"), &sample::study("quick", &day(number), f64::from(number)));
    }
    runs.printed(&["runs", "import", &runs.text("runs")]);
    let mut bytes = fs::read(runs.store()).unwrap();
    let mark = day(1).into_bytes();
    // The result of the second run, beside its columns.
    let places: Vec<usize> =
        (0..bytes.len() - mark.len()).filter(|at| bytes[*at..].starts_with(&mark)).collect();
    for at in places {
        if bytes[..at].ends_with(b"\"started_at\": \"") {
            bytes[at..at + 4].copy_from_slice(b"1999");
        }
    }
    fs::write(runs.store(), &bytes).unwrap();
    let shown = runs.run(&["runs", "show", "2"]);
    assert!(shown.stderr.contains("is damaged") && shown.stderr.contains("run 2 lost"), "{shown:?}");
    shown.fails(2, "has no result");
    let files = fs::read_dir(runs.store().parent().unwrap()).unwrap();
    let copies: Vec<PathBuf> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(".damaged-"))
        .collect();
    assert_eq!(copies.len(), 1);
    assert_eq!(fs::read(&copies[0]).unwrap(), bytes);
    let list = checked("runs", &runs.printed(&["runs", "list", "--json"]));
    assert_eq!(list["runs"].as_array().unwrap().len(), 3);
    // The folder still has it.
    runs.printed(&["runs", "import", &runs.text("runs")]);
    assert!(runs.printed(&["runs", "show", "2"]).contains("lua"));
}

#[test]
fn a_file_that_is_no_store_is_refused_and_stays_as_it_is() {
    let runs = Runs::new();
    write(&runs.store(), "these are notes and no database, but they are long enough to be taken for one");
    let before = fs::read(runs.store()).unwrap();
    for words in [vec!["runs", "list"], vec!["runs", "gc"], vec!["runs", "history", "list"]] {
        runs.run(&words).fails(2, "is not a store of hoptax");
    }
    let mut study = runs.command(&["study", "--store", "--out", &runs.text("out")]);
    let refused = ran(study.env("PATH", "/usr/bin:/bin"));
    assert!(refused.stderr.contains("is not a store of hoptax"), "before anything is measured: {refused:?}");
    assert_eq!(fs::read(runs.store()).unwrap(), before);
}

#[test]
fn a_lasting_change_is_in_the_history_and_a_spike_is_not() {
    let runs = Runs::new();
    for number in 0..24 {
        let cost_us = if number < 12 { 5.0 } else { 6.0 } + 0.01 * f64::from(number * 7 % 5);
        let spike = if number == 6 { 40.0 } else { 0.0 };
        runs.study(&format!("runs/{number}"), &sample::study("quick", &day(number), cost_us + spike));
    }
    runs.printed(&["runs", "import", &runs.text("runs")]);
    let file = runs.text("history.json");
    let printed = runs.printed(&["runs", "history", "cost_cpu_us_per_request", "--arm", "lua"]);
    runs.printed(&["runs", "history", "cost_cpu_us_per_request", "--json", &file]);
    let history = checked("history", &fs::read_to_string(file).unwrap());
    let series = history["series"].as_array().unwrap();
    assert_eq!((series.len(), series[0]["points"].as_array().unwrap().len()), (1, 24));
    let changes = series[0]["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{printed}");
    let at = changes[0]["point"].as_u64().unwrap() as usize;
    assert_eq!((at, &changes[0]["run"]), (12, &series[0]["points"][12]["run"]), "{printed}");
    assert!(
        printed.contains("quick, lua against baseline") && printed.contains("rose by 19.9 %"),
        "{printed}"
    );

    let names = runs.printed(&["runs", "history", "list"]);
    assert_eq!(runs.printed(&["runs", "history"]), names);
    assert_eq!(names, "cost_cpu_us_per_request\ncpu_us_per_request\n");
    runs.run(&["runs", "history", "cost_cpu_us_per_requests"]).fails(2, "`cost_cpu_us_per_request`");
    runs.run(&["runs", "history", "cpu_us_per_request", "--arm", "jwt"]).fails(2, "--arm");
}

#[test]
fn a_store_without_runs_has_no_numbers_and_says_how_to_get_some() {
    let runs = Runs::new();
    runs.study("runs/0", &sample::study("quick", &day(0), 5.0));
    runs.printed(&["runs", "import", &runs.text("runs")]);
    runs.printed(&["runs", "rm", "1"]);
    let listed = runs.run(&["runs", "history"]).succeeded();
    assert_eq!(listed.stdout, "");
    assert!(
        listed.stderr.contains("`hoptax study quick --store` measures a study and stores it"),
        "{listed:?}"
    );
    let all = runs.printed(&["runs", "list"]);
    assert!(all.contains("No run was found in the store.") && all.contains("next: hoptax study"), "{all}");
}

#[test]
fn stored_runs_are_compared_with_decisions_and_other_differences() {
    let runs = Runs::new();
    for (number, cost_us, version) in [(0, 5.0, "1.39.3"), (1, 8.0, "1.40.0")] {
        let mut study = sample::study("quick", &day(number), cost_us);
        study.environment.proxy_version = Some(version.to_owned());
        runs.study(&format!("runs/{number}"), &study);
    }
    runs.printed(&["runs", "import", &runs.text("runs")]);
    let printed = runs.printed(&["runs", "compare", "1", "2"]);
    assert!(printed.contains("Run 2 against run 1: "), "{printed}");
    assert!(printed.contains("The runs differ in proxy (1.39.3, 1.40.0)."), "{printed}");
    let lua = printed.lines().find(|line| line.starts_with("lua ")).unwrap_or_else(|| panic!("{printed}"));
    assert!(lua.contains("+5.00 ±0.50") && lua.ends_with("different"), "{lua}");
    let details = runs.printed(&["runs", "compare", "1", "2", "--details"]);
    let proxy =
        details.lines().find(|line| line.starts_with("proxy ")).unwrap_or_else(|| panic!("{details}"));
    assert_eq!(proxy.split_whitespace().collect::<Vec<_>>(), ["proxy", "1.39.3", "1.40.0"]);
    runs.printed(&["runs", "label", "2", "new"]);
    for (words, why) in
        [(["runs", "compare", "1", "9"], "9"), (["runs", "compare", "2", "new"], "run 2 is named twice")]
    {
        runs.run(&words).fails(2, why);
    }
    let [one, other] = ["runs/0/result.json", "runs/1/result.json"].map(|file| runs.text(file));
    let imported = format!("`hoptax runs import {one} {other}`");
    runs.run(&["runs", "compare", &one, &other]).fails(2, &imported);
}
