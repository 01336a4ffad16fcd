//! Predictions for bodies between measured ones.

use hoptax_predict::size::{SizeError, size};
use hoptax_result::ArmResult;

use super::{additive, graph, is_near, study};

const ARMS: &str = "[baseline, {function: baseline, at: {response_bytes: 4096}}]";

fn graph_text(bytes: u64) -> String {
    format!("name: shop\nentry: gateway\nservices:\n  - {{name: gateway, response_bytes: {bytes}}}\n")
}

#[test]
fn cpu_time_is_on_a_line_between_two_sizes() {
    // A larger body costs half as much again.
    let larger = |arm: &ArmResult| if arm.id.contains("4096") { 1.5 } else { 1.0 };
    let measured = study(ARMS, |arm, load, round| larger(arm) * additive(arm, load, round));
    let cpu_us = |bytes| {
        let sized = size(&graph(&graph_text(bytes)), 100.0, std::slice::from_ref(&measured)).unwrap();
        (sized.proxies[0].cpu_us_per_request.estimate, sized.extrapolations.join("\n"))
    };
    let [(small, _), (large, _), (between, text)] = [64, 4096, 64 + 1008].map(cpu_us);
    assert!(large > 1.3 * small, "{small} {large}");
    assert!(is_near(between, small + 0.25 * (large - small)), "{small} {between} {large}");
    assert!(
        text.contains("on a straight line between `baseline` and `baseline @ response_bytes=4096`"),
        "{text}"
    );
}

#[test]
fn nothing_is_said_beyond_the_largest_size() {
    let sized = size(&graph(&graph_text(10_000)), 100.0, &[study(ARMS, additive)]);
    assert!(matches!(sized, Err(SizeError::Missing { .. })), "{sized:?}");
}
