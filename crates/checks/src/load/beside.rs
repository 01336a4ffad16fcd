//! Other loads that the same program sent at the same time.

use hoptax_result::{Finding, LoadResult, Measured, Severity, counted};

use crate::check::Check;

/// A load that was not alone.
pub(super) const OTHER_LOADS: Check<LoadResult> = Check {
    id: "other-loads",
    protects_from: "the effect of other loads from this machine reported as the subject's",
    source: "own: loads of one machine share its processors and its network, and perhaps the subject",
    judge: |result, _| {
        let others = result.loads_beside.unwrap_or(0);
        if others == 0 {
            return Vec::new();
        }
        vec![Finding::new(
            "other-loads",
            Severity::Warn,
            Measured::count(others.into(), 0.0, "loads"),
            format!("`hoptax serve` sent {} at the same time", counted(others.into(), "other load")),
            "send it alone, or compare it only with loads that were sent beside the same ones",
        )]
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Severity, Verdict};

    use crate::load::tests::fired;

    #[test]
    fn a_load_beside_others_warns_and_one_that_was_alone_does_not() {
        let beside = |others: Option<u32>| fired("other-loads", |result| result.loads_beside = others);
        for alone in [None, Some(0)] {
            assert_eq!(beside(alone).0, None, "{alone:?}");
        }
        let (severity, result) = beside(Some(2));
        assert_eq!((severity, result.verdict), (Some(Severity::Warn), Verdict::Caution));
        assert!(result.findings[0].message.contains("2 other loads"), "{:?}", result.findings);
        assert!(result.rate.achieved.is_some(), "the numbers are kept");
    }
}
