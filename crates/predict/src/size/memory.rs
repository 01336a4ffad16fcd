//! The memory of a proxy: a plain proxy, plus its functions, connections, clusters and routes.
//!
//! Each item adds about the same memory. So the memory of one item is the cost of the largest measured number of items, divided by that
//! number.

use hoptax_result::{ArmResult, Interval, RoundMeasure};

use crate::size::arms::single_function;
use crate::size::items::Items;
use crate::size::learn::{Gap, Plain, Source};

/// Memory that one item adds, and the largest number of such items that a result has.
#[derive(Clone, Copy, Debug)]
struct Each {
    bytes: Interval,
    most: f64,
    /// Number of such items that the plain proxy has.
    included: f64,
    /// The index of the result that states it.
    source: usize,
}

/// Functions that add items of a kind: the name of an item, the id of the function, and the knob for their number.
const OF_FUNCTIONS: [(&str, &str, &str); 2] =
    [("cluster", "configuration/clusters", "clusters"), ("route", "route/path", "routes")];

/// Memory that the items of a proxy add.
#[derive(Debug, Default)]
pub(crate) struct LearnedItems {
    /// The kind, the number, and the memory that each of them adds.
    learned: Vec<(&'static str, u64, Each)>,
}

impl LearnedItems {
    /// Learns the memory of the items of a proxy whose requests are like those of `plain`. Each gap in the results is reported to
    /// `note`.
    pub(crate) fn learn(
        items: &Items,
        plain: Option<&Plain<'_>>,
        sources: &[Source<'_>],
        mut note: impl FnMut(Gap),
    ) -> Self {
        let mut learned = Vec::new();
        if let Some(count) = items.connections {
            match plain.and_then(|plain| per_connection(plain, sources)) {
                Some(each) => learned.push(("connection", count, each)),
                None => {
                    note(Gap { number: "memory per connection".to_owned(), arm: "- baseline".to_owned() });
                }
            }
        }
        for ((kind, id, knob), count) in OF_FUNCTIONS.into_iter().zip([items.clusters, items.routes]) {
            let Some(count) = count else { continue };
            match sources.iter().find_map(|source| per_item(source, id, knob)) {
                Some(each) => learned.push((kind, count, each)),
                None => note(Gap {
                    number: format!("memory per {kind}"),
                    arm: format!("- \"{id}{{{knob}=1000}}\""),
                }),
            }
        }
        Self { learned }
    }

    /// Returns the memory that the items of each kind add, in bytes.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = Interval> {
        self.learned.iter().map(|(_, count, each)| each.bytes.times(*count as f64 - each.included))
    }

    /// The indexes of the results that state it.
    pub(crate) fn sources(&self) -> impl Iterator<Item = usize> {
        self.learned.iter().map(|(_, _, each)| each.source)
    }

    /// Returns warnings about kinds with more items than were measured.
    pub(crate) fn extrapolations(&self, service: &str) -> Vec<String> {
        let is_beyond = |(_, count, each): &&(&str, u64, Each)| *count as f64 > each.most;
        let sentence = |(kind, count, each): &(&str, u64, Each)| {
            format!(
                "the memory of {count} {kind}s of the proxy of `{service}` is extrapolated from {} {kind}s, with the same for each",
                each.most
            )
        };
        self.learned.iter().filter(is_beyond).map(sentence).collect()
    }
}

/// Returns the memory that a connection adds, from the connections of an arm.
fn per_connection(plain: &Plain<'_>, sources: &[Source<'_>]) -> Option<Each> {
    let bytes = plain.arm.hops.first()?.of_rounds.get(RoundMeasure::MEMORY_PER_CONNECTION)?;
    let source = sources.iter().find(|source| source.number == plain.source)?;
    // Results without rounds do not state how many connections were opened.
    let rounds = source.result.rounds.first();
    let opened = rounds
        .and_then(|round| round.arms.get(&plain.arm.id)?.opened)
        .map(|opened| opened.connections as f64);
    Some(Each {
        bytes,
        most: opened.unwrap_or(f64::INFINITY),
        included: opened.unwrap_or_default(),
        source: plain.source,
    })
}

/// Returns the memory that an item of a function adds, from the arm with the most items.
fn per_item(source: &Source<'_>, id: &str, knob: &str) -> Option<Each> {
    let of = |arm: &ArmResult| {
        let function = single_function(arm).filter(|function| function.id == id)?;
        let most: f64 = function.knobs.get(knob)?.parse().ok().filter(|count| *count > 0.0)?;
        Some(Each {
            bytes: arm.cost.of_rounds.get(RoundMeasure::MEMORY)?.times(1.0 / most),
            most,
            included: 0.0,
            source: source.number,
        })
    };
    source.result.arms.iter().filter_map(of).max_by(|one, other| one.most.total_cmp(&other.most))
}
