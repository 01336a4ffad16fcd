//! The names of a namespace and of a pod, as a user states them.

use std::fmt;
use std::str::FromStr;

/// Maximum length of a namespace's name, a DNS label (RFC 1123).
const MOST_OF_NAMESPACE: usize = 63;
/// Maximum length of a pod's name, a DNS name (RFC 1123).
const MOST_OF_POD: usize = 253;
/// An example of a pod in errors.
const EXAMPLE: &str = "`shop/cart-5f7d9`";

/// The name of a namespace. It has only letters, digits and `-`, so it can be part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace(String);

impl Namespace {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Namespace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !is_name(text, MOST_OF_NAMESPACE) || text.contains('.') {
            return Err(format!(
                "`{text}` is not a valid name of a namespace: use a-z, 0-9 and `-`, with a letter or a digit first and last, at most \
                 {MOST_OF_NAMESPACE} characters"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a pod with its namespace. Both have only letters, digits, `-` and `.`, so they can be parts of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodName {
    namespace: String,
    name: String,
}

impl PodName {
    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name in the namespace.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for PodName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((namespace, name)) = text.split_once('/') else {
            return Err(format!("a pod is named `NAMESPACE/NAME`, such as {EXAMPLE}"));
        };
        for (word, part) in [("namespace", namespace), ("name", name)] {
            if part.is_empty() {
                return Err(format!("the {word} is missing: use `NAMESPACE/NAME`"));
            }
        }
        let namespace = namespace.parse::<Namespace>();
        let Namespace(namespace) = namespace.map_err(|why| format!("{why}; such as {EXAMPLE}"))?;
        if !is_name(name, MOST_OF_POD) {
            return Err(format!(
                "`{name}` is not a valid name of a pod: use a-z, 0-9, `-` and `.`, with a letter or a digit first, last and beside each \
                 `.`, at most {MOST_OF_POD} characters; such as {EXAMPLE}"
            ));
        }
        Ok(Self { namespace, name: name.to_owned() })
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// True if Kubernetes accepts a name. Its labels begin and end with a letter or a digit.
fn is_name(name: &str, most: usize) -> bool {
    let is_end = |letter: Option<u8>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    let is_label = |label: &str| {
        label.bytes().all(|letter| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'-'))
            && is_end(label.bytes().next())
            && is_end(label.bytes().last())
    };
    name.len() <= most && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_one_that_kubernetes_accepts() {
        let namespace: Namespace = "load-tests".parse().unwrap();
        assert_eq!((namespace.as_str(), namespace.to_string().as_str()), ("load-tests", "load-tests"));
        for text in ["", "a.b", "a/b", "-a", "A", "a?b", &"a".repeat(64)] {
            let error = text.parse::<Namespace>().unwrap_err();
            assert!(error.starts_with(&format!("`{text}` is not a valid name of a namespace")), "{error}");
        }
    }

    #[test]
    fn a_name_has_a_namespace_and_is_one_that_kubernetes_accepts() {
        let name: PodName = "shop/cart-5f7d9.a".parse().unwrap();
        assert_eq!((name.namespace(), name.name()), ("shop", "cart-5f7d9.a"));
        assert_eq!(name.to_string(), "shop/cart-5f7d9.a");
        for (text, expected) in [
            ("cart", "NAMESPACE/NAME"),
            ("/cart", "the namespace is missing: use `NAMESPACE/NAME`"),
            ("/", "the namespace is missing"),
            (
                "shop.eu/cart",
                "`shop.eu` is not a valid name of a namespace: use a-z, 0-9 and `-`, with a letter or a digit first",
            ),
            ("a-/cart", "`a-` is not a valid name of a namespace"),
            ("a-/cart", "at most 63 characters; such as `shop/cart-5f7d9`"),
            ("shop/", "the name is missing: use `NAMESPACE/NAME`"),
            ("shop/../secrets", "`../secrets` is not a valid name of a pod"),
            (
                "shop/a..b",
                "`a..b` is not a valid name of a pod: use a-z, 0-9, `-` and `.`, with a letter or a digit first, last and beside",
            ),
            ("shop/-a", "`-a` is not a valid name of a pod"),
            ("shop/Cart", "`Cart` is not a valid name of a pod"),
            ("shop/cart?x", "at most 253 characters; such as `shop/cart-5f7d9`"),
            ("shop/cart/log", "`cart/log` is not a valid name of a pod"),
        ] {
            let error = text.parse::<PodName>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(format!("a/{}", "b".repeat(253)).parse::<PodName>().is_ok());
        assert!(format!("a/{}", "b".repeat(254)).parse::<PodName>().is_err());
    }
}
