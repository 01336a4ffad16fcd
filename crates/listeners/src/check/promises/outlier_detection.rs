//! Promise that a server which fails as often as `outlier_detection` states gets no requests for `base_ejection_time`, and then gets
//! requests again.
//!
//! It is tried with a second, working server: if more than half of the servers are ejected, Envoy sends requests to all of them. A server
//! returns at the first check, one per `interval`, after its ejection time. Envoy informs its workers of ejections once a second
//! (`update_merge_window`), so both the ejection and the return take effect up to a second late. Each further ejection lasts longer, so
//! there is only one trial.

use hoptax_result::{PromiseKind, counted};

use super::{EARLY_US, Subject, seconds, too_long};
use crate::check::{Course, Ejected, Judged, Procedure, Promise, Seen, Trial};
use crate::file::Duration;

/// Maximum number of failures.
const MOST_FAILURES: u32 = 1000;
/// How much later than promised a server may get a request again, microseconds, and as a share of the time. The trial cannot be repeated on
/// a busy machine.
const LATE_US: u64 = 1_000_000;
const LATE_SHARE: u64 = 10;
/// Time until the workers are informed, microseconds; the same with a margin for a busy machine; and the shortest distinguishable ejection.
const TOLD_US: u64 = 1_000_000;
const SETTLES_US: u64 = 1_300_000;
const SHORTEST_US: u64 = 2_000_000;

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    let outlier = subject.cluster.options.outlier_detection.as_ref().filter(|_| subject.is_of_cluster)?;
    let (failures, base) = (outlier.consecutive_5xx, outlier.base_ejection_time);
    let within = Duration { us: outlier.interval.us.saturating_add(TOLD_US) };
    let to_us = base.us.saturating_add(within.us);
    let said = format!(
        "a server that fails {} in a row gets no request for {}, and the next one within {} after that",
        counted(u64::from(failures), "time"),
        base.in_seconds(),
        within.in_seconds()
    );
    let obstacle = if subject.share < 100 {
        Some("too few requests belong to a share".to_owned())
    } else if failures > MOST_FAILURES {
        Some(format!("it needs {failures} failures, but a check causes {MOST_FAILURES} at most"))
    } else if base.us < SHORTEST_US {
        let base = base.in_seconds();
        Some(format!("{base} is too short, because Envoy takes up to a second to inform its workers"))
    } else {
        too_long(to_us)
    };
    let trial = Ejection { failures, from_us: base.us, to_us };
    Some(Promise::new(PromiseKind::OutlierDetection, said, obstacle, trial))
}

/// The server fails this often, and gets a request again within this time, microseconds.
#[derive(Debug)]
struct Ejection {
    failures: u32,
    from_us: u64,
    to_us: u64,
}

impl Trial for Ejection {
    fn procedure(&self) -> Procedure {
        Procedure::Ejection { failures: self.failures, settles_us: SETTLES_US, waits_us: self.to_us }
    }

    fn judge(&self, _course: &Course, seen: &Seen) -> Judged {
        let Some(Ejected { failures, again_us }) = seen.ejected else {
            return Judged::Untried(format!(
                "no request arrives at the server that fails: {}",
                seen.response()
            ));
        };
        let failed = counted(u64::from(failures), "failure");
        if failures < self.failures {
            return Judged::broken(format!("it gets no request after {failed}"));
        }
        let Some(again_us) = again_us else {
            return Judged::broken(format!("it gets no request in {} after {failed}", seconds(seen.took_us)));
        };
        let words = format!("it gets a request {} after {failed}", seconds(again_us));
        let latest_us = self.to_us + LATE_US + self.to_us / LATE_SHARE;
        if (self.from_us.saturating_sub(EARLY_US)..=latest_us).contains(&again_us) {
            Judged::Kept(format!("{}, after {failed}", seconds(again_us)))
        } else {
            Judged::broken(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{course, is_kept, promises, seen};
    use super::*;

    #[test]
    fn a_server_is_left_out_neither_early_nor_late_nor_for_another_time() {
        let trial = Ejection { failures: 3, from_us: 2_000_000, to_us: 2_500_000 };
        let with =
            |failures, again_us| Seen { ejected: Some(Ejected { failures, again_us }), ..seen(503, 1, 9) };
        let kept = |again_us| is_kept(&trial, &with(3, Some(again_us)));
        assert_eq!(
            [20_000, 1_980_000, 1_995_000, 2_500_000, 3_700_000, 3_800_000].map(kept),
            [false, false, true, true, true, false]
        );
        assert!(!is_kept(&trial, &with(3, None)) && !is_kept(&trial, &with(2, None)));
        assert!(matches!(trial.judge(&course(), &seen(200, 1, 9)), Judged::Untried(_)));
    }

    #[test]
    fn only_a_stated_detection_is_tried_and_only_if_it_can_be() {
        let waits = |keys: &str| {
            let promise = promises(PromiseKind::OutlierDetection, &format!("timeout: 1s, {keys}")).pop()?;
            Some(promise.trial.map(|trial| trial.procedure().waits_us()))
        };
        assert_eq!(waits(""), None);
        assert_eq!(waits("outlier_detection: {}, "), Some(Ok(41_000_000)));
        let why = |keys: &str| waits(&format!("outlier_detection: {{{keys}}}, ")).unwrap().unwrap_err();
        assert!(why("base_ejection_time: 1s").contains("too short"));
        assert!(why("base_ejection_time: 10m").contains("longer than"));
        assert!(why("consecutive_5xx: 2000").contains("2000 failures"));
    }
}
