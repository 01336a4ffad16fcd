//! `hoptax predict size`: predicts what the proxies of a service graph use, and checks such predictions.

use hoptax_predict::size::Prices;
use hoptax_predict::size::graph::read;
use hoptax_report::documents;
use hoptax_result::Verdict;
use hoptax_session::results::read_run;
use hoptax_session::{graph, library};

use crate::arguments::SizeArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &SizeArguments) -> Result<Code, Failure> {
    let json = arguments.json.file();
    if let Some(path) = &arguments.check {
        let result = hoptax_predict::size::check(&read_run(path)?).map_err(Failure::bad_input)?;
        print::document_or_json(json, &result, || documents::size_check(&result))?;
        return Ok(if result.compositions.is_empty() { Code::Void } else { Code::from(result.verdict) });
    }
    let (Some(path), Some(rate)) = (&arguments.graph, arguments.rate) else {
        return Err(Failure::bad_input("name a graph file with --rate, or a result with --check"));
    };
    let file = graph::read(path, arguments.entry.as_deref(), &print::say)?;
    let graph = read(&file.name, &file.text, library::catalogue()?).map_err(Failure::bad_input)?;
    let results = arguments.from.iter().map(|path| read_run(path)).collect::<Result<Vec<_>, _>>()?;
    let refused = |error| Failure::bad_input(format!("{error}{}", library::advice(&error, &graph)));
    let mut result = hoptax_predict::size::size(&graph, rate, &results).map_err(refused)?;
    let prices =
        Prices { per_core_hour: arguments.price_per_core_hour, per_gib_hour: arguments.price_per_gib_hour };
    result.money = hoptax_predict::size::money(&result, prices);
    print::document_or_json(json, &result, || documents::size(&result))?;
    let is_void = result.sources.iter().any(|source| source.verdict == Verdict::Void);
    Ok(if is_void { Code::Void } else { Code::Success })
}
