//! Sittings must be so far apart that each finds the machine in a state of its own, since their intervals are taken over these states.

use hoptax_result::{Finding, Measured, Severity, SittingRecord, StudyResult, counted};

use crate::check::Check;
use crate::thresholds;

/// A sitting began soon after another one.
pub(super) const CLOSE: Check<StudyResult> = Check {
    id: "close-sittings",
    protects_from: "sittings that share one state of the machine, read as if they showed how much it varies",
    source: "own",
    judge: |result, limits| {
        let least_minutes = limits.value(&thresholds::SITTINGS_APART_HOURS) * 60.0;
        let gaps = (1..result.sittings.len()).filter_map(|next| Gap::before(&result.sittings, next));
        let close: Vec<Gap> = gaps.filter(|gap| gap.minutes < least_minutes).collect();
        let Some(closest) = close.iter().map(|gap| gap.minutes).reduce(f64::min) else {
            return Vec::new();
        };
        let pairs: Vec<String> = close.iter().map(Gap::in_words).collect();
        let message = format!(
            "{}; close sittings share a state of the machine, so they may differ less than sittings do, and intervals may be too narrow \
             for the machine",
            pairs.join(", ")
        );
        let advice = "measure sittings hours apart (`hoptax study NAME --again`), or take the intervals for the time of these sittings \
                      alone";
        let measured = Measured::count(closest.max(0.0).floor(), least_minutes, "minutes");
        vec![Finding::new("close-sittings", Severity::Warn, measured, message, advice)]
    },
    withhold: None,
};

/// The time between two sittings.
struct Gap {
    /// The number of the sitting that ended.
    ended: usize,
    /// The number of the one that began.
    began: usize,
    /// The time from the end to the begin, minutes; negative if the sittings overlap.
    minutes: f64,
}

impl Gap {
    /// The time before the sitting with this index, from the latest end of those that began earlier: one that was resumed may end after
    /// others. None if no end is known.
    fn before(sittings: &[SittingRecord], next: usize) -> Option<Self> {
        let began = sittings.get(next)?;
        let gap = |(ended, one): (usize, &SittingRecord)| {
            Some(Self { ended: ended + 1, began: next + 1, minutes: minutes_apart(one, began)? })
        };
        let gaps = sittings.iter().enumerate().take(next).filter_map(gap);
        gaps.min_by(|one, other| one.minutes.total_cmp(&other.minutes))
    }

    /// When the second sitting began.
    fn in_words(&self) -> String {
        let Self { ended, began, minutes } = self;
        if *minutes < 0.0 {
            format!("sitting {began} began before the end of sitting {ended}")
        } else {
            format!(
                "sitting {began} began {} after the end of sitting {ended}",
                counted(*minutes as u64, "minute")
            )
        }
    }
}

/// The time from the end of a sitting to the begin of another, minutes. None if one of these is not known.
fn minutes_apart(one: &SittingRecord, next: &SittingRecord) -> Option<f64> {
    let ended = humantime::parse_rfc3339(one.ended_at.as_deref()?).ok()?;
    let began = humantime::parse_rfc3339(&next.started_at).ok()?;
    let apart_s = match began.duration_since(ended) {
        Ok(apart) => apart.as_secs_f64(),
        Err(overlap) => -overlap.duration().as_secs_f64(),
    };
    Some(apart_s / 60.0)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Loosened, Severity, SittingRecord, StudyResult, Verdict, sample};

    use crate::judge_sittings;
    use crate::study::tests::sound;

    /// Sound numbers of sittings that began and ended at these times of one day.
    fn sittings(times: &[(&str, &str)]) -> StudyResult {
        let at = |time: &str| format!("2026-11-01T{time}:00Z");
        let sitting = |(began, ended): &(&str, &str)| SittingRecord {
            started_at: at(began),
            ended_at: Some(at(ended)),
            ..sample::sitting(10)
        };
        let mut result = sound();
        result.sittings = times.iter().map(sitting).collect();
        result
    }

    fn judged(mut result: StudyResult) -> StudyResult {
        judge_sittings(&mut result);
        result
    }

    #[test]
    fn sittings_twenty_minutes_apart_warn_and_two_hours_apart_do_not() {
        let close = judged(sittings(&[("09:00", "10:00"), ("10:20", "11:20")]));
        let [finding] = &close.findings[..] else { panic!("{:?}", close.findings) };
        assert_eq!((finding.id.as_str(), finding.severity), ("close-sittings", Severity::Warn));
        assert_eq!((finding.value, finding.threshold, finding.unit.as_str()), (20.0, 60.0, "minutes"));
        assert!(
            finding.message.starts_with("sitting 2 began 20 minutes after the end of sitting 1; "),
            "{finding:?}"
        );
        assert_eq!(close.verdict, Verdict::Caution);
        let apart = judged(sittings(&[("09:00", "10:00"), ("12:00", "13:00")]));
        assert_eq!((apart.findings, apart.verdict), (Vec::new(), Verdict::Sound));
    }

    #[test]
    fn every_sitting_close_to_the_one_before_it_is_named() {
        let times = [
            ("08:00", "09:00"),
            ("09:00", "10:00"),
            ("12:00", "14:30"),
            ("14:00", "15:00"),
            ("16:00", "17:00"),
        ];
        let result = judged(sittings(&times));
        let [finding] = &result.findings[..] else { panic!("{:?}", result.findings) };
        let named = "sitting 2 began 0 minutes after the end of sitting 1, sitting 4 began before the end of sitting 3; ";
        assert!(finding.message.starts_with(named), "{finding:?}");
        assert!(finding.value.abs() < 1e-9, "{finding:?}");
    }

    #[test]
    fn a_sitting_close_to_the_end_of_one_that_was_resumed_is_named() {
        // The first was halted for hours, in which the second was measured.
        let result = judged(sittings(&[("01:00", "12:00"), ("04:00", "05:00"), ("12:10", "13:00")]));
        let [finding] = &result.findings[..] else { panic!("{:?}", result.findings) };
        let named = "sitting 2 began before the end of sitting 1, sitting 3 began 10 minutes after the end of sitting 1; ";
        assert!(finding.message.starts_with(named), "{finding:?}");
    }

    #[test]
    fn a_loosened_threshold_or_an_unknown_time_has_no_finding() {
        let close = || sittings(&[("09:00", "10:00"), ("10:20", "11:20")]);
        let mut loose = close();
        let loosened = Loosened { name: "sittings-apart-hours".to_owned(), default: 1.0, value: 0.25 };
        loose.loosened = vec![loosened];
        assert_eq!(judged(loose).findings, []);
        let mut unknown = close();
        unknown.sittings[0].ended_at = None;
        assert_eq!(judged(unknown).findings, []);
        let mut single = close();
        single.sittings.truncate(1);
        assert_eq!(judged(single).findings, []);
    }
}
