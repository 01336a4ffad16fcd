//! Predicts what the proxies of a graph use and add, for a user: reads the graph, and says what to measure if results lack something.

use hoptax_predict::size::{self, Prices};
use hoptax_result::{SizeResult, StudyResult};

use crate::graph::{file, plan};
use crate::{Failure, Say, library};

/// The prediction that a user asks for.
#[derive(Clone, Copy, Debug)]
pub struct PredictionSettings<'a> {
    /// The path of a graph file, of a topology or of a folder with manifests, or the name of a graph that comes with the program.
    pub graph: &'a str,
    /// The service of a topology, or the workload of manifests, that requests from outside arrive at.
    pub entry: Option<&'a str>,
    /// Requests per second that arrive there.
    pub rate: f64,
    /// The results of studies that it is predicted from.
    pub results: &'a [StudyResult],
    /// The prices of processors and memory.
    pub prices: Prices,
}

/// A prediction.
#[derive(Debug)]
pub struct Predicted {
    /// Its result.
    pub result: SizeResult,
    /// True if the graph can be run as processes as it is.
    pub is_runnable: bool,
}

/// Predicts a graph.
///
/// # Errors
/// When the graph cannot be read, or the results do not suffice, with what to measure.
pub fn predict(settings: &PredictionSettings<'_>, say: Say<'_>) -> Result<Predicted, Failure> {
    let PredictionSettings { graph, entry, rate, results, prices } = *settings;
    let file = file::named(graph, entry, say)?;
    let catalogue = library::catalogue()?;
    let graph = size::graph::read(&file.name, &file.text, catalogue).map_err(Failure::bad_input)?;
    let refused = |error| Failure::bad_input(format!("{error}{}", library::advice(&error, &graph)));
    let mut result = size::size(&graph, rate, results).map_err(refused)?;
    result.money = size::money(&result, prices);
    let is_runnable = entry.is_none() && plan::read(&file.name, &file.text, catalogue).is_ok();
    Ok(Predicted { result, is_runnable })
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;
    use crate::prices;

    #[test]
    fn a_graph_of_the_program_is_predicted_from_the_price_list_and_can_be_run() {
        let results = slice::from_ref(prices::published().unwrap());
        let settings = |graph| PredictionSettings {
            graph,
            entry: None,
            rate: 1_500.0,
            results,
            prices: Prices { per_core_hour: Some(0.04), per_gib_hour: None },
        };
        let predicted = predict(&settings("chain"), &|_| ()).unwrap();
        assert!(predicted.is_runnable && predicted.result.money.is_some(), "{predicted:?}");
        let refused = predict(&settings("chian"), &|_| ()).unwrap_err().to_string();
        assert!(refused.contains("did you mean `chain`?"), "{refused}");
    }
}
