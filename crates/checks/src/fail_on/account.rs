//! Conditions on the processes that `--account` names: their CPU time and their memory.

use hoptax_result::ProcessAccount;

/// Units of memory, bytes.
const UNITS: [(&str, f64); 3] = [("KiB", 1024.0), ("MiB", 1_048_576.0), ("GiB", 1_073_741_824.0)];

/// A quantity of the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfProcesses {
    /// `cpu`: share of the processors that they may use, percent.
    Cpu,
    /// `cpu_us`: CPU time for each response, us.
    CpuUs,
    /// `memory`: resident memory, bytes.
    Memory,
}

impl OfProcesses {
    /// The quantity with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "cpu" => Some(Self::Cpu),
            "cpu_us" => Some(Self::CpuUs),
            "memory" => Some(Self::Memory),
            _ => None,
        }
    }

    /// Its unit in results.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Cpu => "%",
            Self::CpuUs => "us",
            Self::Memory => "bytes",
        }
    }

    /// Its value in this unit; None if not known.
    pub(crate) fn value(self, account: Option<&ProcessAccount>) -> Option<f64> {
        let account = account?;
        match self {
            Self::Cpu => account.cpu_share.map(|share| share * 100.0),
            Self::CpuUs => account.cpu_us,
            Self::Memory => account.memory_bytes.map(|bytes| bytes as f64),
        }
    }

    /// Parses a limit, and returns it in this unit.
    pub(crate) fn limit(self, text: &str) -> Result<f64, String> {
        let (found, expected) = match self {
            Self::Cpu => (
                text.strip_suffix('%').and_then(super::amount::number),
                "a share of the processors that the processes may use: write `80%`",
            ),
            Self::CpuUs => (super::amount::number(text), "a number of microseconds: write `50`"),
            Self::Memory => (bytes(text), "a size of memory: write it in KiB, MiB or GiB, as `200MiB`"),
        };
        found.ok_or_else(|| format!("`{text}` is not {expected}"))
    }
}

fn bytes(text: &str) -> Option<f64> {
    UNITS.iter().find_map(|(unit, bytes)| Some(super::amount::number(text.strip_suffix(unit)?)? * bytes))
}

#[cfg(test)]
mod tests {
    use hoptax_result::FailOnOutcome;

    use super::*;
    use crate::fail_on::{Condition, tests};

    /// The outcome of a condition on processes that use half of two processors, 50 us and 200 MiB, if they are accounted for.
    fn outcome(condition: &str, is_accounted: bool) -> FailOnOutcome {
        let account = ProcessAccount {
            processes: "pid 7".to_owned(),
            processors: 2.0,
            cpu_share: Some(0.5),
            cpu_us: Some(50.0),
            memory_bytes: Some(200 << 20),
        };
        tests::outcome(condition, |result| result.account = Some(account).filter(|_| is_accounted))
    }

    #[test]
    fn processes_are_limited_by_share_of_processors_cpu_time_and_memory() {
        for (condition, fails) in [
            ("cpu>49.9%", true),
            ("cpu>50%", false),
            ("cpu_us>=50", true),
            ("cpu_us<49.5", false),
            ("memory>199MiB", true),
            ("memory>=204800KiB", true),
            ("memory>0.2GiB", false),
        ] {
            let expected = if fails { FailOnOutcome::Failed } else { FailOnOutcome::Passed };
            assert_eq!(outcome(condition, true), expected, "{condition}");
            assert_eq!(outcome(condition, false), FailOnOutcome::Unknown, "{condition}: no account");
            assert!(condition.parse::<Condition>().unwrap().needs_account());
        }
        assert!(!"p99>5ms".parse::<Condition>().unwrap().needs_account());
    }
}
