//! Promise that requests arrive at the upstream in the file, with the right headers and the right server name in the TLS handshake.

use hoptax_result::PromiseKind;

use super::Subject;
use crate::check::{Answer, Arrival, Course, Judged, Procedure, Promise, Seen, Trial};
use crate::file::Scheme;
use crate::plan::HostHeader;

pub(super) fn promise(subject: &Subject<'_>, host: &str) -> Promise {
    let (upstream, options) = (&subject.cluster.upstream, &subject.cluster.options);
    let arrival = Arrival {
        cluster: subject.cluster.name.clone(),
        host: match &subject.route.host {
            HostHeader::Kept => host.to_owned(),
            HostHeader::OfUpstream => upstream.host.0.clone(),
            HostHeader::Literal(host) => host.clone(),
        },
        server_name: options.sets_sni.then(|| upstream.host.0.trim_end_matches('.').to_owned()),
        scheme: match subject.listener.xfp {
            Some(Scheme::Https) => "https",
            None if subject.listener.tls.is_some() => "https",
            Some(Scheme::Http) | None => "http",
        }
        .to_owned(),
    };
    let said = arrival.in_words();
    Promise { about: PromiseKind::Arrival, said, trial: Ok(Box::new(Arrives(arrival))) }
}

/// The server answers, and requests like this one arrive.
#[derive(Debug)]
struct Arrives(Arrival);

impl Trial for Arrives {
    fn procedure(&self) -> Procedure {
        Procedure::Request { answer: Answer::Success, waits_us: 0 }
    }

    fn judge(&self, course: &Course, seen: &Seen) -> Judged {
        let response = seen.response();
        match seen.arrivals.last() {
            None if course.has_functions => {
                Judged::Untried(format!("its functions answer by themselves: {response}"))
            }
            None if seen.reason.is_empty() => Judged::retryable(format!("{response}, and nothing arrives")),
            None => {
                Judged::retryable(format!("{response}, and nothing arrives: Envoy says `{}`", seen.reason))
            }
            Some(arrival) if *arrival != self.0 => Judged::broken(difference(&self.0, arrival)),
            Some(_) if seen.response != Some(Ok(200)) => {
                Judged::retryable(format!("it arrives, but its client gets {response}"))
            }
            Some(_) => Judged::Kept("as said".to_owned()),
        }
    }
}

fn difference(expected: &Arrival, arrival: &Arrival) -> String {
    let name = |arrival: &Arrival| arrival.server_name.as_ref().map(|name| format!("`{name}`"));
    let name = |arrival: &Arrival| name(arrival).unwrap_or_else(|| "none".to_owned());
    let quoted = |text: &str| format!("`{text}`");
    let all = [
        ("cluster", quoted(&expected.cluster), quoted(&arrival.cluster)),
        ("Host", quoted(&expected.host), quoted(&arrival.host)),
        ("SNI", name(expected), name(arrival)),
        ("x-forwarded-proto", quoted(&expected.scheme), quoted(&arrival.scheme)),
    ];
    let differs = all.iter().filter(|(_, expected, seen)| expected != seen);
    differs
        .map(|(what, expected, seen)| format!("{what} {seen}, not {expected}"))
        .collect::<Vec<_>>()
        .join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::sample::{arrival, course, is_kept, seen};
    use super::*;
    use crate::check::judge;

    #[test]
    fn each_part_of_an_arrival_counts() {
        let trial = Arrives(arrival());
        let sound = seen(200, 1, 1);
        assert!(is_kept(&trial, &sound));
        let changes: [fn(&mut Arrival); 4] = [
            |arrival| "b".clone_into(&mut arrival.cluster),
            |arrival| "b".clone_into(&mut arrival.host),
            |arrival| arrival.server_name = None,
            |arrival| "https".clone_into(&mut arrival.scheme),
        ];
        for change in changes {
            let mut other = sound.clone();
            other.arrivals.iter_mut().for_each(change);
            let judged = trial.judge(&course(), &other);
            assert!(matches!(judged, Judged::Broken { is_retryable: false, .. }), "{judged:?}");
        }
        assert!(!is_kept(&trial, &seen(503, 1, 1)) && !is_kept(&trial, &seen(200, 1, 0)));
        let mut rival = sound;
        rival.arrivals.iter_mut().for_each(|arrival| "rival".clone_into(&mut arrival.cluster));
        assert!(matches!(judge(&course(), &trial, &rival), Judged::Untried(_)));
        let with_functions = Course { has_functions: true, ..course() };
        assert!(matches!(trial.judge(&with_functions, &seen(403, 1, 0)), Judged::Untried(_)));
    }
}
