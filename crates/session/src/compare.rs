//! Measures subjects side by side and decides if they differ.

mod names;
mod part;
mod studies;
mod subject;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hoptax_judge::comparison::{ArmIn, compare as compare_arms, configuration_differences, key_differences};
use hoptax_plan::file::{ArmEntry, LoadSection, LoopWord, StudyFile};
use hoptax_plan::plan::BASELINE;
use hoptax_report::document::Document;
use hoptax_report::documents::{self, Again};
use hoptax_result::{
    ComparedSubject, ComparisonResult, ConfigurationDifferences, KeyDifference, StudiesComparison,
    StudyResult, Verdict,
};
use hoptax_run::configurations;
use hoptax_stats::DECISIVE;
use serde::Serialize;

use self::subject::Subject;
use crate::continuation::continued_by;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::length::RequestedLength;
use crate::measure::{Options, Place, complete};
use crate::outputs::write_json;
use crate::run_folder::Held;
use crate::study::Study;
use crate::update::{Say, Update};
use crate::{library, run_folder};

/// The comparison in a run folder.
const FILE: &str = "comparison.json";
/// Name of the study, and of the command that makes it.
const NAME: &str = "compare";
/// Rounds if neither the arguments nor a study file state them.
const ROUNDS: u32 = 12;

/// Settings of a comparison.
#[derive(Clone, Copy)]
pub struct ComparisonSettings<'a> {
    /// The subjects, as users write them; the others are compared with the first.
    pub subjects: &'a [String],
    /// The equivalence margin, as a share of the first subject.
    pub margin_share: f64,
    /// The longest time to measure until the differences of CPU time are decided, instead of rounds.
    pub until_decided: Option<Duration>,
    /// Number of rounds. None takes the number of the first study file or the default, or, if `is_resumed`, the number that the study
    /// already has.
    pub rounds: Option<u32>,
    /// The run folder; none for a new one, named after the time.
    pub folder: Option<&'a Path>,
    /// True to continue the comparison in the folder.
    pub is_resumed: bool,
    /// The command that continues it after an interrupt, without its run folder.
    pub again: &'a str,
    /// Options of the study, except its length.
    pub options: Options<'a>,
}

/// A finished comparison and its run folder.
#[derive(Debug)]
pub struct Compared {
    /// The comparison, which is also in the run folder.
    pub comparison: Comparison,
    /// The run folder.
    pub folder: PathBuf,
}

/// A comparison. As JSON, it is its result.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Comparison {
    /// A comparison of proxies and servers.
    Subjects(Box<ComparisonResult>),
    /// A comparison of study files, arm by arm.
    Studies(Box<StudiesComparison>),
}

impl Comparison {
    /// Its document, with the command that measures the same subjects.
    pub fn document(&self, again: Again<'_>) -> Document {
        match self {
            Self::Subjects(result) => documents::comparison_of(result, again),
            Self::Studies(result) => documents::studies_comparison_of(result, again),
        }
    }

    /// Its verdict.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Subjects(result) => result.verdict,
            Self::Studies(result) => result.verdict,
        }
    }
}

