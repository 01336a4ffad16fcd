//! A mesh as a template: what its namespace and its pods need, how a caller names the origin, and which containers are its proxies.

use std::collections::BTreeMap;

use hoptax_cluster::Namespace;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::target::target;

/// The templates that come with the program, by their names.
pub const BUILT_IN: [(&str, &str); 5] = [
    ("istio", include_str!("../templates/istio.yaml")),
    ("istio-ambient", include_str!("../templates/istio-ambient.yaml")),
    ("linkerd", include_str!("../templates/linkerd.yaml")),
    ("kuma", include_str!("../templates/kuma.yaml")),
    ("consul", include_str!("../templates/consul.yaml")),
];

/// A mesh, or a mode or a configuration of one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// Its name, which becomes that of the arm.
    pub name: String,
    /// The mesh in a few words.
    #[serde(default)]
    pub summary: String,
    /// What its namespace has.
    #[serde(default)]
    pub namespace: Marks,
    /// What the pod of the origin has.
    #[serde(default)]
    pub origin: Side,
    /// What the pod of the caller has.
    #[serde(default)]
    pub caller: Side,
    /// The URL of the origin, as the caller names it. `{{ address }}` stands for the address of its pod, `{{ namespace }}` for its namespace.
    pub url: String,
    /// Headers of the requests, with the same words.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Proxies that other pods use too.
    #[serde(default)]
    pub shared: Vec<Shared>,
    /// Objects that its namespace has, such as a service.
    #[serde(default)]
    pub objects: Vec<Value>,
}

/// Labels and annotations.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Marks {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Side {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// More keys of its specification; lists are added to those that it has.
    pub spec: Map<String, Value>,
    /// The containers that are proxies of the mesh.
    pub proxies: Vec<String>,
}

/// Containers that are shared proxies.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Their namespace.
    pub namespace: String,
    /// The beginning of the names of their pods.
    pub pods: String,
    /// The name of the containers.
    pub container: String,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// When it is none, with the place.
    pub fn read(text: &str) -> Result<Self, String> {
        let template: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        if template.name.parse::<Namespace>().is_err() || template.name.len() > LONGEST_NAME {
            return Err(format!(
                "`name` is `{}`, and becomes part of the name of a namespace: use a-z, 0-9 and `-`, at most {LONGEST_NAME} characters",
                template.name
            ));
        }
        if template.origin.proxies.is_empty()
            && template.caller.proxies.is_empty()
            && template.shared.is_empty()
        {
            return Err("it names no proxies: `proxies` of `origin` and `caller`, or `shared`".to_owned());
        }
        if !template.is_aimed_inside() {
            return Err(format!(
                "`url` is `{}`, and no load goes outside of the cluster: use `http://`, and `{{{{ address }}}}`, the name of a service of its \
                 namespace, or `NAME.NAMESPACE.svc`",
                template.url
            ));
        }
        Ok(template)
    }

    /// True if the URL is one of HTTP whose host is the origin or a service. Names of fewer words may be found outside, by a domain of the
    /// nodes or as they are.
    fn is_aimed_inside(&self) -> bool {
        const ADDRESS: [&str; 4] = ["192", "0", "2", "1"];
        const NAMESPACE: &str = "hoptax-mesh";
        let (url, _) = self.request(&ADDRESS.join("."), NAMESPACE);
        let Some(target) = target(&url) else { return false };
        let host = target.rsplit_once(':').map_or(target.as_str(), |(host, _)| host);
        let words: Vec<&str> = host.split('.').collect();
        let is_word = |word: &&str| word.parse::<Namespace>().is_ok();
        words.iter().all(is_word)
            && (words == ADDRESS
                || matches!(
                    words.as_slice(),
                    [_] | [_, NAMESPACE] | [_, _, "svc"] | [_, _, "svc", "cluster", "local"]
                ))
    }

    /// The URL and the headers, with these words in place.
    pub fn request(&self, address: &str, namespace: &str) -> (String, Vec<(String, String)>) {
        let filled =
            |text: &str| text.replace("{{ address }}", address).replace("{{ namespace }}", namespace);
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), filled(value)));
        (filled(&self.url), headers.collect())
    }
}

/// The most letters of a name: with the rest of its namespace, it has to be a label of DNS.
const LONGEST_NAME: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_of_the_program_is_one_and_has_its_name() {
        for (name, text) in BUILT_IN {
            let template = Template::read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(template.name, name);
            assert!(!template.summary.is_empty() && text.starts_with("# Source: https://"), "{name}");
            assert!(
                template.objects.iter().all(|object| object["metadata"]["namespace"].is_null()),
                "{name}"
            );
        }
    }

    #[test]
    fn a_template_without_proxies_or_with_another_name_is_refused() {
        for (text, expected) in [
            ("name: a\nurl: http://a/\n", "names no proxies"),
            ("name: A b\nurl: http://a/\norigin: {proxies: [x]}\n", "`A b`"),
            ("name: a\nurl: http://a/\nproxy: x\n", "proxy"),
            ("name: a\norigin: {proxies: [x]}\n", "url"),
        ] {
            let error = Template::read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn no_template_aims_a_load_outside_of_the_cluster() {
        let read = |url: &str| {
            let text = format!("name: a\nurl: \"{url}\"\norigin: {{proxies: [x]}}\n");
            Template::read(&text)
        };
        for url in [
            "http://{{ address }}:10000/a",
            "http://origin",
            "http://origin.{{ namespace }}/",
            "http://gateway.istio-system.svc:80/",
            "http://gateway.istio-system.svc.cluster.local/",
        ] {
            assert!(read(url).is_ok(), "{url}: {:?}", read(url));
        }
        for url in [
            "https://origin/",
            "http://victim.example/",
            "http://a.b.svc.victim.example/",
            "http://origin.other:8080/",
            "http://203.0.113.1/",
            "http://origin@victim.example/",
            "http://origin:80@victim.example/",
            "http://origin#.victim.example/",
            "http://{{ address }}.victim.example/",
        ] {
            assert!(read(url).unwrap_err().contains("outside of the cluster"), "{url}");
        }
    }

    #[test]
    fn a_request_names_the_address_and_the_namespace_of_the_origin() {
        let template = Template {
            url: "http://{{ address }}:8080/a".to_owned(),
            headers: [("host".to_owned(), "origin.{{ namespace }}".to_owned())].into(),
            ..Template::default()
        };
        let (url, headers) = template.request("10.0.0.1", "ns");
        assert_eq!(url, "http://10.0.0.1:8080/a");
        assert_eq!(headers, [("host".to_owned(), "origin.ns".to_owned())]);
    }
}
