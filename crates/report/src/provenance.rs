//! When, where and by what a result was measured, from its envelope.

use hoptax_result::{Body, Machine, Program, Report};
use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers::duration;

/// Number of letters that identify a commit.
const LETTERS: usize = 8;

/// When, where and by what a result was measured. It names no host and no path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Provenance {
    /// Begin of the measurement, RFC 3339 in UTC.
    pub(crate) started_at: String,
    /// Begin of the last of several sittings, RFC 3339 in UTC; none for a single one.
    pub(crate) last_started_at: Option<String>,
    /// Its duration in words, of all sittings together: `7 min`; none if the result does not state it.
    pub(crate) duration: Option<String>,
    /// Processor model.
    pub(crate) cpu_model: String,
    /// Processors online.
    pub(crate) cpus: u32,
    /// True if the processor reports a hypervisor.
    pub(crate) is_virtual_machine: bool,
    /// Kernel release, without the name of its system; none if it is not known.
    pub(crate) kernel: Option<String>,
    /// Version that the proxy reports; of a proxy in a cluster, its image without the registry; none without a proxy.
    pub(crate) proxy: Option<String>,
    /// Version of hoptax with its abbreviated commit: `1.2.3 (01234567)`.
    pub(crate) program: String,
}

impl Provenance {
    /// The provenance of a result; none if its machine is unknown, as for results of other tools, and for those computed from files alone.
    pub(crate) fn of<T: Body>(report: &Report<T>) -> Option<Self> {
        let environment = report.environment.environment()?;
        let last = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
        (!environment.cpu_model.is_empty()).then(|| Self {
            started_at: environment.started_at.clone(),
            last_started_at: None,
            duration: report.body.duration_s().filter(|seconds| *seconds > 0.0).map(duration),
            cpu_model: environment.cpu_model.clone(),
            cpus: environment.cpus,
            is_virtual_machine: environment.virtual_machine,
            kernel: Some(environment.kernel.clone()).filter(|kernel| !kernel.is_empty()),
            proxy: environment.proxy_version.as_ref().map(last),
            program: version(&report.program),
        })
    }
}

/// The version of a program, with its abbreviated commit in parentheses if that is known.
pub(crate) fn version(program: &Program) -> String {
    let Some(commit) = &program.commit else { return program.version.clone() };
    let (letters, dirty) = commit.split_at(commit.find('-').unwrap_or(commit.len()));
    let first: String = letters.chars().take(LETTERS).collect();
    format!("{} ({first}{dirty})", program.version)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use hoptax_result::{Environment, Merged, SittingRecord, StudyResult, Verdict};

    use super::*;
    use crate::{documents, fixture};

    /// Results with a machine that say nothing about where they were measured, and why.
    const NOT_MEASURED: &[(&str, &str)] = &[("prices", "its machine is the one that the prices are for")];

    #[test]
    fn a_commit_is_told_by_its_first_letters_and_by_changed_files() {
        let short = |of: Option<&str>| {
            version(&Program { version: "1.2.3".to_owned(), commit: of.map(str::to_owned) })
        };
        let whole = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(short(Some(whole)), "1.2.3 (01234567)");
        assert_eq!(short(Some(&format!("{whole}-dirty"))), "1.2.3 (01234567-dirty)");
        assert_eq!((short(Some("abc")).as_str(), short(None).as_str()), ("1.2.3 (abc)", "1.2.3"));
    }

    #[test]
    fn a_study_says_when_where_and_by_what_it_was_measured() {
        let mut result = fixture::study();
        result.program = Program { version: "1.2.3".to_owned(), commit: None };
        let expected = Provenance {
            started_at: "2026-01-02T03:04:05Z".to_owned(),
            last_started_at: None,
            duration: Some("7 min".to_owned()),
            cpu_model: "A Processor".to_owned(),
            cpus: 2,
            is_virtual_machine: true,
            kernel: Some("6.12.0".to_owned()),
            proxy: Some("1.40.0".to_owned()),
            program: "1.2.3".to_owned(),
        };
        assert_eq!(Provenance::of(&result), Some(expected));
        result.environment.kernel.clear();
        result.environment.proxy_version = Some("registry.example.test:5000/istio/proxyv2:1.31.0".to_owned());
        result.plan.wall_seconds = 0.0;
        let of = Provenance::of(&result).unwrap();
        assert_eq!((of.proxy.as_deref(), of.kernel, of.duration), (Some("proxyv2:1.31.0"), None, None));
        result.environment = Environment::default();
        assert_eq!(Provenance::of(&result), None, "another tool measured it somewhere");
    }

    #[test]
    fn several_sittings_say_when_the_last_began() {
        let mut result = fixture::study();
        let last = |result: &StudyResult| documents::study(result).measured.unwrap().last_started_at;
        assert_eq!(last(&result), None);
        result.sittings = ["2026-01-02T03:04:05Z", "2026-01-03T00:00:00Z"]
            .map(|started_at| SittingRecord {
                started_at: started_at.to_owned(),
                ended_at: None,
                folder: "a".to_owned(),
                rounds: 8,
                verdict: Verdict::Sound,
                program: Program::this(),
            })
            .to_vec();
        assert_eq!(last(&result).as_deref(), Some("2026-01-03T00:00:00Z"));
    }

    #[test]
    fn a_load_of_different_machines_names_none_of_them() {
        let of = |differences: &[&str]| {
            let mut result = fixture::load();
            let differences = differences.iter().map(|one| (*one).to_owned()).collect();
            result.merged = Some(Merged { differences, ..Merged::default() });
            documents::load(&result).measured
        };
        assert_eq!(of(&[]).unwrap().cpu_model, "A Processor");
        assert_eq!(of(&["kernel: \"6.12.0\" (a.json), \"6.18.0\" (b.json)"]), None);
    }

    #[test]
    fn every_recorded_result_that_was_measured_says_where() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
        let mut measured = 0;
        for entry in fs::read_dir(recorded).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let kind = documents::kind_of_text(&text).unwrap();
            let document = documents::of_text(&text, |_| false).unwrap();
            let has_machine = (kind.read)(&text).unwrap().environment.is_some();
            let is_measured = has_machine && NOT_MEASURED.iter().all(|(name, _)| *name != kind.name);
            assert_eq!(document.measured.is_some(), is_measured, "{}", path.display());
            measured += usize::from(is_measured);
        }
        assert!(measured > 12, "{measured} results were measured");
        assert!(NOT_MEASURED.iter().all(|(_, why)| !why.is_empty()));
    }
}
