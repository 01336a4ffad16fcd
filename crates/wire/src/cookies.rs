//! The cookie store of one connection, filled from `Set-Cookie` headers.
//!
//! One connection is one client with one server, so domains and paths are ignored. There is no clock here: a cookie is removed by
//! `Max-Age=0` or by an expiry in 1970, the ways in which servers remove one. No cookie expires.

/// Maximum number of cookies (RFC 6265, section 6.1). Further ones are ignored.
const MAX_COOKIES: usize = 50;
/// Maximum size of a cookie's name and value, bytes (likewise). Larger ones are ignored.
const MAX_COOKIE_BYTES: usize = 4096;

/// The cookies of one connection.
#[derive(Debug, Default)]
pub(crate) struct Cookies {
    /// Names and values, in the order in which they were first set.
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
    /// The value of the `Cookie` header; empty without cookies.
    header: Vec<u8>,
}

impl Cookies {
    /// Stores the cookie of a `Set-Cookie` value. A cookie without a name is ignored.
    pub(crate) fn set(&mut self, value: &[u8]) {
        let mut parts = value.split(|&byte| byte == b';');
        let Some((name, value)) = parts.next().and_then(name_and_value) else { return };
        let is_sendable = |bytes: &[u8]| bytes.iter().all(|byte| !byte.is_ascii_control());
        if name.is_empty()
            || name.len() + value.len() > MAX_COOKIE_BYTES
            || !is_sendable(name)
            || !is_sendable(value)
        {
            return;
        }
        let number = self.pairs.iter().position(|(known, _)| known == name);
        match (number, parts.any(is_removal)) {
            (Some(number), true) => {
                self.pairs.remove(number);
            }
            (Some(number), false) => {
                if let Some((_, known)) = self.pairs.get_mut(number) {
                    *known = value.to_vec();
                }
            }
            (None, false) if self.pairs.len() < MAX_COOKIES => {
                self.pairs.push((name.to_vec(), value.to_vec()));
            }
            (None, _) => return,
        }
        self.header.clear();
        for (name, value) in &self.pairs {
            if !self.header.is_empty() {
                self.header.extend_from_slice(b"; ");
            }
            self.header.extend_from_slice(name);
            self.header.push(b'=');
            self.header.extend_from_slice(value);
        }
    }

    /// The value of the `Cookie` header; None without cookies.
    pub(crate) fn header(&self) -> Option<&[u8]> {
        (!self.header.is_empty()).then_some(&self.header)
    }
}

/// The name and the value around the first equals sign; None without one.
fn name_and_value(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = pair.iter().position(|&byte| byte == b'=')?;
    let (name, value) = (pair.get(..equals)?, pair.get(equals + 1..)?);
    Some((name.trim_ascii(), value.trim_ascii()))
}

/// True if an attribute of a cookie removes it.
fn is_removal(attribute: &[u8]) -> bool {
    let Some((name, value)) = name_and_value(attribute) else { return false };
    if name.eq_ignore_ascii_case(b"max-age") {
        value == b"0" || value.starts_with(b"-")
    } else {
        name.eq_ignore_ascii_case(b"expires") && value.windows(4).any(|year| year == b"1970")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_that_a_server_sets_adds_a_header(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..9)) {
            let mut cookies = Cookies::default();
            for value in values {
                cookies.set(&[b"a=", value.as_slice()].concat());
                cookies.set(&value);
            }
            prop_assert!(!cookies.header().unwrap_or_default().iter().any(u8::is_ascii_control));
        }
    }

    fn after(set: &[&str]) -> Option<String> {
        let mut cookies = Cookies::default();
        for value in set {
            cookies.set(value.as_bytes());
        }
        cookies.header().map(|header| String::from_utf8_lossy(header).into_owned())
    }

    #[test]
    fn cookies_are_sent_back_until_they_are_replaced_or_removed() {
        assert_eq!(after(&[]), None);
        let set = ["a=1; Path=/; HttpOnly", " b = x=y ; Secure"];
        assert_eq!(after(&set).as_deref(), Some("a=1; b=x=y"));
        assert_eq!(after(&[set[0], set[1], "a=2"]).as_deref(), Some("a=2; b=x=y"));
        assert_eq!(after(&[set[0], set[1], "a=; Max-Age=0"]).as_deref(), Some("b=x=y"));
        assert_eq!(after(&[set[0], "a=; expires=Thu, 01 Jan 1970 00:00:00 GMT"]), None);
        assert_eq!(after(&["c=; Max-Age=-1", "=1", "none", "d=\u{1}"]), None);
    }

    #[test]
    fn cookies_of_a_session_are_bounded() {
        let mut cookies = Cookies::default();
        cookies.set(&[b"a=".as_slice(), &[b'x'; MAX_COOKIE_BYTES]].concat());
        assert_eq!(cookies.header(), None);
        for number in 0..2 * MAX_COOKIES {
            cookies.set(format!("c{number}=1").as_bytes());
        }
        assert_eq!(cookies.pairs.len(), MAX_COOKIES);
    }
}
