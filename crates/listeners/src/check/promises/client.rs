//! Promise that a listener with `client_ca` refuses a client without a certificate for this reason.

use hoptax_result::PromiseKind;

use super::Subject;
use crate::check::{Course, Judged, Procedure, Promise, Seen, Trial};

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    let has_authority = subject.listener.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    if !(has_authority && subject.is_of_listener) {
        return None;
    }
    let said = "a client without a certificate is refused".to_owned();
    Some(Promise { about: PromiseKind::Client, said, trial: Ok(Box::new(AnonymousClient)) })
}

/// A client without a certificate gets no response.
#[derive(Debug)]
struct AnonymousClient;

impl Trial for AnonymousClient {
    fn procedure(&self) -> Procedure {
        Procedure::AnonymousClient
    }

    fn judge(&self, _course: &Course, seen: &Seen) -> Judged {
        match &seen.response {
            Some(Ok(status)) => {
                Judged::broken(format!("a client without a certificate gets status {status}"))
            }
            _ if !seen.arrivals.is_empty() => {
                Judged::broken("the request of a client without a certificate arrives")
            }
            Some(Err(why)) if seen.wants_certificate => Judged::Kept(format!("refused, {why}")),
            // Any client may get this response.
            Some(Err(why)) => Judged::Untried(format!("it is not refused for its certificate: {why}")),
            None => Judged::Untried("no request was sent".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{course, is_kept, promises, seen};
    use super::*;

    #[test]
    fn a_client_without_a_certificate_is_refused_only_if_it_gets_nothing() {
        let response = Some(Err("a TLS alert".to_owned()));
        let refused = Seen { response, wants_certificate: true, ..Seen::default() };
        assert!(is_kept(&AnonymousClient, &refused));
        let other = Seen { wants_certificate: false, ..refused.clone() };
        assert!(matches!(AnonymousClient.judge(&course(), &other), Judged::Untried(_)));
        assert!(!is_kept(&AnonymousClient, &seen(403, 1, 0)));
        assert!(!is_kept(&AnonymousClient, &Seen { arrivals: seen(200, 1, 1).arrivals, ..refused }));
        assert!(!is_kept(&AnonymousClient, &Seen::default()));
    }

    #[test]
    fn only_a_listener_with_an_authority_promises_it() {
        let has = |tls: &str| !promises(PromiseKind::Client, &format!("timeout: 1s, tls: {tls}")).is_empty();
        assert!(has("{certificate: /a.pem, key: /a.key, client_ca: /ca.pem}"));
        assert!(!has("{certificate: /a.pem, key: /a.key}"));
    }
}
