//! From the names of arms to arms.

use hoptax_functions::{Catalogue, FunctionCall};
use hoptax_result::ArmKind;

use super::{Arm, BASELINE, Conditions, DIRECT, SAME};
use crate::file::{Positions, Problem};

/// Turns names into arms. What is wrong with them is added to `problems`.
pub(super) fn plan(
    names: &[String],
    positions: &Positions,
    catalogue: &Catalogue,
    problems: &mut Vec<Problem>,
) -> Vec<Arm> {
    let mut arms: Vec<Arm> = Vec::new();
    // The baseline is needed whether or not it is named, and first, so that others can refer to it.
    if !names.iter().any(|name| name == BASELINE) {
        let message = format!("`arms` lacks `{BASELINE}`, with which the others are compared: add it");
        problems.push(positions.problem("/arms", message));
    }
    let baseline = add_baseline(&mut arms, &Conditions::default());
    for (index, name) in names.iter().enumerate() {
        let pointer = format!("/arms/{index}");
        if names.iter().take(index).any(|earlier| earlier == name) {
            problems.push(positions.problem(&pointer, format!("arm `{name}` is named twice")));
            continue;
        }
        match name.as_str() {
            BASELINE => {}
            DIRECT => arms.push(Arm {
                id: DIRECT.to_owned(),
                kind: ArmKind::Direct,
                function: None,
                compared_with: Some(baseline),
                conditions: Conditions::default(),
                upstreams: 1,
                summary: "No proxy: the generator speaks to the origin".to_owned(),
            }),
            SAME => arms.push(Arm {
                id: SAME.to_owned(),
                kind: ArmKind::Same,
                function: None,
                compared_with: Some(baseline),
                conditions: Conditions::default(),
                upstreams: 1,
                summary: "A second copy of the baseline, whose true cost is zero".to_owned(),
            }),
            call => match function_arm(call, &mut arms, catalogue) {
                Ok(arm) => arms.push(arm),
                Err(messages) => {
                    problems.extend(messages.into_iter().map(|message| positions.problem(&pointer, message)));
                }
            },
        }
    }
    arms
}

/// The baseline under these conditions, added if it is not there yet.
fn add_baseline(arms: &mut Vec<Arm>, conditions: &Conditions) -> usize {
    let is_it = |arm: &Arm| arm.kind == ArmKind::Baseline && arm.conditions == *conditions;
    if let Some(place) = arms.iter().position(is_it) {
        return place;
    }
    let (id, summary) = match conditions.to_string() {
        none if none.is_empty() => (BASELINE.to_owned(), "A plain proxy".to_owned()),
        some => (
            format!("{BASELINE}{{{some}}}"),
            format!("A plain proxy with `{some}`, as what is compared with it has"),
        ),
    };
    arms.push(Arm {
        id,
        kind: ArmKind::Baseline,
        function: None,
        compared_with: None,
        conditions: conditions.clone(),
        upstreams: 1,
        summary,
    });
    arms.len() - 1
}

fn function_arm(name: &str, arms: &mut Vec<Arm>, catalogue: &Catalogue) -> Result<Arm, Vec<String>> {
    let special = |word: &&str| strsim::normalized_damerau_levenshtein(name, word) >= 0.7;
    let call = FunctionCall::parse(name).map_err(|error| vec![error.to_string()])?;
    let (function, knobs) = catalogue.resolve(&call).map_err(|errors| {
        let hint = [BASELINE, DIRECT, SAME].into_iter().find(special);
        let hint = hint.map_or_else(String::new, |word| format!("; did you mean `{word}`?"));
        errors.iter().map(|error| format!("{error}{hint}")).collect::<Vec<_>>()
    })?;
    let conditions = Conditions {
        query: function.request.query.clone(),
        connections: function.connections.map(|connections| connections as usize),
        environment: function.environment.clone(),
    };
    let compared_with = add_baseline(arms, &conditions);
    Ok(Arm {
        id: call.to_string(),
        kind: ArmKind::Function,
        compared_with: Some(compared_with),
        conditions,
        upstreams: usize::from(function.upstreams),
        summary: function.summary.clone(),
        function: Some((function.clone(), knobs)),
    })
}
