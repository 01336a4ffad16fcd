//! CPU time of the start.

use super::{MeasureDefinition, RoundMeasure, sum};

impl RoundMeasure {
    /// CPU time from the start of a proxy until it is live.
    pub const START_CPU: Self = Self(&MeasureDefinition {
        id: "start-cpu",
        field: "start_cpu_us",
        words: "CPU time of the start",
        summary: "CPU time of proxies from their start until they are live.",
        level: "Its CPU time from its start until it is live, us.",
        cost: "CPU time of all proxies of one copy from their start until they are live, us.",
        heading: "start, ms",
        short_heading: "start ms",
        below: None,
        unit: 1_000.0,
        unit_name: "ms",
        own_table: Some("CPU time from the start until the proxies are live"),
        is_of_first_proxy: false,
        depends_on_connections: false,
        values: |round| round.start_cpu_us.iter().map(|us| *us as f64).collect(),
        total: |round| sum(round.start_cpu_us.iter().map(|us| *us as f64)),
        resolution: |_| None,
    });
}
