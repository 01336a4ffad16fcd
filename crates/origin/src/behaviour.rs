//! The parameters of a request: delay, status, size, error, close.

mod values;

use std::collections::BTreeSet;
use std::time::Duration;

use hoptax_text::nearest::hint;
use rand::{Rng, RngExt};

use crate::queue::Freeze;
use crate::table::Tables;
use values::{
    Delay, Weighted, parse_close, parse_crowded, parse_delay, parse_duration, parse_freeze, parse_header,
    parse_probability, parse_size, parse_status, parse_weighted,
};

/// Default body size, bytes.
const DEFAULT_SIZE_BYTES: u64 = 64;
/// Prefix of parameter names in headers.
pub(crate) const HEADER_PREFIX: &str = "x-hoptax-";

/// The parameters of a response.
///
/// | parameter | values |
/// |---|---|
/// | `delay` | `5ms`; `exp:2ms`, exponential with this mean; `table:NAME`, sampled from a table; `10ms:5,20ms:1`, values with percentages, as in Fortio |
/// | `service` | like `delay`, but as the service time of a queue with a single server for each worker; the queue is simulated and uses no CPU time |
/// | `freeze` | `1s@20s`: the server of `service` stops for 1 s, starting 20 s after the worker's first request |
/// | `crowded` | `8:50ms`: adds 50 ms of delay while at least 8 delayed responses are in flight at the worker |
/// | `size` | body size in bytes; `100:50,2000:50`, values with percentages |
/// | `status` | `503`; `503:10,404:0.5`, values with percentages, otherwise 200 |
/// | `error` | probability, 0 to 1, of status 500 |
/// | `close` | `true`, or the probability, 0 to 1, that the connection is closed after the response |
/// | `idle` | `5s`: the connection is closed if no further request arrives within this time; HTTP/1.1 only |
/// | `poll` | `200ms`: the worker busy-polls for this long instead of sleeping, so the sender does not have to wake it |
/// | `header` | `Name:value`, a response header; may be repeated; without a `content-type`, bodies are `text/plain` |
///
/// Query parameters have these names. Headers have the prefix `x-hoptax-` and take precedence.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    delay: Delay,
    service: Option<Delay>,
    freeze: Option<Freeze>,
    crowded: Option<(u64, Duration)>,
    status: Weighted<u16>,
    size: Weighted<u64>,
    error: f64,
    close: f64,
    idle: Option<Duration>,
    poll: Duration,
    headers: Vec<(String, String)>,
}

/// A parameter.
struct Parameter {
    name: &'static str,
    /// Valid values, for errors.
    expected: &'static str,
    /// Applies a value; None if it is invalid.
    set: fn(&mut Behaviour, &str, &Tables) -> Option<()>,
}

/// The parameter that may be repeated.
const REPEATED: &str = "header";

/// All parameters.
const PARAMETERS: [Parameter; 11] = [
    Parameter {
        name: "delay",
        expected: "`5ms`, `exp:2ms`, `table:NAME` with a table loaded at startup, or `10ms:5,20ms:1` with \
                   percentages; at most an hour",
        set: |all, value, tables| parse_delay(value, tables).map(|delay| all.delay = delay),
    },
    Parameter {
        name: "service",
        expected: "a value as for `delay`: `5ms`, `exp:2ms`, `table:NAME`, or `10ms:5,20ms:1` with percentages",
        set: |all, value, tables| parse_delay(value, tables).map(|service| all.service = Some(service)),
    },
    Parameter {
        name: "freeze",
        expected: "`LENGTH@START` with a length above 0, such as `1s@20s`",
        set: |all, value, _| parse_freeze(value).map(|freeze| all.freeze = Some(freeze)),
    },
    Parameter {
        name: "crowded",
        expected: "`NUMBER:DELAY` with a number of at least 1, such as `8:50ms`",
        set: |all, value, _| parse_crowded(value).map(|crowded| all.crowded = Some(crowded)),
    },
    Parameter {
        name: "size",
        expected: "bytes, or `100:50,2000:50` with percentages; at most 67108864 (64 MiB)",
        set: |all, value, _| {
            parse_weighted(value, DEFAULT_SIZE_BYTES, parse_size).map(|size| all.size = size)
        },
    },
    Parameter {
        name: "status",
        expected: "a status from 200 to 599, or `503:10,404:0.5` with percentages",
        set: |all, value, _| parse_weighted(value, 200, parse_status).map(|status| all.status = status),
    },
    Parameter {
        name: "error",
        expected: "a probability from 0 to 1",
        set: |all, value, _| parse_probability(value).map(|error| all.error = error),
    },
    Parameter {
        name: "close",
        expected: "`true`, `false`, or a probability from 0 to 1",
        set: |all, value, _| parse_close(value).map(|close| all.close = close),
    },
    Parameter {
        name: "idle",
        expected: "a duration, such as `5s`; at most an hour",
        set: |all, value, _| parse_duration(value).map(|idle| all.idle = Some(idle)),
    },
    Parameter {
        name: "poll",
        expected: "a duration, such as `200ms`; at most an hour",
        set: |all, value, _| parse_duration(value).map(|poll| all.poll = poll),
    },
    Parameter {
        name: REPEATED,
        expected: "`Name:value`, except headers that frame the response",
        set: |all, value, _| parse_header(value).map(|header| all.headers.push(header)),
    },
];

