//! Whether what was seen keeps a promise.

use super::{Arrival, Course, Seen, Trial};

/// How much earlier than promised a request may end, microseconds: Envoy's timers count whole milliseconds from the turn of its loop.
const EARLY_US: u64 = 10_000;
/// How much later it may end, microseconds, and as a share of the time.
const LATE_US: u64 = 100_000;
const LATE_SHARE: u64 = 20;

/// What became of a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// What was seen is what was promised.
    Kept(String),
    /// It is not.
    Broken {
        /// What was seen.
        seen: String,
        /// Whether a busy machine explains it, so that another trial may tell.
        is_excusable: bool,
    },
    /// What was seen says nothing about the promise, and why.
    Untried(String),
}

/// Judges what came of a trial.
pub fn judge(course: &Course, trial: &Trial, seen: &Seen) -> Judged {
    let broken = |seen: String, is_excusable| Judged::Broken { seen, is_excusable };
    if let Some(rival) = seen.arrivals.iter().find(|arrival| course.rivals.contains(&arrival.cluster)) {
        return Judged::Untried(format!("a `host_regex` sends `{}` to `{}`", course.host, rival.cluster));
    }
    let response = match &seen.response {
        Ok(status) => format!("status {status}"),
        Err(why) => format!("no response: {why}"),
    };
    let tries = seen.arrivals.len();
    match trial {
        Trial::Arrival(expected) => match seen.arrivals.last() {
            None if course.has_functions => {
                Judged::Untried(format!("its functions answer themselves: {response}"))
            }
            None => broken(format!("{response}, and nothing arrives"), true),
            Some(arrival) if arrival != expected => broken(difference(expected, arrival), false),
            Some(_) if seen.response != Ok(200) => {
                broken(format!("it arrives, and its client gets {response}"), true)
            }
            Some(_) => Judged::Kept("as said".to_owned()),
        },
        Trial::Silence(range) => {
            let words = format!("{response} after {}", seconds(seen.took_us));
            let latest = range.end() + LATE_US.max(range.end() / LATE_SHARE);
            if tries == 0 {
                broken(format!("{words}, and nothing arrives"), true)
            } else if seen.response != Ok(504) || seen.took_us + EARLY_US < *range.start() {
                broken(words, false)
            } else if seen.took_us > latest {
                broken(words, true)
            } else {
                Judged::Kept(words)
            }
        }
        Trial::Failure { tries: promised, .. } => {
            let words = if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
            let promised = usize::try_from(*promised).unwrap_or(usize::MAX);
            if tries == promised { Judged::Kept(words) } else { broken(words, tries < promised) }
        }
        Trial::WrongName if seen.arrivals.iter().any(|arrival| arrival.cluster == course.cluster) => {
            broken(format!("a server with another name gets the request: {response}"), false)
        }
        Trial::WrongName if seen.wrong_names == 0 => {
            Judged::Untried(format!("no connection was opened: {response}"))
        }
        Trial::WrongName => Judged::Kept(format!("refused: {response}")),
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

fn seconds(us: u64) -> String {
    format!("{:.3} s", us as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Answer;

    fn arrival() -> Arrival {
        Arrival {
            cluster: "a".to_owned(),
            host: "a.example".to_owned(),
            server_name: Some("a.example".to_owned()),
            scheme: "http".to_owned(),
        }
    }

    fn course() -> Course {
        Course {
            listener: "a".to_owned(),
            is_tls: false,
            host: "a.example".to_owned(),
            path: "/".to_owned(),
            cluster: "a".to_owned(),
            is_shared: false,
            rivals: vec!["rival".to_owned()],
            has_functions: false,
            promises: Vec::new(),
        }
    }

    fn seen(status: u16, took_us: u64, tries: usize) -> Seen {
        Seen { response: Ok(status), took_us, arrivals: vec![arrival(); tries], wrong_names: 0 }
    }

    fn is_kept(trial: &Trial, seen: &Seen) -> bool {
        matches!(judge(&course(), trial, seen), Judged::Kept(_))
    }

    #[test]
    fn each_part_of_an_arrival_counts() {
        let trial = Trial::Arrival(arrival());
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
            let judged = judge(&course(), &trial, &other);
            assert!(matches!(judged, Judged::Broken { is_excusable: false, .. }), "{judged:?}");
        }
        assert!(!is_kept(&trial, &seen(503, 1, 1)) && !is_kept(&trial, &seen(200, 1, 0)));
        let mut rival = sound;
        rival.arrivals.iter_mut().for_each(|arrival| "rival".clone_into(&mut arrival.cluster));
        assert!(matches!(judge(&course(), &trial, &rival), Judged::Untried(_)));
        let with_functions = Course { has_functions: true, ..course() };
        assert!(matches!(judge(&with_functions, &trial, &seen(403, 1, 0)), Judged::Untried(_)));
    }

    #[test]
    fn a_timeout_is_neither_early_nor_late_nor_another_status() {
        let trial = Trial::Silence(1_000_000..=2_000_000);
        for took_us in [995_000, 1_500_000, 2_090_000] {
            assert!(is_kept(&trial, &seen(504, took_us, 1)), "{took_us}");
        }
        assert!(!is_kept(&trial, &seen(504, 980_000, 1)));
        assert!(!is_kept(&trial, &seen(504, 2_200_000, 1)));
        assert!(!is_kept(&trial, &seen(503, 1_500_000, 1)));
        assert!(!is_kept(&trial, &seen(504, 1_500_000, 0)));
    }

    #[test]
    fn tries_are_neither_more_nor_fewer() {
        let trial = Trial::Failure { answer: Answer::Close, tries: 3 };
        assert_eq!([2, 3, 4].map(|tries| is_kept(&trial, &seen(503, 1, tries))), [false, true, false]);
    }

    #[test]
    fn a_wrong_name_is_refused_only_if_it_was_shown() {
        let with = |tries, wrong_names| Seen { wrong_names, ..seen(503, 1, tries) };
        assert!(is_kept(&Trial::WrongName, &with(0, 1)));
        assert!(matches!(judge(&course(), &Trial::WrongName, &with(0, 0)), Judged::Untried(_)));
        assert!(matches!(judge(&course(), &Trial::WrongName, &with(1, 1)), Judged::Broken { .. }));
        let mut elsewhere = with(1, 0);
        elsewhere.arrivals.iter_mut().for_each(|arrival| "b".clone_into(&mut arrival.cluster));
        assert!(matches!(judge(&course(), &Trial::WrongName, &elsewhere), Judged::Untried(_)));
    }
}
