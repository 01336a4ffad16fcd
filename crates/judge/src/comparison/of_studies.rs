//! The study that measures the arms of several study files side by side.

use std::path::{Path, PathBuf};

use hoptax_plan::as_chain::{as_chain, stem};
use hoptax_plan::file::{
    ArmEntry, ChainEntry, ConditionsSection, ExternalEntry, HopEntry, Observe, StudyFile, SubjectEntry,
    UnloadedEntry,
};
use hoptax_plan::plan::BASELINE;
use hoptax_result::ArmLeftOut;

/// Suffix of the name of the A/A arm, a second copy of an arm of the first study.
const AGAIN: &str = "-again";

/// A study file that is compared with others.
#[derive(Clone, Debug)]
pub struct StudyOfComparison {
    /// Its name in messages.
    pub name: String,
    /// Its content.
    pub file: StudyFile,
    /// Its folder, to which paths of configurations are relative.
    pub folder: PathBuf,
}

/// The study that measures the arms of several study files side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct JointStudy {
    /// The study file, with absolute paths of configurations. Paths of applications and callers may be relative to the folder of the first
    /// study.
    pub file: StudyFile,
    /// The arms that it compares.
    pub arms: Vec<ComparedArm>,
    /// The arms that it does not measure.
    pub left_out: Vec<ArmLeftOut>,
}

/// An arm of the first study with those that are compared with it.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedArm {
    /// The arm of the first study.
    pub reference: ArmOfStudy,
    /// The arms of other studies.
    pub others: Vec<ArmOfStudy>,
}

/// An arm of one of the studies.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmOfStudy {
    /// The number of the study, from 0.
    pub study: usize,
    /// The arm, as that study names it.
    pub name: String,
    /// The entry of that study.
    pub entry: ArmEntry,
    /// Its name in the study that is measured.
    pub measured_as: String,
    /// The entry with absolute paths and without names.
    nameless: ArmEntry,
}

/// An arm that can be compared.
#[derive(Clone, Debug, PartialEq)]
struct Comparable {
    name: String,
    /// As the study has it.
    entry: ArmEntry,
    /// The same with absolute paths and without names.
    nameless: ArmEntry,
}

