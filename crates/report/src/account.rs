//! CPU time and memory of the processes that a load or a search accounted for.

use hoptax_result::ProcessAccount;

use crate::numbers::grouped;
use crate::rows::MIB;
use crate::table::Cell;

/// A number of an account.
pub(crate) struct Number {
    /// The heading of its column.
    pub(crate) heading: &'static str,
    pub(crate) unit: &'static str,
    /// Its value in this unit; none if it was not measured.
    pub(crate) value: fn(&ProcessAccount) -> Option<f64>,
}

/// All numbers.
pub(crate) const NUMBERS: [Number; 3] = [
    Number { heading: "CPU %", unit: "%", value: |one| Some(one.cpu_share? * 100.0) },
    Number { heading: "CPU us", unit: "us", value: |one| one.cpu_us },
    Number { heading: "memory MiB", unit: "MiB", value: |one| Some(one.memory_bytes? as f64 / MIB) },
];

/// The numbers with their meaning.
pub(crate) fn line(account: &ProcessAccount) -> String {
    let [cpu, cpu_us, memory] = NUMBERS.map(|one| Cell::point((one.value)(account), one.unit).text());
    format!(
        "account: {}: {cpu} % of {}, {cpu_us} us of CPU time for each response, {memory} MiB of memory",
        account.processes,
        processors(account)
    )
}

/// The processors that the processes are allowed to use.
pub(crate) fn processors(account: &ProcessAccount) -> String {
    let count = grouped(account.processors, usize::from(account.processors.fract() > 0.0));
    format!("{count} usable processor{}", if count == "1" { "" } else { "s" })
}
