//! Response to a refused client: the status, the headers of the `RateLimit` draft, and a line of text.

use super::count::Admission;

/// A response to a request that is not passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status code.
    pub status: u16,
    /// Header names, in lower case, with their values.
    pub headers: Vec<(&'static str, String)>,
    /// The body, plain text.
    pub body: &'static str,
}

impl Refusal {
    /// To a request without a valid token (RFC 6750, section 3).
    pub fn unauthorized() -> Self {
        Self::new(
            401,
            vec![("www-authenticate", r#"Bearer realm="image-registry", error="invalid_token""#.to_owned())],
            "A valid token is needed: log in and ask for another one.\n",
        )
    }

    /// To a pull that cannot be counted. It is refused because an uncounted pull would be outside of the plan.
    pub fn uncounted() -> Self {
        Self::new(
            503,
            vec![("retry-after", "1".to_owned())],
            "The pull cannot be counted at the moment: try again.\n",
        )
    }

    /// To a pull beyond the plan, with `Retry-After` (RFC 9110, section 10.2.3). None if it was admitted.
    pub fn for_pull(admission: &Admission) -> Option<Self> {
        if admission.admitted {
            return None;
        }
        let retry_after = ("retry-after", admission.reset_s.to_string());
        let headers = [retry_after].into_iter().chain(admission.headers()).collect();
        Some(Self::new(429, headers, "The plan allows no more pulls in this minute: wait, or upgrade.\n"))
    }

    fn new(status: u16, mut headers: Vec<(&'static str, String)>, body: &'static str) -> Self {
        headers.push(("content-type", "text/plain".to_owned()));
        Self { status, headers, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_beyond_the_plan_is_told_when_to_try_again() {
        let admission = Admission { admitted: false, limit: 100, remaining: 0, reset_s: 37 };
        let refusal = Refusal::for_pull(&admission).unwrap();
        assert_eq!(refusal.status, 429);
        let header =
            |name: &str| refusal.headers.iter().find(|(other, _)| *other == name).unwrap().1.as_str();
        assert_eq!(header("retry-after"), "37");
        assert_eq!(header("ratelimit-policy"), r#""pulls";q=100;w=60"#);
        assert_eq!(header("ratelimit"), r#""pulls";r=0;t=37"#);
        assert_eq!(Refusal::for_pull(&Admission { admitted: true, ..admission }), None);
    }
}
