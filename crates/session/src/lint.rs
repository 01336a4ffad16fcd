//! Finds faults in the Envoy configurations of files, and mends them there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hoptax_bootstrap::Partly;
use hoptax_lint::output::File;
use hoptax_lint::{self as lint, ALL, Finding, Linted, Rule, Severity, in_file};
use hoptax_listeners::is_listeners;
use hoptax_predict::prices::listed;
use hoptax_report::documents::at_load;
use hoptax_result::{Interval, Price, Verdict};
use hoptax_subject::envoy::given::read_partly;

use crate::failure::Failure;
use crate::listeners::bootstrap_of;
use crate::results::read_run;
use crate::update::{Say, Update};

/// The beginning of a comment that allows a finding.
const ALLOWING: &str = "# hoptax-lint: allow";

/// What was found in files.
#[derive(Debug)]
pub struct Examined {
    /// The files that could be read, at least one.
    pub files: Vec<File>,
    /// Why others could not.
    pub failure: Option<Failure>,
    /// What has no effect in them.
    pub notes: Vec<String>,
}

impl Examined {
    /// Whether a file has an error.
    pub fn has_errors(&self) -> bool {
        let mut findings = self.files.iter().flat_map(|file| &file.linted.findings);
        findings.any(|finding| finding.rule.severity == Severity::Error)
    }
}

/// The rule with this id.
///
/// # Errors
/// When there is none.
pub fn rule(id: &str) -> Result<&'static Rule, Failure> {
    lint::rule(id).ok_or_else(|| {
        let hint = hoptax_text::nearest::hint(id, ALL.iter().map(|rule| rule.id));
        Failure::bad_input(format!("unknown rule `{id}`{hint}\n`hoptax lint rules` lists them"))
    })
}