fn names() -> [&'static str; PARAMETERS.len()] {
    PARAMETERS.map(|parameter| parameter.name)
}

/// An invalid or unknown parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadParameter {
    /// The value is invalid.
    #[error("invalid value `{value}` for parameter `{name}`: expected {expected}")]
    Value {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
        /// Valid values.
        expected: &'static str,
    },
    /// The parameter is unknown.
    #[error("unknown parameter `{name}`{}\nvalid parameters: `{}`", hint(.name, names()), names().join("`, `"))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The parameter of a default is given twice, so that one of its values would have no effect.
    #[error("`{name}` is given twice: keep one of its values; only `header` may be repeated")]
    Twice {
        /// The parameter.
        name: String,
    },
    /// A freeze without a server that it could pause.
    #[error("`freeze` pauses the server of `service`: add `service=1ms`")]
    FreezeWithoutService,
}

/// The sampled parameters of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) delay: Duration,
    /// Service time in the worker's queue; none if the request does not enter it.
    pub(crate) service: Option<Duration>,
    /// Stops of the server of the queue.
    pub(crate) freeze: Option<Freeze>,
    /// Minimum number of delayed responses in flight, and the delay to add.
    pub(crate) crowded: Option<(u64, Duration)>,
    pub(crate) status: u16,
    pub(crate) size: u64,
    pub(crate) close: bool,
    /// Time without a further request after which the connection is closed.
    pub(crate) idle: Option<Duration>,
    /// Time that the worker busy-polls.
    pub(crate) poll: Duration,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            delay: Delay::Weighted(Weighted::always(Duration::ZERO)),
            service: None,
            freeze: None,
            crowded: None,
            status: Weighted::always(200),
            size: Weighted::always(DEFAULT_SIZE_BYTES),
            error: 0.0,
            close: 0.0,
            idle: None,
            poll: Duration::ZERO,
            headers: Vec::new(),
        }
    }
}

