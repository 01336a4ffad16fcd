//! The filters of the module, by the `filter_name` of their configuration.

/// A filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
            _ => None,
        }
    }

    /// The name of its counter of requests for which it did its work.
    pub(crate) fn requests_counter(self) -> &'static str {
        match self {
            Self::Burn { .. } => "burn.requests",
            Self::AddHeader => "add-header.requests",
            Self::CheckToken => "check-token.requests",
            Self::RewriteJson => "rewrite-json.requests",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_has_its_name_and_its_configuration() {
        assert_eq!(Filter::read(b"burn", b" 5\n"), Some(Filter::Burn { budget_ns: 5000 }));
        for (name, filter) in [
            ("add-header", Filter::AddHeader),
            ("check-token", Filter::CheckToken),
            ("rewrite-json", Filter::RewriteJson),
        ] {
            assert_eq!(Filter::read(name.as_bytes(), b""), Some(filter));
            assert_eq!(filter.requests_counter(), format!("{name}.requests"));
        }
    }

    #[test]
    fn an_unknown_filter_or_configuration_is_rejected() {
        for (name, text) in [("burn", ""), ("burn", "-1"), ("burn", "\u{b5}"), ("add-header", "5"), ("", "")]
        {
            assert_eq!(Filter::read(name.as_bytes(), text.as_bytes()), None, "{name} {text}");
        }
        assert_eq!(Filter::read(b"burn", b"\xff"), None);
    }
}
