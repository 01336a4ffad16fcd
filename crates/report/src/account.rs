//! CPU time and memory of the processes that a load or a search accounted for.

use hoptax_result::ProcessAccount;

use crate::numbers::grouped;
use crate::rows::MIB;

/// A column of a table.
pub(crate) struct Column {
    pub(crate) value: fn(&ProcessAccount) -> Option<f64>,
    decimals: usize,
}

/// All columns.
pub(crate) const COLUMNS: [Column; 3] = [
    Column { value: |one| Some(one.cpu_share? * 100.0), decimals: 1 },
    Column { value: |one| one.cpu_us, decimals: 1 },
    Column { value: |one| Some(one.memory_bytes? as f64 / MIB), decimals: 1 },
];

impl Column {
    /// A value of the column.
    pub(crate) fn text(&self, value: Option<f64>) -> String {
        value.map_or("-".to_owned(), |value| grouped(value, self.decimals))
    }
}

/// The values with their meaning.
pub(crate) fn line(account: &ProcessAccount) -> String {
    let [cpu, cpu_us, memory] = COLUMNS.map(|column| column.text((column.value)(account)));
    format!(
        "account: {}: {cpu} % of {}, {cpu_us} us of CPU time for each response, {memory} MiB of memory",
        account.processes,
        processors(account)
    )
}

fn processors(account: &ProcessAccount) -> String {
    let count = grouped(account.processors, usize::from(account.processors.fract() > 0.0));
    format!("{count} usable processor{}", if count == "1" { "" } else { "s" })
}
