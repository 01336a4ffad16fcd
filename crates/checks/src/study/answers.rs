//! Arms that are compared must do the same work.

use hoptax_result::{ArmKind, Finding, Measured, Severity, StudyResult};

use crate::check::Check;

/// An arm must answer like the arm that it is compared with. Comparisons with a baseline are not judged, because a different answer may be
/// a part of the work of a function.
pub(super) const DIFFERENT_ANSWERS: Check<StudyResult> = Check {
    id: "different-answers",
    protects_from: "a cheaper answer that is taken for a cheaper proxy",
    source: "a refused request does less work than one that is passed on",
    judge: |result, _| {
        let found = result.arms.iter().filter_map(|arm| {
            let reference = result.reference_of(arm).filter(|other| other.kind != ArmKind::Baseline)?;
            let (expected, answer) = (reference.answer.as_ref()?, arm.answer.as_ref()?);
            let differences = expected.differences(answer);
            if differences.is_empty() {
                return None;
            }
            // Another body may be the very work of a function, such as compression.
            let is_status = !answer.statuses.keys().eq(expected.statuses.keys());
            let severity = if is_status { Severity::Warn } else { Severity::Info };
            let message =
                format!("`{}` answers differently from `{}`: {}", arm.id, reference.id, differences.join(", "));
            let measured = Measured::count(differences.len() as f64, 0.0, "differences");
            let advice = "their costs are those of different work: send a request that both answer alike, unless you want to price the \
                          other answer";
            let finding = Finding::new("different-answers", severity, measured, message, advice);
            Some(Finding { arm: Some(arm.id.clone()), ..finding })
        });
        found.collect()
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Answer, BodyBytes, Severity, StudyResult};

    use super::super::tests::fired;

    /// Makes all arms answer alike but `lua`, which is compared with `compared_with` and answers as `other` says.
    fn answering(result: &mut StudyResult, compared_with: &str, other: Answer) {
        for arm in &mut result.arms {
            arm.answer = Some(Answer {
                statuses: [(200, 10)].into(),
                body_bytes: Some(BodyBytes::new(5)),
                ..Answer::default()
            });
        }
        result.arms[2].compared_with = Some(compared_with.to_owned());
        result.arms[2].answer = Some(other);
    }

    fn severity(compared_with: &str, status: u16, bytes: u64) -> Option<Severity> {
        let other = Answer {
            statuses: [(status, 10)].into(),
            body_bytes: Some(BodyBytes::new(bytes)),
            ..Answer::default()
        };
        fired("different-answers", |result| answering(result, compared_with, other)).0
    }

    #[test]
    fn an_arm_that_answers_otherwise_than_its_reference_is_named() {
        assert_eq!(severity("same", 403, 5), Some(Severity::Warn));
        assert_eq!(severity("same", 200, 9), Some(Severity::Info), "the work of a function");
        assert_eq!(severity("same", 200, 5), None);
    }

    #[test]
    fn a_function_may_answer_otherwise_than_a_plain_proxy() {
        assert_eq!(severity("baseline", 403, 9), None);
    }
}
