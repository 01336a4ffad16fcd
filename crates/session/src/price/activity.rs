//! Determines from Envoy's statistics if a part acted on the requests of a try.

use hoptax_bootstrap::parts::Part;
use hoptax_result::Activity;

use crate::price::try_out::Answers;

/// Determines if a part acted on the requests to the whole. `without` has the responses to the same requests without the part; None if that
/// could not be tried.
///
/// **Rule.** A part acted if one of its statistics moves less without the part. Movement alone is no evidence: filters of one type share
/// the statistics of their connection manager, and all access logs share those of writing to files. If the whole could not be tried without
/// the part, only the movement is known.
pub(crate) fn activity(part: &Part, whole: &Answers, without: Option<&Answers>) -> Activity {
    let exercised_by = part.exercised_by.clone();
    if part.proof.is_empty() {
        return Activity::Unknown { exercised_by };
    }
    let by = |answers: &Answers, statistic: &String| {
        answers.answer.statistics.get(statistic).copied().unwrap_or_default()
    };
    let tells =
        |statistic: &&&String| without.is_none_or(|without| by(without, statistic) < by(whole, statistic));
    match part.moved(whole.answer.statistics.keys()).iter().find(tells) {
        Some(statistic) => Activity::Exercised { statistic: (*statistic).clone() },
        None => Activity::NotExercised { statistics: part.proof.clone(), exercised_by },
    }
}

#[cfg(test)]
mod tests {
    use hoptax_bootstrap::parts::PartKind;
    use hoptax_result::Answer;

    use super::*;
    use crate::price::arm::tests::part;

    fn answers(moved: &[(&str, u64)]) -> Answers {
        let statistics = moved.iter().map(|(name, by)| ((*name).to_owned(), *by)).collect();
        let answer = Answer { statuses: [(200, 10)].into(), statistics, ..Answer::default() };
        Answers { answer, failures: [].into() }
    }

    fn with_proof(pattern: &str) -> Part {
        Part {
            proof: vec![pattern.to_owned()],
            exercised_by: Some("a script".to_owned()),
            ..part(PartKind::HttpFilter, "one")
        }
    }

    #[test]
    fn a_part_that_shares_a_statistic_acted_only_if_it_moves_less_without_it() {
        let lua = with_proof("http.edge.lua.*executions");
        let whole = answers(&[("http.edge.lua.executions", 10), ("http.edge.rq", 10)]);
        let exercised = Activity::Exercised { statistic: "http.edge.lua.executions".to_owned() };
        // Without the script that acts, the statistic does not move, or less if others act, too.
        for moved in [&[][..], &[("http.edge.lua.executions", 9)]] {
            assert_eq!(activity(&lua, &whole, Some(&answers(moved))), exercised, "{moved:?}");
        }
        let idle = activity(&lua, &whole, Some(&whole));
        assert!(matches!(idle, Activity::NotExercised { .. }), "{idle:?}");
        assert_eq!(activity(&lua, &whole, None), exercised, "not tried without it");
    }

    #[test]
    fn what_would_exercise_a_part_is_said_of_idle_ones_and_of_those_without_a_statistic() {
        let by = Some("a script".to_owned());
        let lua = with_proof("http.edge.lua.*executions");
        let statistics = lua.proof.clone();
        let none = answers(&[]);
        let idle = Activity::NotExercised { statistics, exercised_by: by.clone() };
        assert_eq!(activity(&lua, &none, Some(&none)), idle);
        let unknown = Part { proof: Vec::new(), ..lua };
        assert_eq!(activity(&unknown, &none, None), Activity::Unknown { exercised_by: by });
    }
}