/// The study that measures each arm of the first study beside the arms with the same name in the other studies, and one arm of the first
/// study twice, as the A/A arm. If each study has one arm, these arms are compared whatever their names are. Arms that are equal, or that
/// have no counterpart, are left out.
///
/// # Errors
/// When a study observes a timeline, has loads for some arms, differs from the first in more than its arms, or has no arm that differs.
pub fn of_studies(studies: &[StudyOfComparison]) -> Result<JointStudy, String> {
    let [first, others @ ..] = studies else { return Err("there is no study to compare".to_owned()) };
    if let Some(timeline) = studies.iter().find(|study| study.file.observe == Observe::Timeline) {
        let name = &timeline.name;
        return Err(format!("`{name}` observes a timeline, in which no arm is compared with another"));
    }
    if let Some((study, load)) = studies.iter().find_map(|study| Some((study, study.file.load_with_arms()?)))
    {
        return Err(format!(
            "the load `{load}` of `{}` has `only` or `except`, which `hoptax compare` cannot use, because it renames the arms: remove them",
            study.name
        ));
    }
    let mut left_out = Vec::new();
    let references = comparable(first, &mut left_out);
    let mut counterparts = Vec::new();
    for (number, other) in (1..).zip(others) {
        refuse_other_surroundings(first, other)?;
        let arms = comparable(other, &mut left_out);
        let counterpart_of = |reference: &Comparable| counterpart(reference, &references, &arms);
        let found: Result<Vec<Option<usize>>, String> = references.iter().map(counterpart_of).collect();
        let found = found.map_err(|arm| {
            format!(
                "arm `{arm}` has other conditions in `{}` than in `{}`, and arms are compared under the same conditions: make `at` equal",
                other.name, first.name
            )
        })?;
        let unmatched = arms.iter().enumerate().filter(|(place, _)| !found.contains(&Some(*place)));
        left_out
            .extend(unmatched.map(|(_, arm)| ArmLeftOut::new(&arm.name, format!("only in {}", other.name))));
        counterparts.push((number, arms, found));
    }
    let mut arms: Vec<ComparedArm> = Vec::new();
    for (place, reference) in references.iter().enumerate() {
        let of_study = |(number, arms, found): &(usize, Vec<Comparable>, Vec<Option<usize>>)| {
            let arm = arms.get((*found.get(place)?)?)?;
            Some((*number, arm.clone()))
        };
        let found: Vec<(usize, Comparable)> = counterparts.iter().filter_map(of_study).collect();
        if found.is_empty() {
            left_out.push(ArmLeftOut::new(&reference.name, format!("only in {}", first.name)));
            continue;
        }
        let absent =
            counterparts.iter().zip(others).filter(|((.., found), _)| found.get(place) == Some(&None));
        left_out.extend(
            absent.map(|(_, other)| ArmLeftOut::new(&reference.name, format!("not in {}", other.name))),
        );
        let differing: Vec<&(usize, Comparable)> =
            found.iter().filter(|(_, other)| other.nameless != reference.nameless).collect();
        if differing.is_empty() {
            left_out.push(ArmLeftOut::new(&reference.name, "does not differ".to_owned()));
            continue;
        }
        let is_taken = |stem: &str| arms.iter().any(|arm| arm.reference.measured_as == name_in(stem, 0));
        let stem = stem(&reference.name, is_taken);
        let arm = |study: usize, arm: &Comparable| ArmOfStudy {
            study,
            name: arm.name.clone(),
            entry: arm.entry.clone(),
            measured_as: name_in(&stem, study),
            nameless: arm.nameless.clone(),
        };
        arms.push(ComparedArm {
            reference: arm(0, reference),
            others: differing.into_iter().map(|(study, other)| arm(*study, other)).collect(),
        });
    }
    if arms.is_empty() {
        let why = left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        return Err(format!("no arm of `{}` has another to be compared with{why}", first.name));
    }
    let file = StudyFile {
        name: "compare".to_owned(),
        summary: "Do the arms of these studies differ?".to_owned(),
        arms: entries(&arms),
        points: false,
        // Its numbers belong to arms of other names.
        published: Vec::new(),
        ..first.file.clone()
    };
    Ok(JointStudy { file, arms, left_out })
}

/// The name of an arm of the study with this number, from 0: `jwt.A`.
fn name_in(stem: &str, study: usize) -> String {
    let letter = u32::try_from(study).ok().and_then(|study| char::from_u32(u32::from('A') + study));
    format!("{stem}.{}", letter.unwrap_or('Z'))
}

fn again(reference: &ArmOfStudy) -> String {
    format!("{}{AGAIN}", reference.measured_as)
}

/// The arms of the study that is measured. References come first, because an arm can only be compared with an earlier one.
fn entries(arms: &[ComparedArm]) -> Vec<ArmEntry> {
    let mut entries = vec![ArmEntry::Name(BASELINE.to_owned())];
    entries.extend(arms.iter().map(|arm| renamed(&arm.reference.nameless, &arm.reference.measured_as, None)));
    for arm in arms {
        let reference = Some(arm.reference.measured_as.as_str());
        let others = arm.others.iter().map(|other| renamed(&other.nameless, &other.measured_as, reference));
        entries.extend(others);
    }
    entries.extend(arms.first().map(|ComparedArm { reference, .. }| {
        renamed(&reference.nameless, &again(reference), Some(&reference.measured_as))
    }));
    entries
}

/// The arms of a study that can be compared. Of the other arms, `left_out` receives all but two kinds: arms that every comparison measures
/// anyway, such as the baseline, and arms that equal the arm that their study compares them with.
fn comparable(study: &StudyOfComparison, left_out: &mut Vec<ArmLeftOut>) -> Vec<Comparable> {
    let mut found: Vec<Comparable> = Vec::new();
    for entry in &study.file.arms {
        let (name, entry) = match entry {
            ArmEntry::Subject(SubjectEntry { subject }) => {
                let reason = format!("an arm of {} without a name", study.name);
                left_out.push(ArmLeftOut::new(&subject.to_string(), reason));
                continue;
            }
            ArmEntry::Unloaded(UnloadedEntry { unloaded }) => {
                left_out.push(ArmLeftOut::new(unloaded, format!("unloaded in {}", study.name)));
                continue;
            }
            ArmEntry::External(entry) => (entry.name.clone(), ArmEntry::External(entry.clone())),
            other => match as_chain(other) {
                Some((name, chain)) if name != BASELINE => (name, ArmEntry::Chain(chain)),
                _ => continue,
            },
        };
        let nameless = renamed(&with_absolute_paths(&entry, &study.folder), "", None);
        if !found.iter().any(|earlier| earlier.nameless == nameless) {
            found.push(Comparable { name, entry, nameless });
        }
    }
    found
}

