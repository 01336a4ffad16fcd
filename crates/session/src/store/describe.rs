//! Derives the columns and numbers of a run from the texts of its files: a result, or the manifest of a study without one.

use hoptax_report::documents;
use hoptax_report::kind::Head;
use hoptax_result::{
    BillBody, BillResult, Body, ComparisonBody, ComparisonResult, Environment, GateBody, GateResult,
    LoadBody, LoadResult, StudiesComparison, StudiesComparisonBody, StudyBody, StudyResult, Verdict, grouped,
};
use hoptax_subject::digest::sha256;
use serde::Deserialize;

use crate::manifest::check_format_of;
use crate::run_files::{MANIFEST, RESULT, RESULTS, ROUNDS};

/// The columns of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Described {
    /// Key of the run. Two descriptions with the same key describe the same run. It does not change when the result becomes known.
    pub(crate) identity: String,
    /// The file of the result that states its kind, name and verdict.
    pub(crate) file: &'static str,
    /// The name of the kind of its result.
    pub(crate) kind: String,
    /// Subject of the run: the name of a study, the configuration of a bill, or the URL of a load.
    pub(crate) name: String,
    /// Start, RFC 3339 in UTC; empty for a result computed only from files.
    pub(crate) started_at: String,
    /// Complete rounds.
    pub(crate) rounds: u32,
    /// The verdict; none without a result.
    pub(crate) verdict: Option<Verdict>,
    /// Version of the proxy.
    pub(crate) proxy_version: Option<String>,
    /// The machine; empty for a result computed only from files.
    pub(crate) machine: String,
    /// Limit of quiet slices: the largest share of a slice that the generator and the proxies each waited; none if the result does not
    /// distinguish quiet slices.
    pub(crate) quiet_wait_share: Option<f64>,
    /// Numbers of the result; none without a result.
    pub(crate) numbers: Option<Vec<NumberRow>>,
}

/// A number of a result. Texts that do not apply are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NumberRow {
    pub(crate) number: String,
    pub(crate) arm: String,
    pub(crate) compared_with: String,
    /// The name of a load in a study, or the shape of a single load.
    pub(crate) load: String,
    pub(crate) proxy: String,
    pub(crate) estimate: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// The keys of a study's manifest that a description needs.
#[derive(Deserialize)]
struct ManifestHead {
    study: String,
    seed: u64,
    started_at: String,
    envoy_version: String,
    cpu_model: String,
    cpus: u32,
    memory_bytes: u64,
}

impl Described {
    /// True for a study without a usable result. A result file in its folder is then outdated or unreadable.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.verdict.is_none()
    }

    /// True for the file of a result that is outdated or unreadable.
    pub(crate) fn is_outdated(&self, path: &str) -> bool {
        let is_current = !self.is_unfinished() && [self.file, RESULT].contains(&path);
        RESULTS.contains(&path) && !is_current
    }
}

/// The start of a study, from its manifest; none if that cannot be read.
pub(crate) fn started_at(manifest: &str) -> Option<String> {
    let manifest: ManifestHead = serde_json::from_str(manifest).ok()?;
    Some(manifest.started_at)
}

/// True if a path in a run folder is that of a complete round.
pub(crate) fn is_round(path: &str) -> bool {
    let inside = path.strip_prefix(ROUNDS).and_then(|rest| rest.strip_prefix('/'));
    inside.and_then(|name| name.strip_suffix(".json")).is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Describes a run from the texts of its files, which `text` returns by their paths, and the number of its complete rounds. A bill, a
/// comparison or a gate of all rounds of a study states kind, name and verdict in place of the study. Identity and numbers are those of the
/// study.
///
/// # Errors
/// The problems of the texts.
pub(crate) fn files<'a>(text: impl Fn(&str) -> Option<&'a str>, rounds: u32) -> Result<Described, String> {
    let study = run(text(RESULT), text(MANIFEST), rounds)?;
    if study.is_unfinished() {
        return Ok(study);
    }
    let current = RESULTS.into_iter().filter(|file| *file != RESULT).find_map(|file| {
        let (head, covered) = of_command(text(file)?)?;
        (covered >= study.rounds).then_some((file, head))
    });
    Ok(match current {
        Some((file, head)) => Described {
            file,
            kind: head.kind.to_owned(),
            name: head.subject,
            verdict: Some(head.verdict),
            ..study
        },
        None => study,
    })
}

