//! Several sittings of one study: finds those stored beside a new one, combines them, and writes the combined result.

use std::fs;
use std::path::{Path, PathBuf};

use hoptax_checks::thresholds::Limits;
use hoptax_checks::{judge_sittings, judge_study};
use hoptax_judge::sittings::{Part, as_one, combine, differences, in_order, with_one_quiet_rule, withhold};
use hoptax_judge::summary;
use hoptax_report::document::Document;
use hoptax_report::documents;
use hoptax_report::render::{html, markdown};
use hoptax_result::{SittingsResult, StudyResult};

use crate::failure::Failure;
use crate::library;
use crate::manifest::Manifest;
use crate::outputs;
use crate::results;
use crate::run_folder;
use crate::thresholds;
use crate::update::{Say, Update};

/// Sittings that were combined.
pub struct Combined {
    /// Result of all sittings together.
    pub result: SittingsResult,
    /// The report about them.
    pub document: Document,
}

/// Combines a new result with the other sittings in its parent folder that have the same study, programs and machine. Reports which results
/// of the same study are excluded. None if there is nothing to combine.
///
/// # Errors
/// When another sitting cannot be read, or the combined result cannot be written.
pub(crate) fn combine_with_stored(
    result: &StudyResult,
    folder: &Path,
    manifest: &Manifest,
    say: Say<'_>,
) -> Result<Option<Combined>, Failure> {
    let Some(parent) = folder.parent() else { return Ok(None) };
    let mut parts = vec![Part { folder: folder_name(folder), result: result.clone() }];
    for (path, then) in run_folder::results(parent, &manifest.study) {
        if path.file_name() == folder.file_name() || run_folder::is_in_use(&path) {
            continue;
        }
        let differing = then.sitting_differences(manifest);
        if differing.is_empty() {
            let part = judged(&path)?;
            if parts.iter().any(|other| shared(&other.result, &part.result).is_some()) {
                say(Update::Note(&format!(
                    "`{}` is excluded: it is a copy of another sitting",
                    path.display()
                )));
            } else {
                parts.push(part);
            }
        } else {
            say(Update::Note(&format!("`{}` is excluded: {}", path.display(), differing.join("; "))));
        }
    }
    write(parts, parent)
}

/// The latest result in `parent` that is another sitting of this study.
pub fn latest(parent: &Path, manifest: &Manifest) -> Option<StudyResult> {
    let others = run_folder::results(parent, &manifest.study).into_iter().rev();
    let mut sittings = others.filter(|(_, then)| then.sitting_differences(manifest).is_empty());
    sittings.find_map(|(path, _)| read(&path).ok()).map(|part| part.result)
}

/// Combines the results of these run folders, and writes the combined result to `out`, or beside the first of them. Combines sittings that
/// differ only with `force`. None if there is nothing to combine.
///
/// # Errors
/// When a result cannot be read or is given twice, when sittings differ, or when the combined result cannot be written.
pub fn combine_given(
    folders: &[PathBuf],
    out: Option<&Path>,
    force: bool,
    say: Say<'_>,
) -> Result<Option<Combined>, Failure> {
    let mut parts = Vec::new();
    for folder in folders {
        let path = folder.canonicalize().map_err(|error| {
            Failure::bad_input(format!("cannot open the folder `{}`: {error}", folder.display()))
        })?;
        parts.push((path.clone(), judged(&path)?));
    }
    let mut problems = Vec::new();
    for (number, (path, part)) in parts.iter().enumerate() {
        let earlier = parts.get(..number).unwrap_or_default();
        if earlier.iter().any(|(other, _)| other == path) {
            return Err(Failure::bad_input(format!("`{}` is given twice", path.display())));
        }
        // A sitting that counts twice makes the intervals too narrow.
        for (other, earlier) in earlier {
            if let Some(began) = shared(&earlier.result, &part.result) {
                return Err(Failure::bad_input(format!(
                    "`{}` and `{}` have the same sitting, which started at {began}: name one of them",
                    other.display(),
                    path.display()
                )));
            }
        }
        if let Some((first, other)) = earlier.first() {
            let mut differing = differences(&other.result, &part.result);
            if let (Ok((_, one)), Ok((_, other))) = (run_folder::read(first), run_folder::read(path)) {
                differing.extend(one.program_differences(&other));
            }
            if !differing.is_empty() {
                problems.push(format!(
                    "`{}` and `{}`: {}",
                    first.display(),
                    path.display(),
                    differing.join("; ")
                ));
            }
        }
    }
    if !problems.is_empty() {
        let problems = problems.join("\n");
        if !force {
            return Err(Failure::bad_input(format!(
                "not sittings of one study on one machine; `--force` combines them anyway\n{problems}"
            )));
        }
        say(Update::Note(&problems));
    }
    let beside = parts.first().and_then(|(path, _)| path.parent().map(Path::to_owned));
    let folder = out.map(Path::to_owned).or(beside).unwrap_or_default();
    fs::create_dir_all(&folder).map_err(|error| Failure::cannot_write(&folder, error))?;
    write(parts.into_iter().map(|(_, part)| part).collect(), &folder)
}

/// The start of a sitting that both results have; no machine measures two at the same time.
fn shared<'a>(one: &'a StudyResult, other: &StudyResult) -> Option<&'a str> {
    let of_other = starts(other);
    starts(one).into_iter().find(|start| of_other.contains(start))
}

/// The starts of the sittings that a result combines, or that of its own.
fn starts(result: &StudyResult) -> Vec<&str> {
    match result.sittings.as_slice() {
        [] => vec![result.environment.started_at.as_str()],
        combined => combined.iter().map(|sitting| sitting.started_at.as_str()).collect(),
    }
}

