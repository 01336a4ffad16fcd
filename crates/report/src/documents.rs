//! The document of each kind of result, one file each, and the list of all kinds. Another document shows several results beside each other.

mod bill;
mod calibration;
mod checks;
mod comparison;
mod crosscheck;
mod doctor;
mod envoy_releases;
mod find;
mod find_arms;
mod functions;
mod gate;
mod graph_run;
mod history;
mod lint;
mod listeners_check;
mod load;
mod meshmark;
mod overlay;
mod prices;
mod runs;
mod scale;
mod size;
mod size_check;
mod study;

use hoptax_result::{
    BillBody, CalibrationBody, ComparisonBody, CrosscheckBody, DoctorBody, FindArmsBody, FindBody, GateBody,
    GraphRunBody, HistoryBody, LintBody, ListenersCheckBody, LoadBody, MeshMarkBody, PricesBody, RunsBody,
    ScaleBody, SittingsBody, SittingsResult, SizeBody, SizeCheckBody, StudiesComparisonBody, StudyBody,
    check_format,
};
use serde::Deserialize;
use serde_json::Value;

use crate::document::Document;
use crate::kind::{self, Kind};

pub use crate::load_rate::{at_load, at_loads};
pub use crate::next::Again;
pub use crate::rows::bounds_of_cost;
pub use crate::same_load::GivenOptions;
pub use bill::{bill, bill_of};
pub use calibration::calibration;
pub use checks::{ChecksBody, ChecksResult, ListedCheck, ListedThreshold, checks};
pub use comparison::{comparison, comparison_of, decisions, studies_comparison, studies_comparison_of};
pub use crosscheck::crosscheck;
pub use doctor::doctor;
pub use envoy_releases::{EnvoyReleasesBody, EnvoyReleasesResult, InstalledRelease, envoy_releases};
pub use find::{find, find_of, find_trial, sweep_trial};
pub use find_arms::{SearchedArms, find_arms, find_arms_of};
pub use functions::{FunctionsBody, FunctionsResult, ListedChange, ListedFunction, ListedKnob, functions};
pub use gate::{gate, gate_of};
pub use graph_run::{graph_run, graph_run_of};
pub use history::history;
pub use lint::lint;
pub use listeners_check::listeners_check;
pub use load::{load, load_of};
pub use meshmark::{meshmark, meshmark_of};
pub use overlay::{MOST_OVERLAID, Overlaid, overlay};
pub use prices::prices;
pub use runs::{latest_runs, matching_runs, newest_run, runs, runs_instead, stored_run};
pub use scale::{scale, scale_of};
pub use size::{size, size_of};
pub use size_check::{size_check, size_check_of};
pub(crate) use study::table_so_far;
pub use study::{
    GivenStudy, TextTable, costs_so_far, given_study, mesh_of, named_study, sittings, so_far, study,
    study_in_folder, study_of,
};

/// Defines a kind from the body of its results and the function that makes their documents.
macro_rules! kind {
    ($body:ty, $document:expr) => {
        Kind::with_body::<$body>(|text, _| kind::document::<$body>(text, $document))
    };
}

/// All kinds of results.
pub const KINDS: &[Kind] = &[
    Kind::with_body::<StudyBody>(|text, is_built_in| {
        kind::document::<StudyBody>(text, |result| named_study(result, is_built_in(&result.name)))
    }),
    Kind::with_body::<SittingsBody>(|text, is_built_in| {
        let of = |result: &SittingsResult| study::stored_sittings(result, is_built_in(&result.study));
        kind::document::<SittingsBody>(text, of)
    }),
    kind!(BillBody, bill),
    kind!(ComparisonBody, comparison),
    kind!(StudiesComparisonBody, studies_comparison),
    kind!(GateBody, gate),
    kind!(LoadBody, load),
    kind!(FindBody, find),
    kind!(FindArmsBody, find_arms),
    kind!(ScaleBody, scale),
    kind!(SizeBody, size),
    kind!(SizeCheckBody, size_check),
    kind!(GraphRunBody, graph_run),
    kind!(MeshMarkBody, meshmark),
    kind!(CalibrationBody, calibration),
    kind!(CrosscheckBody, crosscheck),
    kind!(DoctorBody, doctor),
    kind!(PricesBody, prices),
    kind!(RunsBody, runs),
    kind!(HistoryBody, history),
    kind!(ListenersCheckBody, listeners_check),
    kind!(LintBody, lint),
    kind!(FunctionsBody, functions),
    kind!(ChecksBody, checks),
    kind!(EnvoyReleasesBody, envoy_releases),
];

/// The definition of a result, for a file that is none.
const EXPECTED: &str = "a result is the JSON that a command wrote, such as `result.json` in a run folder or a file of `--json`; \
                        `hoptax convert import` makes one from the output of another load generator";

