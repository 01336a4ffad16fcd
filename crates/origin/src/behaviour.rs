//! What a request asks for: delay, status, size, error, close.

use std::time::Duration;

use hoptax_host::clock;
use hoptax_nearest::hint;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};

use crate::queue::Freeze;
use crate::table::Tables;

/// Longest delay.
const LONGEST_DELAY: Duration = Duration::from_hours(1);
/// Largest body, bytes.
const LARGEST_SIZE: u64 = 64 * 1024 * 1024;
/// Size of a body when nobody asks, bytes.
const DEFAULT_SIZE: u64 = 64;
/// Before the name of a parameter when it is a header.
pub(crate) const HEADER_PREFIX: &str = "x-hoptax-";

/// How a request is answered.
///
/// | parameter | values |
/// |---|---|
/// | `delay` | `5ms`; `exp:2ms`, exponential with this mean; `table:NAME`, drawn from a table; Fortio's `10ms:5,20ms:1`, each with its percentage |
/// | `service` | like `delay`, but requests of a worker wait for each other, as at one server with this service time; no CPU is burnt |
/// | `freeze` | `1s@20s`: the server of `service` stands still for 1 s, from 20 s after the worker's first request on |
/// | `crowded` | `8:50ms`: with 8 requests or more under way at the worker, another 50 ms of delay |
/// | `size` | bytes of the body; `100:50,2000:50`, each with its percentage |
/// | `status` | `503`; `503:10,404:0.5`, each with its percentage, otherwise 200 |
/// | `error` | probability, 0 to 1, of status 500 |
/// | `close` | `true`, or a probability, 0 to 1, that the connection is closed after the answer |
/// | `poll` | `200ms`: for so long the worker looks for requests all the time, in place of sleeping until they come, so that whoever asks does not have to wake it |
/// | `header` | `Name:value`, a header of the answer; may be given again |
///
/// In the query they have these names, as headers they begin with `x-hoptax-`; headers win.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    delay: Delay,
    service: Option<Delay>,
    freeze: Option<Freeze>,
    crowded: Option<(u64, Duration)>,
    status: Chances<u16>,
    size: Chances<u64>,
    error: f64,
    close: f64,
    poll: Duration,
    headers: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Delay {
    Chances(Chances<Duration>),
    Exponential(Duration),
    Table(usize),
}

/// Values with their percentages; what is left to 100 % is `otherwise`.
#[derive(Clone, Debug, PartialEq)]
struct Chances<T> {
    otherwise: T,
    chances: Vec<(T, f64)>,
}

/// The names of the parameters.
const NAMES: [&str; 9] =
    ["delay", "service", "freeze", "crowded", "size", "status", "error", "close", "header"];

/// A parameter that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadParameter {
    /// It has a value that it does not take.
    #[error("parameter `{name}` cannot be `{value}`: it takes {takes}")]
    Value {
        /// Its name.
        name: String,
        /// The value.
        value: String,
        /// What it takes.
        takes: &'static str,
    },
    /// There is none of this name.
    #[error("there is no parameter `{name}`{}\nthere are `{}`", hint(.name, NAMES), NAMES.join("`, `"))]
    Unknown {
        /// The name.
        name: String,
    },
}

/// What was drawn for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) delay: Duration,
    /// Time at the worker's one server, where requests wait for each other; none when it is passed by.
    pub(crate) service: Option<Duration>,
    /// When that server stands still.
    pub(crate) freeze: Option<Freeze>,
    /// From how many requests under way on there is how much more delay.
    pub(crate) crowded: Option<(u64, Duration)>,
    pub(crate) status: u16,
    pub(crate) size: u64,
    pub(crate) close: bool,
    /// How long the worker does not sleep.
    pub(crate) poll: Duration,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            delay: Delay::Chances(Chances::always(Duration::ZERO)),
            service: None,
            freeze: None,
            crowded: None,
            status: Chances::always(200),
            size: Chances::always(DEFAULT_SIZE),
            error: 0.0,
            close: 0.0,
            poll: Duration::ZERO,
            headers: Vec::new(),
        }
    }
}