impl Behaviour {
    /// Applies the parameters of a query, which is given without `?`. Unknown parameters are ignored.
    ///
    /// # Errors
    /// At the first invalid value.
    pub fn apply_query(&mut self, query: &str, tables: &Tables) -> Result<(), BadParameter> {
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            self.apply(&name, &value, tables)?;
        }
        Ok(())
    }

    /// Applies the parameters of a default query. Unknown and repeated parameters are errors, as a default query can have no other purpose.
    ///
    /// # Errors
    /// At the first unknown or repeated parameter or invalid value, and as [`Self::check`] for all together.
    pub fn apply_default(&mut self, query: &str, tables: &Tables) -> Result<(), BadParameter> {
        let mut given = BTreeSet::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !names().contains(&name.as_ref()) {
                return Err(BadParameter::Unknown { name: name.into_owned() });
            }
            self.apply(&name, &value, tables)?;
            if name != REPEATED && !given.insert(name.clone()) {
                return Err(BadParameter::Twice { name: name.into_owned() });
            }
        }
        self.check()
    }

    /// Checks the parameters of a response together, when all of its sources have been applied.
    ///
    /// # Errors
    /// If one would change nothing without another.
    pub fn check(&self) -> Result<(), BadParameter> {
        if self.freeze.is_some() && self.service.is_none() {
            return Err(BadParameter::FreezeWithoutService);
        }
        Ok(())
    }

    /// Applies one parameter. An unknown parameter is ignored.
    ///
    /// # Errors
    /// If the value is invalid.
    pub fn apply(&mut self, name: &str, value: &str, tables: &Tables) -> Result<(), BadParameter> {
        let value = value.trim();
        let Some(parameter) = PARAMETERS.iter().find(|parameter| parameter.name == name) else {
            return Ok(());
        };
        (parameter.set)(self, value, tables).ok_or_else(|| BadParameter::Value {
            name: name.to_owned(),
            value: value.to_owned(),
            expected: parameter.expected,
        })
    }

    /// The names of all parameters.
    pub fn parameters() -> impl Iterator<Item = &'static str> {
        names().into_iter()
    }

    /// Samples the parameters of one request.
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
            idle: self.idle,
            poll: self.poll,
        }
    }

    /// The response headers to add.
    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }
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
    fn fixed_values_apply_to_every_request() {
        let expected = Drawn {
            delay: Duration::from_micros(1500),
            service: None,
            freeze: None,
            crowded: None,
            status: 503,
            size: 4096,
            close: true,
            idle: Some(Duration::from_secs(5)),
            poll: Duration::from_millis(200),
        };
        assert!(
            drawn("delay=1.5ms&status=503&size=4096&close=true&idle=5s&poll=200ms&other=x", 50)
                .iter()
                .all(|one| *one == expected)
        );
        let nothing = Drawn {
            delay: Duration::ZERO,
            service: None,
            freeze: None,
            crowded: None,
            status: 200,
            size: DEFAULT_SIZE_BYTES,
            close: false,
            idle: None,
            poll: Duration::ZERO,
        };
        assert!(drawn("", 50).iter().all(|one| *one == nothing));
    }

    #[test]
    fn sampled_shares_match_the_percentages() {
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
    fn an_exponential_delay_has_its_mean_and_median() {
        let all = drawn("delay=exp:2ms", 100_000);
        let ms: Vec<f64> = all.iter().map(|one| one.delay.as_secs_f64() * 1e3).collect();
        let mean = ms.iter().sum::<f64>() / ms.len() as f64;
        assert!((mean - 2.0).abs() < 5.0 * 2.0 / (ms.len() as f64).sqrt(), "{mean}");
        let above =
            ms.iter().filter(|ms| **ms > 2.0 * std::f64::consts::LN_2).count() as f64 / ms.len() as f64;
        assert!((above - 0.5).abs() < 0.01, "{above}");
    }

    #[test]
    fn errors_and_closes_occur_with_their_probability() {
        assert!(drawn("error=1", 50).iter().all(|one| one.status == 500));
        let closes = drawn("close=0.25", 100_000).iter().filter(|one| one.close).count();
        assert!((closes as f64 / 100_000.0 - 0.25).abs() < 0.01, "{closes}");
    }

    #[test]
    fn an_invalid_value_is_reported_with_its_parameter() {
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
            "crowded=0:5ms",
            "crowded=8",
            "freeze=0s@0s",
            "freeze=1s",
        ] {
            let error = Behaviour::default().apply_query(query, &Tables::default()).expect_err(query);
            let name = query.split('=').next().unwrap();
            assert!(error.to_string().contains(&format!("for parameter `{name}`: expected ")), "{error}");
        }
    }

    #[test]
    fn an_unknown_default_is_reported_with_a_suggestion() {
        let apply = |query: &str| Behaviour::default().apply_default(query, &Tables::default());
        let error = apply("size=5&delya=5ms").unwrap_err().to_string();
        let expected = "unknown parameter `delya`; did you mean `delay`?\nvalid parameters: `delay`";
        assert!(error.contains(expected), "{error}");
        assert!(apply("size=x").unwrap_err().to_string().contains("invalid value `x` for parameter `size`"));
        assert_eq!(apply(""), Ok(()));
        assert!(apply("polll=1ms").unwrap_err().to_string().contains("did you mean `poll`?"));
        assert_eq!(Behaviour::default().apply_query("delya=5ms", &Tables::default()), Ok(()));
    }

    #[test]
    fn a_default_has_each_parameter_once_but_headers() {
        let apply = |query: &str| Behaviour::default().apply_default(query, &Tables::default());
        let error = apply("delay=5ms&size=1&delay=7ms").unwrap_err().to_string();
        let expected = "`delay` is given twice: keep one of its values; only `header` may be repeated";
        assert_eq!(error, expected);
        assert_eq!(apply("header=a:1&header=b:2&delay=5ms"), Ok(()));
        // A request may overrule what comes before it.
        let mut behaviour = Behaviour::default();
        assert_eq!(behaviour.apply_query("delay=5ms&delay=7ms", &Tables::default()), Ok(()));
    }

    #[test]
    fn a_freeze_needs_a_server_that_it_pauses() {
        let apply = |query: &str| Behaviour::default().apply_default(query, &Tables::default());
        assert_eq!(apply("delay=1ms&freeze=1s@1s"), Err(BadParameter::FreezeWithoutService));
        assert_eq!((apply("freeze=1s@1s&service=1ms"), apply("service=1ms")), (Ok(()), Ok(())));
    }

    proptest! {
        #[test]
        fn no_query_panics_or_exceeds_the_limits(query in "[a-z=&:,%0-9.\\-]{0,60}", seed: u64) {
            let mut behaviour = Behaviour::default();
            if behaviour.apply_query(&query, &Tables::default()).is_ok() {
                let drawn = behaviour.draw(&Tables::default(), &mut SmallRng::seed_from_u64(seed));
                prop_assert!(drawn.delay <= values::MAX_DELAY && drawn.size <= values::MAX_SIZE_BYTES);
            }
        }
    }
}
