//! A gate: a sentence for its outcome, a sentence for each limit that did not pass, and a table of all limits.

use hoptax_result::{
    CostMeasure, Finding, GateLimit, GateOutcome, GateResult, Place, ReferenceRun, StoredReference, Verdict,
};

use crate::load_rate::at_loads;
use crate::more_rounds;
use crate::numbers::{counted, decimals, grouped, or_dash, percent, percent_difference};
use crate::sittings::{scaled, unit};
use crate::table::Table;
use crate::words::capitalised;

/// Minimum time between the starts of two runs, seconds. Below it, they may share the same level of the machine.
const SITTING_SECONDS: f64 = 3_600.0;

/// The outcome of the gate in one sentence.
pub(crate) fn outcome(result: &GateResult) -> String {
    let of = |outcome| result.limits.iter().filter(|limit| limit.outcome == outcome).count();
    let all = result.limits.len();
    let limits = |count: usize| if count == 1 { "1 limit".to_owned() } else { format!("{count} limits") };
    let (failed, undecided, unknown) =
        (of(GateOutcome::Failed), of(GateOutcome::Undecided), of(GateOutcome::Unknown));
    let candidate = &result.candidate;
    let rest: Vec<String> = [(undecided, "undecided"), (unknown, "unknown")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let rest = if rest.is_empty() { String::new() } else { format!(", {}", rest.join(", ")) };
    if let Some(answers) = &result.answer_differences.first() {
        let more = match result.answer_differences.len() {
            1 => String::new(),
            all => format!(" and {} more arms", all - 1),
        };
        format!(
            "failed: {candidate} answers differently from the reference in {}{more}: {}",
            answers.arm,
            answers.differences.join(", ")
        )
    } else if failed > 0 {
        format!("failed: {candidate} exceeds {failed} of {}{rest}", limits(all))
    } else if result.is_unknown() {
        let stated = result.limits.iter().find_map(|limit| limit.unknown_because.clone());
        let why = stated.or_else(|| result.limits.iter().find_map(|limit| withheld_because(result, limit)));
        match why {
            Some(reason) => format!("unknown: no number of {candidate} is available: {reason}"),
            None => format!("unknown: no number of {candidate} is available, see the findings of the study"),
        }
    } else if rest.is_empty() {
        format!(
            "passed: {candidate} is within {}",
            if all == 1 { "the limit".to_owned() } else { format!("all {all} limits") }
        )
    } else {
        // A void study makes the command exit with a different code.
        let passes = if result.verdict == Verdict::Void {
            ""
        } else {
            "; an undecided gate does not fail (exit code 0)"
        };
        format!("not decided: {candidate} is not shown to exceed any of {}{rest}{passes}", limits(all))
    }
}

/// The finding that withholds the change of a limit, with its remedy; none if no finding does.
fn withheld_because(result: &GateResult, limit: &GateLimit) -> Option<String> {
    let [reference, candidate] = ["reference", "candidate"].map(|copy| format!("{}.{copy}", limit.arm));
    let (arm, compared_with) = match &result.stored_reference {
        Some(_) => (limit.arm.as_str(), None),
        None => (candidate.as_str(), Some(reference.as_str())),
    };
    let withholds = |finding: &&Finding| {
        let load = finding.load.as_deref();
        finding.withholds_number(&Place { arm, compared_with, load, measure: limit.measure.measure() })
    };
    let finding = result.findings.iter().find(withholds)?;
    Some(format!("{}. {}", finding.message, capitalised(&finding.advice)))
}

/// A sentence for each limit that did not pass, failures first.
pub(crate) fn sentences(result: &GateResult) -> Vec<String> {
    let of = |outcome| result.limits.iter().filter(move |limit| limit.outcome == outcome);
    let kinds = [GateOutcome::Failed, GateOutcome::Undecided, GateOutcome::Unknown];
    kinds.into_iter().flat_map(of).map(|limit| sentence(result, limit)).collect()
}

/// One limit in a sentence.
pub(crate) fn sentence(result: &GateResult, limit: &GateLimit) -> String {
    let GateLimit { arm, limit: text, .. } = limit;
    let measure = limit.measure.name();
    if result.does_other_work(arm) {
        let change = limit.change_share.as_ref().map_or_else(
            || "by an unknown share".to_owned(),
            |change| format!("by {}", percent_difference(change)),
        );
        return format!(
            "`{arm}`: {measure} changes {change}, but for different work, so `{text}` is not met; if the answers are meant to differ, \
             `hoptax compare` shows what they cost"
        );
    }
    let Some(change) = &limit.change_share else {
        if let Some(reason) = &limit.unknown_because {
            return format!("`{arm}`: {measure} is not known, so `{text}` is unknown: {reason}");
        }
        return format!(
            "`{arm}`: {measure} is withheld or was not measured, so `{text}` is unknown; the findings of the study say why"
        );
    };
    let change = percent_difference(change);
    match limit.outcome {
        GateOutcome::Failed => format!("`{arm}`: {measure} changes by {change}: beyond the limit `{text}`"),
        GateOutcome::Passed => format!("`{arm}`: {measure} changes by {change}, within `{text}`"),
        GateOutcome::Undecided | GateOutcome::Unknown => {
            format!(
                "`{arm}`: {measure} changes by {change}, so `{text}` is undecided; {}",
                remedy(result, limit)
            )
        }
    }
}

/// Returns the remedy for an undecided limit.
fn remedy(result: &GateResult, limit: &GateLimit) -> String {
    match more_rounds::within_reach(limit.rounds_until_decided) {
        Some(rounds) => format!(
            "`--rounds {rounds}` probably decides it, {} are measured: {} more",
            result.rounds,
            more_rounds::time(rounds, result.rounds, result.wall_seconds)
        ),
        None => match &result.stored_reference {
            Some(reference) => format!(
                "{} stored runs of the reference say too little about how sittings differ: store more, widen the limit, or measure side by \
                 side with `--candidate`",
                reference.runs.len()
            ),
            None => "more rounds are out of reach: use a quieter machine or a wider limit".to_owned(),
        },
    }
}

/// All limits, and those of the A/A arm.
pub(crate) fn table(result: &GateResult) -> Table {
    let digits = |limit: &GateLimit| {
        let reference = limit.reference?;
        let half_width = limit
            .change_share
            .map_or(reference, |change| scaled(change.times(reference), limit.measure).half_width());
        Some(decimals(half_width))
    };
    let row = |limit: &GateLimit, name: String| {
        // All rows about one number write it alike.
        let is_same = |other: &&GateLimit| (&other.arm, other.measure) == (&limit.arm, limit.measure);
        let about_it = result.limits.iter().chain(&result.same).filter(is_same);
        let digits = about_it.filter_map(digits).max();
        let level = limit.reference.zip(digits);
        let level = level.map(|(level, digits)| grouped(level * unit(limit.measure), digits));
        let cells = vec![
            limit.limit.clone(),
            limit.measure.words().to_owned(),
            or_dash(level),
            or_dash(limit.change_share.as_ref().map(percent_difference)),
            limit.outcome.as_str().to_owned(),
        ];
        (name, cells)
    };
    let own = result.limits.iter().map(|limit| row(limit, limit.arm.clone()));
    let same = result.same.iter().map(|limit| row(limit, format!("{} (A/A)", limit.arm)));
    let headings = ["arm", "limit", "measure", "reference", "change", "outcome"];
    let measures: Vec<CostMeasure> = result.limits.iter().map(|limit| limit.measure).collect();
    let loads = at_loads(&result.loads, &measures);
    let title = format!("limits, and how much each measure changes from the reference{loads}");
    Table::of_words(title, headings, own.chain(same)).with_words(&["limit", "measure", "outcome"])
}

/// How limits are judged, and which arms were left out.
pub(crate) fn method(result: &GateResult) -> Vec<String> {
    let mut lines = vec![format!(
        "failed: the whole interval lies beyond the limit; passed: within it; undecided: neither. All intervals hold together \
         with a confidence of {} (Bonferroni). {}",
        percent(result.confidence, 0),
        compared(result)
    )];
    lines.extend(result.stored_reference.iter().flat_map(caveats));
    if !result.unchanged.is_empty() {
        lines.push(format!(
            "not measured, because the candidate does not change them: {}",
            result.unchanged.join(", ")
        ));
    }
    lines
}

/// Returns a sentence on the comparison of candidate and reference.
fn compared(result: &GateResult) -> String {
    match &result.stored_reference {
        None => format!(
            "{} interleaved rounds; the A/A arm is a second copy of the first arm, and its true change is zero",
            result.rounds
        ),
        Some(reference) => {
            let day = |run: Option<&ReferenceRun>| {
                run.and_then(|run| run.started_at.split('T').next()).unwrap_or_default().to_owned()
            };
            let largest = result.limits.iter().filter_map(|limit| limit.between_sittings_share);
            format!(
                "{}, compared with {} labelled `{}` of {} to {}. The intervals include what differs between \
                 sittings on this machine, a standard deviation of up to {}; side by side (`--candidate`) it would cancel",
                counted(result.rounds.into(), "round"),
                counted(reference.runs.len() as u64, "stored run"),
                reference.label,
                day(reference.runs.first()),
                day(reference.runs.last()),
                percent(largest.fold(0.0, f64::max), 1)
            )
        }
    }
}

/// Returns the weaknesses of a stored reference.
fn caveats(reference: &StoredReference) -> Vec<String> {
    let mut lines = Vec::new();
    if reference.shortest_gap_seconds.is_some_and(|gap| gap < SITTING_SECONDS) {
        lines.push(
            "some runs of the reference began within an hour of each other: they may differ less than sittings do, and the intervals may \
             be too narrow"
                .to_owned(),
        );
    }
    if !reference.left_out.is_empty() {
        lines.push(format!("not compared with: {}", reference.left_out.join("; ")));
    }
    lines
}

#[cfg(test)]
pub(crate) mod fixture {
    use hoptax_result::{Environment, GateBody, Interval};

    use super::*;

    fn limit(
        arm: &str,
        text: &str,
        measure: CostMeasure,
        change: Option<(f64, f64)>,
        outcome: GateOutcome,
    ) -> GateLimit {
        let change_share = change.map(|(estimate, half_width)| Interval::around(estimate, half_width));
        GateLimit {
            arm: arm.to_owned(),
            limit: text.to_owned(),
            measure,
            limit_share: 0.03,
            reference: change.map(|_| if measure == CostMeasure::CpuUs { 52.4 } else { 812.0 }),
            change_share,
            outcome,
            unknown_because: None,
            between_sittings_share: None,
            rounds_until_decided: (outcome == GateOutcome::Undecided).then_some(40),
        }
    }

    /// A gate of two arms with two limits: one fails, one passes, one is undecided and one unknown.
    pub(crate) fn gate() -> GateResult {
        let (cpu, p99) = (CostMeasure::CpuUs, CostMeasure::ResponseP99Us);
        let body = GateBody {
            study: "edge-gate".to_owned(),
            candidate: "envoy=1.41.0".to_owned(),
            stored_reference: None,
            confidence: 0.95,
            rounds: 12,
            wall_seconds: 96.0,
            loads: crate::fixture::study().body.plan.loads,
            limits: vec![
                limit("baseline", "cpu>+3%", cpu, Some((0.052, 0.011)), GateOutcome::Failed),
                limit("baseline", "p99>+10%", p99, Some((0.06, 0.09)), GateOutcome::Undecided),
                limit("lua<&>", "cpu>+3%", cpu, Some((0.004, 0.013)), GateOutcome::Passed),
                limit("lua<&>", "p99>+10%", p99, None, GateOutcome::Unknown),
            ],
            same: vec![limit("baseline", "cpu>+3%", cpu, Some((-0.001, 0.012)), GateOutcome::Passed)],
            unchanged: vec!["pinned".to_owned()],
            answer_differences: Vec::new(),
        };
        GateResult::new(Environment::default(), body)
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{AnswerDifference, Interval, Measure, Measured, Severity};

    use super::*;

    #[test]
    fn a_stored_reference_is_named_with_what_weakens_it() {
        let mut result = fixture::gate();
        let run = |run: i64, started_at: &str| ReferenceRun {
            run,
            started_at: started_at.to_owned(),
            proxy_version: Some("1.40.0".to_owned()),
        };
        result.candidate = "Envoy 1.41.0".to_owned();
        result.stored_reference = Some(StoredReference {
            label: "nightly".to_owned(),
            runs: vec![
                run(3, "2026-11-01T02:00:00Z"),
                run(5, "2026-11-01T02:30:00Z"),
                run(9, "2026-11-04T02:00:00Z"),
            ],
            left_out: vec!["run 7: it is void".to_owned()],
            shortest_gap_seconds: Some(1_800.0),
        });
        result.limits[0].between_sittings_share = Some(0.021);
        result.limits[1].rounds_until_decided = None;
        result.unchanged.clear();
        let text = [vec![outcome(&result)], sentences(&result), method(&result)].concat().join("\n");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn all_rows_about_one_number_write_it_with_the_digits_of_the_narrowest_interval() {
        let mut result = fixture::gate();
        result.limits[0].change_share = Some(Interval::around(0.5, 0.3));
        let table = table(&result);
        for name in ["baseline", "baseline (A/A)"] {
            assert_eq!(table.texts_of(name)[2], "52.40", "{name}");
        }
    }

    #[test]
    fn other_answers_are_stated_first() {
        let mut result = fixture::gate();
        result.answer_differences = vec![AnswerDifference {
            arm: "lua<&>".to_owned(),
            differences: vec!["status 403 instead of status 200".to_owned()],
        }];
        let first = "failed: envoy=1.41.0 answers differently from the reference in lua<&>: status 403 instead of status 200";
        assert_eq!(outcome(&result), first);
        result.limits.retain(|limit| limit.outcome == GateOutcome::Passed);
        result.limits[0].outcome = GateOutcome::Failed;
        assert_eq!(outcome(&result), first);
        let sentence = sentences(&result).concat();
        assert!(
            sentence.contains("by +0.4 ±1.3 %, but for different work, so `cpu>+3%` is not met"),
            "{sentence}"
        );
    }

    #[test]
    fn a_reason_that_no_finding_gives_is_in_the_sentences() {
        let mut result = fixture::gate();
        result.limits[3].unknown_because = Some("too quiet".to_owned());
        let unknown = "`lua<&>`: p99 of response time is not known, so `p99>+10%` is unknown: too quiet";
        assert_eq!(sentences(&result).last().map(String::as_str), Some(unknown));
        result.limits.drain(..3);
        assert_eq!(outcome(&result), "unknown: no number of envoy=1.41.0 is available: too quiet");
    }

    #[test]
    fn a_gate_without_numbers_states_first_which_check_withholds_them_and_the_remedy() {
        let mut result = fixture::gate();
        result.limits.drain(..3);
        let withheld = |arm: &str, measure: Measure, message: &str| {
            let measured = Measured::us(1.0, 0.0);
            let one = Finding::new("x", Severity::Fail, measured, message.to_owned(), "stop other work");
            Finding { arm: Some(arm.to_owned()), measures: vec![measure], withholds: true, ..one }
        };
        result.findings = vec![
            withheld("lua<&>.again", Measure::ResponseP99, "of the A/A arm"),
            withheld("lua<&>.candidate", Measure::Cpu, "of another measure"),
            withheld("lua<&>.reference", Measure::ResponseP99, "the proxy waited"),
        ];
        assert_eq!(
            outcome(&result),
            "unknown: no number of envoy=1.41.0 is available: the proxy waited. Stop other work"
        );
        result.findings.truncate(2);
        assert!(outcome(&result).ends_with("see the findings of the study"), "{}", outcome(&result));
    }

    #[test]
    fn the_first_sentence_is_the_outcome() {
        let mut result = fixture::gate();
        assert_eq!(outcome(&result), "failed: envoy=1.41.0 exceeds 1 of 4 limits, 1 undecided, 1 unknown");
        result.limits.remove(0);
        assert_eq!(
            outcome(&result),
            "not decided: envoy=1.41.0 is not shown to exceed any of 3 limits, 1 undecided, 1 unknown; an undecided gate does not fail (exit code 0)"
        );
        result.verdict = Verdict::Void;
        assert!(!outcome(&result).contains("exit code"), "{}", outcome(&result));
        result.limits.retain(|limit| limit.outcome == GateOutcome::Passed);
        assert_eq!(outcome(&result), "passed: envoy=1.41.0 is within the limit");
        result.limits[0].outcome = GateOutcome::Unknown;
        assert!(outcome(&result).starts_with("unknown: "), "{}", outcome(&result));
    }
}
