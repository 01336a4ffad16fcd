//! Measures that an arm has once per round, such as the memory of its proxies: one file each, from which all else follows.
//!
//! A definition says how the measure is read from the record of a round, and how it is shown. Results, summaries, tables,
//! findings, comparisons, gates and sittings loop over [`RoundMeasure::ALL`]. Measures of slices are in `hoptax_judge::measures`.

mod memory;
mod memory_per_connection;
mod numbers;
mod received_bytes;
mod sent_bytes;
mod start_cpu;

use std::cmp::Ordering;
use std::fmt;

use schemars::{Schema, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};

use crate::{ArmRound, ProxyTraffic};
pub use numbers::RoundNumbers;
pub(crate) use numbers::{costs_schema, levels_schema};

/// Size of a page of memory on x86-64, bytes.
const PAGE_BYTES: f64 = 4096.0;

/// Half-width of intervals of bytes per request, at least. The bytes of a round are exact, but a few requests of the warm-up may
/// differ from the others.
const TRAFFIC_RESOLUTION_BYTES: f64 = 0.1;

/// Returns the sum over proxies; None if no proxy has a value.
fn sum(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(|sum, value| sum + value)
}

/// Bytes of all proxies of an arm per request of its callers, which are the requests of its first proxy. None without traffic.
fn bytes_per_request(round: &ArmRound, bytes: fn(&ProxyTraffic) -> u64) -> Option<f64> {
    let requests = round.traffic.first()?.requests;
    let bytes: u64 = round.traffic.iter().map(bytes).sum();
    (requests > 0).then(|| bytes as f64 / requests as f64)
}

/// A measure that an arm has once per round.
#[derive(Clone, Copy)]
pub struct RoundMeasure(&'static MeasureDefinition);

/// Definition of a measure: its names, its descriptions, its values in a round, and its form in tables.
#[derive(Debug)]
pub struct MeasureDefinition {
    /// Its id in findings and in limits of gates.
    pub id: &'static str,
    /// Its name in results, with the unit of its values.
    pub field: &'static str,
    /// Its name in sentences.
    pub words: &'static str,
    /// Description of the measure, for the schemas.
    pub summary: &'static str,
    /// Description of the number of one proxy, for the schemas.
    pub level: &'static str,
    /// Description of the cost of an arm, for the schemas.
    pub cost: &'static str,
    /// Its heading in tables, with the unit of tables.
    pub heading: &'static str,
    /// A short one for terminals.
    pub short_heading: &'static str,
    /// Its heading on pages if its numbers are printed below those of the measure before it in [`RoundMeasure::ALL`], in one
    /// column.
    pub below: Option<&'static str>,
    /// The unit of tables, in the unit of its values.
    pub unit: f64,
    /// The name of that unit.
    pub unit_name: &'static str,
    /// The title of a table of its own. A measure without one is in the main tables, and comparisons, gates and sittings decide
    /// on it.
    pub own_table: Option<&'static str>,
    /// True if it is one of an arm's first proxy, not the sum over all of them.
    pub is_of_first_proxy: bool,
    /// True if it depends on the number of connections, so that arms with different numbers cannot be compared.
    pub depends_on_connections: bool,
    /// Its values in a round, one per proxy in the order of the arm; empty if there are none.
    pub values: fn(&ArmRound) -> Vec<f64>,
    /// Total of all proxies of the arm in a round; None if they have no value. The cost of an arm is the difference of this total. It is
    /// not always the sum of the values: those per request are per request of each proxy, and of clones each gets only some of the
    /// requests.
    pub total: fn(&ArmRound) -> Option<f64>,
    /// The smallest half-width of its intervals in the unit of its values, if the values of all rounds may be equal although true
    /// ones are not.
    pub resolution: fn(&ArmRound) -> Option<f64>,
}

impl RoundMeasure {
    /// All of them, in the order of results and tables.
    pub const ALL: [Self; 5] =
        [Self::MEMORY, Self::MEMORY_PER_CONNECTION, Self::START_CPU, Self::RECEIVED_BYTES, Self::SENT_BYTES];

    /// The measures of main tables, which comparisons, gates and sittings decide on.
    pub fn compared() -> impl DoubleEndedIterator<Item = Self> {
        Self::ALL.into_iter().filter(|measure| measure.definition().own_table.is_none())
    }

    /// Its definition.
    pub fn definition(self) -> &'static MeasureDefinition {
        self.0
    }

    /// Its index in [`Self::ALL`].
    fn place(self) -> Option<usize> {
        Self::ALL.iter().position(|other| *other == self)
    }

    /// Inserts measures, each with its description, into the schema of an enumeration, before the variant `before` or at the end,
    /// where earlier versions have them.
    pub(crate) fn insert_into(
        schema: &mut Schema,
        before: Option<&str>,
        measures: impl Iterator<Item = (&'static str, &'static str)>,
    ) {
        // The variant that holds a measure has no tag, so the generator writes `anyOf`; but all variants differ.
        let mut renamed = json_schema!({});
        for (key, value) in schema.as_object_mut().map(std::mem::take).into_iter().flatten() {
            renamed.insert(if key == "anyOf" { "oneOf".to_owned() } else { key }, value);
        }
        if let Some(variants) = renamed.get_mut("oneOf").and_then(|variants| variants.as_array_mut()) {
            let is_before = |variant: &str| before == Some(variant);
            let place = variants.iter().position(|variant| variant["const"].as_str().is_some_and(is_before));
            let place = place.unwrap_or(variants.len());
            let measures = measures.map(|(name, description)| {
                json_schema!({"type": "string", "const": name, "description": description}).to_value()
            });
            variants.splice(place..place, measures);
        }
        *schema = renamed;
    }
}

impl fmt::Debug for RoundMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.id)
    }
}

impl PartialEq for RoundMeasure {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for RoundMeasure {}

impl PartialOrd for RoundMeasure {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RoundMeasure {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

/// A measure by its id.
impl Serialize for RoundMeasure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.id)
    }
}

impl<'de> Deserialize<'de> for RoundMeasure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        named(&String::deserialize(deserializer)?, |definition| definition.id)
    }
}

/// A measure by its name in results.
pub(crate) mod by_field {
    use super::{Deserialize, Deserializer, RoundMeasure, Serializer, named};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn serialize<S: Serializer>(measure: &RoundMeasure, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(measure.0.field)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RoundMeasure, D::Error> {
        named(&String::deserialize(deserializer)?, |definition| definition.field)
    }
}

fn named<E: Error>(name: &str, of: fn(&MeasureDefinition) -> &'static str) -> Result<RoundMeasure, E> {
    let found = RoundMeasure::ALL.into_iter().find(|measure| of(measure.0) == name);
    found.ok_or_else(|| E::custom(format!("there is no measure `{name}`")))
}
