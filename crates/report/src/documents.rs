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
pub use study::{sittings, so_far, study, study_of};