impl Behaviour {
    /// Takes over what a query, without its `?`, asks for. Other parameters are let pass.
    ///
    /// # Errors
    /// At the first parameter with a value that it does not take.
    pub fn apply_query(&mut self, query: &str, tables: &Tables) -> Result<(), BadParameter> {
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            self.apply(&name, &value, tables)?;
        }
        Ok(())
    }

    /// Takes over what a query says of all requests. Every name must be known: here nothing else can be meant.
    ///
    /// # Errors
    /// At the first parameter that is unknown, or has a value that it does not take.
    pub fn apply_default(&mut self, query: &str, tables: &Tables) -> Result<(), BadParameter> {
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !NAMES.contains(&name.as_ref()) {
                return Err(BadParameter::Unknown { name: name.into_owned() });
            }
            self.apply(&name, &value, tables)?;
        }
        Ok(())
    }

    /// Takes over one parameter. One of another name is let pass.
    ///
    /// # Errors
    /// When it does not take this value.
    pub fn apply(&mut self, name: &str, value: &str, tables: &Tables) -> Result<(), BadParameter> {
        let value = value.trim();
        let read = match name {
            "delay" => parse_delay(value, tables).map(|delay| self.delay = delay).ok_or(
                "`5ms`, `exp:2ms`, `table:NAME` with a table that was given at the start, or \
                 `10ms:5,20ms:1` with percentages; an hour at most",
            ),
            "service" => parse_delay(value, tables).map(|service| self.service = Some(service)).ok_or(
                "what `delay` takes: `5ms`, `exp:2ms`, `table:NAME`, or `10ms:5,20ms:1` with percentages",
            ),
            "freeze" => parse_freeze(value)
                .map(|freeze| self.freeze = Some(freeze))
                .ok_or("`LENGTH@START`, as `1s@20s`"),
            "crowded" => parse_crowded(value)
                .map(|crowded| self.crowded = Some(crowded))
                .ok_or("`NUMBER:DELAY`, as `8:50ms`"),
            "size" => parse_chances(value, DEFAULT_SIZE, parse_size)
                .map(|size| self.size = size)
                .ok_or("bytes, or `100:50,2000:50` with percentages; 67108864 (64 MiB) at most"),
            "status" => parse_chances(value, 200, parse_status)
                .map(|status| self.status = status)
                .ok_or("a status from 200 to 599, or `503:10,404:0.5` with percentages"),
            "error" => {
                parse_probability(value).map(|error| self.error = error).ok_or("a probability from 0 to 1")
            }
            "close" => parse_close(value)
                .map(|close| self.close = close)
                .ok_or("`true`, `false`, or a probability from 0 to 1"),
            "poll" => parse_duration(value)
                .map(|poll| self.poll = poll)
                .ok_or("a time, as `200ms`; an hour at most"),
            "header" => parse_header(value)
                .map(|header| self.headers.push(header))
                .ok_or("`Name:value`, and not one that frames the answer"),
            _ => Ok(()),
        };
        let bad = |takes| BadParameter::Value { name: name.to_owned(), value: value.to_owned(), takes };
        read.map_err(bad)
    }

    /// Draws what one request gets.
    pub(crate) fn draw(&self, tables: &Tables, random: &mut impl Rng) -> Drawn {
        let delay = self.delay.draw(tables, random);
        let service = self.service.as_ref().map(|service| service.draw(tables, random));
        let failed = self.error > 0.0 && random.random_bool(self.error);
        Drawn {
            delay,
            service,
            freeze: self.freeze,
            crowded: self.crowded,
            status: if failed { 500 } else { *self.status.draw(random) },
            size: *self.size.draw(random),
            close: self.close > 0.0 && random.random_bool(self.close),
            poll: self.poll,
        }
    }

    /// The headers that were asked for.
    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }
}

impl Delay {
    fn draw(&self, tables: &Tables, random: &mut impl Rng) -> Duration {
        match self {
            Self::Chances(chances) => *chances.draw(random),
            Self::Exponential(mean) => {
                let factor: f64 = Exp1.sample(random);
                mean.mul_f64(factor).min(LONGEST_DELAY)
            }
            Self::Table(number) => {
                let delays = tables.delays(*number);
                let at = random.random_range(0..delays.len().max(1));
                delays.get(at).copied().unwrap_or_default()
            }
        }
    }
}

impl<T> Chances<T> {
    fn always(value: T) -> Self {
        Self { otherwise: value, chances: Vec::new() }
    }

