//! Failure conditions of a load, such as `p99>5ms`, for scripts: a condition that holds sets the exit code.

mod account;
mod amount;

use std::fmt;
use std::str::FromStr;

use hoptax_result::{FailOn, FailOnOutcome, Known, LatencyBounds, LoadResult, TimeOf, Verdict};

use account::OfProcesses;
use amount::{number, time_us};

/// The kinds of failure that a condition can name, besides stream resets.
const FAILURES: [&str; 15] = [
    "generator",
    "refused",
    "reset",
    "closed",
    "truncated",
    "malformed",
    "switched",
    "tls",
    "protocol",
    "unprocessed",
    "grpc-status",
    "unknown",
    "status-4xx",
    "status-5xx",
    "mismatch",
];
/// The prefix of the kinds of stream reset.
const STREAM_RESET: &str = "stream-reset-";

/// A failure condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    pub(crate) metric: Metric,
    pub(crate) relation: Relation,
    pub(crate) limit: f64,
}

/// The quantity to compare.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Metric {
    /// A time, us.
    Time(Distribution, TimeOf),
    /// Rate of responses, or of requests sent.
    Rate { offered: bool },
    /// Number or share of requests of a kind.
    Requests { kind: Kind, as_percent: bool },
    /// CPU time or memory of the processes that the load accounts for.
    Processes(OfProcesses),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distribution {
    Response,
    Service,
    SendLag,
    OwnLag,
    FirstByte,
    LastByte,
    Connect,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Sent and not answered, for any reason.
    Errors,
    Failed,
    TimedOut,
    Unfinished,
    Unsent,
    SentAgain,
    Failure(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Relation {
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Condition {
    /// The percentile of response or service time that it needs, so that the trial reports it.
    pub fn percentile(&self) -> Option<f64> {
        match self.metric {
            Metric::Time(Distribution::Response | Distribution::Service, TimeOf::Percentile(percentile)) => {
                Some(percentile)
            }
            _ => None,
        }
    }

    /// The longest response time that it leaves a percentile, or the slowest request, us.
    pub fn response_limit_us(&self) -> Option<f64> {
        match self.metric {
            Metric::Time(Distribution::Response, TimeOf::Percentile(_) | TimeOf::Max)
                if !self.relation.is_below() =>
            {
                Some(self.limit)
            }
            _ => None,
        }
    }

    /// Returns true if it limits processes, so that the load must account for some.
    pub fn needs_account(&self) -> bool {
        matches!(self.metric, Metric::Processes(_))
    }

    /// Evaluates the condition. Bounds decide it if all values between them give the same outcome.
    fn judge(&self, result: &LoadResult) -> FailOn {
        let (known, unit) = self.known(result);
        let (low, high) = known.ends();
        let (at_low, at_high) = (
            low.map(|low| self.relation.holds(low, self.limit)),
            high.map(|high| self.relation.holds(high, self.limit)),
        );
        // `nearest` is the end of the bounds at which the condition holds last, and `farthest` the other end.
        let (nearest, farthest) =
            if self.relation.is_below() { (at_high, at_low) } else { (at_low, at_high) };
        let outcome = match (nearest, farthest) {
            (Some(true), _) => FailOnOutcome::Failed,
            // Nothing passes on a void result.
            _ if result.verdict == Verdict::Void => FailOnOutcome::Unknown,
            (_, Some(false)) => FailOnOutcome::Passed,
            _ => FailOnOutcome::Unknown,
        };
        let value = known.value();
        let bound = |end: Option<f64>| end.filter(|_| value.is_none());
        FailOn {
            condition: self.text.clone(),
            outcome,
            value,
            at_least: bound(low),
            at_most: bound(high),
            unit: unit.to_owned(),
        }
    }

    /// Returns the value that it compares, as far as it is known, and its unit.
    pub(crate) fn known(&self, result: &LoadResult) -> (Known, &'static str) {
        let exactly = |value: Option<f64>| Known::new(value, None);
        match &self.metric {
            Metric::Time(distribution, statistic) => (time(result, *distribution, *statistic), "us"),
            Metric::Rate { offered: true } => (exactly(Some(result.rate.offered)), "/s"),
            Metric::Rate { offered: false } => (exactly(result.rate.achieved), "/s"),
            Metric::Requests { kind, as_percent } => {
                let (count, of) = count(result, kind);
                if *as_percent {
                    (exactly((of > 0).then(|| count as f64 / of as f64 * 100.0)), "%")
                } else {
                    (exactly(Some(count as f64)), "requests")
                }
            }
            Metric::Processes(one) => (exactly(one.value(result.account.as_ref())), one.unit()),
        }
    }
}

/// Evaluates all conditions on a result that already has findings and a verdict. Returns true if all pass.
pub fn judge(result: &mut LoadResult, conditions: &[Condition]) -> bool {
    result.fail_on = conditions.iter().map(|condition| condition.judge(result)).collect();
    result.fail_on.iter().all(|one| one.outcome == FailOnOutcome::Passed)
}

fn time(result: &LoadResult, distribution: Distribution, time_of: TimeOf) -> Known {
    let all = &result.latency;
    let latency = match distribution {
        Distribution::Response => return result.response(time_of),
        Distribution::Service => return result.service(time_of),
        Distribution::SendLag => &all.send_lag,
        Distribution::OwnLag => &all.own_lag,
        Distribution::FirstByte => &all.first_byte,
        Distribution::LastByte => &all.last_byte,
        Distribution::Connect => &all.connect,
    };
    latency.known(&LatencyBounds::default(), time_of)
}

/// The number of requests of a kind, and the total that it is a share of.
fn count(result: &LoadResult, kind: &Kind) -> (u64, u64) {
    let book = &result.book;
    let count = match kind {
        Kind::Errors => book.sent.saturating_sub(book.answered),
        Kind::Failed => book.failed,
        Kind::TimedOut => book.timed_out,
        Kind::Unfinished => book.unfinished,
        Kind::Unsent => return (book.unsent, book.planned),
        Kind::SentAgain => book.sent_again,
        Kind::Failure(name) => result.failures.get(name).copied().unwrap_or_default(),
    };
    (count, book.sent)
}

impl Relation {
    /// Returns true if the relation holds for values below the limit.
    pub(crate) fn is_below(self) -> bool {
        matches!(self, Self::Below | Self::AtMost)
    }

    pub(crate) fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    /// Parses `METRIC>VALUE`, or with `>=`, `<` and `<=`.
    fn from_str(text: &str) -> Result<Self, String> {
        let place = text.find(['<', '>']).ok_or("write it as `p99>5ms`, `errors>0.1%` or `rate<9900`")?;
        let (metric, rest) = text.split_at(place);
        let relations = [
            (">=", Relation::AtLeast),
            ("<=", Relation::AtMost),
            (">", Relation::Above),
            ("<", Relation::Below),
        ];
        let (relation, value) = relations
            .into_iter()
            .find_map(|(sign, relation)| Some((relation, rest.strip_prefix(sign)?)))
            .unwrap_or((Relation::Above, rest));
        let (metric, value) = (metric.trim(), value.trim());
        let mut metric = metric_of(metric)?;
        let limit = match &mut metric {
            Metric::Time(..) => time_us(value).ok_or_else(|| {
                format!("`{value}` is not a time: write it with its unit, as `500us`, `5ms` or `1.5s`")
            })?,
            Metric::Rate { .. } => number(value.strip_suffix("/s").unwrap_or(value))
                .ok_or_else(|| format!("`{value}` is not a rate: write requests per second, as `9900`"))?,
            Metric::Requests { as_percent, .. } => {
                let percent = value.strip_suffix('%');
                *as_percent = percent.is_some();
                let limit = number(percent.unwrap_or(value)).ok_or_else(|| {
                    format!("`{value}` is neither a share nor a count: write `0.1%` or `10`")
                })?;
                if *as_percent && limit > 100.0 {
                    return Err(format!(
                        "`{value}` is more than all requests: write a share of at most `100%`"
                    ));
                }
                limit
            }
            Metric::Processes(one) => one.limit(value)?,
        };
        Ok(Self { text: text.to_owned(), metric, relation, limit })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn metric_of(text: &str) -> Result<Metric, String> {
    let requests = |kind| Ok(Metric::Requests { kind, as_percent: false });
    match text {
        "rate" => return Ok(Metric::Rate { offered: false }),
        "offered" => return Ok(Metric::Rate { offered: true }),
        "errors" => return requests(Kind::Errors),
        "failed" => return requests(Kind::Failed),
        "timed-out" => return requests(Kind::TimedOut),
        "unfinished" => return requests(Kind::Unfinished),
        "unsent" => return requests(Kind::Unsent),
        "sent-again" => return requests(Kind::SentAgain),
        _ if FAILURES.contains(&text) || text.starts_with(STREAM_RESET) => {
            return requests(Kind::Failure(text.to_owned()));
        }
        _ => {}
    }
    if let Some(one) = OfProcesses::named(text) {
        return Ok(Metric::Processes(one));
    }
    let unknown = || {
        format!(
            "there is no metric `{text}`: use `p99` (any percentile, `min`, `mean` or `max` of response time), \
             `service.p99`, `send-lag.p99`, `own-lag.p99`, `first-byte.p99`, `last-byte.p99`, `connect.p99`, `rate`, \
             `offered`, `errors`, `failed`, `timed-out`, `unfinished`, `unsent`, `cpu`, `cpu_us`, `memory`, or a kind of \
             failure: {}, {STREAM_RESET}...",
            FAILURES.join(", ")
        )
    };
    let (distribution, statistic) = [
        ("response.", Distribution::Response),
        ("service.", Distribution::Service),
        ("send-lag.", Distribution::SendLag),
        ("own-lag.", Distribution::OwnLag),
        ("first-byte.", Distribution::FirstByte),
        ("last-byte.", Distribution::LastByte),
        ("connect.", Distribution::Connect),
    ]
    .into_iter()
    .find_map(|(name, one)| Some((one, text.strip_prefix(name)?)))
    .unwrap_or((Distribution::Response, text));
    let statistic = match statistic {
        "min" => TimeOf::Min,
        "mean" => TimeOf::Mean,
        "max" => TimeOf::Max,
        _ => {
            let percentile = statistic.strip_prefix('p').and_then(number).ok_or_else(unknown)?;
            if percentile <= 0.0 || percentile >= 100.0 {
                return Err(format!("`{statistic}` is not a percentile: it must be above 0 and below 100"));
            }
            let is_usual = [50.0, 90.0, 99.0, 99.9].iter().any(|one| (percentile - one).abs() < 1e-9);
            if !is_usual && !matches!(distribution, Distribution::Response | Distribution::Service) {
                return Err(format!(
                    "`{text}`: only response and service time have other percentiles than p50, p90, p99 and p99.9"
                ));
            }
            TimeOf::Percentile(percentile)
        }
    };
    Ok(Metric::Time(distribution, statistic))
}

#[cfg(test)]
mod tests;
