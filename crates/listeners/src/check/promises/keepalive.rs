//! Promise that an idle connection to an upstream is closed after `keepalive`, before the server closes it.

use std::cmp::Ordering;

use hoptax_result::PromiseKind;

use super::{Subject, compared, seconds, too_long};
use crate::check::{Course, Judged, Procedure, Promise, Seen, Trial};

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    if !subject.is_of_cluster {
        return None;
    }
    let options = &subject.cluster.options;
    let keepalive = options.keepalive;
    let said = format!("an idle connection to the upstream ends after {}", keepalive.in_seconds());
    let obstacle = (options.max_requests_per_connection == 1)
        .then(|| "`max_requests_per_connection` leaves no connection idle".to_owned())
        .or_else(|| subject.other_connections())
        .or_else(|| too_long(keepalive.us));
    Some(Promise::new(PromiseKind::Keepalive, said, obstacle, Idle { ends_us: keepalive.us }))
}

/// The proxy closes the connection after this time.
#[derive(Debug)]
struct Idle {
    ends_us: u64,
}

impl Trial for Idle {
    fn procedure(&self) -> Procedure {
        Procedure::Idle { waits_us: self.ends_us }
    }

    fn judge(&self, _course: &Course, seen: &Seen) -> Judged {
        if seen.arrivals.is_empty() {
            return Judged::retryable(format!("{}, and nothing arrives", seen.response()));
        }
        let Some(idle_us) = seen.idle_us else {
            return Judged::retryable(format!("it is still open after {}", seconds(seen.took_us)));
        };
        let words = format!("it ends after {}", seconds(idle_us));
        match compared(idle_us, &(self.ends_us..=self.ends_us)) {
            Ordering::Equal => Judged::Kept(seconds(idle_us)),
            Ordering::Less => Judged::broken(words),
            Ordering::Greater => Judged::retryable(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{is_kept, procedure, seen};
    use super::*;

    #[test]
    fn a_connection_ends_neither_early_nor_late_nor_never() {
        let idle = Idle { ends_us: 1_000_000 };
        let with = |idle_us| Seen { idle_us, ..seen(200, 2_000_000, 1) };
        let kept = |us: u64| is_kept(&idle, &with(Some(us)));
        assert_eq!([0, 980_000, 995_000, 1_090_000, 1_110_000].map(kept), [false, false, true, true, false]);
        assert!(!is_kept(&idle, &with(None)));
        assert!(!is_kept(&idle, &Seen { arrivals: Vec::new(), ..with(Some(1_000_000)) }));
    }

    #[test]
    fn a_connection_of_one_request_is_never_idle() {
        let trial = |keys: &str| procedure(PromiseKind::Keepalive, &format!("timeout: 1s, {keys}"));
        assert_eq!(trial(""), Ok(Procedure::Idle { waits_us: 4_500_000 }));
        assert!(trial("max_requests_per_connection: 1, ").is_err());
        assert!(trial("keepalive: 10m, ").is_err());
        assert!(trial("http2: true, ").unwrap_err().contains("speaks HTTP/2"));
    }
}
