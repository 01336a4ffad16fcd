//! `hoptax export`: converts a result of a load to the format of another tool.

use hoptax_load::{encoded, hdr};
use hoptax_result::{Histogram, LoadHistograms, LoadResult, Verdict};
use hoptax_tools::export::fortio;

use super::judgement::Judgement;
use super::load_file::{self, NoResult};
use crate::arguments::{ExportArguments, ExportFormat};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &ExportArguments) -> Result<Code, Failure> {
    let failed = |reason: &str| Failure::bad_input(format!("`{}`: {reason}", arguments.file.display()));
    let result = load_file::read(&arguments.file).map_err(|problem| match problem {
        NoResult::Lost(reason) => failed(&reason),
        NoResult::Other(reason) => failed(&format!("it {reason}")),
    })?;
    let histograms = result.histograms.as_ref().ok_or_else(|| failed(without_histograms(&result)))?;
    let text = text(arguments.to, &result, histograms).ok_or_else(|| failed("a histogram is damaged"))?;
    print::result(&text)?;
    Ok(Code::Success)
}

fn without_histograms(result: &LoadResult) -> &'static str {
    if result.verdict == Verdict::Void {
        "the result is void, so its response times are withheld"
    } else if result.imported.is_some() {
        "it was imported and has no histogram: convert the original file"
    } else {
        "it has no histogram: it was written by an earlier version, or its response times are withheld"
    }
}

/// The result in another format; None if a histogram is invalid.
fn text(to: ExportFormat, result: &LoadResult, histograms: &LoadHistograms) -> Option<String> {
    match to {
        ExportFormat::Hgrm => {
            let times = encoded::times(histograms.response.as_ref())?;
            Some(hdr::percentile_distribution(&times) + &Judgement::of(result).comments)
        }
        ExportFormat::Fortio => {
            let buckets = |encoded: Option<&Histogram>| Some(hdr::buckets(&encoded::times(encoded)?));
            let failed = histograms.outcomes.values().map(|encoded| buckets(Some(encoded)));
            let failed: Vec<_> = failed.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
            Some(fortio::text(result, &buckets(histograms.response.as_ref())?, &failed))
        }
    }
}
