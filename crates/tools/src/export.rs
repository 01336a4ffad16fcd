//! Results in the formats of other tools.

pub mod fortio;
mod judgement;
pub mod k6;
pub mod nighthawk;
pub mod openmetrics;
pub mod otlp;
mod stated;

use std::time::Duration;

use hoptax_load::hdr::TaggedTimes;
use hoptax_load::{encoded, hdr};
use hoptax_result::{Histogram, LoadHistograms, LoadResult, Verdict};

use crate::smp;

pub use judgement::Judgement;

/// A format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// JSON for the report page of Fortio; its durations are response times from the intended start.
    Fortio,
    /// The percentile distribution of response time in the text format of HdrHistogram.
    Hgrm,
    /// An interval log of HdrHistogram with one interval: response and service times, as `hoptax convert import hlog` reads them.
    Hlog,
    /// JSON of Nighthawk's client, with service times: those from the sending of a request.
    Nighthawk,
    /// The summary of k6, with service times.
    K6,
    /// Text of `OpenMetrics` 2.0 with native histograms of response and service times.
    #[value(name = "openmetrics")]
    OpenMetrics,
    /// Metrics of OpenTelemetry: a request of OTLP in JSON, with exponential histograms.
    Otlp,
    /// Documents of Service Mesh Performance v0.0.1 as JSON, which `hoptax convert import smp` reads without loss.
    Smp,
    /// The page of any result: one HTML file that draws it, without a network.
    Html,
    /// A table of a study as a Parquet file, with the columns of the CSV files of its run folder.
    Parquet,
}

impl Format {
    /// Its name, as in `hoptax convert export --to`.
    pub fn name(self) -> &'static str {
        self.of_files().0
    }

    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        self.of_files().1
    }

    /// The media type of its files.
    pub fn media_type(self) -> &'static str {
        self.of_files().2
    }

    fn of_files(self) -> (&'static str, &'static str, &'static str) {
        const JSON: &str = "application/json";
        const TEXT: &str = "text/plain; charset=utf-8";
        match self {
            Self::Fortio => ("fortio", "fortio.json", JSON),
            Self::Hgrm => ("hgrm", "hgrm", TEXT),
            Self::Hlog => ("hlog", "hlog", TEXT),
            Self::Nighthawk => ("nighthawk", "nighthawk.json", JSON),
            Self::K6 => ("k6", "k6.json", JSON),
            Self::OpenMetrics => ("openmetrics", "openmetrics", TEXT),
            Self::Otlp => ("otlp", "otlp.json", JSON),
            Self::Smp => ("smp", "smp.json", JSON),
            Self::Html => ("html", "html", "text/html; charset=utf-8"),
            Self::Parquet => ("parquet", "parquet", "application/vnd.apache.parquet"),
        }
    }
}

/// Pages are rendered from documents, in another crate.
const NO_PAGE: &str = "a page is not a format of another tool";
/// Error for a load in Parquet.
const NO_TABLE: &str = "it is the result of a load, and `--to parquet` converts tables of studies; \
                        use another format, such as `--to hgrm`";

fn without_histograms(result: &LoadResult) -> &'static str {
    if result.verdict == Verdict::Void {
        "the result is void, so its response times are withheld"
    } else if result.imported.is_some() {
        "it was imported and has no histogram: convert the original file"
    } else {
        "it has no histogram: it was written by an earlier version, or its response times are withheld"
    }
}

/// Converts the result to another format.
///
/// # Errors
/// The reason, when the result has no valid histogram and the format consists of one.
pub fn text(format: Format, result: &LoadResult) -> Result<String, &'static str> {
    const DAMAGED: &str = "a histogram is damaged";
    let histograms = || result.histograms.as_ref().ok_or_else(|| without_histograms(result));
    let times = |encoded: Option<&Histogram>| encoded::times(encoded).ok_or(DAMAGED);
    let buckets = |encoded: Option<&Histogram>| times(encoded).map(|times| hdr::buckets(&times));
    Ok(match format {
        Format::Html => return Err(NO_PAGE),
        Format::Parquet => return Err(NO_TABLE),
        Format::Smp => smp::text(&[smp::of_load(result)]),
        Format::Hgrm => {
            let response = times(histograms()?.response.as_ref())?;
            hdr::percentile_distribution(&response) + &Judgement::new(result).comments
        }
        Format::Hlog => {
            let LoadHistograms { response, service, .. } = histograms()?;
            let (response, service) = (times(response.as_ref())?, times(service.as_ref())?);
            let length = Duration::try_from_secs_f64(result.recorded_s).unwrap_or_default();
            let all = [("response", &response), ("service", &service)];
            let all = all.map(|(tag, times)| TaggedTimes { tag, times });
            hdr::one_interval(&all, result.recorded_from_unix_s, length) + &Judgement::new(result).comments
        }
        // The numbers of these formats are missing if the result withholds them.
        Format::Nighthawk | Format::K6 if result.latency.service.mean_us.is_none() => {
            return Err("its service times are withheld");
        }
        Format::Nighthawk => nighthawk::text(result),
        Format::K6 => k6::text(result),
        Format::Fortio => {
            let LoadHistograms { response, outcomes, .. } = histograms()?;
            let failed = outcomes.values().map(|encoded| buckets(Some(encoded)));
            let failed: Vec<_> = failed.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
            fortio::text(result, &buckets(response.as_ref())?, &failed)
        }
        Format::OpenMetrics => {
            let LoadHistograms { response, service, .. } = histograms()?;
            openmetrics::text(result, &buckets(response.as_ref())?, &buckets(service.as_ref())?)
        }
        Format::Otlp => {
            let LoadHistograms { response, service, .. } = histograms()?;
            otlp::text(result, &buckets(response.as_ref())?, &buckets(service.as_ref())?)
        }
    })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Book, Latency, LowerBounds, sample};

    use super::stated::{started, unstated};
    use super::*;

    /// A result with so many requests, and these service times.
    pub(super) fn load(answered: u64, failed: u64, service: Latency) -> LoadResult {
        let mut result = sample::load();
        let sent = answered + failed;
        result.book = Book { planned: sent, sent, answered, failed, ..Book::default() };
        result.statuses = [(200, answered), (503, failed)].into();
        result.latency.service = Latency { count: answered, ..service };
        result
    }

    /// The times that the formats of several tools have.
    pub(super) fn service_times(result: &LoadResult) -> [Option<f64>; 7] {
        let of = &result.latency.service;
        [of.min_us, of.mean_us, of.p50_us, of.p90_us, of.p99_us, of.p99_9_us, of.max_us]
    }

    #[test]
    fn percentiles_that_are_not_known_are_named() {
        assert_eq!(unstated(&sample::latency(100.0), &[]), (String::new(), String::new()));
        let at_least = LowerBounds { p99_us: Some(5.0), ..LowerBounds::default() };
        let latency =
            Latency { p50_us: None, p99_us: None, p99_9_us: None, at_least, ..sample::latency(100.0) };
        assert_eq!(unstated(&latency, &[]), ("p50, p99.9".to_owned(), "p99".to_owned()));
    }

    #[test]
    fn a_start_that_is_out_of_range_is_not_stated() {
        let started_at = |unix_s| {
            let mut load = sample::load();
            load.recorded_from_unix_s = Some(unix_s);
            started(&load)
        };
        assert_eq!(started_at(1_767_323_045.0).as_deref(), Some("2026-01-02T03:04:05.000000000Z"));
        for unix_s in [-1.0, 1e300, f64::NAN, 253_402_300_800.0] {
            assert_eq!(started_at(unix_s), None, "{unix_s}");
        }
    }
}