/// The index in `arms` of the arm to compare `reference` with: the arm with its name and conditions, or the only arm if each study has one.
///
/// # Errors
/// The name of the reference if the arm has other conditions.
fn counterpart(
    reference: &Comparable,
    references: &[Comparable],
    arms: &[Comparable],
) -> Result<Option<usize>, String> {
    let has_conditions = |arm: &Comparable| conditions(&arm.entry) == conditions(&reference.entry);
    let is_named = |arm: &Comparable| arm.name == reference.name;
    if let Some(place) = arms.iter().position(|arm| is_named(arm) && has_conditions(arm)) {
        return Ok(Some(place));
    }
    // Several arms of one function differ in their conditions.
    let only_named = |all: &[Comparable]| {
        let mut named = all.iter().enumerate().filter(|(_, arm)| is_named(arm)).map(|(place, _)| place);
        named.next().filter(|_| named.next().is_none())
    };
    let place = match (references, arms) {
        ([_], [_]) => Some(0),
        _ => only_named(references).and(only_named(arms)),
    };
    let Some((place, arm)) = place.and_then(|place| Some((place, arms.get(place)?))) else { return Ok(None) };
    if has_conditions(arm) { Ok(Some(place)) } else { Err(reference.name.clone()) }
}

/// The conditions that an arm sets for itself.
fn conditions(entry: &ArmEntry) -> Option<&ConditionsSection> {
    match entry {
        ArmEntry::Chain(ChainEntry { at, .. }) | ArmEntry::External(ExternalEntry { at, .. }) => Some(at),
        _ => None,
    }
}

/// The arm under another name, compared with `compared_with`.
fn renamed(entry: &ArmEntry, name: &str, compared_with: Option<&str>) -> ArmEntry {
    let (name, compared_with) = (name.to_owned(), compared_with.map(str::to_owned));
    match entry {
        ArmEntry::Chain(entry) => ArmEntry::Chain(ChainEntry { name, compared_with, ..entry.clone() }),
        ArmEntry::External(entry) => {
            ArmEntry::External(ExternalEntry { name, compared_with, ..entry.clone() })
        }
        other => other.clone(),
    }
}

/// An arm whose configurations have absolute paths.
fn with_absolute_paths(entry: &ArmEntry, folder: &Path) -> ArmEntry {
    let ArmEntry::Chain(chain) = entry else { return entry.clone() };
    let mut chain = chain.clone();
    for hop in chain.hops.iter_mut().flatten() {
        // A proxy that is only named has a generated configuration.
        let HopEntry::Hop(hop) = hop else { continue };
        if let Some(config) = &mut hop.config {
            *config = folder.join(&*config).display().to_string();
        }
    }
    ArmEntry::Chain(chain)
}

/// Refuses a study that differs from the first in more than its arms and its length.
fn refuse_other_surroundings(first: &StudyOfComparison, other: &StudyOfComparison) -> Result<(), String> {
    let (one, two) = (&first.file, &other.file);
    let keys = [
        ("loads", one.loads != two.loads),
        ("conditions", one.conditions != two.conditions),
        ("link", one.link != two.link),
        ("application", one.application != two.application),
    ];
    let differing: Vec<&str> = keys.iter().filter(|(_, differs)| *differs).map(|(key, _)| *key).collect();
    if differing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "`{}` has other `{}` than `{}`, and the arms of both are measured in one study: make them equal",
        other.name,
        differing.join("` and `"),
        first.name
    ))
}

#[cfg(test)]
mod tests;
