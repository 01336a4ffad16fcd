//! Sums of the parts of a bill as text: the decision if they add up, and the parts that interact.

use hoptax_result::{BillResult, BilledPair, BilledSecondStudy, BilledSum, Decision, Interval, Verdict};

use crate::more_rounds;
use crate::numbers::{counted, difference, grouped, level, percent_difference};

/// Returns sentences on the sum in the second study, compared with that of the first, and on each pair.
pub(super) fn second_study(found: &BilledSecondStudy, first: Option<&BilledSum>) -> Vec<String> {
    if found.verdict == Verdict::Void {
        return vec![format!(
            "the second study is void, so it neither confirms this nor says which parts interact: see `{}/report.html`",
            BillResult::SECOND_STUDY
        )];
    }
    let mut lines = vec![found.sum.as_ref().map_or_else(
        || {
            format!(
                "a second study of {} does not say whether the parts add up: one of its numbers is withheld, see `{}/report.html`",
                counted(found.rounds.into(), "round"),
                BillResult::SECOND_STUDY
            )
        },
        |again| second_sum(again, first, found.rounds),
    )];
    lines.extend(found.pairs.iter().map(|one| pair(one, found.rounds)));
    if let Some(pairs_us) = &found.pairs_us {
        // An interval that contains zero may also contain the whole difference.
        let is_disjoint = |all: &Interval| pairs_us.high < all.low || pairs_us.low > all.high;
        let leaves_a_rest = found
            .sum
            .as_ref()
            .is_some_and(|sum| sum.decision == Decision::Different && is_disjoint(&sum.interaction_us));
        let elsewhere = if leaves_a_rest {
            "; the rest comes from other pairs, or from three parts or more together"
        } else {
            ""
        };
        lines.push(format!(
            "the measured pairs explain {} us of the difference that the second study finds{elsewhere}",
            difference(pairs_us)
        ));
    }
    lines
}

fn pair(pair: &BilledPair, rounds: u32) -> String {
    let [one, other] = &pair.parts;
    let Some(sum) = &pair.sum else {
        let reason = pair.not_measured.as_deref().unwrap_or("its numbers are withheld");
        return format!("{one} and {other}: not measured together: {reason}");
    };
    let costs = format!(
        "{one} and {other} cost {} us one by one and {} us together",
        difference(&sum.parts_us),
        difference(&sum.together_us)
    );
    let less = sum.interaction_us.estimate > 0.0;
    let by = level(&sum.interaction_us.times(if less { 1.0 } else { -1.0 }));
    let margin = 100.0 * BilledSum::MARGIN_SHARE;
    let meaning = match (sum.decision, less) {
        (Decision::Equivalent, _) if sum.interaction_us.contains(0.0) => "they add up".to_owned(),
        (Decision::Equivalent, _) => format!(
            "difference {} us: they interact by less than {margin} % of the whole",
            difference(&sum.interaction_us),
            margin = grouped(margin, 0)
        ),
        (Decision::Different, true) => {
            format!("together {by} us less than apart: each makes the other more expensive")
        }
        (Decision::Different, false) => format!("together {by} us more than apart: they share work"),
        (Decision::Undecided, _) => {
            format!(
                "difference {} us: more rounds are needed to say whether they add up{}",
                difference(&sum.interaction_us),
                remedy(sum, rounds)
            )
        }
    };
    format!("{costs}: {meaning}")
}

/// Returns the remedy for an undecided sum, worded to continue a sentence; `rounds` is the number of measured rounds.
fn remedy(sum: &BilledSum, rounds: u32) -> String {
    match more_rounds::within_reach(sum.rounds_until_decided) {
        // A resumed study cannot have fewer rounds than before.
        Some(needed) => format!(", about {needed} in all: `--rounds {}`", needed.max(rounds)),
        None => format!(", more than the {} that a bill can have: use a quieter machine", more_rounds::MOST),
    }
}

/// Returns a sentence on the sum of the parts, with its decision.
pub(super) fn sum(whose: &str, sum: &BilledSum, rounds: u32) -> String {
    let costs = format!(
        "{whose} cost {} us one by one and {} us together; difference {} us, {} of the whole",
        difference(&sum.parts_us),
        difference(&sum.together_us),
        difference(&sum.interaction_us),
        percent_difference(&sum.interaction_share),
    );
    let margin = 100.0 * BilledSum::MARGIN_SHARE;
    let meaning = match (sum.decision, sum.interaction_us.estimate > 0.0) {
        (Decision::Equivalent, _) => {
            format!("they add up within {margin} % of the whole", margin = grouped(margin, 0))
        }
        (Decision::Different, true) => "an interaction: parts make each other more expensive".to_owned(),
        (Decision::Different, false) => {
            "an interaction: parts share work, which is left if only one of them is removed".to_owned()
        }
        (Decision::Undecided, _) => {
            let remedy = remedy(sum, rounds);
            format!(
                "more rounds are needed to say whether they add up within {margin} % of the whole{remedy}",
                margin = grouped(margin, 0)
            )
        }
    };
    format!("{costs}: {meaning}")
}

/// The sum in the second study, and if it confirms that of the first.
fn second_sum(again: &BilledSum, first: Option<&BilledSum>, rounds: u32) -> String {
    let first = first.filter(|first| first.decision == Decision::Different);
    let judgement = first.and_then(|first| {
        let is_same_sign = (first.interaction_us.estimate > 0.0) == (again.interaction_us.estimate > 0.0);
        match (again.decision, again.interaction_us.contains(0.0)) {
            (Decision::Undecided, _) => None,
            (_, true) => Some("does not confirm this"),
            (_, false) if !is_same_sign => Some("contradicts this"),
            (Decision::Equivalent, false) => Some("confirms this, but finds it small"),
            (Decision::Different, false) => Some("confirms this"),
        }
    });
    let of_rounds = counted(rounds.into(), "round");
    let they = match judgement {
        Some(judgement) => format!("a second study of {of_rounds} {judgement}: they"),
        None => format!("in a second study of {of_rounds}, they"),
    };
    sum(&they, again, rounds)
}
