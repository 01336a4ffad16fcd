//! Reads a native histogram in `OpenMetrics` 2.0 text, as written by `hoptax convert export --to openmetrics` and client libraries.

use std::time::Duration;

use hoptax_result::LoadResult;

use super::judgement::Judgement;
use crate::exponential::{Exponential, MOST_BUCKETS, NOT_REPORTED};
use crate::export::openmetrics::UNSTATED;
use crate::import::named_or_only;
use crate::reported::Reported;
use crate::text::date;

/// Reads the histogram of this metric, or the only one in the text. Times are in seconds.
///
/// # Errors
/// The reason, when there is no histogram, or when the selection is ambiguous.
pub(super) fn import_openmetrics(text: &str, metric: Option<&str>) -> Result<LoadResult, String> {
    let all: Vec<(&str, [&str; 2])> =
        text.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect();
    let (name, [labels, rest]) = named_or_only(&all, metric, "native histogram")?;
    let (value, when) = rest.split_once('}').ok_or_else(|| format!("the value of `{name}` does not end"))?;
    let times = histogram(value).ok_or_else(|| format!("the histogram of `{name}` cannot be read"))?;
    let mut words = when.split_whitespace();
    let at = words.clone().find_map(|word| word.parse::<f64>().ok());
    let from = words.find_map(|word| word.strip_prefix("st@")?.parse::<f64>().ok());
    let seconds = at.zip(from).map(|(at, from)| at - from).filter(|seconds| *seconds > 0.0);
    let started_at = from.and_then(|from| date(Duration::try_from_secs_f64(from).ok()?));
    let reported = Reported { started_at, ..times.reported(seconds) };
    Ok(judgement(text, name, labels).import("openmetrics", reported, &NOT_REPORTED))
}

/// The name of a sample, its labels, and the text after the brace that opens its native histogram.
fn sample(line: &str) -> Option<(&str, [&str; 2])> {
    let (head, rest) = line.split_once(" {count:")?;
    let (name, labels) = head.split_once('{').unwrap_or((head, ""));
    rest.contains("schema:").then_some((name.trim(), [labels, rest]))
}

/// Reads the judgement of hoptax on a histogram: the verdict in its labels, and the sample that names quantiles.
fn judgement(text: &str, name: &str, labels: &str) -> Judgement {
    let all = text.lines().filter_map(|line| line.strip_prefix(UNSTATED)?.strip_prefix('{'));
    let mut own = all.filter(|unstated| label(unstated, "of").as_deref() == Some(name));
    let unstated = own.next().unwrap_or_default();
    let [verdict, withheld, bounded] =
        [label(labels, "verdict"), label(unstated, "withheld"), label(unstated, "lower_bounds")];
    Judgement::new(verdict.as_deref(), withheld.as_deref(), bounded.as_deref())
}

/// The value of a label, unescaped.
fn label(labels: &str, name: &str) -> Option<String> {
    let mut rest = labels;
    loop {
        let (key, after) = rest.split_once("=\"")?;
        let (mut value, mut characters) = (String::new(), after.chars());
        loop {
            match characters.next()? {
                '"' => break,
                '\\' => match characters.next()? {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                other => value.push(other),
            }
        }
        if key.trim_start_matches([',', ' ']) == name {
            return Some(value);
        }
        rest = characters.as_str();
    }
}

/// The fields of a value. The first one is the count.
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
            // An index is one higher than in [`Exponential`].
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
    use crate::exponential::tests::{buckets, holds, keeps_unstated};
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
    }

    proptest! {
        // A fuzz target has this reader, and its kept inputs are tried with each change.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_text_panics(text in ".{0,200}", words in prop::collection::vec("(a|\\{| |count:|,|sum:|schema:|zero_count:|positive_spans:|positive_buckets:|\\[|\\]|\\}|-?[0-9]{1,19}|:|st@|\n)", 0..60)) {
            let _ = (import_openmetrics(&text, None), import_openmetrics(&words.concat(), Some("a")));
        }
    }

    #[test]
    fn one_of_several_is_named_and_other_texts_are_refused() {
        let both = text(&results::load(), &buckets(&[1_000]), &buckets(&[1_000]));
        let error = import_openmetrics(&both, None).unwrap_err();
        assert_eq!(
            error,
            format!("`--statistic` must name one of its 2 statistics, `{RESPONSE}` and `{SERVICE}`")
        );
        let error = import_openmetrics(&both, Some("a")).unwrap_err();
        assert_eq!(error, format!("it has no native histogram `a`; it has `{RESPONSE}` and `{SERVICE}`"));
        assert_eq!(import_openmetrics("# EOF\n", None).unwrap_err(), "it has no native histogram");
        let wrong = both.replace("{count:1,", "{count:2,");
        assert!(import_openmetrics(&wrong, Some(SERVICE)).unwrap_err().ends_with("cannot be read"));
    }

    #[test]
    fn what_the_result_does_not_state_is_not_imported() {
        keeps_unstated([RESPONSE, SERVICE], text, import_openmetrics);
    }

    #[test]
    fn labels_are_read_with_their_escapes() {
        let labels = r#"a="1\"\\\n", b="c=",d="#;
        assert_eq!(label(labels, "a").as_deref(), Some("1\"\\\n"));
        assert_eq!(label(labels, "b").as_deref(), Some("c="));
        assert_eq!((label(labels, "c"), label(labels, "d"), label("a=\"1", "a")), (None, None, None));
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
