//! Memory.

use super::{MeasureDefinition, PAGE_BYTES, RoundMeasure, sum};

impl RoundMeasure {
    /// Resident memory at the end of a round. The kernel counts pages, and a server that is never restarted may read the same in all
    /// rounds: without the resolution, its interval would have no width, and no decision.
    pub const MEMORY: Self = Self(&MeasureDefinition {
        id: "memory",
        field: "memory_bytes",
        words: "memory",
        summary: "Resident memory.",
        level: "Its resident memory at the end of a round, bytes.",
        cost: "Resident memory of all proxies of one copy at the end of a round, bytes.",
        heading: "memory, MiB",
        short_heading: "memory MiB",
        below: None,
        unit: 1_048_576.0,
        unit_name: "MiB",
        own_table: None,
        is_of_first_proxy: false,
        depends_on_connections: true,
        values: |round| round.memory_bytes.iter().map(|bytes| *bytes as f64).collect(),
        total: |round| sum(round.memory_bytes.iter().map(|bytes| *bytes as f64)),
        resolution: |_| Some(PAGE_BYTES),
    });
}
