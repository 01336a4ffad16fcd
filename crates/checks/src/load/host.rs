//! The machine must have been available and unchanged throughout.

use hoptax_result::{Finding, LoadResult, Measured, Severity, counted, grouped, percent};

use super::limits::{Ends, bound_by, withhold_times};
use crate::check::{Check, severity_above};
use crate::thresholds;

/// Stolen time.
pub(super) const STEAL: Check<LoadResult> = Check {
    id: "steal",
    protects_from: "a virtual machine that the hypervisor stopped while the clock ran",
    source: "proc(5), /proc/stat, eighth field",
    judge: |result, limits| {
        let share = result.generator.steal_share;
        severity_above(share, limits.value(&thresholds::STEAL), limits.value(&thresholds::STEAL_FAIL))
            .map(|(severity, threshold)| {
                let finding = Finding::new(
                    "steal",
                    severity,
                    Measured::percent(share, threshold),
                    format!("steal was {} of CPU time", percent(share, 2)),
                    "run again when the host is quieter, or on a dedicated machine",
                );
                if severity == Severity::Fail { finding.bounding(&["times"]) } else { finding }
            })
            .into_iter()
            .collect()
    },
    // Times contain the delay, and no account tells in which requests the machine was stopped.
    withhold: Some(|result, finding, _| bound_by(result, finding, Ends::Upper)),
};

/// Tasks of any process that waited for a processor.
pub(super) const PRESSURE: Check<LoadResult> = Check {
    id: "cpu-pressure",
    protects_from: "a machine with more runnable tasks than processors",
    source: "kernel documentation, accounting/psi: the total of `some`, not its averages",
    judge: |result, limits| {
        let Some(share) = result.generator.pressure_share else { return Vec::new() };
        let max = limits.value(&thresholds::PRESSURE);
        if share <= max {
            return Vec::new();
        }
        // CPU pressure does not show which task waited. `run-delay` judges the generator, and the subject may be
        // loaded on purpose.
        vec![Finding::new(
            "cpu-pressure",
            Severity::Info,
            Measured::percent(share, max),
            format!("CPU pressure: some task waited for a processor for {} of the time", percent(share, 0)),
            "if subject and generator share the machine, response times include that wait",
        )]
    },
    withhold: None,
};

/// A CPU limit that throttled the generator.
pub(super) const THROTTLED: Check<LoadResult> = Check {
    id: "throttled",
    protects_from: "a container's CPU limit that stops the generator, or a proxy, for most of every 100 ms",
    source: "kernel documentation, admin-guide/cgroup-v2: nr_throttled of cpu.stat",
    judge: |result, limits| {
        let Some(periods) = result.generator.throttled else { return Vec::new() };
        let max = limits.value(&thresholds::THROTTLED);
        if periods as f64 <= max {
            return Vec::new();
        }
        vec![
            Finding::new(
                "throttled",
                Severity::Fail,
                Measured::count(periods as f64, max, "periods"),
                format!("a CPU limit (cgroup) throttled the generator in {}", counted(periods, "period")),
                "raise or remove the container's CPU limit",
            )
            .bounding(&["times"]),
        ]
    },
    withhold: Some(|result, finding, _| bound_by(result, finding, Ends::Upper)),
};

/// The clock source.
pub(super) const CLOCK: Check<LoadResult> = Check {
    id: "clock",
    protects_from: "a clock that is slow to read or goes backwards",
    source: "own; a clock source such as hpet or acpi_pm takes a system call and a microsecond or more",
    judge: |result, limits| {
        let generator = &result.generator;
        let max_ns = limits.value(&thresholds::CLOCK_READ_NS);
        let source = &result.environment.clock_source;
        if generator.clock_step_back_ns > 0 {
            return vec![
                Finding::new(
                    "clock",
                    Severity::Fail,
                    Measured::count(generator.clock_step_back_ns as f64, 0.0, "ns"),
                    format!("the clock (`{source}`) went backwards by {} ns", generator.clock_step_back_ns),
                    "times measured on this machine are invalid; use another clock source",
                )
                .about(&["times"]),
            ];
        }
        if generator.clock_read_ns <= max_ns {
            return Vec::new();
        }
        vec![
            Finding::new(
                "clock",
                Severity::Fail,
                Measured::count(generator.clock_read_ns, max_ns, "ns"),
                format!("reading the clock (`{source}`) takes {} ns", grouped(generator.clock_read_ns, 0)),
                "select the clock source `tsc` or `kvm-clock` (see /sys/devices/system/clocksource)",
            )
            .bounding(&["times"]),
        ]
    },
    withhold: Some(|result, finding, _| {
        if finding.withholds {
            withhold_times(result);
        }
        bound_by(result, finding, Ends::Upper);
    }),
};

