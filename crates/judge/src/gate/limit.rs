//! Limits of a gate, such as `cpu>+3%`.

use std::fmt;
use std::str::FromStr;

use hoptax_plan::file::LoopWord;
use hoptax_result::{CostMeasure, GateOutcome, Interval, RoundMeasure};
use hoptax_text::nearest::hint;

/// The measures of slices that can be limited, with their names.
const OF_SLICES: [(&str, CostMeasure); 6] = [
    ("cpu", CostMeasure::CpuUs),
    ("p50", CostMeasure::ResponseP50Us),
    ("p90", CostMeasure::ResponseP90Us),
    ("p99", CostMeasure::ResponseP99Us),
    ("quiet-p99", CostMeasure::ResponseQuietP99Us),
    ("rate", CostMeasure::MaxRate),
];

/// All measures that can be limited, with their names.
fn measures() -> Vec<(&'static str, CostMeasure)> {
    let of_rounds =
        RoundMeasure::compared().map(|measure| (measure.definition().id, CostMeasure::OfRounds(measure)));
    OF_SLICES.into_iter().chain(of_rounds).collect()
}

/// A change that the candidate must not exceed.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    text: String,
    /// The measure that it limits.
    pub measure: CostMeasure,
    /// True if changes above `share` exceed it, and false if changes below do.
    is_upper: bool,
    /// The largest permitted change, as a share of the reference; negative for a decrease.
    pub share: f64,
}

impl Limit {
    /// The names of all measures that can be limited.
    pub fn measure_names() -> Vec<&'static str> {
        measures().into_iter().map(|(name, _)| name).collect()
    }

    /// The kind of load that measures the limited number, and its word in a study file; none if every load does.
    pub(super) fn needed_load(&self) -> Option<(LoopWord, &'static str)> {
        match self.measure {
            CostMeasure::MaxRate => Some((LoopWord::Closed, "closed")),
            measure => measure.is_quantile().then_some((LoopWord::Open, "open")),
        }
    }

    /// The outcome of the limit for a change with this interval.
    pub fn judge(&self, change: &Interval) -> GateOutcome {
        let (nearest, farthest) =
            if self.is_upper { (change.low, change.high) } else { (-change.high, -change.low) };
        let share = if self.is_upper { self.share } else { -self.share };
        if nearest > share {
            GateOutcome::Failed
        } else if farthest <= share {
            GateOutcome::Passed
        } else {
            GateOutcome::Undecided
        }
    }
}

impl FromStr for Limit {
    type Err = String;

    /// Parses `MEASURE>+CHANGE%` or `MEASURE<-CHANGE%`. The sign is mandatory: without it, the number would look like a level, as in the
    /// conditions of a load, where `cpu>80%` limits the use of processors.
    fn from_str(text: &str) -> Result<Self, String> {
        let place = text.find(['<', '>']).ok_or("write it as `cpu>+3%` or `rate<-2%`")?;
        let (name, rest) = text.split_at(place);
        let name = name.trim();
        let (_, measure) = measures().into_iter().find(|(known, _)| *known == name).ok_or_else(|| {
            let names = Self::measure_names();
            let hint = hint(name, names.iter().copied());
            format!("there is no measure `{name}`{hint}; measures are `{}`", names.join("`, `"))
        })?;
        let change = rest.get(1..).unwrap_or_default().trim();
        let percent = change.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok());
        let percent = percent.filter(|percent| percent.is_finite()).ok_or_else(|| {
            format!("`{change}` is not a change: write it in percent of the reference, as `+3%` or `-2%`")
        })?;
        let is_upper = rest.starts_with('>');
        if !change.starts_with(['+', '-']) {
            let signed = if is_upper { format!("{name}>+{change}") } else { format!("{name}<-{change}") };
            return Err(format!(
                "`{change}` has no sign: a gate limits the change from the reference, so write `{signed}`; `hoptax load` limits levels"
            ));
        }
        if (percent < 0.0 && is_upper) || (percent > 0.0 && !is_upper) {
            return Err(format!(
                "a change of zero would exceed `{text}`: write `{name}>+3%` or `{name}<-3%`"
            ));
        }
        Ok(Self { text: text.to_owned(), measure, is_upper, share: percent / 100.0 })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn outcome(limit: &str, low: f64, high: f64) -> GateOutcome {
        let change = Interval::new(f64::midpoint(low, high), low, high);
        limit.parse::<Limit>().unwrap().judge(&change)
    }

    #[test]
    fn only_a_whole_interval_beyond_the_limit_fails() {
        for (limit, low, high, expected) in [
            ("cpu>+3%", 0.031, 0.05, GateOutcome::Failed),
            ("cpu>+3%", 0.03, 0.05, GateOutcome::Undecided),
            ("cpu > +3 %", -0.01, 0.03, GateOutcome::Passed),
            ("cpu>+3%", -0.01, 0.031, GateOutcome::Undecided),
            ("cpu>+0%", 0.001, 0.01, GateOutcome::Failed),
            ("rate<-2%", -0.05, -0.021, GateOutcome::Failed),
            ("rate<-2%", -0.02, 0.05, GateOutcome::Passed),
            ("rate<-2%", -0.03, -0.01, GateOutcome::Undecided),
        ] {
            assert_eq!(outcome(limit, low, high), expected, "{limit} [{low}, {high}]");
        }
    }

    #[test]
    fn measures_that_arms_have_once_per_round_can_be_limited() {
        for measure in RoundMeasure::compared() {
            let limit: Limit = format!("{}>+5%", measure.definition().id).parse().unwrap();
            assert_eq!(limit.measure, CostMeasure::OfRounds(measure));
        }
        assert!("memory-per-connection>+5%".parse::<Limit>().is_ok());
        assert!("start-cpu>+5%".parse::<Limit>().is_err());
    }

    #[test]
    fn invalid_limits_are_errors() {
        for (text, expected) in [
            ("cpu", "write it as `cpu>+3%`"),
            ("cqu>+3%", "did you mean `cpu`"),
            ("p95>+3%", "measures are `cpu`, `p50`"),
            ("cpu>+3", "is not a change"),
            ("cpu>=3%", "is not a change"),
            ("cpu>-3%", "`cpu<-3%`"),
            ("rate<+2%", "`rate<-3%`"),
            ("cpu>3%", "write `cpu>+3%`"),
            ("cpu > 80 %", "write `cpu>+80 %`"),
            ("rate<2%", "write `rate<-2%`"),
            ("cpu>0%", "has no sign"),
            ("p99>infinity%", "is not a change"),
        ] {
            let error = text.parse::<Limit>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_mirrored_limit_has_the_same_outcome(percent in 0.0..50.0_f64, low in -1.0..1.0_f64, width in 0.0..1.0_f64) {
            let high = low + width;
            let upper = outcome(&format!("cpu>+{percent}%"), low, high);
            prop_assert_eq!(outcome(&format!("cpu<-{percent}%"), -high, -low), upper);
        }
    }
}
