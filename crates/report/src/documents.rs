//! The document of each kind of result, one file each.

mod bill;
mod calibration;
mod comparison;
mod crosscheck;
mod find;
mod find_arms;
mod gate;
mod graph_run;
mod history;
mod load;
mod meshmark;
mod prices;
mod runs;
mod scale;
mod size;
mod size_check;
mod study;

use hoptax_result::{
    BillResult, Body, CalibrationResult, ComparisonResult, CrosscheckResult, FindArmsResult, FindResult,
    GateResult, GraphRunResult, HistoryResult, Kind, LoadResult, MeshMarkResult, PricesResult, Report,
    RunsResult, ScaleResult, SittingsResult, SizeCheckResult, SizeResult, StudiesComparison, StudyResult,
};

use crate::document::Document;

pub use bill::bill;
pub use calibration::calibration;
pub use comparison::{comparison, decisions, studies_comparison};
pub use crosscheck::crosscheck;
pub use find::{find, find_trial, sweep_trial};
pub use find_arms::find_arms;
pub use gate::gate;
pub use graph_run::graph_run;
pub use history::history;
pub use load::load;
pub use meshmark::meshmark;
pub use prices::prices;
pub use runs::{runs, stored_run};
pub use scale::scale;
pub use size::size;
pub use size_check::size_check;
pub use study::{at_load, sittings, so_far, study, study_of};

/// The document of a result file of any kind.
///
/// # Errors
/// Why the text is no result.
pub fn of_text(text: &str) -> Result<Document, String> {
    let kind = Kind::of_text(text)?;
    match kind.format {
        BillResult::FORMAT => of(text, bill),
        CalibrationResult::FORMAT => of(text, calibration),
        ComparisonResult::FORMAT => of(text, comparison),
        CrosscheckResult::FORMAT => of(text, crosscheck),
        FindResult::FORMAT => of(text, find),
        FindArmsResult::FORMAT => of(text, find_arms),
        GateResult::FORMAT => of(text, gate),
        GraphRunResult::FORMAT => of(text, graph_run),
        HistoryResult::FORMAT => of(text, history),
        LoadResult::FORMAT => of(text, load),
        MeshMarkResult::FORMAT => of(text, meshmark),
        PricesResult::FORMAT => of(text, prices),
        RunsResult::FORMAT => of(text, runs),
        ScaleResult::FORMAT => of(text, scale),
        SittingsResult::FORMAT => of(text, study::stored_sittings),
        SizeResult::FORMAT => of(text, size),
        SizeCheckResult::FORMAT => of(text, size_check),
        StudiesComparison::FORMAT => of(text, studies_comparison),
        StudyResult::FORMAT => of(text, study),
        other => Err(format!("`{other}` has no document")),
    }
}

fn of<T: Body>(text: &str, document: fn(&Report<T>) -> Document) -> Result<Document, String> {
    let result = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(document(&result))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use crate::render::terminal;
    use crate::sittings::fixture;

    #[test]
    fn a_file_of_sittings_has_a_table_by_sitting() {
        let text = serde_json::to_string(&fixture::three()).unwrap();
        let screen = terminal::screen(&of_text(&text).unwrap(), Style { width: 100, colour: false });
        assert!(screen.contains("3 sittings of quick") && screen.contains("+91 ±10"), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    }

    #[test]
    fn every_kind_of_result_has_a_document() {
        for kind in Kind::ALL {
            let refused = of_text(&format!("{{\"format\": \"{}\"}}", kind.format)).unwrap_err();
            assert!(refused.contains("missing field"), "{}: {refused}", kind.format);
        }
    }
}
