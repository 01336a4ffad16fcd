//! Properties of the subject, or of the path to it, that show in the
//! distribution of responses.

use hoptax_result::{Finding, LoadResult, Measured, Severity, grouped, percent};
use hoptax_text::list::named;

use crate::check::Check;
use crate::thresholds;

/// Outlying connections and workers, which are slower than the others.
pub(super) const APART: Check<LoadResult> = Check {
    id: "apart",
    protects_from: "a hot spot hidden by the distribution over all connections",
    source: "Nighthawk's histogram per worker; limits: four standard deviations of the median's rank, and a fifth of the median",
    judge: |result, _| {
        let found = result.apart.iter().map(|apart| {
            let numbers: Vec<String> = apart.numbers.iter().map(u32::to_string).collect();
            let ratio = apart.p50_us / apart.others_p50_us;
            Finding::new(
                "apart",
                Severity::Warn,
                Measured::count(ratio, 1.2, "times"),
                format!(
                    "{} of {} {}s (number {}) are slower: p50 is {} us, that of the others {} us",
                    apart.numbers.len(),
                    apart.total,
                    apart.of,
                    named(&numbers, 10),
                    grouped(apart.p50_us, 0),
                    grouped(apart.others_p50_us, 0)
                ),
                "a busier part of the subject serves them: redistribute them with `--requests-per-connection`, or balance \
                 connections in the subject",
            )
        });
        found.collect()
    },
    withhold: None,
};

/// Modes caused by TCP timers.
pub(super) const DELAYED: Check<LoadResult> = Check {
    id: "delayed-acknowledgement",
    protects_from: "TCP timers reported as the subject's work",
    source: "Nagle's algorithm with delayed acknowledgements, 40 ms (RFC 896, RFC 1122); minimum retransmission timeout, 200 ms",
    judge: |result, limits| {
        let max = limits.value(&thresholds::DELAYED_SHARE);
        let near = |peak_us: f64| {
            [(40_000.0, "a delayed acknowledgement"), (200_000.0, "a retransmission")]
                .into_iter()
                .find(|(at_us, _)| (peak_us / at_us - 1.0).abs() < 0.12)
        };
        // The first mode is the subject's ordinary response time, wherever it
        // lies.
        let found = result.modes.iter().skip(1).filter(|mode| mode.share > max).filter_map(|mode| {
            let (_, cause) = near(mode.peak_us)?;
            Some(Finding::new(
                "delayed-acknowledgement",
                Severity::Warn,
                Measured::percent(mode.share, max),
                format!(
                    "{} of the requests took about {} ms, the signature of {cause}",
                    percent(mode.share, 1),
                    grouped(mode.peak_us / 1e3, 0)
                ),
                "set TCP_NODELAY in the subject; check TcpExtDelayedACKs and TcpRetransSegs in `nstat`",
            ))
        });
        found.collect()
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Mode, Outliers, Severity};

    use crate::load::tests::fired;

    #[test]
    fn a_hot_spot_is_named() {
        let (severity, result) = fired("apart", |result| {
            result.apart.push(Outliers {
                of: "connection".to_owned(),
                numbers: vec![1, 5],
                total: 16,
                p50_us: 900.0,
                others_p50_us: 100.0,
            });
        });
        assert_eq!(severity, Some(Severity::Warn));
        assert!(
            result.findings[0].message.contains("2 of 16 connections")
                && result.findings[0].message.contains("1, 5")
        );
    }

    #[test]
    fn a_mode_at_forty_milliseconds_fires_unless_it_is_the_only_one() {
        let mode =
            |peak_us: f64, share: f64| Mode { low_us: peak_us * 0.8, peak_us, high_us: peak_us * 1.2, share };
        let with = |modes: Vec<Mode>| fired("delayed-acknowledgement", |result| result.modes = modes).0;
        assert_eq!(with(vec![mode(100.0, 0.9), mode(41_000.0, 0.1)]), Some(Severity::Warn));
        assert_eq!(with(vec![mode(100.0, 0.9), mode(205_000.0, 0.1)]), Some(Severity::Warn));
        assert_eq!(with(vec![mode(100.0, 0.996), mode(41_000.0, 0.004)]), None);
        assert_eq!(with(vec![mode(41_000.0, 1.0)]), None);
        assert_eq!(with(vec![mode(100.0, 0.9), mode(60_000.0, 0.1)]), None);
    }
}