/// A stored sitting whose numbers are computed again from its evidence and judged anew, so that all sittings are judged by the checks of
/// this version.
fn judged(path: &Path) -> Result<Part, Failure> {
    let mut part = read(path)?;
    // A combined result of several sittings has no evidence.
    if !part.result.rounds.is_empty() {
        let limits = match run_folder::read(path) {
            Ok((_, manifest)) => thresholds::limits(&thresholds::set(Some(&manifest), &[]))?,
            Err(_) => Limits::loosened_to(&part.result.loosened),
        };
        summary::fill(&mut part.result);
        judge_study(&mut part.result, &limits);
    }
    Ok(part)
}

fn read(path: &Path) -> Result<Part, Failure> {
    Ok(Part { folder: folder_name(path), result: results::read_run(path)? })
}

fn folder_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Combines the parts, and writes the output files.
fn write(parts: Vec<Part>, folder: &Path) -> Result<Option<Combined>, Failure> {
    let (parts, other_rule) = with_one_quiet_rule(in_order(parts));
    let Some((mut result, mut one)) = combine(&parts).zip(as_one(&parts)) else { return Ok(None) };
    one.findings.extend(other_rule);
    judge_sittings(&mut one);
    withhold(&mut result, &one);
    let stem = format!("{}-sittings", result.study.replace(['/', ' '], "-"));
    // Results name their study only, and its file, or the command that made it, is not known.
    let document = documents::sittings(&result, &one, library::is_built_in(&result.study));
    let files = [
        // Compact, because it is large and only programs read it.
        (".json", serde_json::to_string(&result).map_err(Failure::environment)? + "\n"),
        ("-result.json", serde_json::to_string(&one).map_err(Failure::environment)? + "\n"),
        (".md", markdown::text(&document)),
        (".html", html::page(&document).map_err(Failure::environment)?),
    ];
    for (ending, text) in files {
        outputs::write(&folder.join(format!("{stem}{ending}")), &text)?;
    }
    let [page, one] = [".html", "-result.json"].map(|ending| folder.join(format!("{stem}{ending}")));
    let document = document.with_page(page.display().to_string()).shown_by(one.display());
    Ok(Some(Combined { result, document }))
}

/// A warning if the intervals of combined sittings are not valid for the machine, or are wide because there are few sittings.
pub fn caveat(result: &SittingsResult) -> Option<&'static str> {
    let stating = (0..result.sittings.len()).filter(|sitting| result.states(*sitting)).count();
    match stating {
        0 => Some("no sitting states a cost; the findings in their reports give the reasons"),
        1 => Some("only one sitting states costs: its intervals hold for that sitting only"),
        2 => {
            Some("two sittings give a poor estimate of the variation between sittings, so intervals are wide")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{QuietRule, sample};

    use super::*;

    /// The ids of the findings about two sittings with these limits of quiet slices.
    fn findings(limits: [f64; 2]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let part = |(day, max_wait_share): (u32, f64)| {
            let mut result = sample::study("ours", &format!("2026-11-0{day}T00:00:00Z"), 5.0);
            result.plan.quiet_rule = Some(QuietRule { max_wait_share });
            Part { folder: day.to_string(), result }
        };
        let parts = (1..).zip(limits).map(part).collect();
        let combined = write(parts, folder.path()).unwrap().unwrap();
        combined.result.findings.iter().map(|finding| finding.id.clone()).collect()
    }

    #[test]
    fn another_sitting_is_proposed_for_a_built_in_study_alone() {
        let proposes = |name: &str| {
            let folder = tempfile::tempdir().unwrap();
            let part = |day: u32| Part {
                folder: day.to_string(),
                result: sample::study(name, &format!("2026-11-0{day}T00:00:00Z"), 5.0),
            };
            let combined = write(vec![part(1), part(2)], folder.path()).unwrap().unwrap();
            markdown::text(&combined.document).contains(&format!("hoptax study {name} --again"))
        };
        assert_eq!(["quick", "compare", "ours"].map(proposes), [true, false, false]);
    }

    #[test]
    fn a_copy_of_a_sitting_is_no_second_one() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, day: u32| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            let result = sample::study("ours", &format!("2026-11-0{day}T00:00:00Z"), 5.0);
            outputs::write_json(&path.join("result.json"), &result).unwrap();
            path
        };
        let [first, copy, second] =
            [("first", 1), ("copy", 1), ("second", 2)].map(|(name, day)| write(name, day));
        let out = folder.path().join("all");
        let combined = |folders: &[PathBuf]| combine_given(folders, Some(&out), true, &|_| ()).map(|_| ());
        let refused = combined(&[first.clone(), second.clone(), copy]).unwrap_err().to_string();
        assert!(
            refused.contains("have the same sitting, which started at 2026-11-01T00:00:00Z"),
            "{refused}"
        );
        assert!(!out.exists());
        combined(&[first, second.clone()]).unwrap();
        assert!(out.join("ours-sittings.json").exists());
        let both = out.join("ours-sittings-result.json");
        let refused = combined(&[both.clone(), second]).unwrap_err().to_string();
        assert!(
            refused.contains("have the same sitting, which started at 2026-11-02T00:00:00Z"),
            "{refused}"
        );
        combined(&[both, write("third", 3)]).unwrap();
    }

    #[test]
    fn sittings_with_different_limits_of_quiet_slices_say_that_no_quiet_p99_is_combined() {
        assert!(findings([0.01, 0.02]).contains(&"quiet-slices".to_owned()));
        assert!(!findings([0.01, 0.01]).contains(&"quiet-slices".to_owned()));
    }
}