/// Evidence that was requested, or is usually judged, but that this machine does not offer.
pub(super) const UNSEEN: Check<LoadResult> = Check {
    id: "unseen",
    protects_from: "missing evidence taken for evidence that nothing was wrong",
    source: "own",
    judge: |result, _| {
        let finding = |message: String, advice: &str| {
            Finding::new("unseen", Severity::Info, Measured::count(1.0, 0.0, "kinds"), message, advice)
        };
        let stamps = result.kernel_absent.as_ref().map(|why| {
            let message = format!("there are no kernel timestamps, although they were requested: {why}");
            finding(message, "request them over TCP with one request at a time on each connection")
        });
        // Where a spinner keeps the processors awake, pressure includes it and is left out on purpose.
        let is_judged = result.imported.is_none() && !result.plan.never_halted;
        let pressure = (is_judged && result.generator.pressure_share.is_none()).then(|| {
            let message =
                "it is not known if tasks waited for a processor: the kernel has no /proc/pressure/cpu"
                    .to_owned();
            finding(message, "enable pressure stall information (the kernel parameter `psi=1`)")
        });
        stamps.into_iter().chain(pressure).collect()
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Known, LoadResult, Severity, TimeOf, Verdict};

    use crate::load::tests::fired;

    #[test]
    fn steal_fires() {
        let steal = |share: f64| fired("steal", |result| result.generator.steal_share = share).0;
        assert_eq!(steal(0.004), None);
        assert_eq!(steal(0.01), Some(Severity::Warn));
        assert_eq!(steal(0.06), Some(Severity::Fail));
    }

    #[test]
    fn pressure_fires() {
        let pressure = |share| fired("cpu-pressure", |result| result.generator.pressure_share = share).0;
        assert_eq!((pressure(None), pressure(Some(0.04))), (None, None));
        assert_eq!(pressure(Some(0.3)), Some(Severity::Info));
    }

    #[test]
    fn evidence_that_is_missing_is_named() {
        let why = "the kernel refuses them on these sockets: Operation not supported";
        let (severity, result) = fired("unseen", |result| result.kernel_absent = Some(why.to_owned()));
        assert_eq!(severity, Some(Severity::Info));
        assert!(result.findings[0].message.ends_with(why), "{:?}", result.findings);
        assert_eq!(fired("unseen", |result| result.generator.pressure_share = None).0, Some(Severity::Info));
        let (severity, _) = fired("unseen", |result| {
            (result.generator.pressure_share, result.plan.never_halted) = (None, true);
        });
        assert_eq!(severity, None, "it is left out on purpose");
    }

    #[test]
    fn a_limit_on_cpu_time_fires() {
        let throttled = |periods| fired("throttled", |result| result.generator.throttled = periods).0;
        assert_eq!((throttled(None), throttled(Some(0))), (None, None));
        assert_eq!(throttled(Some(1)), Some(Severity::Fail));
    }

    #[test]
    fn delays_of_unknown_requests_leave_upper_bounds_and_a_backward_clock_no_times() {
        type Disturb = fn(&mut LoadResult);
        let disturb: [(&str, Disturb); 3] = [
            ("steal", |result| result.generator.steal_share = 0.06),
            ("throttled", |result| result.generator.throttled = Some(1)),
            ("clock", |result| result.generator.clock_read_ns = 1_500.0),
        ];
        let p50 = TimeOf::Percentile(50.0);
        for (id, disturb) in disturb {
            let (_, result) = fired(id, disturb);
            assert_eq!(result.response(p50).ends(), (None, Some(102.0)), "{id}");
            assert_eq!((result.verdict, result.rate.achieved), (Verdict::Caution, Some(20_000.0)), "{id}");
        }
        let (_, result) = fired("clock", |result| result.generator.clock_step_back_ns = 1);
        assert_eq!((result.verdict, result.response(p50)), (Verdict::Caution, Known::Unknown));
        assert_eq!(result.usable(), "counts and rates are sound; times are not known");
    }

    #[test]
    fn a_slow_or_backward_clock_fires() {
        assert_eq!(fired("clock", |result| result.generator.clock_read_ns = 1_500.0).0, Some(Severity::Fail));
        assert_eq!(fired("clock", |result| result.generator.clock_step_back_ns = 1).0, Some(Severity::Fail));
    }
}