/// Measures the subjects side by side, and writes their comparison to the run folder.
///
/// # Errors
/// When a subject is not valid, and when the study cannot begin, fails or is interrupted.
pub fn compare(
    settings: &ComparisonSettings<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<Compared, Failure> {
    let parsed: Result<Vec<Subject>, String> =
        settings.subjects.iter().map(|given| Subject::parse(given)).collect();
    let subjects = parsed.map_err(Failure::bad_input)?;
    if let Some(studies) = studies::read(settings.subjects, &subjects)? {
        return studies::run(settings, &studies, interrupt, say);
    }
    let catalogue = library::catalogue()?;
    let problems: BTreeSet<String> =
        subjects.iter().flat_map(|subject| subject.problems(catalogue)).collect();
    if !problems.is_empty() {
        return Err(Failure::bad_input(problems.into_iter().collect::<Vec<_>>().join("\n")));
    }
    let shown: Vec<String> = settings.subjects.iter().map(|given| names::shown(given)).collect();
    let without = without_cpu_time(&shown, &subjects);
    if let Some(url) = without.first() {
        say(Update::Note(&format!(
            "the CPU time and memory of {} are not compared: append the processes of a server to its URL, such as `'{url}+pid=ID'` or \
             `'{url}+process=NAME'`",
            without.join(" and ")
        )));
    }
    // All differences are relative to the first subject.
    let is_known = subjects.first().is_some_and(Subject::has_cpu_time)
        && subjects.iter().skip(1).any(Subject::has_cpu_time);
    if settings.until_decided.is_some() && !is_known {
        return Err(Failure::bad_input(
            "`--until-decided` waits for differences in CPU time, and none is measured: name the processes of the servers, or give \
             `--rounds`",
        ));
    }
    let study = made(&shown, &subjects)?;
    let folder = run_folder::path_of(settings.folder, NAME);
    let result = measure(study, settings, ROUNDS, &folder, interrupt, say)?;
    let comparison = comparison(&result, settings.margin_share, &shown, &subjects, say);
    write_json(&folder.join(FILE), &comparison)?;
    Ok(Compared { comparison: Comparison::Subjects(Box::new(comparison)), folder })
}

/// The names of arms in problems: those of the subjects, because the user named no arms. The second copy of the first subject has the name
/// of the first, so a problem of both is stated once.
fn known_as(given: &[String]) -> BTreeMap<String, String> {
    let again = given.first().map(|first| (again(), first));
    let arms = given.iter().enumerate().map(|(number, one)| (arm_name(number), one)).chain(again);
    arms.map(|(arm, given)| (arm, format!("subject `{given}`"))).collect()
}

/// The subjects whose CPU time is not counted, each once, as the user gave them.
fn without_cpu_time<'a>(given: &'a [String], subjects: &[Subject]) -> Vec<&'a str> {
    let mut without: Vec<&str> = Vec::new();
    for (given, subject) in given.iter().zip(subjects) {
        if !(subject.has_cpu_time() || without.contains(&given.as_str())) {
            without.push(given);
        }
    }
    without
}

/// Measures a new study, for `rounds` if the settings state no length, or continues the study in the folder.
fn measure(
    study: Study,
    settings: &ComparisonSettings<'_>,
    rounds: u32,
    folder: &Path,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<StudyResult, Failure> {
    let usual = (!settings.is_resumed).then_some(rounds);
    let length = match settings.until_decided {
        Some(budget) => RequestedLength::until_decided(DECISIVE * settings.margin_share, budget),
        None => RequestedLength { rounds: settings.rounds.or(usual), ..RequestedLength::default() },
    };
    let place = if settings.is_resumed {
        check_same(&study.file, folder)?;
        Place::ResumedAs(folder, study.positions)
    } else {
        Place::New { study: Box::new(study), folder: Some(folder), held: Held::Refused }
    };
    let measured = complete(&place, &Options { length, ..settings.options }, interrupt, say);
    measured.map_err(|failure| continued_by(failure, settings.again, folder))
}

/// Refuses a folder whose study has other subjects. The summary has them as they were given, and a path may be given in several ways.
fn check_same(study: &StudyFile, folder: &Path) -> Result<(), Failure> {
    let begun = run_folder::study(folder)?.0.file;
    if (StudyFile { summary: study.summary.clone(), ..begun }) == *study {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "`{}` holds the study of another comparison (study.yaml): --resume needs the same subjects as at its start; --out starts another \
         comparison",
        folder.display()
    )))
}