/// The head of the result of a command that measured a study, and the number of rounds that it is about; none if it cannot be read.
fn of_command(text: &str) -> Option<(Head, u32)> {
    let kind = documents::kind_of_text(text).ok()?;
    let rounds = match kind.format {
        BillResult::FORMAT => BillBody::from_text(text).ok()?.rounds,
        ComparisonResult::FORMAT => ComparisonBody::from_text(text).ok()?.rounds,
        GateResult::FORMAT => GateBody::from_text(text).ok()?.rounds,
        StudiesComparison::FORMAT => {
            let all = StudiesComparisonBody::from_text(text).ok()?;
            all.arms.iter().map(|one| one.comparison.rounds).max()?
        }
        _ => return None,
    };
    Some(((kind.read)(text).ok()?, rounds))
}

/// Describes a run from the texts of its [`RESULT`] and its manifest, and the number of its complete rounds. If the result is unreadable or
/// has fewer rounds, because the study was resumed since, the run is described from its manifest as unfinished.
///
/// # Errors
/// The problems of the texts.
fn run(result_text: Option<&str>, manifest: Option<&str>, rounds: u32) -> Result<Described, String> {
    let by_result = result_text.map(|text| result(text).map_err(|why| format!("{RESULT}: {why}")));
    match (by_result, manifest) {
        // A study without a manifest cannot have been resumed.
        (Some(Ok(described)), manifest) if manifest.is_none() || described.rounds >= rounds => Ok(described),
        (Some(Err(why)), manifest) if manifest.is_none() || rounds == 0 => Err(why),
        (_, Some(manifest)) => unfinished(manifest, rounds).map_err(|why| format!("{MANIFEST}: {why}")),
        (_, None) => Err(format!("it has neither {RESULT} nor {MANIFEST}")),
    }
}

/// Describes a result of any kind. Only studies and loads have numbers.
///
/// # Errors
/// The kind of the text, when it is not a result.
pub(crate) fn result(text: &str) -> Result<Described, String> {
    let kind = documents::kind_of_text(text)?;
    let described = match kind.format {
        StudyResult::FORMAT => StudyBody::from_text(text).map(|result| study(&result, text)),
        LoadResult::FORMAT => LoadBody::from_text(text).map(|result| load(&result, text)),
        _ => (kind.read)(text).map(|head| without_numbers(head, text)),
    };
    described.map_err(|error| error.to_string())
}

/// Describes a study that has no result yet, from its manifest and the number of its complete rounds.
///
/// # Errors
/// The reason why the text is not a manifest.
pub(crate) fn unfinished(manifest: &str, rounds: u32) -> Result<Described, String> {
    check_format_of(manifest)?;
    let manifest: ManifestHead = serde_json::from_str(manifest).map_err(|error| error.to_string())?;
    let machine = machine(&manifest.cpu_model, manifest.cpus, manifest.memory_bytes);
    Ok(Described {
        identity: study_identity(&manifest.study, manifest.seed, &manifest.started_at, &machine),
        file: RESULT,
        kind: StudyResult::KIND.to_owned(),
        name: manifest.study,
        started_at: manifest.started_at,
        rounds,
        verdict: None,
        proxy_version: Some(manifest.envoy_version).filter(|version| !version.is_empty()),
        machine,
        quiet_wait_share: None,
        numbers: None,
    })
}

