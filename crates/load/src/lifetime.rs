//! When connections are opened, and how long they are kept.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;

/// When a connection is first opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connect {
    /// Before the first release.
    #[default]
    Ahead,
    /// When a request needs it, whose send lag it is then part of.
    OnDemand,
}

impl fmt::Display for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ahead => "ahead",
            Self::OnDemand => "on-demand",
        })
    }
}

impl FromStr for Connect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ahead" => Ok(Self::Ahead),
            "on-demand" => Ok(Self::OnDemand),
            _ => Err("it must be `ahead` or `on-demand`".to_owned()),
        }
    }
}

/// How many requests a connection carries, drawn anew for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestsPerConnection {
    least: u32,
    most: u32,
}

impl RequestsPerConnection {
    /// As many, no more and no less; at least one.
    pub fn exactly(requests: u32) -> Self {
        Self { least: requests.max(1), most: requests.max(1) }
    }

    pub(crate) fn draw(self, random: &mut SmallRng) -> u32 {
        if self.least == self.most { self.least } else { random.random_range(self.least..=self.most) }
    }
}

impl fmt::Display for RequestsPerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most {
            write!(f, "{}", self.least)
        } else {
            write!(f, "{}-{}", self.least, self.most)
        }
    }
}

impl FromStr for RequestsPerConnection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once('-').unwrap_or((text, text));
        match (least.trim().parse(), most.trim().parse()) {
            (Ok(least), Ok(most)) if (1..=most).contains(&least) => Ok(Self { least, most }),
            _ => Err("it must be a number as `1000`, or a range as `500-1500`, of 1 and more".to_owned()),
        }
    }
}

/// When connections are opened, and after what they are closed and opened anew for the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// When they are first opened.
    pub connect: Connect,
    /// Requests that each carries; none for as many as the server takes.
    pub requests: Option<RequestsPerConnection>,
    /// Age at which each is closed after an answer; none for no such age.
    pub age: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_number_or_a_range_is_read_and_drawn() {
        let mut random = SmallRng::seed_from_u64(1);
        let one: RequestsPerConnection = "7".parse().unwrap();
        assert_eq!((one.draw(&mut random), one.to_string()), (7, "7".to_owned()));
        let range: RequestsPerConnection = "2-4".parse().unwrap();
        let drawn: std::collections::BTreeSet<u32> = (0..100).map(|_| range.draw(&mut random)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [2, 3, 4]);
        for text in ["0", "4-2", "", "a", "1-", "0-3", "-1"] {
            assert!(text.parse::<RequestsPerConnection>().is_err(), "{text}");
        }
        assert_eq!("on-demand".parse::<Connect>().unwrap().to_string(), "on-demand");
        assert!("later".parse::<Connect>().is_err());
    }
}
