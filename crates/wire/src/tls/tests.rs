//! Handshakes in memory: their results, and the state that a client keeps.

use hoptax_certs::{Authority, KeyKind, Request};

use super::config::restricted_to;
use super::*;

const P256: &str = "secp256r1";
const HYBRID: &str = "X25519MLKEM768";

/// The configuration of a server of this machine, and the authority that a client must trust.
pub(crate) fn localhost() -> (Arc<ServerConfig>, String) {
    let authority = Authority::new("test", 3_600).unwrap();
    let names = vec!["localhost".to_owned()];
    let request = Request { names, spiffe: Vec::new(), key: KeyKind::P256, seconds: 3_600 };
    let signed = authority.sign(&request).unwrap();
    let identity = Identity::from_pem(signed.certificate.as_bytes(), signed.key.as_bytes()).unwrap();
    let security = ServerSecurity { resumes: true, ..ServerSecurity::new(identity) };
    (server_config(security).unwrap(), authority.certificate())
}

fn client(authority: &str, groups: &[&str], versions: Versions, resumes: bool) -> Arc<ClientConfig> {
    client_config(ClientSecurity {
        authorities: certificates_from_pem(authority.as_bytes()).unwrap(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        versions,
        resumes,
        ..ClientSecurity::default()
    })
    .unwrap()
}

/// One handshake, as seen by the client; None if the server rejects it.
fn shake(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Option<Handshake> {
    shake_with("localhost", client, server)
}

/// The same with another expected server name.
fn shake_with(
    name: &'static str,
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> Option<Handshake> {
    let mut client = Tls::client(client, ServerName::try_from(name).unwrap()).unwrap();
    let mut server = Tls::server(server).unwrap();
    let (mut to_server, mut to_client, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    client.flush(&mut to_server).unwrap();
    while !to_server.is_empty() || !to_client.is_empty() {
        server.receive(&std::mem::take(&mut to_server), &mut plain, &mut to_client).ok()?;
        client.receive(&std::mem::take(&mut to_client), &mut plain, &mut to_server).ok()?;
    }
    client.handshake()
}

/// A client and a server before their handshake.
fn sides() -> (Tls, Tls) {
    let (server, authority) = localhost();
    let config = client(&authority, &[], Versions::Both, true);
    let client = Tls::client(&config, ServerName::try_from("localhost").unwrap()).unwrap();
    (client, Tls::server(&server).unwrap())
}

/// Transfers the output of one side to the other, and its replies back, until nothing is left; the received
/// plaintext goes to `plain`. Returns the largest output at once.
fn carry(from: &mut Tls, to: &mut Tls, output: Vec<u8>, plain: &mut Vec<u8>) -> usize {
    let (mut there, mut back, mut most) = (output, Vec::new(), 0);
    from.flush(&mut there).unwrap();
    while !there.is_empty() || !back.is_empty() {
        most = most.max(there.len());
        to.receive(&std::mem::take(&mut there), plain, &mut back).unwrap();
        from.receive(&std::mem::take(&mut back), &mut Vec::new(), &mut there).unwrap();
    }
    most
}

#[test]
fn megabytes_arrive_whole_in_both_directions_through_a_bounded_buffer() {
    let (mut client, mut server) = sides();
    carry(&mut client, &mut server, Vec::new(), &mut Vec::new());
    let text: Vec<u8> = (0..5_000_000_u32).map(|number| (number % 251) as u8).collect();
    for is_request in [true, false] {
        let (from, to) = if is_request { (&mut client, &mut server) } else { (&mut server, &mut client) };
        let (mut output, mut plain) = (Vec::new(), Vec::new());
        // The second piece waits behind the first.
        let (first, second) = text.split_at(70_000);
        from.send(first, &mut output).unwrap();
        from.send(second, &mut output).unwrap();
        assert!(!from.is_sent());
        let most = carry(from, to, output, &mut plain);
        // A record adds its header, its type and its tag.
        assert!((OUTPUT_BYTES..OUTPUT_BYTES + 1_024).contains(&most), "{most}");
        assert!(from.is_sent() && plain == text, "{} bytes of {}", plain.len(), text.len());
    }
}

#[test]
fn data_sent_before_the_end_of_the_handshake_waits_for_it() {
    let (mut client, mut server) = sides();
    let (text, mut output, mut plain) = (vec![7; 200_000], Vec::new(), Vec::new());
    client.send(&text, &mut output).unwrap();
    assert!(!client.is_sent() && output.len() < text.len());
    carry(&mut client, &mut server, output, &mut plain);
    assert!(client.is_sent() && plain == text, "{} bytes", plain.len());
}

fn group(handshake: &Handshake) -> Option<&str> {
    handshake.key_exchange_group.as_deref()
}

#[test]
fn the_key_exchange_uses_the_requested_group_or_x25519() {
    let (server, authority) = localhost();
    for (groups, expected) in
        [(&[][..], "X25519"), (&[P256], P256), (&[HYBRID], HYBRID), (&[P256, HYBRID], P256)]
    {
        for resumes in [true, false] {
            let handshake = shake(&client(&authority, groups, Versions::Both, resumes), &server).unwrap();
            assert_eq!(group(&handshake), Some(expected), "{groups:?}");
            assert!(!handshake.is_retried && !handshake.is_resumed, "{handshake:?}");
        }
    }
}

#[test]
fn a_client_remembers_the_group_of_a_server_after_one_retry() {
    let (server, authority) = localhost();
    let server = restricted_to(&server, P256);
    // A second handshake with sessions resumes the first.
    for resumes in [true, false] {
        let client = client(&authority, &[], Versions::Only13, resumes);
        let first = shake(&client, &server).unwrap();
        assert_eq!((group(&first), first.is_retried, first.is_resumed), (Some(P256), true, false));
        let second = shake(&client, &server).unwrap();
        assert_eq!((group(&second), second.is_retried, second.is_resumed), (Some(P256), false, resumes));
    }
    assert_eq!(shake(&client(&authority, &[HYBRID], Versions::Only13, true), &server), None);
}

#[test]
fn as_many_connections_resume_at_once_as_the_server_gave_tickets() {
    const CONNECTIONS: usize = 100;
    let (server, authority) = localhost();
    for (resumes, expected) in [(true, CONNECTIONS), (false, 0)] {
        let config = client(&authority, &[], Versions::Only13, resumes);
        // A ticket is taken when a handshake begins, so all begin before the first is carried out.
        let open = || {
            let mut clients: Vec<Tls> = (0..CONNECTIONS)
                .map(|_| Tls::client(&config, ServerName::try_from("localhost").unwrap()).unwrap())
                .collect();
            for client in &mut clients {
                carry(client, &mut Tls::server(&server).unwrap(), Vec::new(), &mut Vec::new());
            }
            clients.iter().filter(|client| client.handshake().unwrap().is_resumed).count()
        };
        assert_eq!(open(), 0);
        assert_eq!(open(), expected);
    }
}

#[test]
fn a_session_of_tls_1_2_that_is_taken_up_exchanges_no_keys() {
    let (server, authority) = localhost();
    let client = client(&authority, &[], Versions::Only12, true);
    assert_eq!(group(&shake(&client, &server).unwrap()), Some("X25519"));
    let second = shake(&client, &server).unwrap();
    assert_eq!((second.is_resumed, group(&second)), (true, None));
}

#[test]
fn a_client_that_verifies_once_trusts_only_verified_servers() {
    let (known, authority) = localhost();
    let (stranger, _) = localhost();
    for versions in [Versions::Only12, Versions::Only13] {
        let client = client_config(ClientSecurity {
            authorities: certificates_from_pem(authority.as_bytes()).unwrap(),
            versions,
            verifies_once: true,
            ..ClientSecurity::default()
        })
        .unwrap();
        assert_eq!(shake(&client, &stranger), None);
        for _ in 0..3 {
            let handshake = shake(&client, &known).unwrap();
            assert!(!handshake.is_resumed && group(&handshake) == Some("X25519"), "{handshake:?}");
        }
        assert_eq!(shake_with("other.test", &client, &known), None);
        assert_eq!(shake(&client, &stranger), None);
    }
}

#[test]
fn an_unknown_group_is_rejected_with_the_supported_ones() {
    let unknown = ClientSecurity { groups: vec!["P-256".to_owned()], ..ClientSecurity::default() };
    let error = client_config(unknown).unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown key exchange group `P-256`; supported: X25519, secp256r1, secp384r1, X25519MLKEM768"
    );
}
