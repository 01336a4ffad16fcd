//! Names the distinct requests of a load. Each name has a row in the result, up to a maximum number of rows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use hoptax_result::NamedRequests;

use crate::target::Target;
use crate::url::origin_and_path;

/// The rows of a result, and the row in which each request counts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RequestNames {
    /// The name of each row, in the order of the load; at the end the row of all other requests, if there are any.
    rows: Vec<String>,
    /// The row of each target.
    row_of: Vec<u32>,
}

impl RequestNames {
    /// The names of requests with these weights. The most frequent names have a row of their own. None unless there are several names.
    pub(crate) fn new(targets: &[Target], weights: &[f64]) -> Option<Self> {
        let urls: Vec<_> = targets.iter().map(|target| origin_and_path(&target.url)).collect();
        let first_origin = urls.first().map(|(origin, _)| *origin)?;
        let has_one_origin = urls.iter().all(|(origin, _)| *origin == first_origin);
        let (mut names, mut shares) = (Vec::<String>::new(), Vec::<f64>::new());
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut name_of = Vec::with_capacity(targets.len());
        for ((target, (origin, path)), weight) in targets.iter().zip(&urls).zip(weights) {
            let host = if has_one_origin { "" } else { *origin };
            // TCP and WebSocket have no method.
            let name = format!("{} {host}{path}", target.method).trim_start().to_owned();
            let place = match places.entry(name) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    names.push(new.key().clone());
                    shares.push(0.0);
                    *new.insert(names.len() - 1)
                }
            };
            if let Some(share) = shares.get_mut(place) {
                *share += weight;
            }
            name_of.push(place);
        }
        (names.len() > 1).then(|| Self::with_shares(&names, &shares, &name_of))
    }

    /// The rows of all names, with the share and the targets of each.
    fn with_shares(names: &[String], shares: &[f64], name_of: &[usize]) -> Self {
        let mut by_share: Vec<(usize, f64)> = shares.iter().copied().enumerate().collect();
        // The sort is stable: among equally frequent names, the first ones get rows.
        by_share.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let mut kept: Vec<usize> =
            by_share.into_iter().take(NamedRequests::MOST).map(|(place, _)| place).collect();
        kept.sort_unstable();
        let mut rows: Vec<String> = kept.iter().filter_map(|place| names.get(*place)).cloned().collect();
        if kept.len() < names.len() {
            rows.push(NamedRequests::OTHERS.to_owned());
        }
        let row_of =
            name_of.iter().map(|name| kept.binary_search(name).unwrap_or(kept.len()) as u32).collect();
        Self { rows, row_of }
    }

    /// The name of each row.
    pub(crate) fn rows(&self) -> &[String] {
        &self.rows
    }

    /// The row of a target.
    #[inline]
    pub(crate) fn row_of(&self, target: usize) -> usize {
        self.row_of.get(target).copied().unwrap_or_default() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(url: &str) -> Target {
        Target::get(url).unwrap()
    }

    fn names(targets: &[Target]) -> Option<RequestNames> {
        RequestNames::new(targets, &vec![1.0; targets.len()])
    }

    #[test]
    fn a_name_is_the_method_and_the_path_as_written() {
        let post = Target::new("http://u:p@127.0.0.1:1/a", "POST", Vec::new(), b"1".to_vec()).unwrap();
        let other = Target::new("http://127.0.0.1:1/a", "POST", Vec::new(), b"2".to_vec()).unwrap();
        let all = names(&[get("http://127.0.0.1:1/{counter}?b"), post, other, get("http://127.0.0.1:1")]);
        let all = all.unwrap();
        assert_eq!(all.rows(), ["GET /{counter}?b", "POST /a", "GET /"]);
        assert_eq!([0, 1, 2, 3].map(|target| all.row_of(target)), [0, 1, 1, 2], "a body is no name");
        let websocket = |path: &str| get(&format!("ws://127.0.0.1:1{path}"));
        assert_eq!(names(&[websocket("/a"), websocket("/b")]).unwrap().rows(), ["/a", "/b"]);
    }

    #[test]
    fn names_have_the_host_if_there_are_several() {
        let all = names(&[get("http://127.0.0.1:1/a"), get("http://127.0.0.1:2/a")]).unwrap();
        assert_eq!(all.rows(), ["GET http://127.0.0.1:1/a", "GET http://127.0.0.1:2/a"]);
    }

    #[test]
    fn requests_of_one_name_have_no_rows() {
        assert_eq!(names(&[]), None);
        assert_eq!(names(&[get("http://127.0.0.1:1/a")]), None);
        assert_eq!(names(&[get("http://127.0.0.1:1/a"), get("http://127.0.0.1:1/a")]), None);
    }

    #[test]
    fn the_most_frequent_names_have_rows_and_the_rest_is_one() {
        let count = NamedRequests::MOST + 3;
        let targets: Vec<Target> =
            (0..count).map(|number| get(&format!("http://127.0.0.1:1/{number}"))).collect();
        let mut weights = vec![1.0; count];
        // The last one, and two that are rarer than all others.
        (weights[count - 1], weights[4], weights[7]) = (2.0, 0.5, 0.5);
        let all = RequestNames::new(&targets, &weights).unwrap();
        assert_eq!(all.rows().len(), NamedRequests::MOST + 1);
        assert_eq!(all.rows().last().unwrap(), NamedRequests::OTHERS);
        let others: Vec<usize> =
            (0..count).filter(|target| all.row_of(*target) == NamedRequests::MOST).collect();
        assert_eq!(others, [4, 7, count - 2], "of those that are as frequent, the last has no row");
        let last = all.row_of(count - 1);
        assert_eq!((last, all.rows()[last].as_str()), (NamedRequests::MOST - 1, "GET /52"));
    }

    #[test]
    fn as_many_names_as_rows_leave_no_others() {
        let targets: Vec<Target> =
            (0..NamedRequests::MOST).map(|number| get(&format!("http://127.0.0.1:1/{number}"))).collect();
        let all = names(&targets).unwrap();
        assert_eq!((all.rows().len(), all.rows().last().unwrap().as_str()), (NamedRequests::MOST, "GET /49"));
    }
}
