//! How the rate of a load goes over time: one rate, or stages in which it rises and falls.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hoptax_host::clock::parse_duration;

/// One stage: the rate goes evenly from one value to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StagePlan {
    /// Requests per second at its beginning.
    pub from_rate: f64,
    /// Requests per second at its end.
    pub to_rate: f64,
    /// Its length.
    pub length: Duration,
}

impl StagePlan {
    /// Requests in it.
    fn requests(&self) -> f64 {
        f64::midpoint(self.from_rate, self.to_rate) * self.length.as_secs_f64()
    }

    /// Seconds from its beginning until `count` of its requests have come: the root of
    /// `from t + (to - from) t^2 / (2 length) = count`, written so that it does not cancel.
    fn seconds_at(&self, count: f64) -> f64 {
        let slope = (self.to_rate - self.from_rate) / self.length.as_secs_f64();
        let under_root = (self.from_rate * self.from_rate + 2.0 * slope * count).max(0.0);
        2.0 * count / (self.from_rate + under_root.sqrt())
    }
}

/// The rate over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Pace {
    /// The same all the time, requests per second.
    Constant(f64),
    /// In stages; nothing is planned after the last.
    Stages(Vec<StagePlan>),
}

impl Pace {
    /// The mean rate.
    pub fn mean_rate(&self) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Stages(stages) => {
                let seconds = self.length().unwrap_or_default().as_secs_f64();
                stages.iter().map(StagePlan::requests).sum::<f64>() / seconds
            }
        }
    }

    /// How long it lasts, where that is given.
    pub fn length(&self) -> Option<Duration> {
        match self {
            Self::Constant(_) => None,
            Self::Stages(stages) => Some(stages.iter().map(|stage| stage.length).sum()),
        }
    }

    /// Nanoseconds until `count` requests have come, whole or in part; infinite when they never do.
    pub(crate) fn time_of(&self, count: f64) -> f64 {
        match self {
            Self::Constant(rate) if rate.is_finite() && *rate > 0.0 => count * (1e9 / rate),
            Self::Constant(_) => f64::INFINITY,
            Self::Stages(stages) => {
                let (mut before, mut start_s) = (0.0, 0.0);
                for stage in stages {
                    let requests = stage.requests();
                    if count < before + requests {
                        return (start_s + stage.seconds_at(count - before)) * 1e9;
                    }
                    before += requests;
                    start_s += stage.length.as_secs_f64();
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

    /// Reads stages: `0:1000@10s,1000:5000@60s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let stage = |part: &str| {
            let (rates, length) = part.split_once('@')?;
            let (from, to) = rates.split_once(':').unwrap_or((rates, rates));
            let rate =
                |text: &str| text.trim().parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate >= 0.0);
            let length = parse_duration(length.trim()).filter(|length| !length.is_zero())?;
            let stage = StagePlan { from_rate: rate(from)?, to_rate: rate(to)?, length };
            Some(stage).filter(|stage| stage.requests() > 0.0)
        };
        let stages = text.split(',').map(|part| {
            stage(part).ok_or_else(|| {
                format!(
                    "`{part}` is no stage: write `FROM:TO@LENGTH` with rates per second, as `0:1000@10s`, or `RATE@LENGTH`"
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
    fn a_ramp_comes_to_its_mean_rate() {
        let pace: Pace = "0:1000@10s,1000@1m".parse().unwrap();
        assert_eq!(pace.length(), Some(Duration::from_secs(70)));
        // Half of a ramp's requests come in its last 0.3: the count goes with the square of the time.
        assert!((pace.time_of(2_500.0) / 1e9 - 50.0_f64.sqrt()).abs() < 1e-6);
        assert!((pace.time_of(5_000.0) / 1e9 - 10.0).abs() < 1e-9);
        assert!((pace.time_of(6_000.0) / 1e9 - 11.0).abs() < 1e-9);
        assert!(pace.time_of(65_001.0).is_infinite());
        assert!((pace.mean_rate() - 65_000.0 / 70.0).abs() < 1e-9);
        assert_eq!(pace.to_string().parse::<Pace>().unwrap(), pace);
    }

    #[test]
    fn what_is_no_stage_is_told() {
        for text in ["", "1000", "1:2@", "0:0@5s", "-1:2@5s", "1:2@0s", "1:2@5", "1:2@5s,"] {
            assert!(text.parse::<Pace>().unwrap_err().contains("no stage"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn time_never_runs_backwards(from in 0.0..1e5_f64, to in 0.1..1e5_f64, seconds in 1_u64..100) {
            let stage = StagePlan { from_rate: from, to_rate: to, length: Duration::from_secs(seconds) };
            let pace = Pace::Stages(vec![stage, stage]);
            let total = 2.0 * stage.requests();
            let times: Vec<f64> = (0..100).map(|step| pace.time_of(total * f64::from(step) / 100.0)).collect();
            prop_assert!(times.is_sorted(), "{times:?}");
            prop_assert!(times.iter().all(|ns| *ns <= 2.0 * seconds as f64 * 1e9 * (1.0 + 1e-9)));
        }
    }
}
