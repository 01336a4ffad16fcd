//! SARIF 2.1.0 (OASIS), which code scanning shows as annotations. A gate has one result for each limit that did not pass.

use hoptax_result::{GateOutcome, GateResult};
use serde_json::{Value, json};

use crate::gate::sentence;

/// The gate as SARIF. Annotations point to `file`, the study file. An exceeded limit is an error, an undecided or unknown limit a note.
pub fn gate(result: &GateResult, file: &str) -> Value {
    let mut rules: Vec<&str> = result.limits.iter().map(|limit| limit.limit.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let rule = |limit: &&str| json!({"id": limit, "shortDescription": {"text": format!("the candidate must not exceed {limit}")}});
    let of = |limit: &hoptax_result::GateLimit| {
        let level = if limit.outcome == GateOutcome::Failed { "error" } else { "note" };
        json!({
            "ruleId": limit.limit,
            "level": level,
            "message": {"text": sentence(result, limit)},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": file}, "region": {"startLine": 1}}}],
        })
    };
    let results: Vec<Value> =
        result.limits.iter().filter(|limit| limit.outcome != GateOutcome::Passed).map(of).collect();
    log(&result.program.version, &rules.iter().map(rule).collect::<Vec<_>>(), &results)
}

/// The results of one run, and the rules that they name.
pub fn log(version: &str, rules: &[Value], results: &[Value]) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "hoptax", "version": version, "rules": rules}},
            "results": results,
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::fixture;

    #[test]
    fn limits_that_did_not_pass_are_results() {
        let mut result = fixture::gate();
        result.program.version = "0.3.0".to_owned();
        let sarif = gate(&result, "edge.yaml");
        insta::assert_snapshot!(format!("{sarif:#}"));
    }
}
