//! The settings of a run, as the address of the form that starts the same measurement again.

use std::time::Duration;

use form_urlencoded::Serializer;
use hoptax_report::documents;
use hoptax_result::{Body, FindBody, FindResult, LoadBody, LoadPlan, LoadResult};

/// The value of an empty field. An absent field has the default of a new form.
const EMPTY: &str = " ";

/// The fields of a form with their values.
type Fields = Vec<(&'static str, String)>;

/// Returns the form's fields for an address of the history page, from the text of a result that a server measured. None for kinds other
/// than loads and searches, whose results do not state all of their settings.
pub(crate) fn address(result: &str) -> Option<String> {
    let kind = documents::kind_of_text(result).ok()?.name;
    let fields = if kind == LoadResult::KIND {
        of_load(&LoadBody::from_text(result).ok()?)?
    } else if kind == FindResult::KIND {
        of_find(&FindBody::from_text(result).ok()?)?
    } else {
        return None;
    };
    let mut address = Serializer::new(String::new());
    address.append_pair("start", kind);
    for (name, value) in fields {
        address.append_pair(name, &value);
    }
    Some(address.finish())
}

fn of_load(result: &LoadResult) -> Option<Fields> {
    let plan = &result.plan;
    let own = [
        ("rate", result.rate.target.map_or_else(|| EMPTY.to_owned(), |rate| rate.to_string())),
        ("duration", time(plan.duration_s)?),
        ("warmup", time(plan.warmup_s)?),
    ];
    let conditions: Vec<&str> = result.fail_on.iter().map(|one| one.condition.as_str()).collect();
    let fail_on = (!conditions.is_empty()).then(|| ("fail_on", conditions.join(", ")));
    Some(of_plan(plan).into_iter().chain(own).chain(fail_on).collect())
}

fn of_find(result: &FindResult) -> Option<Fields> {
    // With several goals, the form would need to know which objectives belong together.
    let [goal] = result.goals.as_slice() else { return None };
    let mut fields = of_plan(&result.plan);
    fields.push(("objectives", goal.objectives.join(", ")));
    fields.push(("preset", result.evidence.preset.clone()));
    fields.push(("budget", time(result.budget_s)?));
    // A range that the search chose itself was suited to the server at that time.
    let is_near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * other.abs();
    if !is_near(result.max_rate, 2.0 * result.closed_loop_rate) {
        fields.push(("max_rate", result.max_rate.to_string()));
    }
    if !is_near(result.min_rate, (result.max_rate / 1_000.0).max(1.0)) {
        fields.push(("min_rate", result.min_rate.to_string()));
    }
    Some(fields)
}

/// The fields that both forms have. The protocol is the negotiated one.
fn of_plan(plan: &LoadPlan) -> Fields {
    vec![
        ("target", plan.url.clone()),
        ("connections", plan.connections.to_string()),
        ("protocol", plan.protocol.clone()),
    ]
}

/// A duration as forms write it: `1m 30s`.
fn time(seconds: f64) -> Option<String> {
    let length = Duration::try_from_secs_f64(seconds).ok()?;
    Some(humantime::format_duration(length).to_string())
}

#[cfg(test)]
mod tests {
    use hoptax_result::sample;
    use serde_json::{Value, json};

    use super::*;

    /// The fields of the address of a result, with their values.
    fn fields(result: &Value) -> Value {
        let address = address(&result.to_string()).unwrap();
        let fields = form_urlencoded::parse(address.as_bytes());
        json!(fields.into_owned().collect::<std::collections::BTreeMap<String, String>>())
    }

    #[test]
    fn a_load_has_its_target_its_schedule_and_its_connections() {
        let mut load = json!(sample::load());
        load["plan"]["url"] = json!("http://a.test/?b=1&c=#d");
        load["plan"]["duration_s"] = json!(90.5);
        assert_eq!(
            fields(&load),
            json!({"start": "load", "target": "http://a.test/?b=1&c=#d", "rate": "20000", "connections": "16",
                "duration": "1m 30s 500ms", "warmup": "1s", "protocol": "http1"})
        );
        load["rate"]["target"] = Value::Null;
        assert_eq!(fields(&load)["rate"], " ", "a closed loop is no load at the rate of a new form");
    }

    #[test]
    fn a_load_keeps_the_conditions_that_it_was_judged_by() {
        let mut load = json!(sample::load());
        let of = |condition: &str| json!({"condition": condition, "outcome": "passed", "unit": "us"});
        load["fail_on"] = json!([of("p99>5ms"), of("errors>0.1%")]);
        assert_eq!(fields(&load)["fail_on"], "p99>5ms, errors>0.1%");
    }

    #[test]
    fn a_search_has_its_objectives_and_the_range_that_was_stated() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/recorded/find.json");
        let mut find: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let target = find["plan"]["url"].clone();
        find["goals"][0]["objectives"] = json!(["p99<5ms", "errors<0.1%"]);
        assert_eq!(
            fields(&find),
            json!({"start": "find", "target": target, "objectives": "p99<5ms, errors<0.1%", "preset": "quick",
                "connections": "16", "budget": "30s", "protocol": "http1"})
        );
        find["max_rate"] = json!(500.0);
        let stated = fields(&find);
        assert_eq!((&stated["max_rate"], &stated["min_rate"]), (&json!("500"), &json!("4")));
    }

    #[test]
    fn no_other_result_starts_again_and_no_time_that_there_is_not_is_filled_in() {
        let mut load = json!(sample::load());
        load["plan"]["duration_s"] = json!(1e300);
        assert_eq!(address(&load.to_string()), None);
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/recorded/bill.json");
        assert_eq!(address(&std::fs::read_to_string(file).unwrap()), None);
        assert_eq!(address("{}"), None);
    }
}
