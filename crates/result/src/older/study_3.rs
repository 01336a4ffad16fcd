//! Version 3 of studies had degrees of freedom beside the intervals that have them: of costs that borrow (`borrowed` of a cost), of shares,
//! and of the numbers of several sittings (`freedoms` of an arm and of a load). No release wrote it: it has a reader because the published
//! results in `docs/results` and two in `crates/report/recorded` are of this version, and measuring them again would give other numbers.

use serde_json::{Map, Value};

/// The name of the field, there and here.
const FIELD: &str = "degrees_of_freedom";

/// Moves them to the intervals.
pub(super) fn read(fields: &mut Map<String, Value>) {
    for arm in fields.get_mut("arms").and_then(Value::as_array_mut).into_iter().flatten() {
        for load in arm.get_mut("loads").and_then(Value::as_array_mut).into_iter().flatten() {
            of_numbers(load, "rate");
        }
        of_numbers(arm, "max_rate");
    }
}

/// Moves those of an arm, or of an arm under a load. `rate` is the name of its level in rate.
fn of_numbers(numbers: &mut Value, rate: &str) {
    let recorded = taken(numbers, "freedoms");
    let mut borrowed = numbers.get_mut("cost").map(|cost| taken(cost, "borrowed")).unwrap_or_default();
    for share in shares(numbers) {
        let freedom = share.as_object_mut().and_then(|share| share.remove(FIELD));
        set(share.get_mut("share"), freedom.filter(Value::is_number));
    }
    // What is recorded of several sittings comes before what borrows.
    borrowed.extend(recorded);
    for mut one in borrowed {
        let freedom = one.get_mut(FIELD).map(Value::take);
        let Some(measure) = one.get("measure").and_then(Value::as_str) else { continue };
        let number = match one.get("of").and_then(Value::as_str) {
            Some("level") if measure == "max_rate" => numbers.get_mut(rate),
            Some("level") => at(numbers, measure),
            Some("cost_share") => share_of(numbers, measure),
            _ => numbers.get_mut("cost").and_then(|cost| at(cost, measure)),
        };
        set(number, freedom);
    }
}

/// Removes a list.
fn taken(from: &mut Value, name: &str) -> Vec<Value> {
    match from.as_object_mut().and_then(|fields| fields.remove(name)) {
        Some(Value::Array(all)) => all,
        _ => Vec::new(),
    }
}

/// The costs as shares.
fn shares(numbers: &mut Value) -> impl Iterator<Item = &mut Value> {
    let shares = numbers.get_mut("cost").and_then(|cost| cost.get_mut("shares"));
    shares.and_then(Value::as_array_mut).into_iter().flatten()
}

/// The interval of the cost in a measure as a share.
fn share_of<'v>(numbers: &'v mut Value, measure: &str) -> Option<&'v mut Value> {
    let is_it = |share: &&mut Value| share.get("measure").and_then(Value::as_str) == Some(measure);
    shares(numbers).find(is_it)?.get_mut("share")
}

/// The interval in a measure among levels or costs.
fn at<'v>(numbers: &'v mut Value, measure: &str) -> Option<&'v mut Value> {
    let quantile = measure.strip_prefix("response_").and_then(|name| name.strip_suffix("_us"));
    match (measure, quantile) {
        (_, Some(quantile)) => numbers.get_mut("response_us")?.get_mut(quantile),
        ("cpu_us", _) => numbers.get_mut("cpu_us_per_request"),
        _ => numbers.get_mut(measure),
    }
}

/// Gives an interval its degrees of freedom; null for the normal distribution.
fn set(interval: Option<&mut Value>, freedom: Option<Value>) {
    if let Some((fields, freedom)) = interval.and_then(Value::as_object_mut).zip(freedom) {
        fields.insert(FIELD.to_owned(), freedom);
    }
}