    fn draw(&self, random: &mut impl Rng) -> &T {
        if self.chances.is_empty() {
            return &self.otherwise;
        }
        let mut left = random.random_range(0.0..100.0);
        for (value, percent) in &self.chances {
            if left < *percent {
                return value;
            }
            left -= percent;
        }
        &self.otherwise
    }
}

fn parse_delay(text: &str, tables: &Tables) -> Option<Delay> {
    if let Some(mean) = text.strip_prefix("exp:") {
        return parse_duration(mean).map(Delay::Exponential);
    }
    if let Some(name) = text.strip_prefix("table:") {
        return tables.find(name).map(Delay::Table);
    }
    parse_chances(text, Duration::ZERO, parse_duration).map(Delay::Chances)
}

/// `value`, or `value:percent,value:percent` with 100 % at most.
fn parse_chances<T>(text: &str, otherwise: T, parse: impl Fn(&str) -> Option<T>) -> Option<Chances<T>> {
    if !text.contains(':') {
        return parse(text).map(Chances::always);
    }
    let chances = text
        .split(',')
        .map(|part| {
            let (value, percent) = part.split_once(':')?;
            let percent: f64 = percent.trim_end_matches('%').parse().ok()?;
            (0.0..=100.0).contains(&percent).then_some((parse(value)?, percent))
        })
        .collect::<Option<Vec<(T, f64)>>>()?;
    let sum: f64 = chances.iter().map(|(_, percent)| percent).sum();
    (sum <= 100.0 + 1e-9).then_some(Chances { otherwise, chances })
}

fn parse_duration(text: &str) -> Option<Duration> {
    clock::parse_duration(text).filter(|duration| *duration <= LONGEST_DELAY)
}

fn parse_freeze(text: &str) -> Option<Freeze> {
    let (length, after) = text.split_once('@')?;
    let ns = |text: &str| parse_duration(text).map(|time| time.as_nanos() as u64);
    Some(Freeze { after_ns: ns(after)?, length_ns: ns(length)? })
}

fn parse_crowded(text: &str) -> Option<(u64, Duration)> {
    let (number, delay) = text.split_once(':')?;
    Some((number.parse().ok()?, parse_duration(delay)?))
}

fn parse_size(text: &str) -> Option<u64> {
    text.parse().ok().filter(|&size| size <= LARGEST_SIZE)
}

fn parse_status(text: &str) -> Option<u16> {
    text.parse().ok().filter(|status| (200..=599).contains(status))
}

fn parse_probability(text: &str) -> Option<f64> {
    text.parse().ok().filter(|probability| (0.0..=1.0).contains(probability))
}

fn parse_close(text: &str) -> Option<f64> {
    match text {
        "" | "true" => Some(1.0),
        "false" => Some(0.0),
        other => parse_probability(other),
    }
}

