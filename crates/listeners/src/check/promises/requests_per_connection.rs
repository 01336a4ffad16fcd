//! Promise that a connection to an upstream is closed after `max_requests_per_connection`.

use hoptax_result::{PromiseKind, counted, grouped};

use super::Subject;
use crate::check::{Course, Judged, Procedure, Promise, Seen, Series, Trial};

/// Maximum number of requests.
const MOST_REQUESTS: u64 = 20_000;
/// Allowance for chance if the requests are routed by a share: additional requests, as a divisor of the expected number and a constant.
const MORE: (u64, u64) = (5, 200);
/// Enough time for all requests, microseconds.
const LASTS_US: u64 = 120_000_000;

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    if !subject.is_of_cluster {
        return None;
    }
    let most = subject.cluster.options.max_requests_per_connection;
    let requests = counted(u64::from(most), "request");
    let said = format!("a connection to the upstream carries {requests}, and the next request opens another");
    let needed = u64::from(most) + 1;
    let sent = match subject.share {
        100 => needed,
        share => {
            let expected = needed * 100 / u64::from(share.max(1));
            expected + expected / MORE.0 + MORE.1
        }
    };
    let obstacle = subject.other_connections().or_else(|| {
        let (sent_at_most, needed) = (grouped(MOST_REQUESTS as f64, 0), grouped(sent as f64, 0));
        (sent > MOST_REQUESTS)
            .then(|| format!("it needs {needed} requests, but a check sends {sent_at_most} at most"))
    });
    let trial = Reuse { most, requests: u32::try_from(sent).unwrap_or(u32::MAX) };
    Some(Promise::new(PromiseKind::RequestsPerConnection, said, obstacle, trial))
}

/// Sends sequential requests, of which each connection may get a limited number.
#[derive(Debug)]
struct Reuse {
    most: u32,
    requests: u32,
}

impl Trial for Reuse {
    fn procedure(&self) -> Procedure {
        Procedure::Series(Series { pause_us: 0, requests: self.requests, pace_us: 0, lasts_us: LASTS_US })
    }

    fn judge(&self, course: &Course, seen: &Seen) -> Judged {
        let here = seen.arrivals.iter().zip(&seen.places);
        let places: Vec<u32> =
            here.filter(|(one, _)| one.cluster == course.cluster).map(|(_, place)| *place).collect();
        let number = |of: u32| grouped(f64::from(of), 0);
        let last = places.iter().copied().max().unwrap_or_default();
        let words = format!("a connection carries {}", counted(u64::from(last), "request"));
        if last > self.most {
            return Judged::broken(words);
        }
        let is_renewed = places.windows(2).any(|pair| pair == [self.most, 1]) || self.most == 1 && last == 1;
        if is_renewed && places.len() > 1 {
            return Judged::Kept(format!("{}, then another connection", number(last)));
        }
        let arrived = counted(places.len() as u64, "request");
        if places.len() as u64 <= u64::from(self.most) {
            let words = format!("only {arrived} of {} arrive: {}", number(self.requests), seen.response());
            return if course.has_functions { Judged::Untried(words) } else { Judged::retryable(words) };
        }
        Judged::retryable(format!("{words}, of {arrived}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{course, is_kept, promises, seen};
    use super::*;

    fn with(places: &[u32]) -> Seen {
        Seen { places: places.to_vec(), ..seen(200, 1, places.len()) }
    }

    #[test]
    fn a_connection_has_neither_more_requests_nor_fewer() {
        let reuse = Reuse { most: 3, requests: 4 };
        let kept = |places: &[u32]| is_kept(&reuse, &with(places));
        assert!(kept(&[1, 2, 3, 1]) && kept(&[2, 3, 1, 2]));
        assert!(!kept(&[1, 2, 3, 4]) && !kept(&[1, 2, 1, 2]) && !kept(&[1, 1, 1, 1]) && !kept(&[1, 2, 3]));
        assert!(matches!(
            reuse.judge(&course(), &with(&[1, 2, 3, 4])),
            Judged::Broken { is_retryable: false, .. }
        ));
        let single = Reuse { most: 1, requests: 2 };
        assert!(is_kept(&single, &with(&[1, 1])) && !is_kept(&single, &with(&[1, 2])));
        let with_functions = Course { has_functions: true, ..course() };
        assert!(matches!(reuse.judge(&with_functions, &with(&[1])), Judged::Untried(_)));
    }

    #[test]
    fn requests_that_go_elsewhere_are_not_counted() {
        let mut some = with(&[1, 1, 2, 2, 3, 1]);
        for index in [1, 3] {
            "b".clone_into(&mut some.arrivals[index].cluster);
        }
        assert!(is_kept(&Reuse { most: 3, requests: 6 }, &some));
    }

    #[test]
    fn as_many_requests_are_sent_as_it_needs() {
        let sent = |keys: &str| {
            let of = promises(PromiseKind::RequestsPerConnection, &format!("timeout: 1s, {keys}"));
            let requests = |trial: Box<dyn Trial>| match trial.procedure() {
                Procedure::Series(series) => series.requests,
                other => panic!("{other:?}"),
            };
            of.into_iter().map(|one| one.trial.map(requests)).collect::<Vec<_>>()
        };
        assert_eq!(sent(""), [Ok(1001)]);
        let split = "max_requests_per_connection: 10, split: {percentage: 10, upstream: {address: b.example, port: 80}}, ";
        // 90 % of them take 11; of the other 10 %, 1,001 are too many.
        assert_eq!(sent(split).last(), Some(&Ok(12 + 2 + 200)));
        assert!(sent(split)[0].is_ok());
        assert!(sent("max_requests_per_connection: 50000, ")[0].as_ref().unwrap_err().contains("50,001"));
        assert!(sent("http2: true, ")[0].as_ref().unwrap_err().contains("HTTP/2"));
    }
}
