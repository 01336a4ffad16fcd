//! The rate of a load over time: constant, or in stages with ramps.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hoptax_host::clock::parse_duration;
use hoptax_result::grouped;

/// Maximum rate, requests per second: more than ten times the highest rate measured for one worker, with 100 ns of
/// schedule per request.
pub const MAX_RATE: f64 = 10_000_000.0;

/// One stage: the rate changes linearly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StagePlan {
    /// Initial rate, requests per second.
    pub from_rate: f64,
    /// Final rate, requests per second.
    pub to_rate: f64,
    /// Its length.
    pub length: Duration,
}

impl StagePlan {
    /// Number of requests.
    fn requests(&self) -> f64 {
        self.requests_in(self.length)
    }

    /// Number of requests in its first `time`, which must not exceed its length.
    fn requests_in(&self, time: Duration) -> f64 {
        if time.is_zero() {
            return 0.0;
        }
        let end_rate = self.from_rate + (self.to_rate - self.from_rate) * time.div_duration_f64(self.length);
        f64::midpoint(self.from_rate, end_rate) * time.as_secs_f64()
    }

    /// Mean rate over its first `time`.
    pub(crate) fn mean_rate_in(&self, time: Duration) -> f64 {
        if time.is_zero() { self.from_rate } else { self.requests_in(time) / time.as_secs_f64() }
    }

    /// Time until `count` of its requests are due, seconds: the root of `from t + (to - from) t^2 / (2 length) = count`,
    /// in a form without cancellation.
    fn seconds_at(&self, count: f64) -> f64 {
        if count <= 0.0 {
            // If the initial rate is 0 too, the formula would divide 0 by 0.
            return 0.0;
        }
        let slope = (self.to_rate - self.from_rate) / self.length.as_secs_f64();
        let under_root = (self.from_rate * self.from_rate + 2.0 * slope * count).max(0.0);
        2.0 * count / (self.from_rate + under_root.sqrt())
    }
}

/// The rate over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Pace {
    /// A constant rate, requests per second.
    Constant(f64),
    /// Stages. No request is due after the last one.
    Stages(Vec<StagePlan>),
}

impl Pace {
    /// The mean rate.
    pub fn mean_rate(&self) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Stages(_) => self.mean_rate_in(self.length().unwrap_or_default()),
        }
    }

    /// The mean rate over the first `time`; 0 for no time.
    pub(crate) fn mean_rate_in(&self, time: Duration) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Stages(stages) => {
                let mut left = time;
                let mut requests = 0.0;
                for stage in stages {
                    let part = stage.length.min(left);
                    requests += stage.requests_in(part);
                    left -= part;
                }
                if time.is_zero() { 0.0 } else { requests / time.as_secs_f64() }
            }
        }
    }

    /// Total length; None if unlimited.
    pub fn length(&self) -> Option<Duration> {
        match self {
            Self::Constant(_) => None,
            Self::Stages(stages) => Some(stages.iter().map(|stage| stage.length).sum()),
        }
    }

    /// Time until `count` requests are due, nanoseconds; `count` may be fractional. Infinite if they never are.
    pub(crate) fn time_of(&self, count: f64) -> f64 {
        match self {
            Self::Constant(rate) if rate.is_finite() && *rate > 0.0 => count * (1e9 / rate),
            Self::Constant(_) => f64::INFINITY,
            Self::Stages(stages) => {
                let (mut before, mut start_ns) = (0.0, 0.0);
                for stage in stages {
                    let requests = stage.requests();
                    let length_ns = stage.length.as_nanos() as f64;
                    if count < before + requests {
                        // At most the last nanosecond of the stage, so that rounding does not move it into the next one.
                        return start_ns + (stage.seconds_at(count - before) * 1e9).min(length_ns - 1.0);
                    }
                    before += requests;
                    start_ns += length_ns;
                }
                f64::INFINITY
            }
        }
    }
}

impl From<f64> for Pace {
    fn from(rate: f64) -> Self {
        Self::Constant(rate)
    }
}

impl FromStr for Pace {
    type Err = String;

