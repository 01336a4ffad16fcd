//! The numbers of all measures of rounds, as fields of their owner in a result.

use std::fmt;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::{MeasureDefinition, RoundMeasure};
use crate::Interval;

/// One number for each measure, serialised as one field for each: null where not measured or withheld.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundNumbers([Option<Interval>; RoundMeasure::ALL.len()]);

impl RoundNumbers {
    /// The number of a measure.
    pub fn get(&self, measure: RoundMeasure) -> Option<Interval> {
        self.0.get(measure.place()?).copied().flatten()
    }

    /// Sets the number of a measure.
    pub fn set(&mut self, measure: RoundMeasure, number: Option<Interval>) {
        if let Some(slot) = measure.place().and_then(|place| self.0.get_mut(place)) {
            *slot = number;
        }
    }

    /// All measures with their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (RoundMeasure, &mut Option<Interval>)> {
        RoundMeasure::ALL.into_iter().zip(&mut self.0)
    }
}

impl FromIterator<(RoundMeasure, Option<Interval>)> for RoundNumbers {
    fn from_iter<T: IntoIterator<Item = (RoundMeasure, Option<Interval>)>>(numbers: T) -> Self {
        let mut all = Self::default();
        for (measure, number) in numbers {
            all.set(measure, number);
        }
        all
    }
}

impl Serialize for RoundNumbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (measure, number) in RoundMeasure::ALL.iter().zip(&self.0) {
            map.serialize_entry(measure.definition().field, number)?;
        }
        map.end()
    }
}

/// The names of all fields. A flattened field takes only these from those of its owner, so the owner can refuse unknown ones.
const FIELDS: [&str; RoundMeasure::ALL.len()] = {
    let mut fields = [""; RoundMeasure::ALL.len()];
    let mut place = 0;
    while place < fields.len() {
        fields[place] = RoundMeasure::ALL[place].0.field;
        place += 1;
    }
    fields
};

impl<'de> Deserialize<'de> for RoundNumbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("RoundNumbers", &FIELDS, Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = RoundNumbers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the numbers of measures of rounds")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RoundNumbers, A::Error> {
        let mut numbers = RoundNumbers::default();
        while let Some(field) = map.next_key::<String>()? {
            match RoundMeasure::ALL.into_iter().find(|measure| measure.definition().field == field) {
                Some(measure) => numbers.set(measure, map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(numbers)
    }
}

/// The schema of the numbers of one proxy, or of a part of it.
pub(crate) fn levels_schema(generator: &mut SchemaGenerator) -> Schema {
    schema(generator, |definition| definition.level.to_owned())
}

/// The schema of the costs of an arm.
pub(crate) fn costs_schema(generator: &mut SchemaGenerator) -> Schema {
    schema(generator, |definition| {
        format!("{} Not measured by load: null for a single load.", definition.cost)
    })
}

/// A field for each measure, with its description.
fn schema(generator: &mut SchemaGenerator, describe: fn(&MeasureDefinition) -> String) -> Schema {
    let mut schema = json_schema!({"type": "object", "properties": {}});
    for measure in RoundMeasure::ALL {
        let mut number = generator.subschema_for::<Option<Interval>>();
        number.insert("description".to_owned(), describe(measure.definition()).into());
        let properties = schema.get_mut("properties").and_then(|properties| properties.as_object_mut());
        if let Some(properties) = properties {
            properties.insert(measure.definition().field.to_owned(), number.to_value());
        }
    }
    schema
}