fn study(result: &StudyResult, text: &str) -> Described {
    let here = of_environment(&result.environment);
    let is_combined = result.sittings.len() > 1;
    let numbers = result.named_numbers().into_iter().map(|number| {
        let is_cost = number.name.starts_with("cost_");
        let owned = |name: Option<&str>| name.unwrap_or_default().to_owned();
        NumberRow {
            arm: number.arm.to_owned(),
            compared_with: owned(number.compared_with.filter(|_| is_cost)),
            load: owned(number.load),
            proxy: owned(number.proxy),
            number: number.name,
            estimate: number.interval.estimate,
            low: Some(number.interval.low),
            high: Some(number.interval.high),
        }
    });
    Described {
        // Combined sittings start when their first sitting does, so the start does not identify them.
        identity: if is_combined {
            content_identity(text)
        } else {
            study_identity(&result.name, result.plan.seed, &result.environment.started_at, &here)
        },
        file: RESULT,
        kind: StudyResult::KIND.to_owned(),
        name: result.name.clone(),
        started_at: result.environment.started_at.clone(),
        rounds: result.plan.rounds_completed,
        verdict: Some(result.verdict),
        proxy_version: result.environment.proxy_version.clone(),
        machine: here,
        quiet_wait_share: result.plan.quiet_rule.map(|rule| rule.max_wait_share),
        numbers: Some(numbers.filter(NumberRow::is_finite).collect()),
    }
}

fn load(result: &LoadResult, text: &str) -> Described {
    let response = &result.latency.response;
    let numbers = [
        ("rate", result.rate.achieved),
        ("response_p50_us", response.p50_us),
        ("response_p90_us", response.p90_us),
        ("response_p99_us", response.p99_us),
        ("response_p99_9_us", response.p99_9_us),
    ];
    let shape = result.shape();
    let numbers = numbers.into_iter().filter_map(|(name, estimate)| {
        let (number, load) = (name.to_owned(), shape.clone());
        Some(NumberRow { number, load, estimate: estimate?, ..NumberRow::default() })
    });
    let numbers = numbers.filter(|_| result.verdict != Verdict::Void).filter(NumberRow::is_finite).collect();
    let head = Head {
        kind: LoadResult::KIND,
        program: result.program.clone(),
        subject: result.plan.url.clone(),
        environment: Some(result.environment.clone()),
        verdict: result.verdict,
    };
    // Loads may start in the same second with the same seed, so the key depends on the content.
    Described { numbers: Some(numbers), ..without_numbers(head, text) }
}

/// Describes a result of a kind whose numbers the store does not keep.
fn without_numbers(head: Head, text: &str) -> Described {
    let environment = head.environment.as_ref();
    Described {
        identity: content_identity(text),
        file: RESULT,
        kind: head.kind.to_owned(),
        name: head.subject,
        started_at: environment.map(|one| one.started_at.clone()).unwrap_or_default(),
        rounds: 0,
        verdict: Some(head.verdict),
        proxy_version: environment.and_then(|one| one.proxy_version.clone()),
        machine: environment.map(of_environment).unwrap_or_default(),
        quiet_wait_share: None,
        numbers: Some(Vec::new()),
    }
}

impl NumberRow {
    fn is_finite(&self) -> bool {
        [Some(self.estimate), self.low, self.high].into_iter().flatten().all(f64::is_finite)
    }
}

fn of_environment(environment: &Environment) -> String {
    machine(&environment.cpu_model, environment.cpus, environment.memory_bytes)
}

/// The name of a machine, which is the same for all of its runs.
fn machine(cpu_model: &str, cpus: u32, memory_bytes: u64) -> String {
    let gibibytes = memory_bytes as f64 / f64::from(1 << 30);
    format!("{cpu_model}, {cpus} processors, {gibibytes} GiB", gibibytes = grouped(gibibytes, 1))
}

fn study_identity(name: &str, seed: u64, started_at: &str, machine: &str) -> String {
    format!("study {started_at} {seed} {name} on {machine}")
}