    /// Parses stages: `0:1000@10s,1000:5000@60s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let stage = |part: &str| {
            let (rates, length) = part.split_once('@')?;
            let (from, to) = rates.split_once(':').unwrap_or((rates, rates));
            let rate =
                |text: &str| text.trim().parse().ok().filter(|rate: &f64| (0.0..=MAX_RATE).contains(rate));
            let length = parse_duration(length.trim()).filter(|length| !length.is_zero())?;
            let stage = StagePlan { from_rate: rate(from)?, to_rate: rate(to)?, length };
            Some(stage).filter(|stage| stage.requests() > 0.0)
        };
        let stages = text.split(',').map(|part| {
            stage(part).ok_or_else(|| {
                format!(
                    "`{part}` is not a valid stage; use `FROM:TO@LENGTH` with rates per second of at most {}, such as \
                     `0:1000@10s`, or `RATE@LENGTH`",
                    grouped(MAX_RATE, 0)
                )
            })
        });
        Ok(Self::Stages(stages.collect::<Result<_, _>>()?))
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(rate) => write!(f, "{rate}"),
            Self::Stages(stages) => {
                let parts = stages.iter().map(|stage| {
                    format!("{}:{}@{}s", stage.from_rate, stage.to_rate, stage.length.as_secs_f64())
                });
                f.write_str(&parts.collect::<Vec<_>>().join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_ramp_has_its_mean_rate() {
        let pace: Pace = "0:1000@10s,1000@1m".parse().unwrap();
        assert_eq!(pace.length(), Some(Duration::from_secs(70)));
        // The count on a ramp from 0 is proportional to the square of the time.
        assert!((pace.time_of(2_500.0) / 1e9 - 50.0_f64.sqrt()).abs() < 1e-6);
        assert!((pace.time_of(5_000.0) / 1e9 - 10.0).abs() < 1e-9);
        assert!((pace.time_of(6_000.0) / 1e9 - 11.0).abs() < 1e-9);
        assert!(pace.time_of(65_001.0).is_infinite());
        assert!((pace.mean_rate() - 65_000.0 / 70.0).abs() < 1e-9);
        assert_eq!(pace.to_string().parse::<Pace>().unwrap(), pace);
    }

    #[test]
    fn the_mean_rate_of_a_part_is_its_requests_over_its_time() {
        let pace: Pace = "0:1000@10s,1000@1m".parse().unwrap();
        assert!((pace.mean_rate_in(Duration::from_secs(5)) - 250.0).abs() < 1e-9);
        assert!((pace.mean_rate_in(Duration::from_secs(20)) - 750.0).abs() < 1e-9);
        assert!(pace.mean_rate_in(Duration::ZERO).abs() < f64::EPSILON);
    }

    #[test]
    fn invalid_stages_are_rejected() {
        for text in ["", "1000", "1:2@", "0:0@5s", "-1:2@5s", "1:2@0s", "1:2@5", "1:2@5s,", "0:1e12@5s"] {
            assert!(text.parse::<Pace>().unwrap_err().contains("not a valid stage"), "{text}");
        }
    }

    #[test]
    fn the_first_request_after_a_rate_of_zero_is_due_at_once() {
        // 2,500 requests until the rate reaches 0 after 5 s; the next one is the first of the second stage.
        let pace: Pace = "1000:0@5s,0:1000@5s".parse().unwrap();
        assert!((pace.time_of(2_500.0) - 5e9).abs() < 1.0, "{}", pace.time_of(2_500.0));
        let pace: Pace = "0:1000@1s,1000:0@1s,0:0.5@2s,0:7@3s".parse().unwrap();
        let times: Vec<f64> = (0..1_011).map(|count| pace.time_of(f64::from(count))).collect();
        assert!(times.iter().all(|ns| ns.is_finite()) && times.is_sorted(), "{times:?}");
    }

    /// Rates, often 0.
    fn rates() -> impl Strategy<Value = f64> {
        prop_oneof![2 => Just(0.0), 1 => Just(1e-9), 3 => 0.0..20.0_f64, 3 => (0..2_000_u32).prop_map(f64::from), 1 => 0.0..1e6_f64]
    }

    fn stage_plans() -> impl Strategy<Value = StagePlan> {
        (
            rates(),
            rates(),
            prop_oneof![
                1_u64..10,
                1_000_000..20_000_000_000_u64,
                (1_u64..20).prop_map(|s| s * 1_000_000_000)
            ],
        )
            .prop_map(|(from_rate, to_rate, ns)| StagePlan {
                from_rate,
                to_rate,
                length: Duration::from_nanos(ns),
            })
            .prop_filter("requests", |stage| stage.requests() > 0.0)
    }

    proptest! {
        /// The integral of the rate up to a scheduled time is the number of the request, times never decrease, and each
        /// request lies in its stage.
        #[test]
        fn scheduled_times_follow_the_rate(stages in prop::collection::vec(stage_plans(), 1..5)) {
            let pace = Pace::Stages(stages.clone());
            let total: f64 = stages.iter().map(StagePlan::requests).sum();
            // The first 500 requests, a hundred in between, and those around the ends of stages.
            let ends: Vec<f64> = stages.iter().scan(0.0, |sum, stage| { *sum += stage.requests(); Some(*sum) }).collect();
            let mut counts: Vec<f64> = (0..500).map(f64::from).collect();
            counts.extend((0..100).map(|step| (total * f64::from(step) / 100.0).floor()));
            counts.extend(ends.iter().flat_map(|end| (-3..=3).map(|by| (end.floor() + f64::from(by)).max(0.0))));
            counts.sort_by(f64::total_cmp);
            counts.dedup();
            let times: Vec<u64> = counts.iter().map(|count| pace.time_of(*count) as u64).collect();
            prop_assert!(times.is_sorted(), "{times:?}");
            for (count, ns) in counts.iter().zip(&times) {
                if *count >= *ends.last().unwrap() {
                    prop_assert_eq!(*ns, u64::MAX);
                    continue;
                }
                let number = ends.iter().position(|end| count < end).unwrap();
                let from_ns: u64 = stages[..number].iter().map(|stage| stage.length.as_nanos() as u64).sum();
                let to_ns = from_ns + stages[number].length.as_nanos() as u64;
                prop_assert!((from_ns..to_ns).contains(ns), "request {count} at {ns}, of stage {number}: {from_ns} to {to_ns}");
                // The time is truncated to a nanosecond, so the integral may lack the requests of one nanosecond, and the last
                // request of a stage may be due in its last nanosecond.
                let stage = stages[number];
                let before = if number == 0 { 0.0 } else { ends[number - 1] };
                let integral = |ns: u64| {
                    let (t, length) = (ns as f64 / 1e9, stage.length.as_secs_f64());
                    before + stage.from_rate * t + (stage.to_rate - stage.from_rate) * t * t / (2.0 * length)
                };
                let (least, most) = (integral((ns - from_ns).saturating_sub(1)), integral(ns - from_ns + 1));
                let slack = 1e-9 * total.max(1.0);
                prop_assert!(least - slack <= *count && *count <= most + slack, "{least} {count} {most}");
            }
        }
    }
}
