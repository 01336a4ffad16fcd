//! Sentences about the agents of a load.

use hoptax_result::AgentOutcome;

#[test]
fn a_sentence_has_one_verb() {
    let silent = AgentOutcome::Silent.sentence("a", "it sent nothing for 5 s");
    assert_eq!(silent, "agent `a` fell silent: it sent nothing for 5 s");
    assert_eq!(AgentOutcome::Failed.sentence("a", "no route"), "agent `a` failed: no route");
    let refused = AgentOutcome::Failed.sentence("a", "it serves another controller");
    assert_eq!(refused, "agent `a` serves another controller");
}
