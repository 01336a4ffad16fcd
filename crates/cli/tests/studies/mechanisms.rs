//! The three tasks of the study `extension-mechanisms` on real Envoy: each mechanism does the same with a request.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use hoptax_functions::{Catalogue, FunctionCall, REQUEST_PATH};
use hoptax_subject::envoy::process::{Proxy, ProxyError};
use hoptax_subject::origin::OriginProcess;
use serde_json::Value;

use crate::support;
use crate::support::proxied::{Arrived, Witness, respond, spec_with, started, statistics};

/// Envoy with one function, its origin and its companion.
struct Setup {
    // Ends before the processes that it connects to.
    proxy: Proxy,
    witness: Witness,
    _companion: OriginProcess,
}

impl Setup {
    fn start(call: &str, folder: &Path) -> Self {
        let (here, log) = (IpAddr::V4(Ipv4Addr::LOCALHOST), folder.join("companion.log"));
        let companion = OriginProcess::start(support::program(), here, &[], &log, &[]).unwrap();
        let witness = Witness::start();
        let spec = spec_with(call, folder, std::slice::from_ref(&witness), Some(companion.address));
        Self { proxy: started(&spec), witness, _companion: companion }
    }

    /// The status of the response, and the request as the origin received it.
    fn send(&self, headers: &BTreeMap<String, String>, body: &[u8]) -> (String, Option<Arrived>) {
        let before = self.witness.requests().len();
        let method = if body.is_empty() { "GET" } else { "POST" };
        let response = respond(self.proxy.address, method, REQUEST_PATH, headers, body);
        let status = response.split(' ').nth(1).unwrap_or_default().to_owned();
        (status, self.witness.requests().get(before).cloned())
    }

    /// The value of the function's proof.
    fn proven(&self, call: &str) -> u64 {
        let catalogue = Catalogue::load().unwrap();
        let (function, knobs) = catalogue.resolve(&FunctionCall::parse(call).unwrap()).unwrap();
        let name = function.proofs(&knobs).unwrap().remove(0).name;
        self.proxy.statistics(&[name]).unwrap().unwrap_or_else(|| panic!("{}", statistics(&self.proxy)))[0]
    }
}

/// The ids of the functions that perform a task.
fn mechanisms(task: &str) -> Vec<String> {
    let catalogue = Catalogue::load().unwrap();
    let ids = catalogue.iter().map(|function| function.id.clone());
    let ids: Vec<String> = ids.filter(|id| id.starts_with(&format!("{task}/"))).collect();
    assert!(ids.len() >= 5, "{ids:?}");
    ids
}

#[test]
fn every_mechanism_adds_the_header() {
    for id in mechanisms("add-header") {
        let folder = tempfile::tempdir().unwrap();
        let setup = Setup::start(&id, folder.path());
        let (status, arrived) = setup.send(&BTreeMap::new(), &[]);
        assert_eq!(status, "200", "{id}");
        let head = arrived.unwrap().head;
        assert_eq!(head.matches("\r\nx-hoptax-added: hoptax\r\n").count(), 1, "{id}: {head}");
        assert_eq!(setup.proven(&id), 1, "{id}");
    }
}

/// The names of functions that Envoy calls in the module, from its table of symbols.
fn hooks(module: &[u8]) -> Vec<String> {
    const PREFIX: &[u8] = b"envoy_dynamic_module_on_";
    let names = module.split(|byte| *byte == 0).filter(|name| name.starts_with(PREFIX));
    let mut names: Vec<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn envoy_refuses_the_module_without_one_of_its_hooks() {
    let folder = tempfile::tempdir().unwrap();
    let witnesses = [Witness::start()];
    let spec = spec_with("add-header/module", folder.path(), &witnesses, None);
    spec.configure().unwrap();
    let never = AtomicBool::new(false);
    spec.validate(&never).unwrap();
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let path = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "so")).unwrap();
    let module = fs::read(&path).unwrap();
    let hooks = hooks(&module);
    assert!(hooks.len() > 10, "{hooks:?}");
    for hook in hooks.iter().step_by(hooks.len() / 3) {
        // The same length, so that nothing else moves.
        let mut other = module.clone();
        let name = [hook.as_bytes(), b"\0"].concat();
        let places: Vec<usize> =
            (0..module.len() - name.len()).filter(|at| module[*at..].starts_with(&name)).collect();
        for at in places {
            other[at + hook.len() - 1] = b'X';
        }
        fs::write(&path, other).unwrap();
        let refused = spec.validate(&never).unwrap_err();
        assert!(
            matches!(&refused, ProxyError::Refused { reason, .. } if reason.contains(hook.as_str())),
            "{hook}: {refused}"
        );
    }
}

