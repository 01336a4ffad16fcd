//! All thresholds of the checks, with their source. A threshold without a source is our own choice.
//!
//! Each can be set by its name. Tightening one is nobody's business but the user's; one that was loosened stands in the
//! result and beside the verdict.

use std::collections::BTreeMap;

use hoptax_nearest::hint;
use hoptax_result::Loosened;

/// One threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Its name, as it is set by.
    pub name: &'static str,
    /// What it is unless set. Shares are from 0 to 1.
    pub default: f64,
    /// Whether a larger value is the stricter one.
    pub larger_is_tighter: bool,
    /// What it is, with its source.
    pub about: &'static str,
}

/// A threshold that values must stay below.
const fn most(name: &'static str, default: f64, about: &'static str) -> Threshold {
    Threshold { name, default, larger_is_tighter: false, about }
}

/// A threshold that values must stay above.
const fn least(name: &'static str, default: f64, about: &'static str) -> Threshold {
    Threshold { name, default, larger_is_tighter: true, about }
}

macro_rules! thresholds {
    ($($(#[$doc:meta])* $id:ident = $kind:ident($name:literal, $default:expr, $about:literal);)*) => {
        $(#[doc = $about] pub const $id: Threshold = $kind($name, $default, $about);)*

        /// All of them.
        pub const ALL: &[Threshold] = &[$($id),*];
    };
}

thresholds! {
    OFFERED_SHARE = least("offered-share", 0.99, "Share of the planned requests that must be sent: below, the trial measures the generator. Lancet (ATC 2019) accepts 10 % off its rate, which hides an overloaded client.");
    OFFERED_CPU_SHARE = least("offered-cpu-share", 0.95, "Share of the planned requests that must be sent for a study's CPU time under a load: 1 % fewer requests were seen to cost 0.5 to 0.8 % more CPU time each, between 30 and 90 % of what a proxy can take.");
    OWN_LAG_US = most("own-lag-us", 50.0, "Own send lag, 99th percentile, microseconds, that is never too much; see own-lag-share.");
    OWN_LAG_SHARE = most("own-lag-share", 0.05, "Own send lag, 99th percentile, as a share of the median response time: above this and above own-lag-us, the generator is part of what was measured.");
    OWN_LAG_FAIL_US = most("own-lag-fail-us", 500.0, "Own send lag, 99th percentile, microseconds, that is not yet a failure; see own-lag-fail-share.");
    OWN_LAG_FAIL_SHARE = most("own-lag-fail-share", 0.5, "Own send lag, 99th percentile, as a share of the median response time: above this and above own-lag-fail-us, what was measured is the generator.");
    ARRIVALS_DISTANCE = most("arrivals-distance", 0.02, "Distance (Kolmogorov-Smirnov) of gaps from exponential ones; with few gaps, what chance explains once in a hundred times is allowed.");
    BLOCKED_SHARE = most("blocked-share", 0.01, "Share of requests that waited for a free connection above which the pool is part of what is measured.");
    ERROR_SHARE = most("error-share", 0.000_01, "Share of failed requests above which RFC 9411 (sections 7.1 to 7.9) calls a test invalid.");
    MISMATCH_SHARE = most("mismatch-share", 0.000_01, "Share of answers that are not what was expected: the subject did not do the work.");
    ADMITTED_ERROR = most("admitted-error", 0.05, "How far what a limit lets pass may be from what it should, as a share.");
    LOAD_DEVIATION = most("load-deviation", 0.05, "Deviation of what was sent from what was planned in a twentieth of the trial (RFC 9411: sustained rate within 5 %); with few requests, what chance explains is allowed.");
    CONNECTIONS_LOST = most("connections-lost", 0.1, "Share of the connections that were not open in some hundredth of the trial (RFC 9411: within 10 %).");
    STEADY_CHANGE = most("steady-change", 0.05, "Change of the median response time at the point from which on the trial is steady, where that lies in its second half.");
    STEADY_CHANGE_FAIL = most("steady-change-fail", 0.25, "The same, above which quantiles of the whole trial describe no state that there was.");
    DRIFT_SHARE = most("drift-share", 0.05, "Change of the median from the first to the last third.");
    CORRELATION = most("serial-correlation", 0.05, "Rank correlation of one response time with the next above which the textbook interval is too narrow; ours rests on batches.");
    INTERVAL_SHARE = most("interval-share", 0.1, "Half the interval of a quantile as a share of it above which it is said to be vague.");
    INTERVAL_FAIL_SHARE = most("interval-fail-share", 0.5, "Half the interval of a quantile as a share of it above which it is withheld.");
    GENERATOR_BUSY = most("generator-busy", 0.70, "CPU time over wall time of a worker above which it may be the bottleneck.");
    GENERATOR_BUSY_FAIL = most("generator-busy-fail", 0.95, "CPU time over wall time of a worker above which it is.");
    RUN_DELAY = most("run-delay", 0.01, "Share of the wall time that the generator was ready to run and did not.");
    RUN_DELAY_FAIL = most("run-delay-fail", 0.10, "The same, above which the generator's times mean nothing.");
    STEAL = most("steal", 0.005, "Share of the time that the host gave to others above which a single trial is in doubt.");
    STEAL_FAIL = most("steal-fail", 0.05, "The same, above which it is worthless.");
    PRESSURE = most("pressure", 0.05, "Share of the time that some task of the machine waited for a processor.");
    THROTTLED = most("throttled", 0.0, "Periods in which a limit on CPU time stopped the generator.");
    CEILING_SHARE = most("ceiling-share", 0.67, "Offered rate as a share of the largest that the generator was seen to offer on time: a third is to be left (RFC 9411 asks for a tenth).");
    FLOOR_SHARE = most("floor-share", 0.1, "Response time of an origin that answers at once as a share of the one reported above which the generator's part is worth knowing.");
    FLOOR_WARN_SHARE = most("floor-warn-share", 0.5, "The same, above which the number describes the generator and the kernel more than the subject.");
    LITTLE_SHARE = most("little-share", 0.02, "Difference of requests in flight, seen and computed, as a share; what chance explains is allowed.");
    CLOCK_READ_NS = most("clock-read-ns", 1_000.0, "What one reading of the clock may take, nanoseconds.");
    DELAYED_SHARE = most("delayed-share", 0.005, "Share of requests in a mode near 40 or 200 ms.");
    SAMPLES_ABOVE = least("samples-above", 100.0, "Requests that must lie above a quantile, n (1 - p). Below, it is a few requests' luck.");
    SAME_COST_FAIL_SHARE = most("same-cost-fail-share", 0.01, "A/A arm: share of the baseline's CPU time per request below which a difference that excludes zero is taken for the one interval in twenty that must, above which the rig sees what is not there.");
    ROUNDS = least("rounds", 5.0, "Rounds below which the variance between restarts is hardly known (hysteresis; Treadmill, ISCA 2016).");
    ROUNDS_FAIL = least("rounds-fail", 2.0, "Rounds below which there is no interval.");
    SET_ASIDE = most("set-aside", 0.25, "Share of slices set aside above which the machine was not quiet.");
    SET_ASIDE_FAIL = most("set-aside-fail", 0.50, "The same, above which the rest is a selection.");
    SATURATED_SHARE = least("saturated-share", 0.90, "Share of its processors that a proxy must use under a closed loop for the rate to be the proxy's limit.");
    PROCESSORS_BUSY = most("processors-busy", 0.95, "Busy share of the processors of generator and origin above which they may hold the proxy back.");
    CALLERS_BUSY = most("callers-busy", 0.85, "Busy share of the processors of callers in another language above which they set the rate.");
    DELAYED = most("delayed-slices", 0.25, "Share of slices in which the proxy waited so long for its processor that only their CPU time counts.");
    DELAYED_FAIL = most("delayed-slices-fail", 0.50, "The same, above which rates and response times rest on a selection.");
    KNOWN_CPU_SHARE = most("known-cpu-share", 0.01, "How far a cost in CPU time that is known beforehand may be from what is seen, as a share of it.");
    KNOWN_CPU_FAIL_SHARE = most("known-cpu-fail-share", 0.05, "The same, above which no cost in CPU time is believed.");
    SAME_RARE = most("same-rare", 0.001, "A/A arms: how often chance alone shows such a difference in a sound study, below which the rig is at fault.");
    PROXY_RUN_DELAY = most("proxy-run-delay", 0.02, "Share of its slices that a proxy waited for its processor.");
}

/// The thresholds that hold for a judgement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    set: BTreeMap<&'static str, f64>,
}

impl Limits {
    /// Sets one by its name.
    ///
    /// # Errors
    /// When there is none of that name, or the value is no number of zero or more.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        let threshold = ALL.iter().find(|threshold| threshold.name == name);
        let threshold = threshold.ok_or_else(|| {
            let hint = hint(name, ALL.iter().map(|threshold| threshold.name));
            format!("there is no threshold `{name}`{hint}\n`hoptax checks --thresholds` lists them")
        })?;
        if !(value.is_finite() && value >= 0.0) {
            return Err(format!("threshold `{name}` must be a number of 0 or more"));
        }
        self.set.insert(threshold.name, value);
        Ok(())
    }

    /// What holds of one.
    pub fn of(&self, threshold: &Threshold) -> f64 {
        self.set.get(threshold.name).copied().unwrap_or(threshold.default)
    }

    /// Those that are looser than they are by default.
    pub fn loosened(&self) -> Vec<Loosened> {
        let looser = |threshold: &&Threshold| {
            let value = self.of(threshold);
            if threshold.larger_is_tighter { value < threshold.default } else { value > threshold.default }
        };
        let loosened = ALL.iter().filter(looser);
        loosened
            .map(|threshold| Loosened {
                name: threshold.name.to_owned(),
                default: threshold.default,
                value: self.of(threshold),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tightening_is_silent_and_loosening_is_not() {
        let mut limits = Limits::default();
        limits.set("own-lag-us", 10.0).unwrap();
        limits.set("offered-share", 0.999).unwrap();
        assert_eq!(limits.loosened(), Vec::new());
        assert!((limits.of(&OWN_LAG_US) - 10.0).abs() < f64::EPSILON);
        limits.set("own-lag-us", 51.0).unwrap();
        limits.set("offered-share", 0.5).unwrap();
        let loosened: Vec<String> = limits.loosened().into_iter().map(|one| one.name).collect();
        assert_eq!(loosened, ["offered-share", "own-lag-us"]);
    }

    #[test]
    fn what_cannot_be_set_is_told() {
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
