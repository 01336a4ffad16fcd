//! Several sittings of one study: finding those that lie beside a new one, putting them together, and writing what comes of it.

use std::fs;
use std::path::{Path, PathBuf};

use hoptax_report::{markdown, terminal};
use hoptax_result::{SittingsResult, StudyResult};
use hoptax_study::sittings::{Part, combine, differences};

use super::run_folder::{self, Facts};
use crate::arguments::StudyArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Puts a new result together with those of its study that lie beside it: same study, same programs, same machine. Others of that
/// name are told.
pub(super) fn with_others(directory: &Path, facts: &Facts, result: &StudyResult) -> Result<(), Failure> {
    let Some(parent) = directory.parent() else { return Ok(()) };
    let mut parts = vec![Part { folder: folder_name(directory), result: result.clone() }];
    for (path, then) in run_folder::finished(parent, &facts.study) {
        if path.file_name() == directory.file_name() || run_folder::is_in_use(&path) {
            continue;
        }
        let differing = then.differences_of_sitting(facts);
        if differing.is_empty() {
            parts.push(read(&path)?);
        } else {
            print::note(&format!("`{}` is left out: {}", path.display(), differing.join("; ")));
        }
    }
    write(parts, parent)
}

/// The last result of a study that lies in `parent` and is another sitting of the one that begins.
pub(super) fn last(parent: &Path, facts: &Facts) -> Option<StudyResult> {
    let others = run_folder::finished(parent, &facts.study).into_iter().rev();
    let mut sittings = others.filter(|(_, then)| then.differences_of_sitting(facts).is_empty());
    sittings.find_map(|(path, _)| read(&path).ok()).map(|part| part.result)
}

/// `hoptax study --combine`.
pub(super) fn combine_stored(arguments: &StudyArguments) -> Result<Code, Failure> {
    let mut parts = Vec::new();
    for folder in &arguments.combine {
        let path = folder.canonicalize().map_err(|error| {
            Failure::bad_input(format!("there is no folder `{}`: {error}", folder.display()))
        })?;
        parts.push((path.clone(), read(&path)?));
    }
    let mut problems = Vec::new();
    for (number, (path, part)) in parts.iter().enumerate() {
        let earlier = parts.get(..number).unwrap_or_default();
        if earlier.iter().any(|(other, _)| other == path) {
            return Err(Failure::bad_input(format!("`{}` is given twice", path.display())));
        }
        if let Some((first, other)) = earlier.first() {
            let mut differing = differences(&other.result, &part.result);
            if let (Ok((_, one)), Ok((_, other))) = (run_folder::read(first), run_folder::read(path)) {
                differing.extend(one.other_programs(&other));
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
        if !arguments.force {
            return Err(Failure::bad_input(format!(
                "these are no sittings of one study on one machine; `--force` puts them together all the same\n{problems}"
            )));
        }
        print::note(&problems);
    }
    let beside = parts.first().and_then(|(path, _)| path.parent().map(Path::to_owned));
    let folder: PathBuf = arguments.out.clone().or(beside).unwrap_or_default();
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
    write(parts.into_iter().map(|(_, part)| part).collect(), &folder)?;
    Ok(Code::Fine)
}

fn read(path: &Path) -> Result<Part, Failure> {
    let file = path.join("result.json");
    let of = |error: &dyn std::fmt::Display| {
        Failure::bad_input(format!("`{}` is no result of a study: {error}", file.display()))
    };
    let text = fs::read_to_string(&file).map_err(|error| of(&error))?;
    let result: StudyResult = serde_json::from_str(&text).map_err(|error| of(&error))?;
    if !StudyResult::READABLE.contains(&result.format.as_str()) {
        return Err(of(&format!("it is of format `{}`", result.format)));
    }
    Ok(Part { folder: folder_name(path), result })
}

fn folder_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Prints the table and writes the files.
fn write(parts: Vec<Part>, folder: &Path) -> Result<(), Failure> {
    let Some(result) = combine(parts) else { return Ok(()) };
    print::result(&terminal::sittings(&result, print::style()))?;
    let stem = format!("{}-sittings", result.study.replace(['/', ' '], "-"));
    let json = serde_json::to_string_pretty(&result).map_err(Failure::environment)? + "\n";
    for (ending, text) in [("json", json), ("md", markdown::sittings(&result))] {
        let path = folder.join(format!("{stem}.{ending}"));
        fs::write(&path, text).map_err(|error| failed(&path, &error))?;
    }
    print::note(&format!("\nthe sittings: {}", folder.join(format!("{stem}.md")).display()));
    advise(&result);
    Ok(())
}

/// Says what the intervals hold for, where that is less than one may think.
fn advise(result: &SittingsResult) {
    let again = format!("`hoptax study {} --again`, some hours later", result.study);
    let stating = (0..result.sittings.len()).filter(|sitting| result.states(*sitting)).count();
    match stating {
        0 => print::note("no sitting states a cost: the findings of their reports say why"),
        1 => print::note(&format!(
            "one sitting states costs: its intervals hold for that sitting only; measure another one: {again}"
        )),
        2 => print::note(&format!(
            "two sittings hardly say by how much sittings differ, so that intervals are wide; measure a third: {again}"
        )),
        _ => {}
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot write `{}`: {error}", path.display()))
}
