//! The template of a mesh or one of its functions: what its namespace and its pods need, how a caller addresses the origin, and which
//! containers are its proxies.

mod asked;
mod built_in;
mod objects;
mod proxies;
mod whole;

use std::collections::BTreeMap;

use hoptax_cluster::Namespace;
use hoptax_cluster::rights::GroupResource;
use hoptax_load::Expectation;
use hoptax_text::json_texts::replaced;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::built_in::BUILT_IN;
use self::built_in::built_in;
use self::objects::NAMESPACE;
use crate::target::target;

/// A mesh, or a mode or a configuration of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// Its name, which becomes that of the arm.
    pub name: String,
    /// The built-in template that it extends; none if it extends none.
    #[serde(default)]
    pub extends: Option<String>,
    /// The mesh in a few words.
    #[serde(default)]
    pub summary: String,
    /// Labels and annotations of its namespace.
    #[serde(default)]
    pub namespace: Marks,
    /// Additions to the pod of the origin.
    #[serde(default)]
    pub origin: Side,
    /// Additions to the pod of the caller.
    #[serde(default)]
    pub caller: Side,
    /// The URL of the origin for the caller. `{{ address }}` stands for the address of its pod, `{{ namespace }}` for its namespace.
    #[serde(default)]
    pub url: String,
    /// Headers of the requests, with the same placeholders.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Proxies that other pods use, too.
    #[serde(default)]
    pub shared: Vec<Shared>,
    /// Objects to create in its namespace, such as a service.
    #[serde(default)]
    pub objects: Vec<Value>,
    /// How to prove that its function is active; none if no request can.
    #[serde(default)]
    pub proof: Option<Proof>,
}

/// A request whose answer proves that a function is active.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// Its path.
    pub path: String,
    /// Headers that replace those of the requests of the same names, such as a token that must be refused.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The expected answer, in the syntax of `hoptax load --expect`.
    pub expect: String,
}

/// Labels and annotations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Marks {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Side {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Additional keys of its specification; lists are appended to existing ones.
    pub spec: Map<String, Value>,
    /// The containers that are proxies of the mesh.
    pub proxies: Vec<String>,
}

/// Containers that are shared proxies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Their namespace.
    pub namespace: String,
    /// The prefix of their pods' names.
    pub pods: String,
    /// The name of the containers.
    pub container: String,
}

impl Template {
    /// Reads a template, including the content of the template that it extends and repeated messages.
    ///
    /// # Errors
    /// When it is not a template, with the position.
    pub fn read(text: &str) -> Result<Self, String> {
        // Parse the text first, because its errors have positions, unlike those of a merged value.
        let own = Self::own(text)?;
        let mut template: Self = match own.extends {
            None => own,
            Some(_) => serde_json::from_value(whole::whole(text)?).map_err(|error| error.to_string())?,
        };
        whole::repeat(&mut template.objects);
        template.check()?;
        Ok(template)
    }

    /// The template of a text, without the one that it extends.
    fn own(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    }

    fn check(&self) -> Result<(), String> {
        if self.name.parse::<Namespace>().is_err() || self.name.len() > LONGEST_NAME {
            return Err(format!(
                "`name` is `{}`, and becomes part of the name of a namespace: use a-z, 0-9 and `-`, at most {LONGEST_NAME} characters",
                self.name
            ));
        }
        if self.url.is_empty() {
            return Err("it has no `url`, under which the caller reaches the origin".to_owned());
        }
        if self.origin.proxies.is_empty() && self.caller.proxies.is_empty() && self.shared.is_empty() {
            return Err("it names no proxies: `proxies` of `origin` and `caller`, or `shared`".to_owned());
        }
        if !self.is_aimed_inside() {
            return Err(format!(
                "`url` is `{}`, but no load may leave the cluster: use `http://`, and `{{{{ address }}}}`, the name of a service of its \
                 namespace, or `NAME.NAMESPACE.svc`",
                self.url
            ));
        }
        proxies::check(self)?;
        objects::check(self)?;
        self.proof.as_ref().map_or(Ok(()), Proof::check)
    }

