//! The filters of the module, by the `filter_name` of their configuration.

use crate::plans::Plans;

/// A filter.
pub(crate) enum Filter {
    /// Uses CPU time for each request.
    Burn {
        /// The CPU time, nanoseconds.
        budget_ns: i64,
    },
    /// Adds a header to requests.
    AddHeader,
    /// Refuses requests without a valid token.
    CheckToken,
    /// Rewrites the JSON body of requests.
    RewriteJson,
    /// Refuses pulls of images beyond the plan of their account.
    Plans(Box<Plans>),
}

impl Filter {
    /// The filter with this name and this text as its configuration; None if Envoy must reject it.
    pub(crate) fn read(name: &[u8], text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim();
        match (name, text) {
            (b"burn", budget_us) => {
                Some(Self::Burn { budget_ns: i64::from(budget_us.parse::<u32>().ok()?) * 1000 })
            }
            (b"add-header", "") => Some(Self::AddHeader),
            (b"check-token", "") => Some(Self::CheckToken),
            (b"rewrite-json", "") => Some(Self::RewriteJson),
            (b"plans", settings) => Some(Self::Plans(Box::new(Plans::read(settings)?))),
            _ => None,
        }
    }

    /// The name of its counter of requests for which it did its work.
    pub(crate) fn requests_counter(&self) -> &'static str {
        match self {
            Self::Burn { .. } => "burn.requests",
            Self::AddHeader => "add-header.requests",
            Self::CheckToken => "check-token.requests",
            Self::RewriteJson => "rewrite-json.requests",
            Self::Plans(_) => "plans.requests",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(name: &[u8], text: &[u8]) -> Option<&'static str> {
        Filter::read(name, text).map(|filter| filter.requests_counter())
    }

    #[test]
    fn a_filter_has_its_name_and_its_configuration() {
        assert!(matches!(Filter::read(b"burn", b" 5\n"), Some(Filter::Burn { budget_ns: 5000 })));
        let folder = tempfile::tempdir().unwrap();
        let counts = folder.path().join("counts");
        let plans = format!(r#"{{"key": "YQ", "counts": "{}"}}"#, counts.display());
        for (name, text) in
            [("burn", "5"), ("add-header", ""), ("check-token", ""), ("rewrite-json", ""), ("plans", &plans)]
        {
            let expected = format!("{name}.requests");
            assert_eq!(counter(name.as_bytes(), text.as_bytes()), Some(expected.as_str()));
        }
        let Some(Filter::Plans(plans)) = Filter::read(b"plans", plans.as_bytes()) else { panic!("no plans") };
        assert_eq!(plans.token_header(), "authorization");
    }

    #[test]
    fn an_unknown_filter_or_configuration_is_rejected() {
        for (name, text) in
            [("burn", ""), ("burn", "-1"), ("burn", "\u{b5}"), ("add-header", "5"), ("plans", ""), ("", "")]
        {
            assert_eq!(counter(name.as_bytes(), text.as_bytes()), None, "{name} {text}");
        }
        assert_eq!(counter(b"burn", b"\xff"), None);
    }
}