fn parse_header(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once(':')?;
    let is_token = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let frames = ["content-length", "transfer-encoding", "connection"];
    let framing = frames.iter().any(|frame| name.eq_ignore_ascii_case(frame));
    let value = value.trim();
    let is_value = value.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    (is_token && !framing && is_value).then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    fn behaviour(query: &str) -> Behaviour {
        let mut behaviour = Behaviour::default();
        behaviour.apply_query(query, &Tables::default()).unwrap();
        behaviour
    }

    fn drawn(query: &str, count: usize) -> Vec<Drawn> {
        let (behaviour, mut random) = (behaviour(query), SmallRng::seed_from_u64(1));
        (0..count).map(|_| behaviour.draw(&Tables::default(), &mut random)).collect()
    }

    #[test]
    fn fixed_values_are_what_every_request_gets() {
        let expected = Drawn {
            delay: Duration::from_micros(1500),
            service: None,
            freeze: None,
            crowded: None,
            status: 503,
            size: 4096,
            close: true,
            poll: Duration::from_millis(200),
        };
        assert!(
            drawn("delay=1.5ms&status=503&size=4096&close=true&poll=200ms&other=x", 50)
                .iter()
                .all(|one| *one == expected)
        );
        let nothing = Drawn {
            delay: Duration::ZERO,
            service: None,
            freeze: None,
            crowded: None,
            status: 200,
            size: DEFAULT_SIZE,
            close: false,
            poll: Duration::ZERO,
        };
        assert!(drawn("", 50).iter().all(|one| *one == nothing));
    }

    #[test]
    fn percentages_are_those_asked_for() {
        let all = drawn("status=503:10,404:0.5&delay=10ms:5,20ms:1&error=0", 200_000);
        let share =
            |is: &dyn Fn(&Drawn) -> bool| all.iter().filter(|one| is(one)).count() as f64 / all.len() as f64;
        // Five standard deviations of a binomial count.
        let near = |share: f64, p: f64| (share - p).abs() < 5.0 * (p * (1.0 - p) / 200_000.0).sqrt();
        assert!(near(share(&|one| one.status == 503), 0.1));
        assert!(near(share(&|one| one.status == 404), 0.005));
        assert!(near(share(&|one| one.delay == Duration::from_millis(10)), 0.05));
        assert!(near(share(&|one| one.delay == Duration::from_millis(20)), 0.01));
    }

    #[test]
    fn an_exponential_delay_has_its_mean_and_spread() {
        let all = drawn("delay=exp:2ms", 100_000);
        let ms: Vec<f64> = all.iter().map(|one| one.delay.as_secs_f64() * 1e3).collect();
        let mean = ms.iter().sum::<f64>() / ms.len() as f64;
        assert!((mean - 2.0).abs() < 5.0 * 2.0 / (ms.len() as f64).sqrt(), "{mean}");
        let above =
            ms.iter().filter(|ms| **ms > 2.0 * std::f64::consts::LN_2).count() as f64 / ms.len() as f64;
        assert!((above - 0.5).abs() < 0.01, "{above}");
    }

    #[test]
    fn errors_and_closes_have_their_probability() {
        assert!(drawn("error=1", 50).iter().all(|one| one.status == 500));
        let closes = drawn("close=0.25", 100_000).iter().filter(|one| one.close).count();
        assert!((closes as f64 / 100_000.0 - 0.25).abs() < 0.01, "{closes}");
    }

    #[test]
    fn a_value_that_is_none_says_what_is_taken() {
        for query in [
            "delay=5",
            "delay=ms",
            "delay=-1ms",
            "delay=exp:",
            "delay=2h",
            "delay=table:/etc/passwd",
            "size=-1",
            "size=67108865",
            "status=99",
            "status=abc",
            "status=503:60,404:60",
            "error=2",
            "error=nan",
            "close=maybe",
            "header=a",
            "header=Content-Length:5",
            "header=a:b%0d%0ac:d",
        ] {
            let error = Behaviour::default().apply_query(query, &Tables::default()).expect_err(query);
            let name = query.split('=').next().unwrap();
            assert!(error.to_string().starts_with(&format!("parameter `{name}` cannot be")), "{error}");
        }
    }

    #[test]
    fn a_default_that_is_unknown_says_what_was_meant() {
        let apply = |query: &str| Behaviour::default().apply_default(query, &Tables::default());
        let error = apply("size=5&delya=5ms").unwrap_err().to_string();
        assert!(error.contains("no parameter `delya`; did you mean `delay`?\nthere are `delay`"), "{error}");
        assert!(apply("size=x").unwrap_err().to_string().contains("`size` cannot be `x`"));
        assert_eq!(apply(""), Ok(()));
        // Each that is known is taken, so that none is missing from the list.
        for known in [
            "delay=1ms",
            "service=1ms",
            "freeze=1s@2s",
            "crowded=8:1ms",
            "size=1",
            "status=503",
            "error=1",
            "close=true",
            "header=a:b",
        ] {
            assert_eq!(apply(known), Ok(()), "{known}");
        }
        assert_eq!(Behaviour::default().apply_query("delya=5ms", &Tables::default()), Ok(()));
    }

    proptest! {
        #[test]
        fn no_query_panics_or_asks_for_too_much(query in "[a-z=&:,%0-9.\\-]{0,60}", seed: u64) {
            let mut behaviour = Behaviour::default();
            if behaviour.apply_query(&query, &Tables::default()).is_ok() {
                let drawn = behaviour.draw(&Tables::default(), &mut SmallRng::seed_from_u64(seed));
                prop_assert!(drawn.delay <= LONGEST_DELAY && drawn.size <= LARGEST_SIZE);
            }
        }
    }
}
