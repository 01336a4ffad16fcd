//! Think time: the pause of a closed loop between a response and the connection's next request.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hoptax_host::clock::parse_duration;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Exp1};

/// Think time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// A fixed time.
    Constant(Duration),
    /// Exponentially distributed with this mean.
    Exponential(Duration),
}

impl Think {
    pub(crate) fn draw_ns(self, random: &mut SmallRng) -> u64 {
        match self {
            Self::Constant(time) => time.as_nanos() as u64,
            Self::Exponential(mean) => {
                let factor: f64 = Exp1.sample(random);
                (factor * mean.as_nanos() as f64) as u64
            }
        }
    }
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(time) => write!(f, "{}s", time.as_secs_f64()),
            Self::Exponential(mean) => write!(f, "exp:{}s", mean.as_secs_f64()),
        }
    }
}

impl FromStr for Think {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (is_exponential, time) = match text.strip_prefix("exp:") {
            Some(mean) => (true, mean),
            None => (false, text),
        };
        let time = parse_duration(time.trim()).filter(|time| !time.is_zero());
        let time =
            time.ok_or("must be a time such as `40ms`, or `exp:40ms` for exponential times with that mean")?;
        Ok(if is_exponential { Self::Exponential(time) } else { Self::Constant(time) })
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn times_are_parsed_and_drawn_from() {
        let mut random = SmallRng::seed_from_u64(1);
        assert_eq!("40ms".parse::<Think>().unwrap().draw_ns(&mut random), 40_000_000);
        let exponential: Think = "exp:1ms".parse().unwrap();
        let mean = (0..10_000).map(|_| exponential.draw_ns(&mut random)).sum::<u64>() / 10_000;
        assert!((950_000..1_050_000).contains(&mean), "{mean}");
        assert_eq!(exponential.to_string(), "exp:0.001s");
        for text in ["", "0s", "exp:", "5"] {
            assert!(text.parse::<Think>().is_err(), "{text}");
        }
    }
}