/// Finds faults in files by the rules with these ids, or by all if there are none. What a finding costs is taken from the study result
/// `prices`.
///
/// # Errors
/// When no file can be read, and when `prices` cannot.
pub fn examine(paths: &[PathBuf], only: &[String], prices: Option<&Path>) -> Result<Examined, Failure> {
    let costs = prices.map(costs).transpose()?.unwrap_or_default();
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for path in paths {
        match examine_one(path, only) {
            Ok(mut file) => {
                file.linted.add_prices(&|arm| costs.get(arm).cloned());
                files.push(file);
            }
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    match (!failures.is_empty()).then(|| Failure::bad_input(failures.join("\n"))) {
        Some(failure) if files.is_empty() => Err(failure),
        failure => {
            let notes = files.iter().flat_map(|file| comments_without_effect(&file.name)).collect();
            Ok(Examined { files, failure, notes })
        }
    }
}

/// What functions cost by a study result, in words.
fn costs(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let study = read_run(path)?;
    let list = listed(&study);
    if list.verdict == Verdict::Void {
        return Err(Failure::bad_input(format!("`{}` is void: measure it again", path.display())));
    }
    let plain =
        list.listed.plain_us.map(|plain| format!(", beside {:.1} us of plain proxying", plain.estimate));
    let plain = plain.unwrap_or_default();
    // A function costs more or less by how busy the proxy is.
    let load = study.plan.cpu_load().map_or_else(String::new, |load| format!(" {}", at_load(load)));
    let words = |price: &Price| {
        let Interval { estimate, low, high } = price.listed_us?;
        let cost = format!(
            "{estimate:.1} us ({low:.1} to {high:.1}) of CPU time per request{load}{plain}, by `{}`",
            price.id
        );
        Some((price.id.clone(), cost))
    };
    Ok(list.prices.iter().filter_map(words).collect())
}

fn examine_one(path: &Path, only: &[String]) -> Result<File, Failure> {
    let mut file = File { name: path.display().to_string(), linted: Linted::default(), unread: Vec::new() };
    if let Some((bootstrap, lines)) = bootstrap_of(path)? {
        let nothing = |_: &str| Err("a listeners file names no other".to_owned());
        let read = hoptax_bootstrap::read_partly(&file.name, &bootstrap, None, &nothing);
        let linted = lint::lint_generated(&read.map_err(Failure::bad_input)?, &lines);
        file.linted = of_rules(linted, only);
        return Ok(file);
    }
    for read in read(path)? {
        let linted = of_rules(lint::lint(&read), only);
        file.linted.findings.extend(linted.findings);
        file.linted.allowed.extend(linted.allowed);
        file.unread.extend(read.unread);
    }
    Ok(file)
}

/// Comments of a listeners file that allow a finding, which the configuration that is made from it does not have.
fn comments_without_effect(name: &str) -> Vec<String> {
    let Ok(text) = fs::read_to_string(name) else { return Vec::new() };
    if !text.contains(ALLOWING) || !is_listeners(&text) {
        return Vec::new();
    }
    let lines = (1..).zip(text.lines()).filter(|(_, line)| line.contains(ALLOWING));
    let note = |(line, _)| {
        format!(
            "{name}:{line}: this comment has no effect: findings of a listeners file cannot be allowed; `--only RULE` chooses rules"
        )
    };
    lines.map(note).collect()
}

fn read(path: &Path) -> Result<Vec<Partly>, Failure> {
    read_partly(path).map_err(Failure::bad_input)
}

/// What the rules with these ids found, or all if there are none.
fn of_rules(mut linted: Linted, only: &[String]) -> Linted {
    let is_meant = |finding: &Finding| only.is_empty() || only.iter().any(|id| id == finding.rule.id);
    linted.findings.retain(is_meant);
    linted.allowed.retain(|(finding, _)| is_meant(finding));
    linted
}

/// Mends what needs no decision, by the rules with these ids or by all, in files and in those that they name. Nothing is mended if one
/// of the files cannot be read: who corrects its name wants all of them mended at once.
///
/// # Errors
/// When one is a file of listeners, and when a file cannot be written.
pub fn mend(paths: &[PathBuf], only: &[String], say: Say<'_>) -> Result<(), Failure> {
    if let Some(path) = paths.iter().find(|path| bootstrap_of(path).is_ok_and(|own| own.is_some())) {
        let message = format!(
            "`{}` is a listeners file, which --fix does not change: run `hoptax lint` without it, and change the keys of the listeners in the lines that it names",
            path.display()
        );
        return Err(Failure::bad_input(message));
    }
    if paths.iter().any(|path| read(path).is_err()) {
        return Ok(());
    }
    paths.iter().try_for_each(|path| mend_one(path, only, say))
}

/// Mends a file, and those that it names. Each configuration of a file is read again after a change of the one before it.
fn mend_one(path: &Path, only: &[String], say: Say<'_>) -> Result<(), Failure> {
    let note = |text: &str| say(Update::Note(text));
    let number = read(path)?.len();
    for index in 0..number {
        let Some(read) = read(path)?.into_iter().nth(index) else { break };
        let linted = of_rules(lint::lint(&read), only);
        // What an info is about may be as it should.
        let is_meant = |finding: &&Finding| finding.rule.severity != Severity::Info || !only.is_empty();
        let findings: Vec<&Finding> =
            linted.findings.iter().filter(|finding| !finding.found.fix.is_empty()).filter(is_meant).collect();
        let (mended, refused) = lint::mend(&read.configuration, &findings);
        for (finding, why) in &refused {
            note(&format!("{}: {} is not mended: {why}", finding.place, finding.rule.id));
        }
        for text in mended {
            let Some(old) = read.configuration.texts().nth(text.text) else { continue };
            // A text inside of a value has a name of its own, which is no path.
            let file = PathBuf::from(old.name);
            let outer = fs::read_to_string(&file).ok();
            let Some(new) = outer.and_then(|outer| in_file(&outer, &old, &text.changed)) else {
                note(&format!("{}: nothing is mended: the text is written there in another form", old.name));
                continue;
            };
            fs::write(&file, &new).map_err(|error| {
                Failure::environment(format!("cannot write `{}`: {error}", file.display()))
            })?;
            let is_done = |finding: &&&Finding| {
                finding.text == text.text && !refused.iter().any(|(left, _)| std::ptr::eq(*left, **finding))
            };
            let done = findings.iter().filter(is_done).count();
            note(&format!("mended {done} in {}", file.display()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    /// It has findings that can be mended.
    const FILE: &str = include_str!("../../lint/tests/rules/outlier-ejects-none/fires.yaml");
    /// It has an error.
    const WITH_ERROR: &str = include_str!("../../lint/tests/rules/unknown-cluster/fires.yaml");

    fn findings(path: &PathBuf) -> usize {
        examine(slice::from_ref(path), &[], None).unwrap().files[0].linted.findings.len()
    }

    #[test]
    fn files_are_mended_unless_one_cannot_be_read_which_does_not_hide_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let (good, missing) = (folder.path().join("a.yaml"), folder.path().join("none.yaml"));
        fs::write(&good, FILE).unwrap();
        let paths = [good.clone(), missing.clone()];
        let examined = examine(&paths, &[], None).unwrap();
        assert!(examined.files.len() == 1 && examined.failure.is_some() && !examined.has_errors());
        assert!(examine(&[missing], &[], None).is_err());
        mend(&paths, &[], &|_| {}).unwrap();
        assert_eq!(fs::read_to_string(&good).unwrap(), FILE);
        let before = findings(&good);
        mend(slice::from_ref(&good), &[], &|_| {}).unwrap();
        assert!(findings(&good) < before);
    }

    #[test]
    fn an_error_is_one_of_the_rules_that_are_meant() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        fs::write(&file, WITH_ERROR).unwrap();
        let has_errors = |only: &[String]| examine(slice::from_ref(&file), only, None).unwrap().has_errors();
        assert!(has_errors(&[]) && has_errors(&["unknown-cluster".to_owned()]));
        assert!(!has_errors(&["cors-after-auth".to_owned()]));
    }

    #[test]
    fn an_unknown_rule_is_an_error_with_the_nearest_one() {
        let error = rule("rate-limit-of").unwrap_err().to_string();
        assert!(error.contains("did you mean `rate-limit-off`?"), "{error}");
    }
}
