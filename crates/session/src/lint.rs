//! Finds faults in the Envoy configurations of files, and mends them there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hoptax_bootstrap::Partly;
use hoptax_lint::{self as rules, ALL, Allowances, Finding, Linted, Rule, Severity, in_file, output};
use hoptax_predict::prices::listed;
use hoptax_report::documents::at_load;
use hoptax_report::sarif;
use hoptax_result::{
    CostMeasure, Interval, LintBody, LintFinding, LintResult, LintedFile, Price, Verdict, grouped,
};
use hoptax_subject::envoy::given::read_partly;
use hoptax_text::file;
use serde_json::Value;

use crate::failure::Failure;
use crate::listeners::{ListenersFile, is_listeners_file, listeners_file};
use crate::results::read_run;
use crate::update::{Say, Update};

/// Settings for linting files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Examination<'a> {
    /// The ids of the rules; empty for all.
    pub only: &'a [String],
    /// A study result with the costs of functions.
    pub prices: Option<&'a Path>,
    /// A file that lists allowed findings.
    pub allow: Option<&'a Path>,
    /// A file of services that listeners files name.
    pub services: Option<&'a Path>,
    /// True to first fix the faults that need no decision.
    pub mends: bool,
}

/// The findings of the examined files.
#[derive(Debug)]
pub struct Examined {
    /// The findings in the files that could be read, at least one.
    pub result: LintResult,
    /// Reason why other files could not be read; None if all could.
    pub failure: Option<Failure>,
    /// The number of findings to which a price was added.
    priced: usize,
}

impl Examined {
    /// True if a file has an error.
    pub fn has_errors(&self) -> bool {
        self.result.count(Severity::Error) > 0
    }

    fn new(files: Vec<LintedFile>, priced: usize, how: &Examination<'_>, failure: Option<Failure>) -> Self {
        let allowances = how.allow.map(|path| path.display().to_string());
        let body = LintBody { only: how.only.to_vec(), allowances, ..output::body(files) };
        Self { result: LintResult::new((), body), failure, priced }
    }
}

/// A result as SARIF, with all rules.
pub fn sarif(result: &LintResult) -> Value {
    let (rules, results) = output::sarif(result);
    sarif::log(&result.program.version, &rules, &results)
}

/// The rule with this id.
///
/// # Errors
/// When there is none.
pub fn rule(id: &str) -> Result<&'static Rule, Failure> {
    rules::rule(id).ok_or_else(|| {
        let hint = hoptax_text::nearest::hint(id, ALL.iter().map(|rule| rule.id));
        Failure::bad_input(format!("unknown rule `{id}`{hint}\n`hoptax lint rules` lists them"))
    })
}

/// Fixes the faults that need no decision if `how` asks for it, and then finds the faults of the files.
///
/// # Errors
/// When a rule is unknown, when none of `paths` can be read, when a file that `how` names cannot be read, and when a file cannot be
/// written.
pub fn lint(paths: &[PathBuf], how: &Examination<'_>, say: Say<'_>) -> Result<Examined, Failure> {
    how.only.iter().try_for_each(|id| rule(id).map(drop))?;
    let is_mended = how.mends && mend(paths, how, say)?;
    let mut examined = examine(paths, how)?;
    if let Some(prices) = how.prices.filter(|_| examined.priced == 0) {
        let list = prices.display();
        say(Update::Note(&format!("no finding is about a function that has a price in `{list}`")));
    }
    if is_mended {
        // Clear the fixes that are left: the first pass refused them, and a second one would refuse them again.
        let is_left = |finding: &&mut LintFinding| finding.is_mendable(!how.only.is_empty());
        let findings = examined.result.files.iter_mut().flat_map(|file| &mut file.findings);
        findings.filter(is_left).for_each(|finding| finding.fix.clear());
    }
    Ok(examined)
}