/// Tokens that differ from the valid one in one respect.
const BAD_TOKENS: [(&str, &str); 6] = [
    (
        "expired",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJob3B0YXgiLCJzdWIiOiJsb2FkIiwiZXhwIjoxNzAwMDAwMDAwfQ.aImQI4nV5baCyj7ipgTbInxNX4s0hLZE6ng68gB-PZQ",
    ),
    (
        "another issuer",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJvdGhlciIsInN1YiI6ImxvYWQiLCJleHAiOjQxMDI0NDQ3OTl9.AnNT1x4XKxXBwHQ2H97EbZGYoCLEh0dsrIarwi-wibI",
    ),
    (
        "another key",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJob3B0YXgiLCJzdWIiOiJsb2FkIiwiZXhwIjo0MTAyNDQ0Nzk5fQ.zXeGBkLaxPtebT6hoB5C1qmx6VuCYJ3kSI5BSV1BbKY",
    ),
    (
        "another algorithm",
        "eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJob3B0YXgiLCJzdWIiOiJsb2FkIiwiZXhwIjo0MTAyNDQ0Nzk5fQ.Mt7IEhO75KxgBL-OZnrmrMJreHVbMhAvPslmhg5g9_Q",
    ),
    ("no signature", "eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJob3B0YXgifQ."),
    ("no token", "hoptax"),
];

#[test]
fn every_mechanism_admits_the_token_and_refuses_others() {
    const HEADER: &str = "x-hoptax-token";
    for id in mechanisms("check-token") {
        let folder = tempfile::tempdir().unwrap();
        let setup = Setup::start(&id, folder.path());
        let catalogue = Catalogue::load().unwrap();
        let valid = catalogue.get(&id).unwrap().request.headers.clone();
        let (status, arrived) = setup.send(&valid, &[]);
        assert_eq!(status, "200", "{id}");
        // The token is not removed.
        assert!(
            arrived.unwrap().head.contains(&format!("\r\n{HEADER}: {}\r\n", valid[HEADER].to_lowercase()))
        );
        assert_eq!(setup.proven(&id), 1, "{id}");
        assert_eq!(setup.send(&BTreeMap::new(), &[]).0, "401", "{id}: no header");
        for (fault, token) in BAD_TOKENS {
            let (status, arrived) = setup.send(&[(HEADER.to_owned(), token.to_owned())].into(), &[]);
            assert_eq!((status.as_str(), arrived.is_none()), ("401", true), "{id}: {fault}");
        }
    }
}

/// Text with all kinds of values, escapes and white space.
const MIXED: &str = r#" {"via" : 1, "text": "\u00e9\ud83d\ude00 \"\\\/\n\u0001", "é": [ ], "list": [1, -2.5, true, false, null, {}],
 "deep": {"a": {"b": [[]]}}} "#;

/// Envoy's own filter passes a body that is no JSON object; the others refuse it.
#[test]
fn every_mechanism_rewrites_the_body_and_own_code_refuses_one_that_is_no_object() {
    for id in mechanisms("rewrite-json") {
        let folder = tempfile::tempdir().unwrap();
        let setup = Setup::start(&id, folder.path());
        let catalogue = Catalogue::load().unwrap();
        let bodies = [1, 10, 100].map(|kib| {
            let call = FunctionCall::parse(&format!("{id}{{body_kib={kib}}}")).unwrap();
            let (function, knobs) = catalogue.resolve(&call).unwrap();
            function.body(&knobs).unwrap().unwrap()
        });
        let headers = catalogue.get(&id).unwrap().request.own_headers.clone();
        for body in bodies.iter().map(Vec::as_slice).chain([MIXED.as_bytes()]) {
            let (status, arrived) = setup.send(&headers, body);
            assert_eq!(status, "200", "{id}: {} bytes", body.len());
            let arrived = arrived.unwrap();
            let after: Value = serde_json::from_slice(&arrived.body).unwrap();
            let expected = hoptax_tasks::rewrite_json(body).unwrap();
            assert_eq!(after, serde_json::from_slice::<Value>(&expected).unwrap(), "{id}");
            // Only the order of members may differ.
            assert_eq!(arrived.body.len(), expected.len(), "{id}");
        }
        assert_eq!(setup.proven(&id), 4, "{id}");
        let headers = [("content-type".to_owned(), "application/json".to_owned())].into();
        let expected = if id == "rewrite-json/native" { "200" } else { "400" };
        for body in ["[]", "{", r#"{"a":}"#, "{} {}"] {
            assert_eq!(setup.send(&headers, body.as_bytes()).0, expected, "{id}: {body}");
        }
    }
}