fn content_identity(text: &str) -> String {
    format!("sha256 {}", sha256(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{RUN_FOLDER_FORMAT, sample};

    use super::*;
    use crate::store::database::tests::study_text;

    #[test]
    fn a_study_is_the_same_run_before_and_after_its_result() {
        let (manifest, text) = study_text("ours", "2026-11-01T00:00:00Z", 5.0);
        let (before, after) = (unfinished(&manifest, 3).unwrap(), result(&text).unwrap());
        assert_eq!((&before.identity, &before.machine), (&after.identity, &after.machine));
        assert_eq!((before.verdict, before.rounds, after.verdict), (None, 3, Some(Verdict::Sound)));
        let (_, later) = study_text("ours", "2026-11-01T00:00:01Z", 5.0);
        assert_ne!(result(&later).unwrap().identity, after.identity);
    }

    #[test]
    fn a_result_of_too_few_rounds_or_that_cannot_be_read_gives_way_to_the_manifest() {
        let (manifest, text) = study_text("ours", "2026-11-01T00:00:00Z", 5.0);
        let of = |text: &str, rounds: u32| run(Some(text), Some(&manifest), rounds).unwrap();
        assert_eq!(of(&text, 4), result(&text).unwrap());
        for (out_of_date, rounds) in [(text.as_str(), 5), ("{", 3)] {
            let described = of(out_of_date, rounds);
            assert_eq!(described, unfinished(&manifest, rounds).unwrap());
            assert!(described.is_unfinished() && described.numbers.is_none());
        }
        assert!(run(Some(&text), None, 5).is_ok(), "nothing else describes it");
        for (text, manifest, why) in [
            (Some("{"), None, RESULT),
            (Some("{"), Some(manifest.as_str()), RESULT),
            (None, Some("{}"), MANIFEST),
            (None, None, "neither"),
        ] {
            let refused = run(text, manifest, 0).unwrap_err();
            assert!(refused.contains(why), "{why}: {refused}");
        }
    }

    #[test]
    fn the_manifest_of_another_format_describes_no_run() {
        let (manifest, text) = study_text("ours", "2026-11-01T00:00:00Z", 5.0);
        for format in ["\"hoptax.run/4\"", "\"hoptax.run/2\"", "null"] {
            let other = manifest.replace(&format!("\"{RUN_FOLDER_FORMAT}\""), format);
            assert_ne!(other, manifest);
            let refused = run(None, Some(&other), 3).unwrap_err();
            assert!(refused.starts_with(MANIFEST) && refused.contains(format.trim_matches('"')), "{refused}");
            // A result describes itself, unless there are rounds that it is not about.
            assert_eq!(run(Some(&text), Some(&other), 4).unwrap(), result(&text).unwrap());
            assert!(run(Some(&text), Some(&other), 5).is_err());
        }
    }

    #[test]
    fn only_files_with_the_number_of_a_round_are_rounds() {
        assert!(is_round("rounds/0.json") && is_round("rounds/12.json"));
        for other in ["rounds/notes.txt", "rounds/a.json", "rounds.json", "arms/rounds/0.json"] {
            assert!(!is_round(other), "{other}");
        }
    }

    #[test]
    fn loads_of_the_same_second_are_different_runs_unless_they_are_equal() {
        let text = |rate: f64| {
            let mut load = sample::load();
            load.rate.achieved = Some(rate);
            serde_json::to_string(&load).unwrap()
        };
        let [one, other] = [100.0, 101.0].map(|rate| result(&text(rate)).unwrap());
        assert_ne!(one.identity, other.identity);
        assert_eq!(one, result(&text(100.0)).unwrap());
        let numbers = one.numbers.unwrap();
        assert_eq!(numbers.len(), 5);
        assert!(numbers.iter().all(|row| row.load == sample::load().shape()), "{numbers:?}");
    }

    #[test]
    fn void_loads_state_no_numbers_and_other_formats_are_refused() {
        let mut load = sample::load();
        load.verdict = Verdict::Void;
        assert_eq!(result(&serde_json::to_string(&load).unwrap()).unwrap().numbers, Some(Vec::new()));
        for (format, why) in [
            ("hoptax.study/1", format!("reads `{}`", StudyResult::FORMAT)),
            ("hoptax.run/3", "not a format of results".to_owned()),
        ] {
            let refused = result(&format!("{{\"format\": \"{format}\"}}")).unwrap_err();
            assert!(refused.contains(format) && refused.contains(&why), "{refused}");
        }
        assert!(result("[]").is_err() && unfinished("{}", 0).is_err());
    }
}
