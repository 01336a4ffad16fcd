//! All thresholds of the checks, with their sources. Thresholds without a source are our own choice.
//!
//! Each can be set by its name. The result, and the output beside the verdict, list thresholds that were loosened;
//! tightened ones are not listed.

use std::collections::BTreeMap;

use hoptax_result::Loosened;
use hoptax_text::nearest::hint;

/// One threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Its name, used to set it.
    pub name: &'static str,
    /// Its default value. Shares are from 0 to 1.
    pub default: f64,
    /// True if larger values are stricter.
    pub larger_is_tighter: bool,
    /// Its meaning, with its source.
    pub about: &'static str,
}

/// An upper limit.
const fn max(name: &'static str, default: f64, about: &'static str) -> Threshold {
    Threshold { name, default, larger_is_tighter: false, about }
}

/// A lower limit.
const fn min(name: &'static str, default: f64, about: &'static str) -> Threshold {
    Threshold { name, default, larger_is_tighter: true, about }
}

macro_rules! thresholds {
    ($($(#[$doc:meta])* $id:ident = $kind:ident($name:literal, $default:expr, $about:literal);)*) => {
        $(#[doc = $about] pub const $id: Threshold = $kind($name, $default, $about);)*

        /// All thresholds.
        pub const ALL: &[Threshold] = &[$($id),*];
    };
}

thresholds! {
    OFFERED_SHARE = min("offered-share", 0.99, "Share of the planned requests that must be sent; below it, the trial measures the generator. Lancet (ATC 2019) accepts a rate that is 10 % off, which hides an overloaded client.");
    OFFERED_CPU_SHARE = min("offered-cpu-share", 0.95, "Share of the planned requests that must be sent for a study's CPU time under a load. Between 30 and 90 % of a proxy's capacity, 1 % fewer requests raised the CPU time of each by 0.5 to 0.8 %.");
    OWN_LAG_US = max("own-lag-us", 50.0, "Send lag p99 of the generator, microseconds, that is always accepted; see own-lag-share.");
    OWN_LAG_SHARE = max("own-lag-share", 0.05, "Send lag p99 of the generator as a share of the median response time. Above both this and own-lag-us, the measurement includes the generator.");
    OWN_LAG_FAIL_US = max("own-lag-fail-us", 500.0, "Send lag p99 of the generator, microseconds, that never fails a trial; see own-lag-fail-share.");
    OWN_LAG_FAIL_SHARE = max("own-lag-fail-share", 0.5, "Send lag p99 of the generator as a share of the median response time. Above both this and own-lag-fail-us, the measurement describes the generator.");
    ARRIVALS_DISTANCE = max("arrivals-distance", 0.02, "Kolmogorov-Smirnov distance of gaps from an exponential distribution. With few gaps, the distance that chance exceeds once in a hundred times is allowed.");
    BLOCKED_SHARE = max("blocked-share", 0.01, "Share of requests that waited for a free connection, above which the measurement includes the pool.");
    ERROR_SHARE = max("error-share", 0.000_01, "Share of failed requests, above which RFC 9411 (sections 7.1 to 7.9) calls a test invalid.");
    MISSING_OF_TAIL = max("missing-of-tail", 0.5, "Requests of an open load without a response time, as a share of those above a quantile, 1 - p, above which a study withholds the quantile. If half are missing, the p99 of the others may be the p98.5 of all.");
    MISMATCH_SHARE = max("mismatch-share", 0.000_01, "Share of responses that do not match the expectation: the subject did not do the work.");
    ADMITTED_ERROR = max("admitted-error", 0.05, "Relative deviation of the admitted requests from the number that a limit should admit.");
    SENT_AGAIN = max("sent-again", 0.01, "How often requests were sent again, as a share of the requests sent, because the server handed them back unprocessed. Above it, response times are those of two tries. nginx with its default of 1,000 requests per connection hands back 0.5 % with 8 streams.");
    LOAD_DEVIATION = max("load-deviation", 0.05, "Relative deviation of sent from planned requests in a twentieth of the trial (RFC 9411: sustained rate within 5 %). With few requests, chance variation is allowed.");
    CONNECTIONS_LOST = max("connections-lost", 0.1, "Share of the connections that were closed in some hundredth of the trial (RFC 9411: within 10 %).");
    STEADY_CHANGE = max("steady-change", 0.05, "Change of the median response time where the steady state begins, if it begins in the second half of the trial.");
    STEADY_CHANGE_FAIL = max("steady-change-fail", 0.25, "As steady-change; above it, quantiles of the whole trial describe no actual state.");
    DRIFT_SHARE = max("drift-share", 0.05, "Change of the median from the first to the last third.");
    CORRELATION = max("serial-correlation", 0.05, "Rank correlation of consecutive response times, above which intervals for independent samples are too narrow. hoptax computes intervals from batches.");
    INTERVAL_SHARE = max("interval-share", 0.1, "Half-width of a quantile's interval as a share of the quantile, above which the quantile is reported as vague.");
    INTERVAL_FAIL_SHARE = max("interval-fail-share", 0.5, "As interval-share; above it, the interval is given without the quantile. In a study, above it the interval of a number is reported as wide.");
    GENERATOR_BUSY = max("generator-busy", 0.70, "CPU time of a worker over wall time, above which the worker may be the bottleneck.");
    GENERATOR_BUSY_FAIL = max("generator-busy-fail", 0.95, "As generator-busy; above it, the worker is the bottleneck.");
    RUN_DELAY = max("run-delay", 0.01, "Share of wall time for which the generator was runnable but not running.");
    RUN_DELAY_FAIL = max("run-delay-fail", 0.10, "As run-delay; above it, the generator's times are invalid.");
    STEAL = max("steal", 0.005, "Share of CPU time taken by the hypervisor, above which a trial is in doubt.");
    STEAL_FAIL = max("steal-fail", 0.05, "As steal; above it, a trial is invalid.");
    PRESSURE = max("pressure", 0.05, "Share of time for which some task of the machine waited for a processor.");
    THROTTLED = max("throttled", 0.0, "Periods in which a CPU limit (cgroup) stopped the generator.");
    CEILING_SHARE = max("ceiling-share", 0.67, "Offered rate as a share of the highest calibrated rate that was sent on time. The default leaves a third as headroom; RFC 9411 asks for a tenth.");
    FLOOR_SHARE = max("floor-share", 0.1, "Response time of an origin that responds immediately as a share of the measured one, above which the generator's part is reported.");
    FLOOR_WARN_SHARE = max("floor-warn-share", 0.5, "As floor-share; above it, the measurement describes generator and kernel more than the subject.");
    LITTLE_SHARE = max("little-share", 0.02, "Relative difference of the sampled and the computed number of requests in flight. Chance variation is allowed.");
    CLOCK_READ_NS = max("clock-read-ns", 1_000.0, "Time of one clock reading, nanoseconds.");
    DELAYED_SHARE = max("delayed-share", 0.005, "Share of requests in a mode near 40 or 200 ms.");
    SAMPLES_ABOVE = min("samples-above", 100.0, "Minimum number of requests above a quantile, n (1 - p). With fewer, chance determines the quantile.");
    OUTSIDE_SHARE = max("outside-share", 0.05, "Merged result: share of the requests that were answered when not all runs recorded.");
    OUTSIDE_SHARE_FAIL = max("outside-share-fail", 0.5, "As outside-share; above it, the numbers describe the runs one after the other, not their sum.");
    START_ERROR_SHARE = max("start-error-share", 0.05, "Bursts of several agents: the most by which the starts of two may differ, as a share of the response time p99 (p50 where there is no p99). The error lowers a response time by no more than itself, so this bounds what the p99 lacks; it is the share that own-lag-share allows the generator.");
    SAME_COST_FAIL_SHARE = max("same-cost-fail-share", 0.01, "A/A arm: difference that excludes zero, as a share of the baseline's CPU time per request. Up to this share it counts as the one interval in twenty that must exclude zero; above, the setup reports a difference that does not exist.");
    ROUNDS = min("rounds", 5.0, "Minimum number of rounds to estimate the variance between restarts (hysteresis; Treadmill, ISCA 2016).");
    ROUNDS_FAIL = min("rounds-fail", 2.0, "Minimum number of rounds for an interval.");
    SITTINGS_APART_HOURS = min("sittings-apart-hours", 1.0, "Minimum number of hours from the end of a sitting to the begin of the next. A machine keeps a level of its own for hours, so closer sittings show less of how much it varies.");
    SET_ASIDE = max("set-aside", 0.25, "Share of slices set aside, above which the machine was not quiet.");
    SET_ASIDE_FAIL = max("set-aside-fail", 0.50, "As set-aside; above it, the remaining slices are a selection.");
    SATURATED_SHARE = min("saturated-share", 0.90, "Busy share of the processors that a proxy may use under a closed loop, for the rate to be their limit. Where it shares them with generator and origin, these count too.");
    UNEQUALLY_BUSY = max("unequally-busy", 0.02, "Difference of the busy shares of the processors of two arms under a closed loop, above which the CPU cost may contain that of idling.");
    UNEQUALLY_BUSY_FAIL = max("unequally-busy-fail", 0.05, "As unequally-busy; above it, the CPU cost is withheld.");
    UNEQUAL_UTILISATION = max("unequal-utilisation", 0.05, "Difference of the busy shares of the processors of two arms under a load that is a share of each one's capacity. From 50 to 55 %, the mean time in an M/M/1 queue grows by a ninth.");
    UNEQUAL_UTILISATION_FAIL = max("unequal-utilisation-fail", 0.1, "As unequal-utilisation; above it, differences of response times are withheld.");
    PROCESSORS_BUSY = max("processors-busy", 0.95, "Busy share of the processors of generator and origin, above which they may limit the proxy.");
    CALLERS_BUSY = max("callers-busy", 0.85, "Busy share of the processors of callers in another language, above which the callers limit the rate.");
    DELAYED = max("delayed-slices", 0.25, "Share of slices of which only the CPU time counts, since the proxy waited for its processor.");
    DELAYED_FAIL = max("delayed-slices-fail", 0.50, "As delayed-slices; above it, rates and response times are based on a selection.");
    QUIET_WAIT = max("quiet-wait", 0.01, "Largest share of a quiet slice that generator and proxies each may wait for a processor. The quiet p99 is that of quiet slices. In a quick study on two virtual processors of an Intel Xeon, 77 % of the responses were in such slices, and 5 % of those beyond p99; run-delay warns of a generator that waits longer.");
    QUIET_SHARE = min("quiet-share", 0.5, "Share of the responses of an arm that must be in quiet slices. With fewer, these are a selection, as with set-aside-fail.");
    QUIET_DIFFERENCE = max("quiet-difference", 0.1, "Difference of the shares of the responses in quiet slices of an arm and of the one that it is compared with. Above it, and where the slices do not exclude twice as much with 95 %, what the arm does may decide which of its slices are quiet. In simulated quick studies, judged by the difference alone, 96 to 99 of 100 arms that the machine hits alike pass; of arms that cause twice the stalls themselves, 3 do. With fewer slices, fewer arms pass: with 40 slices against 80, of which 90 % are quiet, 90 of 100 arms that are alike, and with 8 slices none.");
    KNOWN_CPU_SHARE = max("known-cpu-share", 0.01, "Relative deviation of a measured CPU cost from one that is known beforehand.");
    KNOWN_CPU_FAIL_SHARE = max("known-cpu-fail-share", 0.05, "As known-cpu-share; above it, all CPU costs are withheld.");
    SAME_RARE = max("same-rare", 0.001, "A/A arms: probability that chance alone shows such a difference in a sound study, below which the setup is at fault.");
    LATE_EVENT = max("late-event", 0.5, "Delay of an event of a timeline as a share of the interval, above which a phase does not begin with its event.");
    UNFINISHED_EVENT = max("unfinished-event", 0.95, "Time that an event of a timeline took, as a share of the time from its beginning to the end of its slice.");
    FAILS_BEFORE = max("fails-before-events", 0.01, "Share of requests that fail before the first event of a timeline.");
    PROXY_RUN_DELAY = max("proxy-run-delay", 0.02, "Share of its slices for which a proxy waited for its processor.");
    PROXY_THROTTLED = max("proxy-throttled", 0.0, "Share of the periods of a CPU limit (cgroup) in which it stopped a proxy.");
    PROXY_THROTTLED_FAIL = max("proxy-throttled-fail", 0.01, "As proxy-throttled; above it, more than one request in a hundred may have waited for the limit, so times are only bounded.");
}

/// The thresholds in effect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    set: BTreeMap<&'static str, f64>,
}

impl Limits {
    /// The limits of a result, from the thresholds that were loosened for it. Names that are not known any more are
    /// ignored, so their checks use other limits, never looser ones.
    pub fn loosened_to(loosened: &[Loosened]) -> Self {
        let mut limits = Self::default();
        for one in loosened {
            let _ = limits.set(&one.name, one.value);
        }
        limits
    }

    /// Sets a threshold by its name.
    ///
    /// # Errors
    /// If there is no threshold with that name, or the value is negative or not a number.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        let threshold = ALL.iter().find(|threshold| threshold.name == name);
        let threshold = threshold.ok_or_else(|| {
            let hint = hint(name, ALL.iter().map(|threshold| threshold.name));
            format!("there is no threshold `{name}`{hint}")
        })?;
        if !(value.is_finite() && value >= 0.0) {
            return Err(format!("threshold `{name}` must be a number, and 0 or more"));
        }
        self.set.insert(threshold.name, value);
        Ok(())
    }

    /// The thresholds that were set to another value than their default, with the value.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (&'static Threshold, f64)> {
        ALL.iter().filter_map(|threshold| {
            let value = *self.set.get(threshold.name)?;
            (value.to_bits() != threshold.default.to_bits()).then_some((threshold, value))
        })
    }

    /// The same with the default of one threshold.
    pub(crate) fn without(&self, threshold: &Threshold) -> Self {
        let mut limits = self.clone();
        limits.set.remove(threshold.name);
        limits
    }

    /// The value in effect of a threshold.
    pub fn value(&self, threshold: &Threshold) -> f64 {
        self.set.get(threshold.name).copied().unwrap_or(threshold.default)
    }

    /// Thresholds that are looser than their defaults.
    pub fn loosened(&self) -> Vec<Loosened> {
        let looser = |threshold: &&Threshold| {
            let value = self.value(threshold);
            if threshold.larger_is_tighter { value < threshold.default } else { value > threshold.default }
        };
        let loosened = ALL.iter().filter(looser);
        loosened
            .map(|threshold| Loosened {
                name: threshold.name.to_owned(),
                default: threshold.default,
                value: self.value(threshold),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loosened_thresholds_are_listed_and_tightened_ones_are_not() {
        let mut limits = Limits::default();
        limits.set("own-lag-us", 10.0).unwrap();
        limits.set("offered-share", 0.999).unwrap();
        assert_eq!(limits.loosened(), Vec::new());
        assert!((limits.value(&OWN_LAG_US) - 10.0).abs() < f64::EPSILON);
        limits.set("own-lag-us", 51.0).unwrap();
        limits.set("offered-share", 0.5).unwrap();
        let loosened: Vec<String> = limits.loosened().into_iter().map(|one| one.name).collect();
        assert_eq!(loosened, ["offered-share", "own-lag-us"]);
    }

    #[test]
    fn unknown_names_and_invalid_values_are_errors() {
        let mut limits = Limits::default();
        assert!(limits.set("speed", 1.0).unwrap_err().contains("no threshold `speed`"));
        assert!(limits.set("steal", f64::NAN).is_err() && limits.set("steal", -1.0).is_err());
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = ALL.iter().map(|threshold| threshold.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
