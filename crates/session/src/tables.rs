//! The tables of a study by their names.

use hoptax_judge::summary::response_histograms;
use hoptax_report::tables::{self, Table};
use hoptax_report::{csv, histograms};
use hoptax_result::StudyResult;

/// A table of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StudyTable {
    /// A row for each number of each arm, with its interval.
    Numbers,
    /// A row for each slice, with its measured values.
    Slices,
    /// A row for each interval of a timeline.
    Timeline,
    /// A row for each bin of the response times of each arm under an open loop.
    Histograms,
}

impl StudyTable {
    /// All tables.
    pub const ALL: [Self; 4] = [Self::Numbers, Self::Slices, Self::Timeline, Self::Histograms];

    /// Its name, which is also the stem of its file name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Slices => "slices",
            Self::Timeline => "timeline",
            Self::Histograms => "histograms",
        }
    }

    /// The table; none if the study has nothing for it.
    pub fn table(self, result: &StudyResult) -> Option<Table> {
        let is_timeline = result.plan.timeline.is_some();
        match self {
            Self::Numbers => Some(tables::numbers(result)),
            Self::Slices => (!is_timeline).then(|| tables::slices(result)),
            Self::Timeline => is_timeline.then(|| tables::timeline(result)),
            Self::Histograms => {
                let times = response_histograms(result);
                (!times.is_empty()).then(|| histograms::table(&times))
            }
        }
    }

    /// The table as CSV; none if the study has nothing for it.
    pub fn csv(self, result: &StudyResult) -> Option<String> {
        self.table(result).map(|table| csv::text(&table))
    }

    /// The names of the tables that a study has.
    pub fn names(result: &StudyResult) -> Vec<&'static str> {
        Self::ALL.into_iter().filter(|table| table.table(result).is_some()).map(Self::as_str).collect()
    }
}