/// The kind of a result file, in any readable version of its format.
///
/// # Errors
/// The reason why the text is not a result, or why its version cannot be read, and what to do.
pub fn kind_of_text(text: &str) -> Result<&'static Kind, String> {
    /// Fields that all result files have.
    #[derive(Deserialize)]
    struct Stated {
        format: String,
        #[serde(default)]
        program: Value,
    }
    fn name(format: &str) -> Option<&str> {
        format.split('/').next()
    }
    let Stated { format, program } = serde_json::from_str(text)
        .map_err(|error| format!("it is not a hoptax result ({error}): {EXPECTED}"))?;
    let kind = KINDS
        .iter()
        .find(|kind| name(kind.format) == name(&format))
        .ok_or_else(|| format!("its format is `{format}`, which is not a format of results: {EXPECTED}"))?;
    check_format(&format, kind.format, program["version"].as_str())?;
    Ok(kind)
}

/// The document of a result file of any kind. The next step of a study with a name that `is_built_in` knows measures it again by that name;
/// other studies have none, since their files are not known.
///
/// # Errors
/// The reason why the text is not a result.
pub fn of_text(text: &str, is_built_in: impl Fn(&str) -> bool) -> Result<Document, String> {
    (kind_of_text(text)?.document)(text, &is_built_in).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use hoptax_result::{HistoryResult, Program, Verdict};

    use super::*;
    use crate::fixture::STYLE;
    use crate::render::terminal;
    use crate::sittings::fixture;

    #[test]
    fn a_file_of_sittings_has_a_table_by_sitting() {
        let text = serde_json::to_string(&fixture::three()).unwrap();
        let screen = terminal::screen(&of_text(&text, |_| false).unwrap(), STYLE);
        assert!(screen.contains("3 sittings of quick") && screen.contains("+91 ±10"), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    }

    /// The first screen of each recorded result, with hundreds of rows and notes.
    #[test]
    fn a_first_screen_is_one_screen_however_many_rows_and_notes_there_are() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
        let mut tables = 0;
        for entry in fs::read_dir(recorded).unwrap() {
            let path = entry.unwrap().path();
            let mut document = of_text(&fs::read_to_string(&path).unwrap(), |_| false).unwrap();
            if let Some(table) = &mut document.table {
                tables += 1;
                table.rows = vec![table.rows.clone(); 100].concat();
                for (number, row) in table.rows.iter_mut().enumerate() {
                    row.name += &format!("-{number}");
                }
            }
            document.notes = vec![document.notes.clone(); 100].concat();
            let screen = terminal::screen(&document, STYLE);
            assert!(screen.lines().count() <= 40, "{}: {screen}", path.display());
            assert!(screen.lines().all(|line| line.chars().count() <= 100), "{}: {screen}", path.display());
        }
        assert!(tables > 15, "{tables} tables");
    }

    #[test]
    fn every_kind_has_the_envelope_and_its_schema_says_so() {
        for kind in KINDS {
            let schema = (kind.schema)().to_value();
            let required: Vec<&str> =
                schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            for field in ["format", "program", "verdict", "findings", "environment"] {
                assert!(required.contains(&field), "{}: {required:?}", kind.format);
                assert!(schema["properties"].get(field).is_some(), "{} lacks {field}", kind.format);
            }
            assert_eq!(schema["properties"]["format"]["const"], kind.format);
            assert_eq!(schema["title"], kind.format);
            assert_eq!(schema["additionalProperties"], false, "{}", kind.format);
            assert!(kind.format.starts_with(&format!("hoptax.{}/", kind.name)), "{}", kind.format);
            // The reader asks for the envelope, too.
            let text = format!("{{\"format\": \"{}\"}}", kind.format);
            assert_eq!(kind_of_text(&text).unwrap().format, kind.format);
            assert!((kind.read)(&text).unwrap_err().to_string().contains("missing field"), "{text}");
            assert!(of_text(&text, |_| false).unwrap_err().contains("missing field"), "{text}");
        }
    }

    #[test]
    fn a_file_states_its_kind_subject_and_program() {
        let body = HistoryBody { number: "max_rate".to_owned(), significance: 0.01, series: Vec::new() };
        let text = serde_json::to_string(&HistoryResult::new((), body)).unwrap();
        let head = (kind_of_text(&text).unwrap().read)(&text).unwrap();
        assert_eq!((head.kind, head.subject.as_str(), head.verdict), ("history", "max_rate", Verdict::Sound));
        assert_eq!((head.program, head.environment), (Program::this(), None));
    }

    #[test]
    fn a_file_of_another_format_is_refused_by_its_format() {
        let refused = |format: &str| kind_of_text(&format!("{{\"format\": \"{format}\"}}")).unwrap_err();
        let why = refused("hoptax.history/1");
        assert!(why.contains("`hoptax.history/1`") && why.contains("reads `hoptax.history/2`"), "{why}");
        let newer = r#"{"format": "hoptax.history/9", "program": {"version": "99.1.0"}}"#;
        let why = kind_of_text(newer).unwrap_err();
        assert!(why.ends_with("use hoptax 99.1.0 or a later one"), "{why}");
        assert!(refused("elsewhere/1").contains("not a format of results"));
        let why = kind_of_text("[]").unwrap_err();
        assert!(why.starts_with("it is not a hoptax result (") && why.ends_with(EXPECTED), "{why}");
        assert!(refused("elsewhere/1").ends_with(EXPECTED), "{}", refused("elsewhere/1"));
    }
}
