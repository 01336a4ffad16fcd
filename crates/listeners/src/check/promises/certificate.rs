//! Promise that a server with a certificate for another name gets no requests.

use hoptax_result::PromiseKind;

use super::Subject;
use crate::check::{Course, Judged, Procedure, Promise, Seen, Trial};

pub(super) fn promise(subject: &Subject<'_>) -> Option<Promise> {
    if !subject.cluster.upstream.encryption {
        return None;
    }
    let names: Vec<&str> = subject.cluster.options.san.iter().map(|name| name.0.as_str()).collect();
    let names = names.join("` or `");
    let said = format!("a server with a certificate for a name other than `{names}` gets no request");
    Some(Promise { about: PromiseKind::Certificate, said, trial: Ok(Box::new(WrongName)) })
}

/// The server has a certificate for another name, and gets no request.
#[derive(Debug)]
struct WrongName;

impl Trial for WrongName {
    fn procedure(&self) -> Procedure {
        Procedure::WrongName
    }

    fn judge(&self, course: &Course, seen: &Seen) -> Judged {
        let response = seen.response();
        if seen.arrivals.iter().any(|arrival| arrival.cluster == course.cluster) {
            Judged::broken(format!("a server with another name gets the request: {response}"))
        } else if seen.wrong_names == 0 {
            Judged::Untried(format!("no connection was opened: {response}"))
        } else {
            Judged::Kept(format!("refused, {response}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{course, is_kept, seen};
    use super::*;

    #[test]
    fn a_wrong_name_is_refused_only_if_it_was_shown() {
        let with = |tries, wrong_names| Seen { wrong_names, ..seen(503, 1, tries) };
        assert!(is_kept(&WrongName, &with(0, 1)));
        assert!(matches!(WrongName.judge(&course(), &with(0, 0)), Judged::Untried(_)));
        assert!(matches!(WrongName.judge(&course(), &with(1, 1)), Judged::Broken { .. }));
        let mut elsewhere = with(1, 0);
        elsewhere.arrivals.iter_mut().for_each(|arrival| "b".clone_into(&mut arrival.cluster));
        assert!(matches!(WrongName.judge(&course(), &elsewhere), Judged::Untried(_)));
    }
}
