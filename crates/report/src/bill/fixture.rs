//! Bills for tests.

use hoptax_result::{
    BillBody, BilledChange, BilledPair, BilledReplacement, BilledRequest, BilledSecondStudy, BilledSum,
    Decision, Environment, Finding, Measured, ResponseCost, Severity,
};

use super::*;

fn charge(cpu_us: Option<Interval>, whole_us: f64) -> Charge {
    let cores = cpu_us.map(|cpu| cpu.times(3_000.0 / 1e6));
    Charge {
        cpu_us_per_request: cpu_us,
        cpu_share: cpu_us.map(|cpu| cpu.times(1.0 / whole_us)),
        response_us: ResponseCost { p50: cpu_us.map(|cpu| cpu.times(1.2)), ..ResponseCost::default() },
        of_rounds: [
            (RoundMeasure::RECEIVED_BYTES, cpu_us.map(|_| Interval::around(0.0, 0.1))),
            (RoundMeasure::SENT_BYTES, cpu_us.map(|cpu| Interval::around(4.0 * cpu.estimate, 0.3))),
            (RoundMeasure::MEMORY, cpu_us.map(|_| Interval::around(400_000.0, 30_000.0))),
            (RoundMeasure::MEMORY_PER_CONNECTION, cpu_us.map(|_| Interval::around(8_200.0, 130.0))),
        ]
        .into_iter()
        .collect(),
        cores,
        money_per_month: cores.map(|cores| cores.times(0.04 * 730.0)),
        uncertain_signs: Vec::new(),
        bounds: hoptax_result::Bounds::default(),
    }
}

fn part(name: &str, cost: Option<Interval>, activity: Activity) -> BilledPart {
    BilledPart {
        kind: "HTTP filter".to_owned(),
        name: name.to_owned(),
        place: "envoy.yaml:12".to_owned(),
        arm: cost.map(|_| format!("no-{name}")),
        not_measured: cost.is_none().then(|| "the response is status 404 instead of status 200".to_owned()),
        activity,
        cost: charge(cost, 180.0),
    }
}

/// A bill with an expensive part, an idle one, one that cannot be removed, and an interaction.
pub(crate) fn bill() -> BillResult {
    let exercised = |statistic: &str| Activity::Exercised { statistic: statistic.to_owned() };
    let idle = Activity::NotExercised {
        statistics: vec!["http.edge.cors.*".to_owned()],
        exercised_by: Some("a request with an `origin` that a policy of its route allows".to_owned()),
    };
    let body = BillBody {
        configuration: "envoy.yaml".to_owned(),
        proxy_version: Some("1.40.0".to_owned()),
        listener: "edge".to_owned(),
        request: BilledRequest {
            method: "GET".to_owned(),
            url: "https://shop.example/cart".to_owned(),
            headers: vec!["x-region".to_owned()],
            statuses: vec![200],
        },
        confidence: 0.95,
        rounds: 12,
        rate: Some(3_000.0),
        arrivals: Some("uniform".to_owned()),
        price_per_core_hour: Some(0.04),
        hours_per_month: BillResult::HOURS_PER_MONTH,
        whole: Charge { cpu_share: None, ..charge(Some(Interval::around(180.0, 3.1)), 180.0) },
        parts: vec![
            part("lua", Some(Interval::around(31.2, 1.3)), exercised("http.edge.lua.executions")),
            part("rbac", Some(Interval::around(4.1, 1.1)), exercised("http.edge.rbac.allowed")),
            part("cors", Some(Interval::around(0.3, 0.9)), idle),
            part("rewrite", None, Activity::Unknown { exercised_by: None }),
        ],
        rest: Some(Charge { cpu_share: None, ..charge(Some(Interval::around(140.0, 2.4)), 180.0) }),
        sum: Some(sum(
            Interval::around(35.6, 2.9),
            Interval::around(48.0, 1.9),
            Interval::around(-12.4, 2.1),
            Decision::Different,
        )),
        second_study: Some(BilledSecondStudy {
            verdict: Verdict::Sound,
            rounds: 12,
            sum: Some(sum(
                Interval::around(36.1, 2.7),
                Interval::around(47.7, 2.0),
                Interval::around(-11.6, 2.2),
                Decision::Different,
            )),
            pairs: vec![
                pair("rbac", Some((Interval::around(-12.1, 2.0), Decision::Different))),
                pair("cors", Some((Interval::around(0.4, 2.1), Decision::Equivalent))),
                pair("rewrite", None),
            ],
            pairs_us: Some(Interval::around(-11.7, 2.6)),
        }),
        changes: vec![
            BilledChange {
                change: "lua -> add-header/native".to_owned(),
                arm: Some("what-if-1".to_owned()),
                not_measured: None,
                answer_differences: vec!["bodies of 19 bytes instead of 24".to_owned()],
                activity: exercised("http.edge.lua.executions"),
                difference: charge(Some(Interval::around(-24.5, 1.4)), 180.0),
            },
            BilledChange {
                change: "envoy -> 1.39.3".to_owned(),
                arm: None,
                not_measured: Some("Envoy refuses the configuration".to_owned()),
                answer_differences: Vec::new(),
                activity: Activity::Unknown { exercised_by: None },
                difference: Charge::default(),
            },
        ],
        same_us: Some(Interval::around(0.4, 1.2)),
        lacking: vec!["HTTP filter `mesh.stats`".to_owned()],
        replacements: vec![BilledReplacement {
            place: "envoy.yaml:3".to_owned(),
            node: "listener `edge` on 0.0.0.0:443".to_owned(),
            with: "127.0.0.1, a free port".to_owned(),
            is_left_out: false,
        }],
    };
    BillResult::new(Environment::default(), body).judged(
        Verdict::Caution,
        vec![Finding::new(
            "few-rounds",
            Severity::Warn,
            Measured::count(4.0, 6.0, "rounds"),
            "intervals over 4 rounds are wide".to_owned(),
            "measure more rounds",
        )],
    )
}

/// A sum of parts for a whole that costs 180 us.
fn sum(parts_us: Interval, together_us: Interval, interaction_us: Interval, decision: Decision) -> BilledSum {
    BilledSum {
        parts_us,
        together_us,
        interaction_us,
        interaction_share: interaction_us.times(1.0 / 180.0),
        decision,
        rounds_until_decided: None,
    }
}

/// The pair of `lua` and another part, with its interaction.
fn pair(other: &str, interaction: Option<(Interval, Decision)>) -> BilledPair {
    let sum = interaction.map(|(interaction_us, decision)| {
        let together_us = Interval::around(35.3 - interaction_us.estimate, 1.6);
        sum(Interval::around(35.3, 2.1), together_us, interaction_us, decision)
    });
    let not_measured = sum.is_none().then(|| "the response is status 404 instead of status 200".to_owned());
    BilledPair { parts: ["HTTP filter lua".to_owned(), format!("HTTP filter {other}")], sum, not_measured }
}

/// A bill of a void study.
pub(crate) fn void() -> BillResult {
    let mut bill = bill();
    bill.verdict = Verdict::Void;
    bill.whole = Charge::default();
    bill.rest = Some(Charge::default());
    bill.parts.iter_mut().for_each(|part| part.cost = Charge::default());
    bill.changes.iter_mut().for_each(|change| change.difference = Charge::default());
    (bill.sum, bill.second_study, bill.same_us) = (None, None, None);
    bill
}
