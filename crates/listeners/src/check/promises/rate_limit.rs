//! Promise that the rate limit service is asked about a request as the file states, and that its decision is enforced.

use hoptax_result::PromiseKind;

use super::Subject;
use crate::check::{Course, Judged, Limited, Procedure, Promise, Seen, Trial, response_in_words};
use crate::file::RateLimitKey;

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    let limit = subject.listener.ratelimit.as_ref()?;
    let RateLimitKey::UserAgent = limit.by;
    let said = format!(
        "the rate limit service decides in domain `{}` by user agent, and requests that it refuses get status 429",
        limit.domain
    );
    let trial = Decided { domain: limit.domain.clone() };
    Some(Promise { about: PromiseKind::RateLimit, said, trial: Ok(Box::new(trial)) })
}

/// Tries a limit: a request that the service admits arrives, and one that it refuses does not.
#[derive(Debug)]
struct Decided {
    domain: String,
}

impl Trial for Decided {
    fn procedure(&self) -> Procedure {
        Procedure::Limited
    }

    fn judge(&self, _course: &Course, seen: &Seen) -> Judged {
        let Some(Limited { asked, admitted_agent, admitted, refused }) = &seen.limited else {
            return Judged::Untried("no request was sent".to_owned());
        };
        let Some((domain, entries)) = asked else {
            return Judged::retryable("the service is not asked");
        };
        let descriptor = [("user-agent".to_owned(), admitted_agent.clone())];
        if *domain != self.domain {
            return Judged::broken(format!("the service is asked in domain `{domain}`"));
        }
        if *entries != descriptor {
            let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
            return Judged::broken(format!("the service is asked by `{}`", keys.join("`, `")));
        }
        let in_words = |one: &Option<(Result<u16, String>, bool)>| {
            let response = response_in_words(one.as_ref().map(|(response, _)| response));
            let arrives =
                if one.as_ref().is_some_and(|(_, arrives)| *arrives) { "arrives" } else { "does not arrive" };
            format!("{arrives}, {response}")
        };
        if *admitted != Some((Ok(200), true)) {
            return Judged::retryable(format!("a request that the service admits {}", in_words(admitted)));
        }
        if *refused != Some((Ok(429), false)) {
            return Judged::retryable(format!("a request that the service refuses {}", in_words(refused)));
        }
        Judged::Kept("as decided, status 200 and 429".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{is_kept, promises};
    use super::*;

    #[test]
    fn the_question_and_both_answers_count() {
        let trial = Decided { domain: "api".to_owned() };
        let sound = Limited {
            asked: Some(("api".to_owned(), vec![("user-agent".to_owned(), "one".to_owned())])),
            admitted_agent: "one".to_owned(),
            admitted: Some((Ok(200), true)),
            refused: Some((Ok(429), false)),
        };
        let kept = |limited: Limited| is_kept(&trial, &Seen { limited: Some(limited), ..Seen::default() });
        assert!(kept(sound.clone()));
        assert!(!kept(Limited { asked: None, ..sound.clone() }));
        assert!(!kept(Limited { admitted_agent: "two".to_owned(), ..sound.clone() }));
        let other = Some(("other".to_owned(), sound.asked.clone().unwrap().1));
        assert!(!kept(Limited { asked: other, ..sound.clone() }));
        for admitted in
            [Some((Ok(429), false)), Some((Ok(200), false)), Some((Err(String::new()), true)), None]
        {
            assert!(!kept(Limited { admitted, ..sound.clone() }));
        }
        for refused in [Some((Ok(200), true)), Some((Ok(429), true)), Some((Ok(503), false)), None] {
            assert!(!kept(Limited { refused, ..sound.clone() }));
        }
        assert!(!is_kept(&trial, &Seen::default()));
    }

    #[test]
    fn only_a_listener_with_a_limit_promises_it() {
        assert!(promises(PromiseKind::RateLimit, "timeout: 1s").is_empty());
        let keys = "timeout: 1s, ratelimit: {domain: api, by: user-agent}";
        assert!(!promises(PromiseKind::RateLimit, keys).is_empty());
    }
}
