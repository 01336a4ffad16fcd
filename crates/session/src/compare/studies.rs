//! Study files as subjects: each arm is compared with the arm of the same name in the first study.

use std::fs;
use std::path::{Path, PathBuf};

use hoptax_judge::comparison::{
    ArmIn, ArmOfStudy, ComparedArm, JointStudy, StudyOfComparison, key_differences, of_studies, with_named,
};
use hoptax_plan::file;
use hoptax_result::{
    ComparedArms, ComparedSubject, ComparisonBody, StudiesComparison, StudiesComparisonBody, StudyResult,
    SubjectName,
};

use super::names::{LONGEST, again, names, shown};
use super::subject::Subject;
use super::{
    Compared, Comparison, ComparisonSettings, FILE, NAME, ROUNDS, configuration_differences_or_note, measure,
};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::library;
use crate::outputs::write_json;
use crate::run_folder;
use crate::study::Study;
use crate::update::{Say, Update};

/// Reads the subjects as study files; none if no subject is one.
///
/// # Errors
/// When only some subjects are study files, and all problems of one of them.
pub(super) fn read(
    given: &[String],
    subjects: &[Subject],
) -> Result<Option<Vec<StudyOfComparison>>, Failure> {
    // Ignore a file that cannot be read: the error comes later, where it is read as a configuration.
    let text = |subject: &Subject| fs::read_to_string(subject.config()?).ok();
    let texts = subjects.iter().map(|subject| text(subject).filter(|text| file::is_study(text)));
    let texts: Vec<Option<String>> = texts.collect();
    let Some(study) = texts.iter().position(Option::is_some) else { return Ok(None) };
    if let Some(other) = texts.iter().position(Option::is_none) {
        let name = |number: usize| given.get(number).map_or("", String::as_str);
        return Err(Failure::bad_input(format!(
            "`{}` is a study file and `{}` is not: a study file can only be compared with study files",
            name(study),
            name(other)
        )));
    }
    let mut studies = Vec::new();
    for ((given, subject), text) in given.iter().zip(subjects).zip(texts.into_iter().flatten()) {
        if subject.config() != Some(given.trim()) {
            return Err(Failure::bad_input(format!(
                "subject `{}`: `+` cannot add parts to a study file; write them into the file",
                shown(given)
            )));
        }
        let (file, _) = file::read(given, &text).map_err(Failure::bad_input)?;
        studies.push(StudyOfComparison { name: given.clone(), file, folder: library::folder(given) });
    }
    Ok(Some(studies))
}

/// Compares the arms of the studies.
pub(super) fn run(
    settings: &ComparisonSettings<'_>,
    studies: &[StudyOfComparison],
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<Compared, Failure> {
    let found = of_studies(studies).map_err(Failure::bad_input)?;
    if !found.left_out.is_empty() {
        let arms = found.left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        say(Update::Note(&format!("arms not measured: {arms}")));
    }
    let folder_of_study = settings.subjects.first().map_or_else(PathBuf::new, |first| library::folder(first));
    let folder = run_folder::path_of(settings.folder, NAME);
    let rounds = found.file.rounds.unwrap_or(ROUNDS);
    let study = Study::made(found.file.clone(), NAME, folder_of_study)?;
    let result = measure(study, settings, rounds, &folder, interrupt, say)?;
    let comparison = comparison(&result, settings, &found, say);
    write_json(&folder.join(FILE), &comparison)?;
    Ok(Compared { comparison: Comparison::Studies(Box::new(comparison)), folder })
}

fn comparison(
    result: &StudyResult,
    settings: &ComparisonSettings<'_>,
    found: &JointStudy,
    say: Say<'_>,
) -> StudiesComparison {
    let studies = names(settings.subjects, |number| number.to_string());
    let stems: Vec<&str> = studies.iter().map(|study| study.name.as_str()).collect();
    let named = Named { given: settings.subjects, stems: &stems, say };
    let with_names = |comparison: ComparisonBody| named.arms(comparison, &found.arms);
    let body = StudiesComparisonBody {
        studies: settings.subjects.to_vec(),
        arms: with_named(result, settings.margin_share).into_iter().filter_map(with_names).collect(),
        left_out: found.left_out.clone(),
    };
    StudiesComparison::new(result.environment.clone(), body).judged_as(result)
}

/// Names of arms in outputs.
struct Named<'a> {
    /// The studies, as they were given.
    given: &'a [String],
    /// Their short names.
    stems: &'a [&'a str],
    say: Say<'a>,
}

impl Named<'_> {
    /// The comparison with arms named after their studies; none if its reference is not an arm of the first study.
    fn arms(&self, comparison: ComparisonBody, all: &[ComparedArm]) -> Option<ComparedArms> {
        let id = &comparison.reference.arm;
        let arm = all.iter().find(|arm| conditions(id, &arm.reference.measured_as).is_some())?;
        let reference = self.name(&arm.reference, id);
        let mut subjects = Vec::new();
        for subject in comparison.subjects {
            let id = subject.subject.arm.clone();
            let other = arm.others.iter().find(|other| conditions(&id, &other.measured_as).is_some());
            let Some(other) = other else {
                subjects.push(ComparedSubject { subject: again(&reference, id), ..subject });
                continue;
            };
            let keys = key_differences(&arm.reference.entry, &other.entry);
            let differences = configuration_differences_or_note(
                self.entry_in(&arm.reference),
                self.entry_in(other),
                self.say,
            );
            subjects.push(ComparedSubject { subject: self.name(other, &id), keys, differences, ..subject });
        }
        let comparison = ComparisonBody { reference, subjects, ..comparison };
        Some(ComparedArms { arm: arm.reference.name.clone(), comparison })
    }

    /// The names of an arm; `id` is its id in the measured study.
    fn name(&self, arm: &ArmOfStudy, id: &str) -> SubjectName {
        let whole = format!("{}{}", arm.name, conditions(id, &arm.measured_as).unwrap_or_default());
        let stem = self.stems.get(arm.study).copied().unwrap_or_default();
        let name = format!("{whole} of {stem}");
        SubjectName {
            arm: id.to_owned(),
            name: if name.chars().count() > LONGEST { id.to_owned() } else { name },
            given: format!("{whole} of {}", self.given.get(arm.study).map_or("", String::as_str)),
        }
    }

    /// An arm with the folder of its study, as the user would name it.
    fn entry_in<'a>(&'a self, arm: &'a ArmOfStudy) -> ArmIn<'a> {
        let study = Path::new(self.given.get(arm.study).map_or("", String::as_str));
        ArmIn { entry: &arm.entry, folder: study.parent().unwrap_or(Path::new("")) }
    }
}

/// Returns the part of an arm's id after the name of its entry: the arm's conditions, if the entry has several. None if the arm belongs to
/// another entry.
fn conditions<'a>(id: &'a str, name: &str) -> Option<&'a str> {
    id.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with([' ', '{']))
}
