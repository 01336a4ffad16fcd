//! Reads a native histogram in text of `OpenMetrics` 2.0, as `hoptax export --to openmetrics` and client libraries write it.

use std::time::Duration;

use hoptax_result::LoadResult;

use crate::exponential::Exponential;
use crate::import::named_or_only;
use crate::text::date;
use crate::{Reported, imported};

/// What such a text does not hold.
const NOT_REPORTED: [&str; 3] = [
    "values within a bucket: a quantile is the end of its bucket",
    "what its times begin with",
    "the requested rate",
];
/// The most buckets that are read.
const MOST_BUCKETS: usize = 100_000;

/// Reads the histogram of this metric, or the only one of the text. Times are in seconds.
///
/// # Errors
/// When there is none, or it is not clear which one is meant: the reason.
pub(super) fn import_openmetrics(text: &str, metric: Option<&str>) -> Result<LoadResult, String> {
    let all: Vec<(&str, &str)> =
        text.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect();
    let (name, rest) = named_or_only(&all, metric, "native histogram")?;
    let (value, when) = rest.split_once('}').ok_or_else(|| format!("the value of `{name}` does not end"))?;
    let times = histogram(value).ok_or_else(|| format!("the histogram of `{name}` cannot be read"))?;
    let mut words = when.split_whitespace();
    let at = words.clone().find_map(|word| word.parse::<f64>().ok());
    let from = words.find_map(|word| word.strip_prefix("st@")?.parse::<f64>().ok());
    let seconds = at.zip(from).map(|(at, from)| at - from).filter(|seconds| *seconds > 0.0);
    let started_at = from.and_then(|from| date(Duration::try_from_secs_f64(from).ok()?));
    let reported = Reported { started_at, ..times.reported(seconds) };
    Ok(imported("openmetrics", reported, NOT_REPORTED.map(str::to_owned).to_vec()))
}

/// The name of a sample, and what follows the brace that opens its native histogram.
fn sample(line: &str) -> Option<(&str, &str)> {
    let (head, rest) = line.split_once(" {count:")?;
    let name = head.split('{').next()?.trim();
    rest.contains("schema:").then_some((name, rest))
}

/// The fields of a value, of which the first is the count.
fn histogram(value: &str) -> Option<Exponential> {
    let field = |name: &str| {
        let (_, rest) = value.split_once(&format!(",{name}:"))?;
        let list = rest.strip_prefix('[').and_then(|rest| rest.split(']').next());
        list.or_else(|| rest.split(',').next())
    };
    let count: u64 = value.split(',').next()?.parse().ok()?;
    let scale: i32 = field("schema")?.parse().ok().filter(|scale| (-4..=8).contains(scale))?;
    let (mut offset, mut counts): (Option<i64>, Vec<u64>) = (None, Vec::new());
    let mut listed = field("positive_buckets").unwrap_or_default().split(',').filter(|text| !text.is_empty());
    for span in field("positive_spans").unwrap_or_default().split(',').filter(|text| !text.is_empty()) {
        let (gap, length) = span.split_once(':')?;
        let (gap, length): (i64, usize) = (gap.parse().ok()?, length.parse().ok()?);
        if offset.is_none() {
            // An index is one higher than that of the bound below.
            offset = Some(gap.checked_sub(1)?);
        } else {
            let gap =
                usize::try_from(gap).ok().filter(|gap| counts.len().saturating_add(*gap) <= MOST_BUCKETS)?;
            counts.resize(counts.len() + gap, 0);
        }
        if counts.len().saturating_add(length) > MOST_BUCKETS {
            return None;
        }
        for _ in 0..length {
            counts.push(listed.next()?.parse().ok()?);
        }
    }
    let zeros = field("zero_count")?.parse().ok()?;
    let known = counts.iter().try_fold(zeros, |sum: u64, count| sum.checked_add(*count))?;
    let offset = offset.unwrap_or_default().clamp(-1_000_000, 1_000_000);
    (known == count).then_some(Exponential {
        scale,
        offset,
        counts,
        zeros,
        count,
        sum_s: field("sum")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use hoptax_result::sample as results;
    use proptest::prelude::*;

    use super::*;
    use crate::exponential::tests::{buckets, holds};
    use crate::export::openmetrics::{RESPONSE, SERVICE, text};

    proptest! {
        #[test]
        fn an_exported_result_is_imported_with_the_ranges_of_its_quantiles(
            times_ns in prop::collection::vec(1_000..60_000_000_000_u64, 1..200),
        ) {
            let result = results::load();
            let text = text(&result, &buckets(&times_ns), &buckets(&[5]));
            let read = import_openmetrics(&text, Some(RESPONSE)).unwrap();
            prop_assert!((read.recorded_s - result.recorded_s).abs() < 0.002);
            holds(&read, times_ns)?;
        }

        #[test]
        fn no_text_panics(text in ".{0,200}", words in prop::collection::vec("(a|\\{| |count:|,|sum:|schema:|zero_count:|positive_spans:|positive_buckets:|\\[|\\]|\\}|-?[0-9]{1,19}|:|st@|\n)", 0..60)) {
            let _ = (import_openmetrics(&text, None), import_openmetrics(&words.concat(), Some("a")));
        }
    }

    #[test]
    fn one_of_several_is_named_and_other_texts_are_refused() {
        let both = text(&results::load(), &buckets(&[1_000]), &buckets(&[1_000]));
        let error = import_openmetrics(&both, None).unwrap_err();
        assert_eq!(error, format!("it has `{RESPONSE}` and `{SERVICE}`: name one with `--statistic`"));
        let error = import_openmetrics(&both, Some("a")).unwrap_err();
        assert_eq!(error, format!("it has no native histogram `a`; it has `{RESPONSE}` and `{SERVICE}`"));
        assert_eq!(import_openmetrics("# EOF\n", None).unwrap_err(), "it has no native histogram");
        let wrong = both.replace("{count:1,", "{count:2,");
        assert!(import_openmetrics(&wrong, Some(SERVICE)).unwrap_err().ends_with("cannot be read"));
    }

    #[test]
    fn spans_have_gaps() {
        let text = "a {count:7,sum:3,schema:0,zero_threshold:0,zero_count:1,positive_spans:[-1:1,2:2],positive_buckets:[1,2,3]}\n";
        let service = import_openmetrics(text, None).unwrap().latency.service;
        assert_eq!(service.count, 7);
        let times =
            histogram("7,sum:3,schema:0,zero_count:1,positive_spans:[-1:1,2:2],positive_buckets:[1,2,3]")
                .unwrap();
        assert_eq!((times.offset, times.counts), (-2, vec![1, 0, 0, 2, 3]));
    }
}
