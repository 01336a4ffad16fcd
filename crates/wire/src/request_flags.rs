//! Properties of a request that affect the reading of its response and the connection.

/// Properties of a request that affect the reading of its response and the connection. They are decided when the request is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFlags(u8);

const HEAD: u8 = 1;
const LAST: u8 = 2;
const UPGRADE: u8 = 4;

impl RequestFlags {
    /// A `HEAD`, if `is_head`, or another method; the connection is kept.
    pub fn head(is_head: bool) -> Self {
        Self(if is_head { HEAD } else { 0 })
    }

    /// Returns the properties of a request of this method with these headers.
    pub(crate) fn new(method: &str, headers: &[(String, String)]) -> Self {
        let values = |name: &'static str| {
            let is_it = move |(other, _): &&(String, String)| other.eq_ignore_ascii_case(name);
            headers.iter().filter(is_it).map(|(_, value)| value.as_str())
        };
        let closes = |value: &str| value.split(',').any(|token| token.trim().eq_ignore_ascii_case("close"));
        let flags = [
            (HEAD, method == "HEAD"),
            (LAST, values("connection").any(closes)),
            (UPGRADE, values("upgrade").next().is_some()),
        ];
        Self(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag).sum())
    }

    /// True if its response has no body, regardless of the headers of the response.
    pub fn is_head(self) -> bool {
        self.0 & HEAD != 0
    }

    /// True if the connection carries nothing after its response (`Connection: close`; RFC 9112, section 9.6).
    pub fn is_last(self) -> bool {
        self.0 & LAST != 0
    }

    /// True if the server may switch to another protocol (RFC 9110, section 7.8).
    pub fn is_upgrade(self) -> bool {
        self.0 & UPGRADE != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_whether_it_is_the_last_of_its_connection() {
        let flags_of = |headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            RequestFlags::new("GET", &headers.collect::<Vec<_>>())
        };
        for value in ["close", "Close", "CLOSE ", "keep-alive, close", "TE,\tclose , x"] {
            assert!(flags_of(&[("x", "y"), ("CONNECTION", value)]).is_last(), "{value}");
        }
        assert!(flags_of(&[("connection", "te"), ("connection", "close")]).is_last());
        for value in ["", "keep-alive", "closed", "not close", "x-close"] {
            assert_eq!(flags_of(&[("connection", value)]), RequestFlags::default(), "{value}");
        }
        assert_eq!(flags_of(&[("x-connection", "close")]), RequestFlags::default());
        assert!(flags_of(&[("Upgrade", "h2c"), ("Connection", "upgrade")]).is_upgrade());
    }
}