/// Finds faults in files.
///
/// # Errors
/// When none of `paths` can be read, and when a file that `how` names cannot be read.
fn examine(paths: &[PathBuf], how: &Examination<'_>) -> Result<Examined, Failure> {
    let costs = how.prices.map(costs).transpose()?.unwrap_or_default();
    let mut allowances = how.allow.map(allowances).transpose()?;
    if how.services.is_some() && !paths.iter().any(|path| is_listeners_file(path)) {
        let message =
            "`--services` applies to listeners files only, and none of these files is one: remove it";
        return Err(Failure::bad_input(message));
    }
    let (mut files, mut failures, mut priced) = (Vec::new(), Vec::new(), 0);
    for path in paths {
        match examine_one(path, how, &costs, allowances.as_mut()) {
            Ok((file, priced_here)) => {
                files.push(file);
                priced += priced_here;
            }
            Err(_) if path.is_dir() => {
                let folder = path.display();
                failures.push(format!("`{folder}` is a folder: name its files, as in `{folder}/*.yaml`"));
            }
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    match (!failures.is_empty()).then(|| Failure::bad_input(failures.join("\n"))) {
        Some(failure) if files.is_empty() => Err(failure),
        // Do not report unused entries of the allow file: one may be for a file that could not be read.
        Some(failure) => Ok(Examined::new(files, priced, how, Some(failure))),
        None => {
            if let Some((path, allowances)) = how.allow.zip(allowances) {
                let mut linted = Linted { findings: allowances.without_effect(), allowed: Vec::new() };
                keep_meant(&mut linted, how.only);
                if !linted.findings.is_empty() {
                    files.push(output::file(&path.display().to_string(), &linted, &[]));
                }
            }
            Ok(Examined::new(files, priced, how, None))
        }
    }
}

fn allowances(path: &Path) -> Result<Allowances, Failure> {
    let text = file::configuration(path).map_err(|error| Failure::cannot_read(path, error))?;
    Allowances::read(&path.display().to_string(), &text).map_err(Failure::bad_input)
}

/// Returns the cost of each function in a study result, in words.
fn costs(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let study = read_run(path)?;
    let list = listed(&study);
    if list.verdict == Verdict::Void {
        return Err(Failure::bad_input(format!("`{}` is void: measure it again", path.display())));
    }
    let words = |price: &Price| {
        let Interval { estimate, low, high, .. } = price.listed_us?;
        let baseline = study.arm(&study.plan.baseline).zip(study.arm(&price.id));
        let plain =
            baseline.and_then(|(plain, arm)| study.level_of_reference(arm, plain, CostMeasure::CpuUs));
        let plain = plain.map_or_else(String::new, |us| {
            format!(", in addition to {} us of plain proxying", grouped(us.estimate, 1))
        });
        // The cost of a function depends on how busy the proxy is.
        let load = study.plan.cpu_load_of(&price.id);
        let load = load.map_or_else(String::new, |load| format!(" {}", at_load(load)));
        let cost = format!(
            "{estimate} us ({low} to {high}) of CPU time per request{load}{plain}, as measured for `{}`",
            price.id,
            estimate = grouped(estimate, 1),
            low = grouped(low, 1),
            high = grouped(high, 1)
        );
        Some((price.id.clone(), cost))
    };
    Ok(list.prices.iter().filter_map(words).collect())
}

/// Finds faults in a file; also returns the number of findings that got a price.
fn examine_one(
    path: &Path,
    how: &Examination<'_>,
    costs: &BTreeMap<String, String>,
    mut allowances: Option<&mut Allowances>,
) -> Result<(LintedFile, usize), Failure> {
    let name = path.display().to_string();
    let (mut all, mut unread) = (Linted::default(), Vec::new());
    let mut add = |mut linted: Linted| {
        if let Some(allowances) = &mut allowances {
            allowances.sort_out(&mut linted);
        }
        keep_meant(&mut linted, how.only);
        all.findings.extend(linted.findings);
        all.allowed.extend(linted.allowed);
    };
    match listeners_file(path, how.services)? {
        Some(listeners) => add(lint_listeners_file(&name, listeners)?),
        None => {
            for read in read(path)? {
                add(rules::lint(&read));
                unread.extend(read.unread);
            }
        }
    }
    let priced = all.add_prices(&|arm| costs.get(arm).cloned());
    Ok((output::file(&name, &all, &unread), priced))
}

/// Finds faults in the bootstrap of a listeners file, at the lines of the file.
fn lint_listeners_file(name: &str, listeners: ListenersFile) -> Result<Linted, Failure> {
    let ListenersFile { text, bootstrap, lines } = listeners;
    let read = hoptax_bootstrap::of_value(name, bootstrap).map_err(Failure::bad_input)?;
    Ok(rules::lint_generated(&read, name, &text, &|pointer| lines.line(pointer)))
}

fn read(path: &Path) -> Result<Vec<Partly>, Failure> {
    read_partly(path).map_err(Failure::bad_input)
}

/// Keeps the findings of the rules with these ids; keeps all findings if there are no ids.
fn keep_meant(linted: &mut Linted, only: &[String]) {
    let is_meant = |finding: &Finding| only.is_empty() || only.iter().any(|id| id == finding.rule.id);
    linted.findings.retain(is_meant);
    linted.allowed.retain(|(finding, _)| is_meant(finding));
}

/// Fixes faults that need no decision, in files and in the files that they name. Changes nothing if one of the files cannot be read: a user
/// who corrects its name wants all of them fixed at once. A listeners file stays unchanged, with a note. True if all could be read.
///
/// # Errors
/// When a file cannot be written.
fn mend(paths: &[PathBuf], how: &Examination<'_>, say: Say<'_>) -> Result<bool, Failure> {
    let (listeners, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        paths.iter().partition(|path| is_listeners_file(path));
    let is_read = |path: &&PathBuf| matches!(listeners_file(path, how.services), Ok(Some(_)));
    if !listeners.iter().all(is_read) || others.iter().any(|path| read(path).is_err()) {
        return Ok(false);
    }
    for path in listeners {
        let text = format!(
            "{}: nothing to fix: rendering sets the fields that --fix would set, and each finding needs a decision about a key of the \
             listener in its line",
            path.display()
        );
        say(Update::Note(&text));
    }
    let mut allowances = how.allow.map(allowances).transpose()?;
    others.into_iter().try_for_each(|path| mend_one(path, how.only, allowances.as_mut(), say))?;
    Ok(true)
}

/// Fixes a file and the files that it names. Reads each configuration of a file again after the one before it has changed.
fn mend_one(
    path: &Path,
    only: &[String],
    mut allowances: Option<&mut Allowances>,
    say: Say<'_>,
) -> Result<(), Failure> {
    let note = |text: &str| say(Update::Note(text));
    let mut is_any = false;
    let number = read(path)?.len();
    for index in 0..number {
        let Some(read) = read(path)?.into_iter().nth(index) else { break };
        let mut linted = rules::lint(&read);
        if let Some(allowances) = &mut allowances {
            allowances.sort_out(&mut linted);
        }
        keep_meant(&mut linted, only);
        // An info may be about a correct configuration, so it is fixed only if the user names its rule.
        let is_meant = |finding: &&Finding| finding.rule.severity != Severity::Info || !only.is_empty();
        let findings: Vec<&Finding> =
            linted.findings.iter().filter(|finding| !finding.found.fix.is_empty()).filter(is_meant).collect();
        is_any |= !findings.is_empty();
        let (mended, refused) = rules::mend(&read.configuration, &findings);
        for (finding, why) in &refused {
            note(&format!("{}: {} is not fixed: {why}", finding.place, finding.rule.id));
        }
        for text in mended {
            let Some(old) = read.configuration.texts().nth(text.text) else { continue };
            // The name of a configuration embedded in a value of another file is its place, not a path.
            let file = PathBuf::from(old.name);
            let outer = fs::read_to_string(&file).ok();
            let Some(new) = outer.and_then(|outer| in_file(&outer, &old, &text.changed)) else {
                note(&format!("{}: nothing is fixed: the file has the text in another form", old.name));
                continue;
            };
            fs::write(&file, &new).map_err(|error| Failure::cannot_write(&file, error))?;
            let is_done = |finding: &&&Finding| {
                finding.text == text.text && !refused.iter().any(|(left, _)| std::ptr::eq(*left, **finding))
            };
            let done = findings.iter().filter(is_done).count();
            note(&format!("fixed {done} in {}", file.display()));
        }
    }
    if !is_any {
        note(&format!("{}: nothing to fix: all findings, if any, need a decision", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;
    use crate::update::tests::noted;

    /// A configuration with findings that can be mended.
    const FILE: &str = include_str!("../../lint/tests/rules/outlier-ejects-none/fires.yaml");
    /// A configuration with an error.
    const WITH_ERROR: &str = include_str!("../../lint/tests/rules/unknown-cluster/fires.yaml");

    fn findings(path: &PathBuf) -> usize {
        examine(slice::from_ref(path), &Examination::default()).unwrap().result.findings().count()
    }

    #[test]
    fn files_are_mended_unless_one_cannot_be_read_which_does_not_hide_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let (good, missing) = (folder.path().join("a.yaml"), folder.path().join("none.yaml"));
        fs::write(&good, FILE).unwrap();
        let paths = [good.clone(), missing.clone()];
        let all = Examination::default();
        let examined = examine(&paths, &all).unwrap();
        assert!(examined.result.files.len() == 1 && examined.failure.is_some() && !examined.has_errors());
        assert!(examine(&[missing], &all).is_err());
        mend(&paths, &all, &|_| {}).unwrap();
        assert_eq!(fs::read_to_string(&good).unwrap(), FILE);
        let before = findings(&good);
        mend(slice::from_ref(&good), &all, &|_| {}).unwrap();
        assert!(findings(&good) < before);
    }

    #[test]
    fn an_error_is_one_of_the_rules_that_are_meant() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        fs::write(&file, WITH_ERROR).unwrap();
        let has_errors = |only: &[String]| {
            let how = Examination { only, ..Examination::default() };
            examine(slice::from_ref(&file), &how).unwrap().has_errors()
        };
        assert!(has_errors(&[]) && has_errors(&["unknown-cluster".to_owned()]));
        assert!(!has_errors(&["cors-after-auth".to_owned()]));
    }

    #[test]
    fn what_a_file_allows_is_neither_found_nor_mended_and_entries_without_effect_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (file, allow) = (folder.path().join("a.yaml"), folder.path().join("allow.yaml"));
        fs::write(&file, FILE).unwrap();
        fs::write(
            &allow,
            "- {rule: outlier-ejects-none, reason: ours}\n- {rule: admin-exposed, reason: x}\n",
        )
        .unwrap();
        let how = Examination { allow: Some(&allow), ..Examination::default() };
        let of = |examined: &Examined, id: &str| {
            examined.result.findings().filter(|finding| finding.rule == id).count()
        };
        let examined = examine(slice::from_ref(&file), &how).unwrap();
        assert_eq!(of(&examined, "outlier-ejects-none"), 0);
        assert_eq!(of(&examined, "allowed-without-effect"), 1);
        let without = examine(slice::from_ref(&file), &Examination::default()).unwrap();
        assert_eq!(of(&without, "outlier-ejects-none"), 1);
        let only = ["outlier-ejects-none".to_owned()];
        let how = Examination { only: &only, ..how };
        assert_eq!(examine(slice::from_ref(&file), &how).unwrap().result.files.len(), 1);
        mend(slice::from_ref(&file), &how, &|_| {}).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), FILE);
        let both = [file, folder.path().join("none.yaml")];
        let examined =
            examine(&both, &Examination { allow: Some(&allow), ..Examination::default() }).unwrap();
        assert_eq!(of(&examined, "allowed-without-effect"), 0);
    }

    const LISTENERS: &str = "\
listeners:
  # hoptax-lint: allow retry-writes the service does the same twice without harm
  - {name: a, port: 6001, timeout: 1s, service: a, retry: {retry_on: 5xx, num_retries: 1}}
  - {name: b, port: 6002, timeout: 1s, service: a, cluster: b, retry: {retry_on: 5xx, num_retries: 1}}
  # hoptax-lint: allow timeout-off nowhere
";

    #[test]
    fn what_is_found_in_several_routes_of_a_listener_is_said_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        let upstream = "upstream: {address: a, port: 1}";
        let text = format!(
            "listeners:\n  - {{name: a, port: 6001, timeout: 1s, {upstream}, retry: {{retry_on: 5xx}}, routes: [{{prefix: /b, {upstream}}}]}}\n"
        );
        fs::write(&file, text).unwrap();
        let examined = examine(slice::from_ref(&file), &Examination::default()).unwrap();
        let findings = &examined.result.body.files[0].findings;
        let of_retries = findings.iter().filter(|finding| finding.rule == "retry-writes");
        assert_eq!(of_retries.count(), 1, "{findings:?}");
    }

    #[test]
    fn comments_of_a_listeners_file_allow_and_its_services_may_be_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let (file, services) = (folder.path().join("a.yaml"), folder.path().join("services.yaml"));
        fs::write(&file, LISTENERS).unwrap();
        fs::write(&services, "a: {port: 80, upstream: a.example.org}\n").unwrap();
        let how = Examination { services: Some(&services), ..Examination::default() };
        let result = examine(slice::from_ref(&file), &how).unwrap().result;
        let lines = |id: &str| -> Vec<u64> {
            result.findings().filter(|finding| finding.rule == id).map(|finding| finding.line).collect()
        };
        assert_eq!((lines("retry-writes"), lines("allowed-without-effect")), (vec![4], vec![5]));
        let allowed: Vec<(&str, u64)> =
            result.allowed().map(|finding| (finding.rule.as_str(), finding.line)).collect();
        assert_eq!(allowed, [("retry-writes", 3)]);
        assert!(examine(slice::from_ref(&file), &Examination::default()).is_err());
        let error = examine(slice::from_ref(&services), &how).unwrap_err().to_string();
        assert!(error.contains("`--services` applies to listeners files"), "{error}");
    }

    /// Mends files, and returns the notes.
    fn notes_of(paths: &[PathBuf], how: &Examination<'_>) -> Vec<String> {
        let (mended, notes) = noted(|say| mend(paths, how, say));
        mended.unwrap();
        notes
    }

    #[test]
    fn a_listeners_file_is_left_alone_with_a_note_and_other_files_are_mended() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other, services] =
            ["a.yaml", "b.yaml", "services.yaml"].map(|name| folder.path().join(name));
        fs::write(&file, LISTENERS).unwrap();
        fs::write(&other, FILE).unwrap();
        fs::write(&services, "a: {port: 80, upstream: a.example.org}\n").unwrap();
        let paths = [file.clone(), other.clone()];
        // Without its services, the listeners file cannot be read, so nothing is mended.
        assert_eq!(notes_of(&paths, &Examination::default()), Vec::<String>::new());
        assert_eq!(fs::read_to_string(&other).unwrap(), FILE);
        let notes = notes_of(&paths, &Examination { services: Some(&services), ..Examination::default() });
        assert!(notes.len() == 2 && notes[0].contains("a.yaml: nothing to fix"), "{notes:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), LISTENERS);
        assert_ne!(fs::read_to_string(&other).unwrap(), FILE);
    }

    #[test]
    fn no_finding_about_a_listeners_file_has_a_fix() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../listeners/tests/catalogue");
        let services = folder.join("services.yaml");
        let mut found = 0;
        for (name, services) in [("listeners.yaml", Some(services.as_path())), ("edge.yaml", None)] {
            let path = folder.join(name);
            let listeners = listeners_file(&path, services).unwrap().unwrap();
            for finding in lint_listeners_file(name, listeners).unwrap().findings {
                found += 1;
                assert!(
                    finding.found.fix.is_empty(),
                    "{name}: {}: {}",
                    finding.rule.id,
                    finding.found.message
                );
            }
        }
        assert!(found > 0);
    }

    #[test]
    fn an_unknown_rule_is_an_error_with_the_nearest_one() {
        let error = rule("rate-limit-of").unwrap_err().to_string();
        assert!(error.contains("did you mean `rate-limit-off`?"), "{error}");
    }
}
