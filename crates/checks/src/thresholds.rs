//! All thresholds of the checks, with their source. A threshold without a source is our own choice.

/// Least share of the planned requests that must be sent: below, the trial measures the generator. (Lancet,
/// ATC 2019, accepts 10 % off its rate; that hides an overloaded client.)
pub const OFFERED_SHARE: f64 = 0.99;

/// Own send lag, 99th percentile, above which the tail is the generator's rather than the subject's.
pub const OWN_LAG_WARN_US: f64 = 200.0;
/// Own send lag, 99th percentile, above which nothing that was measured is the subject's.
pub const OWN_LAG_FAIL_US: f64 = 2_000.0;

/// Share of requests that waited for a free connection above which the pool is part of what is measured.
pub const BLOCKED_SHARE: f64 = 0.01;

/// Share of failed requests above which RFC 9411 (sections 7.1 to 7.9) calls a test invalid.
pub const ERROR_SHARE_WARN: f64 = 0.000_01;

/// CPU time over wall time of a worker above which it may be the bottleneck.
pub const GENERATOR_BUSY_WARN: f64 = 0.70;
/// CPU time over wall time of a worker above which it is.
pub const GENERATOR_BUSY_FAIL: f64 = 0.95;

/// Share of the wall time that the generator was ready to run and did not.
pub const RUN_DELAY_WARN: f64 = 0.01;
/// Share of the wall time without a processor above which the generator's times mean nothing.
pub const RUN_DELAY_FAIL: f64 = 0.10;

/// Share of the time that the host gave to others above which a single trial is in doubt.
pub const STEAL_WARN: f64 = 0.005;
/// Share of the time that the host gave to others above which it is worthless.
pub const STEAL_FAIL: f64 = 0.05;

/// Change of the median from the first to the last third.
pub const DRIFT_SHARE: f64 = 0.05;

/// Requests that must lie above a quantile: n (1 - p). Below, the quantile is a few requests' luck.
pub const SAMPLES_ABOVE_QUANTILE: f64 = 100.0;

/// A/A arm: share of the baseline's CPU time per request below which a difference that excludes zero is taken
/// for the one interval in twenty that must, above which the rig sees what is not there.
pub const SAME_COST_FAIL_SHARE: f64 = 0.01;

/// Rounds below which the variance between restarts is hardly known (hysteresis; Treadmill, ISCA 2016).
pub const ROUNDS_WARN: u32 = 5;
/// Rounds below which there is no interval.
pub const ROUNDS_FAIL: u32 = 2;

/// Share of slices set aside above which the machine was not quiet.
pub const SET_ASIDE_WARN: f64 = 0.25;
/// Share of slices set aside above which the rest is a selection.
pub const SET_ASIDE_FAIL: f64 = 0.50;

/// Share of its processors that a proxy must use under a closed loop for the rate to be the proxy's limit.
pub const SATURATED_SHARE: f64 = 0.90;

/// Busy share of the processors of generator and origin above which they may hold the proxy back.
pub const PROCESSORS_BUSY_WARN: f64 = 0.95;

/// Share of its slices that a proxy waited for its processor.
pub const PROXY_RUN_DELAY_WARN: f64 = 0.02;
