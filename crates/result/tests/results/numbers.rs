//! The numbers of a round as fields of their owner.

use hoptax_result::{Cost, HopUse, Interval, RoundMeasure, RoundNumbers};

#[test]
fn numbers_are_fields_of_their_owner_and_unknown_fields_are_refused() {
    let about = |estimate| Some(Interval::around(estimate, 1.0));
    let numbers = [(RoundMeasure::MEMORY, about(5.0)), (RoundMeasure::START_CPU, about(7.5))];
    let of_rounds: RoundNumbers = numbers.into_iter().collect();
    let hop = HopUse { name: "gateway".to_owned(), of_rounds, ..HopUse::default() };
    let text = serde_json::to_string(&hop).unwrap();
    let field = |measure: RoundMeasure| {
        let number = numbers.iter().find(|(other, _)| *other == measure).map(|(_, number)| number);
        format!(r#""{}":{}"#, measure.definition().field, serde_json::to_string(&number).unwrap())
    };
    let fields: Vec<String> = RoundMeasure::ALL.into_iter().map(field).collect();
    let expected = format!(r#"{{"name":"gateway","cpu_us_per_request":null,{}}}"#, fields.join(","));
    assert_eq!(text, expected);
    assert_eq!(serde_json::from_str::<HopUse>(&text).unwrap(), hop);
    let old = serde_json::from_str::<HopUse>(r#"{"name":"gateway","memory_bytes":null}"#).unwrap();
    assert_eq!(old, HopUse { name: "gateway".to_owned(), ..HopUse::default() });
    let error = serde_json::from_str::<HopUse>(r#"{"name":"gateway","weight_kg":null}"#).unwrap_err();
    assert!(error.to_string().contains("unknown field `weight_kg`"), "{error}");
    let cost = Cost { of_rounds, ..Cost::default() };
    let text = serde_json::to_string(&cost).unwrap();
    assert!(text.contains(r#""max_rate":null,"memory_bytes":{"estimate":5.0"#), "{text}");
    assert_eq!(serde_json::from_str::<Cost>(&text).unwrap(), cost);
}
