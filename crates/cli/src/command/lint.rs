//! `hoptax lint`: finds faults in Envoy configurations, and mends them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hoptax_bootstrap::Partly;
use hoptax_lint::output::{self, File};
use hoptax_lint::{ALL, Finding, Linted, Severity, in_file, lint, mend, rule};
use hoptax_predict::prices::listed;
use hoptax_report::documents::at_load;
use hoptax_report::sarif;
use hoptax_result::{Interval, Price, Program, Verdict};
use hoptax_session::results::read_run;
use hoptax_subject::envoy::given::read_partly;

use super::listeners::bootstrap_of;
use crate::arguments::{LintAction, LintArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &LintArguments) -> Result<Code, Failure> {
    match &arguments.action {
        None => files(arguments),
        Some(LintAction::Rules { markdown: true }) => print::result(&output::page()).map(|()| Code::Success),
        Some(LintAction::Rules { markdown: false }) => print::list(&output::listed()).map(|()| Code::Success),
        Some(LintAction::Explain { id }) => {
            print::list(&output::explained(rule(id).ok_or_else(|| unknown(id))?))?;
            Ok(Code::Success)
        }
    }
}

fn files(arguments: &LintArguments) -> Result<Code, Failure> {
    if let Some(id) = arguments.only.iter().find(|id| rule(id).is_none()) {
        return Err(unknown(id));
    }
    // Who corrects the name of a file wants all of them mended at once.
    if arguments.fix
        && let Some(path) =
            arguments.files.iter().find(|path| bootstrap_of(path).is_ok_and(|own| own.is_some()))
    {
        let message = format!("`{}` is a listeners file, which --fix does not change", path.display());
        return Err(Failure::bad_input(message));
    }
    if arguments.fix && arguments.files.iter().all(|path| read(path).is_ok()) {
        for path in &arguments.files {
            fix(path, &arguments.only)?;
        }
    }
    let costs = arguments.prices.as_deref().map(costs).transpose()?.unwrap_or_default();
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for path in &arguments.files {
        match checked(path, &arguments.only) {
            Ok(mut file) => {
                file.linted.add_prices(&|arm| costs.get(arm).cloned());
                files.push(file);
            }
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    let failure = (!failures.is_empty()).then(|| Failure::bad_input(failures.join("\n")));
    if files.is_empty()
        && let Some(failure) = failure
    {
        return Err(failure);
    }
    report(arguments, &files)?;
    let mut findings = files.iter().flat_map(|file| &file.linted.findings);
    let has_errors = findings.any(|finding| finding.rule.severity == Severity::Error);
    match failure {
        Some(failure) => Err(failure),
        None if has_errors => Ok(Code::ConditionFailed),
        None => Ok(Code::Success),
    }
}

/// Writes the findings as they are asked for.
fn report(arguments: &LintArguments, files: &[File]) -> Result<(), Failure> {
    let version = Program::this().version;
    if let Some(path) = &arguments.sarif {
        let (rules, results) = output::sarif(files);
        write(path, &sarif::log(&version, &rules, &results))?;
    }
    let json = arguments.json.file();
    if let Some(path) = json {
        write(path, &output::json(files, &version))?;
    }
    if arguments.github {
        print::result(&output::github(files))?;
    } else if json != Some(Path::new("-")) && arguments.sarif.as_deref() != Some(Path::new("-")) {
        print::result(&output::screen(files, print::has_details()))?;
    }
    Ok(())
}

/// What functions cost by a study result, in words.
fn costs(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let study = read_run(path)?;
    let list = listed(&study);
    if list.verdict == Verdict::Void {
        let void = format!("`{}` is void: measure it again", path.display());
        return Err(Failure::bad_input(void));
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

/// What is wrong in a file.
fn checked(path: &Path, only: &[String]) -> Result<File, Failure> {
    let mut file = File { name: path.display().to_string(), linted: Linted::default(), unread: Vec::new() };
    if let Some((bootstrap, lines)) = bootstrap_of(path)? {
        let nothing = |_: &str| Err("a listeners file names no other".to_owned());
        let read = hoptax_bootstrap::read_partly(&file.name, &bootstrap, None, &nothing);
        file.linted = of_rules(lint(&read.map_err(Failure::bad_input)?), only);
        for finding in &mut file.linted.findings {
            let line = lines.get((finding.place.line as usize).saturating_sub(1)).copied();
            finding.place.line = line.filter(|line| *line > 0).unwrap_or(1);
            finding.place.column = 0;
        }
        return Ok(file);
    }
    for read in read(path)? {
        let linted = of_rules(lint(&read), only);
        file.linted.findings.extend(linted.findings);
        file.linted.allowed.extend(linted.allowed);
        file.unread.extend(read.unread);
    }
    Ok(file)
}

fn read(path: &Path) -> Result<Vec<Partly>, Failure> {
    read_partly(path).map_err(Failure::bad_input)
}

fn of_rules(mut linted: Linted, only: &[String]) -> Linted {
    let is_meant = |finding: &Finding| only.is_empty() || only.iter().any(|id| id == finding.rule.id);
    linted.findings.retain(is_meant);
    linted.allowed.retain(|(finding, _)| is_meant(finding));
    linted
}

/// Mends a file, and those that it names. Each configuration of a file is read again after a change of the one before it.
fn fix(path: &Path, only: &[String]) -> Result<(), Failure> {
    let number = read(path)?.len();
    for index in 0..number {
        let Some(read) = read(path)?.into_iter().nth(index) else { break };
        let linted = of_rules(lint(&read), only);
        // What an info is about may be as it should.
        let is_meant = |finding: &&Finding| finding.rule.severity != Severity::Info || !only.is_empty();
        let findings: Vec<&Finding> =
            linted.findings.iter().filter(|finding| !finding.found.fix.is_empty()).filter(is_meant).collect();
        let (mended, refused) = mend(&read.configuration, &findings);
        for (finding, why) in &refused {
            print::note(&format!("{}: {} is not mended: {why}", finding.place, finding.rule.id));
        }
        for text in mended {
            let Some(old) = read.configuration.texts().nth(text.text) else { continue };
            // A text inside of a value has a name of its own, which is no path.
            let file = PathBuf::from(old.name);
            let outer = fs::read_to_string(&file).ok();
            let Some(new) = outer.and_then(|outer| in_file(&outer, &old, &text.changed)) else {
                print::note(&format!(
                    "{}: nothing is mended: the text is written there in another form",
                    old.name
                ));
                continue;
            };
            print::write_file(&file, &new)?;
            let is_done = |finding: &&&Finding| {
                finding.text == text.text && !refused.iter().any(|(left, _)| std::ptr::eq(*left, **finding))
            };
            let done = findings.iter().filter(is_done).count();
            print::note(&format!("mended {done} in {}", file.display()));
        }
    }
    Ok(())
}

fn write(path: &Path, value: &serde_json::Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::environment)? + "\n";
    if path == Path::new("-") { print::result(&text) } else { print::write_file(path, &text) }
}

fn unknown(id: &str) -> Failure {
    let hint = hoptax_text::nearest::hint(id, ALL.iter().map(|rule| rule.id));
    Failure::bad_input(format!("unknown rule `{id}`{hint}\n`hoptax lint rules` lists them"))
}