/// Returns the comparison of the subjects, which are named as the user gave them.
fn comparison(
    result: &StudyResult,
    margin_share: f64,
    given: &[String],
    subjects: &[Subject],
    say: Say<'_>,
) -> ComparisonResult {
    let mut comparison = compare_arms(result, &arm_name(0), margin_share);
    let mut all = names::names(given, arm_name);
    let again_names = all.first().map(|first| names::again(first, again()));
    all.extend(again_names);
    for one in &mut comparison.subjects {
        if let Some(names) = all.iter().find(|names| names.arm == one.subject.arm) {
            one.subject.clone_from(names);
        }
        let number = (0..subjects.len()).find(|number| arm_name(*number) == one.subject.arm);
        let subject = number.and_then(|number| subjects.get(number));
        if let Some((first, subject)) = subjects.first().zip(subject) {
            add_differences(one, first, subject, say);
        }
    }
    if let Some(first) = all.into_iter().next() {
        comparison.reference = first;
    }
    ComparisonResult::new(result.environment.clone(), comparison).judged_as(result)
}

/// Adds the differences between two proxies.
fn add_differences(compared: &mut ComparedSubject, first: &Subject, subject: &Subject, say: Say<'_>) {
    let [Some(one), Some(other)] = [first, subject].map(Subject::proxy) else { return };
    let [reference, arm] = [&one, &other].map(|entry| ArmIn { entry, folder: Path::new("") });
    compared.differences = configuration_differences_or_note(reference, arm, say);
    // A subject is one proxy, and its configuration is compared by filter.
    let keys = key_differences(&one, &other).into_iter().map(|found| KeyDifference {
        key: found.key.strip_prefix("hops[0].").unwrap_or(&found.key).to_owned(),
        ..found
    });
    compared.keys = keys.filter(|found| found.key != "config" || compared.differences.is_none()).collect();
}

/// Returns the differences between the configurations of two arms. If they cannot be shown, a note gives the reason: the numbers do not
/// depend on them.
fn configuration_differences_or_note(
    reference: ArmIn<'_>,
    other: ArmIn<'_>,
    say: Say<'_>,
) -> Option<ConfigurationDifferences> {
    configuration_differences(reference, other, &configurations::read).unwrap_or_else(|why| {
        say(Update::Note(&format!("differences of configurations cannot be shown: {why}")));
        None
    })
}

/// The id of an arm: `A` for the first subject.
fn arm_name(number: usize) -> String {
    char::from_u32('A' as u32 + number as u32).unwrap_or('Z').to_string()
}

/// The id of the second copy of the first subject.
fn again() -> String {
    format!("{}-again", arm_name(0))
}

/// The study of these subjects; `given` has them in the words of the user.
fn made(given: &[String], subjects: &[Subject]) -> Result<Study, Failure> {
    let summary = format!("Do these subjects differ: {}?", given.join(", "));
    let file = StudyFile { summary, ..StudyFile::new(NAME, arms(subjects), loads()) };
    // Paths in it are absolute.
    Study::made_known_as(file, &known_as(given), NAME, std::env::temp_dir())
}

/// One arm for each subject, all but the first compared with the first, and a second copy of the first.
fn arms(subjects: &[Subject]) -> Vec<ArmEntry> {
    let first = arm_name(0);
    let mut arms = vec![ArmEntry::Name(BASELINE.to_owned())];
    for (number, subject) in subjects.iter().enumerate() {
        arms.push(subject.arm(&arm_name(number), (number > 0).then_some(first.as_str())));
    }
    arms.extend(subjects.first().map(|subject| subject.arm(&again(), Some(&first))));
    arms
}

/// One rate for all subjects for CPU time and response time, saturation for the maximum rate.
fn loads() -> Vec<LoadSection> {
    let in_use = LoadSection {
        arrivals: Some("uniform".to_owned()),
        connections: 32,
        blocks: Some(24),
        ..LoadSection::new("in-use", LoopWord::Open)
    };
    let saturation =
        LoadSection { connections: 16, blocks: Some(6), ..LoadSection::new("saturation", LoopWord::Closed) };
    vec![in_use, saturation]
}

#[cfg(test)]
mod tests {
    use hoptax_plan::plan::Plan;
    use hoptax_result::ArmKind;
    use serde_json::json;

    use super::*;
    use crate::manifest::tests::manifest;
    use crate::run_folder::RunFolder;
    use crate::study::tests::{is_kept, planned};

