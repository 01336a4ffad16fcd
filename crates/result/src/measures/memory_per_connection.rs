//! Memory per connection.

use super::{MeasureDefinition, PAGE_BYTES, RoundMeasure};
use crate::{ArmRound, Opened};

impl RoundMeasure {
    /// Growth of the memory of an arm's first proxy per connection that the generator opens to it; negative if the proxy
    /// released more memory meanwhile.
    ///
    /// Memory grows by whole pages: nearly always by the same number, and now and then by a few more. All rounds may read the
    /// same, and a cost below [`LAYOUT_PAGES`] divided by the number of connections stays unseen. One copy of the baseline is compared
    /// with an arm, although the baseline has several: the difference of two single proxies is symmetric, while that to a mean of
    /// four is skewed, and Student's interval then misses zero too often.
    pub const MEMORY_PER_CONNECTION: Self = Self(&MeasureDefinition {
        id: "memory-per-connection",
        field: "memory_per_connection_bytes",
        words: "memory per connection",
        summary: "Resident memory per connection.",
        level: "Growth of its resident memory per connection that the generator opens, bytes. The connections are idle and have\n\
                carried no request yet. Null if none are opened to it.",
        cost: "Resident memory per connection that the generator opens to the first proxy, bytes.",
        heading: "memory per connection, kB",
        short_heading: "kB/connection",
        below: Some("kB per connection"),
        unit: 1_000.0,
        unit_name: "kB",
        own_table: None,
        is_of_first_proxy: true,
        depends_on_connections: true,
        values: |round| opened(round).map(grown).into_iter().collect(),
        total: |round| opened(round).map(grown),
        resolution: |round| opened(round).map(|opened| LAYOUT_PAGES * PAGE_BYTES / opened.connections as f64),
    });
}

/// Pages by which the growth of two proxies may differ in all rounds although a connection takes the same memory in both: how much memory the
/// allocator has at hand when connections open depends on the configuration. In the bills of fourteen public configurations, parts
/// without any state of connections (routes, statistics tags, filters and access logs) added -4.6 to +3.3 pages.
const LAYOUT_PAGES: f64 = 5.0;

fn opened(round: &ArmRound) -> Option<Opened> {
    round.opened.filter(|opened| opened.connections > 0)
}

fn grown(opened: Opened) -> f64 {
    (opened.after_bytes as f64 - opened.before_bytes as f64) / opened.connections as f64
}