    /// The names of the built-in templates that it extends, the nearest first.
    pub fn bases(&self) -> Vec<String> {
        let base = |name: &String| Self::own(built_in(name)?).ok()?.extends;
        std::iter::successors(self.extends.clone(), base).collect()
    }

    /// The templates, followed by their built-in functions.
    ///
    /// # Errors
    /// When a built-in template is invalid.
    fn with_functions(mut templates: Vec<Self>) -> Result<Vec<Self>, String> {
        for (_, text) in BUILT_IN {
            let template = Self::read(text)?;
            let is_there = |name: &String| templates.iter().any(|there| there.name == *name);
            if template.bases().iter().any(is_there) && !is_there(&template.name) {
                templates.push(template);
            }
        }
        Ok(templates)
    }

    /// The template with the placeholders `{{ namespace }}` and `{{ image }}` replaced.
    ///
    /// # Errors
    /// When it is no longer a template.
    pub fn filled(&self, namespace: &str, image: &str) -> Result<Self, String> {
        let words = [(NAMESPACE, namespace), (IMAGE, image)];
        let value = serde_json::to_value(self).map_err(|error| error.to_string())?;
        serde_json::from_value(replaced(&value, &words)).map_err(|error| error.to_string())
    }

    /// The kinds of its objects, as named in the right to create them.
    pub fn made(&self) -> Vec<GroupResource> {
        self.objects.iter().map(objects::made).collect()
    }

    /// True if it is an HTTP URL whose host is the origin or a service. Shorter host names may resolve outside of the cluster, directly or
    /// with a search domain of the nodes.
    fn is_aimed_inside(&self) -> bool {
        const ADDRESS: [&str; 4] = ["192", "0", "2", "1"];
        const OWN: &str = "hoptax-mesh";
        let (url, _) = self.request(&ADDRESS.join("."), OWN);
        let Some(target) = target(&url) else { return false };
        let host = target.rsplit_once(':').map_or(target.as_str(), |(host, _)| host);
        let words: Vec<&str> = host.split('.').collect();
        let is_word = |word: &&str| word.parse::<Namespace>().is_ok();
        words.iter().all(is_word)
            && (words == ADDRESS
                || matches!(
                    words.as_slice(),
                    [_] | [_, OWN] | [_, _, "svc"] | [_, _, "svc", "cluster", "local"]
                ))
    }

    /// The URL and the headers, with placeholders replaced.
    pub fn request(&self, address: &str, namespace: &str) -> (String, Vec<(String, String)>) {
        let filled = |text: &str| text.replace("{{ address }}", address).replace(NAMESPACE, namespace);
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), filled(value)));
        (filled(&self.url), headers.collect())
    }
}

impl Proof {
    fn check(&self) -> Result<(), String> {
        if !self.path.starts_with('/') {
            return Err(format!("the `path` of `proof` is `{}`, but must begin with `/`", self.path));
        }
        self.expectation().map(drop)
    }

    /// The expected answer.
    ///
    /// # Errors
    /// When it is not a valid expectation.
    pub fn expectation(&self) -> Result<Expectation, String> {
        self.expect.parse::<Expectation>().map_err(|error| format!("`expect` of `proof`: {error}"))
    }

    /// The headers of its request, for requests with these headers.
    pub fn headers(&self, of_requests: &[(String, String)]) -> Vec<(String, String)> {
        let is_replaced = |name: &str| self.headers.keys().any(|own| own.eq_ignore_ascii_case(name));
        let kept = of_requests.iter().filter(|(name, _)| !is_replaced(name)).cloned();
        kept.chain(self.headers.clone()).collect()
    }

    /// Its URL with the host of another URL.
    pub fn url(&self, url: &str) -> String {
        let rest = url.strip_prefix(SCHEME).unwrap_or_default();
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        format!("{SCHEME}{host}{}", self.path)
    }
}

const SCHEME: &str = "http://";
/// The placeholder for the image of callers and origins.
const IMAGE: &str = "{{ image }}";

/// Maximum length of a name: the namespace that contains it must be a DNS label.
const LONGEST_NAME: usize = 30;

#[cfg(test)]
mod tests;