    fn study(given: &[&str]) -> Result<Study, Failure> {
        let given: Vec<String> = given.iter().map(ToString::to_string).collect();
        let subjects: Vec<Subject> = given.iter().map(|given| Subject::parse(given).unwrap()).collect();
        made(&given, &subjects)
    }

    fn plan(subjects: &[&str]) -> Plan {
        planned(&study(subjects).unwrap())
    }

    #[test]
    fn the_kept_file_is_the_study_that_was_measured() {
        let subjects = ["1.39.3+jwt+env=A={{ b }}", "./envoy+lua+flags=--disable-extensions 'a'", "baseline"];
        is_kept(&study(&subjects).unwrap());
    }

    #[test]
    fn a_comparison_goes_on_with_the_same_subjects_in_any_spelling_and_with_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let begun = study(&["conf/a.yaml", "lua"]).unwrap();
        drop(RunFolder::begin(folder.path(), &begun.text, &manifest()).unwrap());
        let check = |given: &[&str]| check_same(&study(given).unwrap().file, folder.path());
        for same in ["conf/a.yaml", "./conf/a.yaml"] {
            assert!(check(&[same, "lua"]).is_ok(), "{same}");
        }
        let refused = check(&["conf/b.yaml", "lua"]).unwrap_err().to_string();
        assert!(refused.contains("the study of another comparison"), "{refused}");
    }

    #[test]
    fn a_study_that_nobody_may_measure_is_refused_by_its_subjects_each_once() {
        let given = ["jwt+workers=200", "lua", "lua+workers=300"];
        let refused = study(&given).unwrap_err().to_string();
        let problem = |of: usize, workers: u32| {
            format!("subject `{}`: `workers` must be at most 64, not {workers}", given[of])
        };
        let mut lines: Vec<&str> = refused.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, [problem(0, 200), problem(2, 300)]);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_problem_of_its_subject_also_when_the_comparison_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let begun = study(&["conf/none.yaml", "lua"]).unwrap();
        drop(RunFolder::begin(folder.path(), &begun.text, &manifest()).unwrap());
        let new = folder.path().join("new");
        let positions = begun.positions.clone();
        for place in [
            Place::New { study: Box::new(begun), folder: Some(&new), held: Held::Refused },
            Place::ResumedAs(folder.path(), positions),
        ] {
            let refused = complete(&place, &Options::default(), &Interrupt::default(), &|_| ()).err();
            let problems = refused.unwrap().to_string();
            let unread = |line: &&str| line.starts_with("subject `conf/none.yaml`: cannot read `");
            assert_eq!(problems.lines().filter(unread).count(), 1, "{problems}");
            assert!(!problems.contains("arm `"), "{problems}");
        }
    }

    #[test]
    fn all_subjects_are_compared_with_the_first_and_so_is_its_second_copy() {
        let plan = plan(&["1.39.3+jwt+access-log/json", "1.40.0+jwt", "baseline", "./envoy"]);
        let place = |id: &str| plan.arms.iter().position(|arm| arm.id == id);
        let first = place("A");
        assert!(first.is_some());
        for (id, kind) in [
            ("A-again", ArmKind::Same),
            ("B", ArmKind::Function),
            ("C", ArmKind::Function),
            ("D", ArmKind::Function),
        ] {
            let arm = &plan.arms[place(id).unwrap()];
            assert_eq!((arm.kind, arm.compared_with), (kind, first), "{id}");
        }
        let envoys: Vec<&str> = plan.envoys().into_iter().collect();
        for envoy in ["1.39.3", "1.40.0", "./envoy"] {
            assert!(envoys.contains(&envoy), "{envoys:?}");
        }
    }

    #[test]
    fn configurations_and_urls_are_subjects() {
        let subjects =
            ["b.yaml+1.39.3", "conf/a.json", "http://127.0.0.1:1/a+b", "http://127.0.0.1:1/a+b+pid=3"];
        let entries = serde_json::to_value(study(&subjects).unwrap().file.arms).unwrap();
        let here = std::env::current_dir().unwrap();
        let hop = |arm: usize| entries[arm]["hops"][0].clone();
        assert_eq!(hop(1)["config"], json!(here.join("b.yaml")));
        assert_eq!(hop(1)["envoy"], "1.39.3");
        assert_eq!((hop(1), &entries[5]["compared_with"]), (hop(5), &json!("A")));
        assert_eq!(hop(2)["config"], json!(here.join("conf/a.json")));
        assert_eq!((&entries[3]["url"], &entries[3]["compared_with"]), (&json!(subjects[2]), &json!("A")));
        assert_eq!((&entries[3]["account"], &entries[4]["account"]), (&json!(null), &json!({"pid": 3})));
        assert_eq!(entries[4]["url"], entries[3]["url"]);
    }

    #[test]
    fn flags_variables_and_workers_are_those_of_the_proxy() {
        let plan = plan(&["jwt", "jwt+flags=--disable-extensions a+env=A=b+workers=2", "jwt"]);
        let arm = |id: &str| plan.arms.iter().find(|arm| arm.id == id).unwrap();
        let [hop] = arm("B").chain.hops.as_slice() else { panic!("{plan:?}") };
        assert_eq!(hop.flags, ["--disable-extensions", "a"]);
        assert_eq!((hop.environment["A"].as_str(), hop.workers), ("b", Some(2)));
        assert_eq!(arm("C").kind, ArmKind::Same);
    }

    #[test]
    fn what_differs_between_proxies_is_named_in_the_words_of_study_files() {
        let keys = |one: &str, other: &str| {
            let [first, subject] = [one, other].map(|given| Subject::parse(given).unwrap());
            let mut compared = ComparedSubject {
                subject: hoptax_result::SubjectName::of_arm("B"),
                is_same: false,
                keys: Vec::new(),
                differences: None,
                answer_differences: Vec::new(),
                measures: Vec::new(),
                bounds: Vec::new(),
                bound_shares: Vec::new(),
            };
            add_differences(&mut compared, &first, &subject, &|_| ());
            let keys = compared.keys.into_iter();
            let keys = keys.map(|found| {
                let or_none = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
                format!("{}: {}, {}", found.key, or_none(found.reference), or_none(found.value))
            });
            keys.collect::<Vec<_>>()
        };
        assert_eq!(keys("1.39.3", "1.40.0"), ["envoy: 1.39.3, 1.40.0"]);
        assert_eq!(keys("jwt", "jwt+workers=2"), ["workers: none, 2"]);
        assert_eq!(
            keys("jwt", "jwt+lua+env=API_TOKEN=x"),
            ["env.API_TOKEN: none, none", "functions: jwt, jwt, lua"]
        );
        assert_eq!(keys("jwt", "http://127.0.0.1:1/"), [""; 0]);
    }

    #[test]
    fn subjects_may_equal_the_first_or_each_other() {
        let of = |subjects: &[&str]| -> Vec<(String, ArmKind)> {
            let plan = plan(subjects);
            let first = plan.arms.iter().position(|arm| arm.id == "A");
            let arms = plan.arms.into_iter().filter(|arm| arm.id != "baseline");
            // A subject that equals another one is compared with the first all the same.
            arms.inspect(|arm| assert!(arm.id == "A" || arm.compared_with == first, "{arm:?}"))
                .map(|arm| (arm.id, arm.kind))
                .collect()
        };
        let named = |id: &str, kind: ArmKind| (id.to_owned(), kind);
        let (first, again) = (named("A", ArmKind::Function), named("A-again", ArmKind::Same));
        assert_eq!(of(&["lua", "lua"]), [first.clone(), named("B", ArmKind::Same), again.clone()]);
        let others = ["B", "C"].map(|id| named(id, ArmKind::Function));
        assert_eq!(of(&["lua", "jwt", "jwt"]), [&[first][..], &others, &[again]].concat());
    }
}
