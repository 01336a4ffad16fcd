//! A client without a certificate gets nothing from a listener with `client_ca`.

use hoptax_result::PromiseKind;

use super::Subject;
use crate::check::{Course, Judged, Procedure, Promise, Seen, Trial};

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    let has_authority = subject.listener.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    if !(has_authority && subject.is_of_listener) {
        return None;
    }
    let said = "only clients with a certificate are served".to_owned();
    Some(Promise { about: PromiseKind::Client, said, trial: Ok(Box::new(Stranger)) })
}

/// A client without a certificate gets no response.
#[derive(Debug)]
struct Stranger;

impl Trial for Stranger {
    fn procedure(&self) -> Procedure {
        Procedure::Stranger
    }

    fn judge(&self, _course: &Course, seen: &Seen) -> Judged {
        match &seen.response {
            Some(Ok(status)) => {
                Judged::broken(format!("a client without a certificate gets status {status}"))
            }
            _ if !seen.arrivals.is_empty() => {
                Judged::broken("the request of a client without a certificate arrives")
            }
            Some(Err(why)) => Judged::Kept(format!("refused, {why}")),
            None => Judged::Untried("no request was sent".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{is_kept, promises, seen};
    use super::*;

    #[test]
    fn a_client_without_a_certificate_is_refused_only_if_it_gets_nothing() {
        let refused = Seen { response: Some(Err("a TLS alert".to_owned())), ..Seen::default() };
        assert!(is_kept(&Stranger, &refused));
        assert!(!is_kept(&Stranger, &seen(403, 1, 0)));
        assert!(!is_kept(&Stranger, &Seen { arrivals: seen(200, 1, 1).arrivals, ..refused }));
        assert!(!is_kept(&Stranger, &Seen::default()));
    }

    #[test]
    fn only_a_listener_with_an_authority_promises_it() {
        let has = |tls: &str| {
            let keys = format!("timeout: 1s, tls: {tls}, upstream: {{address: a.example, port: 80}}");
            promises(&keys).iter().any(|one| one.about == PromiseKind::Client)
        };
        assert!(has("{certificate: /a.pem, key: /a.key, client_ca: /ca.pem}"));
        assert!(!has("{certificate: /a.pem, key: /a.key}"));
    }
}
