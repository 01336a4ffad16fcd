//! The arms of a bill: the whole configuration, the whole without each part, without two parts, and without all of them.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_bootstrap::parts::{Part, PartKind};
use hoptax_bootstrap::request::DerivedRequest;
use hoptax_result::BillResult;
use serde_json::Value;

/// An arm of a bill. It is measured if it gives the same answers as the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arm {
    /// Its id in the study.
    pub(crate) id: String,
    /// The pointers of the removed nodes.
    pub(crate) removed: Vec<String>,
    /// The nodes of the user's configuration that are replaced, by their pointers, with their replacements.
    pub(crate) replaced: BTreeMap<String, Value>,
    /// Its Envoy, if it differs from that of the other arms.
    pub(crate) envoy: Option<String>,
    /// The request that goes through it.
    pub(crate) request: DerivedRequest,
}

impl Arm {
    /// The whole.
    pub(crate) fn whole(request: &DerivedRequest) -> Self {
        Self::without(BillResult::WHOLE.to_owned(), [], request)
    }

    /// The whole without these parts; none for fewer than two parts, because the arms without each part cover those.
    pub(crate) fn all_off(parts: &[&Part], request: &DerivedRequest) -> Option<Self> {
        let id = BillResult::ALL_OFF.to_owned();
        (parts.len() > 1).then(|| Self::without(id, parts.iter().copied(), request))
    }

    /// The whole without each of these parts, in their order.
    pub(crate) fn of_parts(parts: &[Part], request: &DerivedRequest) -> Vec<Self> {
        let mut taken = BTreeSet::new();
        let mut id = |part: &Part| {
            let name = format!("no-{}", id_of(&part.name));
            // Parts of different kinds may share a name, and findings name only the arms.
            let with_kind = format!("no-{}-{}", id_of(&part.kind.to_string()), id_of(&part.name));
            let numbered = (2..).map(|number| format!("{name}-{number}"));
            let mut candidates = [name.clone(), with_kind].into_iter().chain(numbered);
            let free = candidates.find(|candidate| taken.insert(candidate.clone()));
            free.unwrap_or(name)
        };
        parts.iter().map(|part| Self::without(id(part), [part], request)).collect()
    }

    /// The whole without two parts at once; `number` distinguishes pairs.
    pub(crate) fn of_pair(number: usize, parts: [&Part; 2], request: &DerivedRequest) -> Self {
        Self::without(format!("pair-{number}"), parts, request)
    }

    fn without<'p>(id: String, parts: impl IntoIterator<Item = &'p Part>, request: &DerivedRequest) -> Self {
        let mut arm = Self {
            id,
            removed: Vec::new(),
            replaced: BTreeMap::new(),
            envoy: None,
            request: request.clone(),
        };
        for part in parts {
            arm.removed.extend(part.pointers.iter().cloned());
            if part.kind == PartKind::DownstreamTls {
                arm.request.tls = None;
            }
        }
        arm
    }
}

/// The name of a part without the common prefix of Envoy's extensions.
pub(crate) fn short_name(name: &str) -> &str {
    let last = name.rsplit_once('.').map(|(_, last)| last).filter(|last| !last.is_empty());
    last.filter(|_| name.starts_with("envoy.")).unwrap_or(name)
}

/// A name as part of an arm's id, which consists of letters, digits, `-`, `_` and `.`.
fn id_of(name: &str) -> String {
    let short = short_name(name);
    short.chars().map(|c| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' }).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use hoptax_bootstrap::Place;

    use super::*;

    /// A part without a proof.
    pub(crate) fn part(kind: PartKind, name: &str) -> Part {
        Part {
            kind,
            name: name.to_owned(),
            place: Place { file: "envoy.yaml".to_owned(), line: 1, column: 0, pointer: String::new() },
            form: None,
            pointers: vec![format!("/{kind}/{name}")],
            proof: Vec::new(),
            exercised_by: None,
            is_unmet: false,
        }
    }

    fn request() -> DerivedRequest {
        DerivedRequest {
            tls: Some(hoptax_bootstrap::request::RequestTls::default()),
            ..DerivedRequest::default()
        }
    }

    #[test]
    fn each_part_has_an_arm_of_its_own_name() {
        let parts = [
            part(PartKind::HttpFilter, "envoy.filters.http.cors"),
            part(PartKind::UpstreamFilter, "cors"),
            part(PartKind::AccessLog, "to file#2"),
            part(PartKind::OtherRoutes, "envoy."),
            part(PartKind::DownstreamTls, "tls"),
        ];
        let arms = Arm::of_parts(&parts, &request());
        let ids: Vec<&str> = arms.iter().map(|arm| arm.id.as_str()).collect();
        assert_eq!(ids, ["no-cors", "no-upstream-HTTP-filter-cors", "no-to-file-2", "no-envoy.", "no-tls"]);
        assert_eq!(arms[0].removed, parts[0].pointers);
        assert_eq!(arms[0].request, request());
        assert_eq!(arms[4].request.tls, None, "without TLS the request is plaintext");
    }

    #[test]
    fn a_pair_lacks_both_of_its_parts() {
        let parts = [part(PartKind::HttpFilter, "cors"), part(PartKind::DownstreamTls, "tls")];
        let pair = Arm::of_pair(3, [&parts[0], &parts[1]], &request());
        assert_eq!((pair.id.as_str(), pair.removed.len(), pair.request.tls), ("pair-3", 2, None));
    }

    #[test]
    fn everything_off_lacks_all_parts() {
        let parts = [part(PartKind::HttpFilter, "cors"), part(PartKind::DownstreamTls, "tls")];
        let of = |parts: &[Part]| Arm::all_off(&parts.iter().collect::<Vec<_>>(), &request());
        let all_off = of(&parts).unwrap();
        assert_eq!((all_off.removed.len(), all_off.request.tls), (2, None));
        assert_eq!(of(&parts[..1]), None);
    }
}
