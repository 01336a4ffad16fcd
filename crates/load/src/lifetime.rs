//! The opening of connections, and their lifetime.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;

/// The time at which a connection is first opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connect {
    /// Before the first request.
    #[default]
    Ahead,
    /// The connection is opened when a request needs it. The connect then counts towards the request's send lag.
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
            _ => Err("must be `ahead` or `on-demand`".to_owned()),
        }
    }
}

/// Number of requests per connection, drawn for each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestsPerConnection {
    min: u32,
    max: u32,
}

impl RequestsPerConnection {
    /// A fixed number, at least one.
    pub fn exactly(requests: u32) -> Self {
        Self { min: requests.max(1), max: requests.max(1) }
    }

    pub(crate) fn draw(self, random: &mut SmallRng) -> u32 {
        if self.min == self.max { self.min } else { random.random_range(self.min..=self.max) }
    }
}

impl fmt::Display for RequestsPerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max { write!(f, "{}", self.min) } else { write!(f, "{}-{}", self.min, self.max) }
    }
}

impl FromStr for RequestsPerConnection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        match (min.trim().parse(), max.trim().parse()) {
            (Ok(min), Ok(max)) if (1..=max).contains(&min) => Ok(Self { min, max }),
            _ => Err("must be a number such as `1000` or a range such as `500-1500`, at least 1".to_owned()),
        }
    }
}

/// The opening of connections, and the limits after which they are closed and replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// The time at which they are first opened.
    pub connect: Connect,
    /// Maximum number of requests per connection; None for the server's limit.
    pub requests: Option<RequestsPerConnection>,
    /// Maximum age. A connection closes at its first response after it; None for no limit.
    pub age: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_number_or_a_range_is_parsed_and_drawn_from() {
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
