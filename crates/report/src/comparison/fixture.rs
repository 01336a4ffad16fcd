//! Comparisons for tests.

use hoptax_result::{
    ArmLeftOut, ComparedArms, ComparedMeasure, ComparedSubject, ComparisonBody, ComparisonResult,
    ConfigurationDifferences, CostMeasure, Decision, Environment, Interval, KeyDifference, PartDifference,
    RoundMeasure, StudiesComparison, StudiesComparisonBody, SubjectName, Verdict,
};

fn measure(measure: CostMeasure, reference: f64, share: Interval, decision: Decision) -> ComparedMeasure {
    let of = |share: f64| share * reference;
    let rounds = (decision == Decision::Undecided).then_some(140);
    ComparedMeasure {
        measure,
        reference,
        difference: Interval::new(of(share.estimate), of(share.low), of(share.high)),
        difference_share: share,
        rounds: 12,
        degrees_of_freedom: 11.0,
        decision,
        rounds_until_decided: rounds,
    }
}

/// A cheaper subject, an undecided one, one without numbers, and the A/A arm.
pub(crate) fn comparison() -> ComparisonResult {
    let names = |arm: &str, name: &str, given: &str| SubjectName {
        arm: arm.to_owned(),
        name: name.to_owned(),
        given: given.to_owned(),
    };
    let subject = |subject: SubjectName, measures: Vec<ComparedMeasure>| ComparedSubject {
        is_same: subject.arm == "A-again",
        subject,
        keys: Vec::new(),
        differences: None,
        answer_differences: Vec::new(),
        measures,
        bounds: Vec::new(),
        bound_shares: Vec::new(),
    };
    let part = |name: &str, places: [Option<&str>; 2], fields: &[&str]| PartDifference {
        kind: "HTTP filter".to_owned(),
        name: name.to_owned(),
        reference_place: places[0].map(str::to_owned),
        place: places[1].map(str::to_owned),
        fields: fields.iter().map(ToString::to_string).collect(),
    };
    let differences = ConfigurationDifferences {
        parts: vec![
            part("jwt", [Some("old.yaml:31"), None], &[]),
            part("lua", [Some("old.yaml:40"), Some("new.yaml:33")], &["default_source_code.inline_string"]),
            part("cors", [None, Some("new.yaml:52")], &[]),
        ],
        is_order_different: true,
        rest: (0..8).map(|number| format!("static_resources.clusters[c{number}].lb_policy")).collect(),
    };
    let cpu = |share, decision| measure(CostMeasure::CpuUs, 48.2, share, decision);
    let body = ComparisonBody {
        study: "comparison".to_owned(),
        reference: names("A", "old", "conf/old.yaml"),
        margin_share: 0.02,
        confidence: 0.95,
        rounds: 24,
        wall_seconds: 264.0,
        loads: crate::fixture::study().body.plan.loads,
        subjects: vec![
            ComparedSubject {
                differences: Some(differences),
                ..subject(
                    names("B", "new", "conf/new.yaml"),
                    vec![
                        cpu(Interval::around(-0.071, 0.009), Decision::Different),
                        measure(
                            CostMeasure::MaxRate,
                            20_450.0,
                            Interval::around(0.076, 0.012),
                            Decision::Different,
                        ),
                        measure(
                            CostMeasure::ResponseP50Us,
                            212.0,
                            Interval::around(0.01, 0.04),
                            Decision::Undecided,
                        ),
                        measure(
                            CostMeasure::OfRounds(RoundMeasure::MEMORY),
                            7.5e7,
                            Interval::around(0.001, 0.002),
                            Decision::Equivalent,
                        ),
                    ],
                )
            },
            ComparedSubject {
                differences: Some(ConfigurationDifferences::default()),
                answer_differences: vec![
                    "status 403 instead of status 200".to_owned(),
                    "no requests reach the origin instead of all requests".to_owned(),
                ],
                ..subject(
                    names("C", "old+1.39.3", "conf/old.yaml+1.39.3"),
                    vec![cpu(Interval::around(0.012, 0.031), Decision::Undecided)],
                )
            },
            subject(names("D", "lua", "lua"), Vec::new()),
            subject(
                names("A-again", "old again", "conf/old.yaml"),
                vec![cpu(Interval::around(0.001, 0.008), Decision::Equivalent)],
            ),
        ],
    };
    ComparisonResult::new(Environment::default(), body).judged(Verdict::Caution, Vec::new())
}

/// Two arms of two studies, of which one has a configuration.
pub(crate) fn studies() -> StudiesComparison {
    let named = |arm: &str, study: &str, letter: char| SubjectName {
        arm: format!("{arm}.{letter}"),
        name: format!("{arm} of {study}"),
        given: format!("{arm} of {study}.yaml"),
    };
    let all = comparison().body;
    let of = |arm: &str, numbers: &[usize]| ComparisonBody {
        reference: named(arm, "old", 'A'),
        subjects: numbers.iter().filter_map(|number| all.subjects.get(*number).cloned()).collect(),
        ..all.clone()
    };
    let [mut edge, mut inner] = [of("edge", &[0, 3]), of("inner", &[1])];
    for (arm, comparison) in [("edge", &mut edge), ("inner", &mut inner)] {
        comparison.subjects[0].subject = named(arm, "new", 'B');
    }
    edge.subjects[1].subject.name = "edge of old again".to_owned();
    inner.subjects[0].differences = None;
    let key = |key: &str, values: [Option<&str>; 2]| KeyDifference {
        key: key.to_owned(),
        reference: values[0].map(str::to_owned),
        value: values[1].map(str::to_owned),
    };
    edge.subjects[0].keys = vec![
        key("hops[0].config", [Some("old.yaml"), Some("new.yaml")]),
        key("hops[0].replace", [None, None]),
    ];
    inner.subjects[0].keys =
        vec![key("envoy", [None, Some("1.39.3")]), key("flags", [Some("--disable-extensions a"), None])];
    let body = StudiesComparisonBody {
        studies: vec!["old.yaml".to_owned(), "new.yaml".to_owned()],
        arms: vec![
            ComparedArms { arm: "edge".to_owned(), comparison: edge },
            ComparedArms { arm: "inner".to_owned(), comparison: inner },
        ],
        left_out: vec![ArmLeftOut { arm: "lua".to_owned(), reason: "does not differ".to_owned() }],
    };
    StudiesComparison::new(Environment::default(), body).judged(Verdict::Caution, Vec::new())
}
