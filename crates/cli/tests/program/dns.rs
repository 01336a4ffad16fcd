//! Names of `hoptax load`, looked up with the system's resolver from a DNS server in a network namespace of the test. Skipped
//! without the privilege to create namespaces.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use hoptax_host::namespace::Namespace;

use crate::support::{Watched, program, wait_until};

/// The port of the servers, which nothing else in the namespace uses.
const PORT: u16 = 8080;
/// Types of DNS records (RFC 1035, section 3.2.2).
const TYPE_A: [u8; 2] = [0, 1];
/// The response code for a server that cannot answer (RFC 1035, section 4.1.1).
const SERVER_FAILURE: u8 = 2;

/// A DNS server with the same records for every name.
#[derive(Debug, Default)]
struct Dns {
    /// Its A records; none if it fails.
    records: Mutex<Option<Vec<Ipv4Addr>>>,
    /// Number of questions for A records.
    asked: AtomicU64,
}

impl Dns {
    fn set(&self, records: Option<&[Ipv4Addr]>) {
        *self.records.lock().unwrap() = records.map(<[Ipv4Addr]>::to_vec);
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// The response to a query with one question; it has no records of other types.
    fn respond(&self, query: &[u8]) -> Vec<u8> {
        // The question is behind the header of 12 bytes: a name, which ends with an empty label, a type and a class.
        let name_bytes = query[12..].iter().position(|byte| *byte == 0).unwrap() + 1;
        let question = &query[12..12 + name_bytes + 4];
        let is_a = question[name_bytes..name_bytes + 2] == TYPE_A;
        self.asked.fetch_add(u64::from(is_a), Ordering::Relaxed);
        let records = self.records.lock().unwrap().clone();
        let code = if records.is_none() { SERVER_FAILURE } else { 0 };
        let records = records.filter(|_| is_a).unwrap_or_default();
        // A response with recursion, one question, and the records.
        let counts = [0, 1, 0, records.len() as u8, 0, 0, 0, 0];
        let mut response = [&query[..2], &[0x81, 0x80 | code], &counts, question].concat();
        for record in records {
            // A pointer to the name in the question, type A, class IN, lifetime 0, and four bytes of address.
            response.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
            response.extend_from_slice(&record.octets());
        }
        response
    }
}

/// Counts of an HTTP/1.1 server.
#[derive(Debug, Default)]
struct Counts {
    opened: AtomicU64,
    closed: AtomicU64,
    answered: AtomicU64,
}

impl Counts {
    fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    fn closed(&self) -> u64 {
        self.closed.load(Ordering::Relaxed)
    }

    fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }
}

/// Serves HTTP/1.1 on a listener; each request arrives in one piece.
fn serve(listener: TcpListener) -> Arc<Counts> {
    let counts = Arc::new(Counts::default());
    let ours = Arc::clone(&counts);
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let counts = Arc::clone(&ours);
            counts.opened.fetch_add(1, Ordering::Relaxed);
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(1..) = connection.read(&mut buffer) {
                    counts.answered.fetch_add(1, Ordering::Relaxed);
                    if connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_err() {
                        break;
                    }
                }
                counts.closed.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    counts
}

/// A namespace with a DNS server and three HTTP servers, and the program that uses this DNS server there.
struct Network {
    namespace: Namespace,
    dns: Arc<Dns>,
    addresses: [Ipv4Addr; 3],
    servers: [Arc<Counts>; 3],
    folder: tempfile::TempDir,
}

impl Network {
    /// None, with the reason on stderr, where it cannot be created.
    fn create() -> Option<Self> {
        let namespace = match Namespace::create() {
            Ok(namespace) => namespace,
            Err(error) => {
                assert!(!rustix::process::geteuid().is_root(), "{error}");
                eprintln!("skipped: {error}");
                return None;
            }
        };
        if !Path::new("/etc/resolv.conf").exists() {
            eprintln!("skipped: there is no /etc/resolv.conf to replace");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let settings = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";
        fs::write(folder.path().join("resolv.conf"), settings).unwrap();
        fs::write(folder.path().join("nsswitch.conf"), "hosts: files dns\n").unwrap();
        let dns = Arc::new(Dns::default());
        let socket = namespace.within(|| UdpSocket::bind("127.0.0.1:53").unwrap()).unwrap();
        let ours = Arc::clone(&dns);
        thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut query) {
                socket.send_to(&ours.respond(&query[..length]), from).unwrap();
            }
        });
        let addresses = [2, 3, 4].map(|last| Ipv4Addr::new(127, 0, 0, last));
        let listen = |address| namespace.within(|| TcpListener::bind((address, PORT)).unwrap()).unwrap();
        let servers = addresses.map(|address| serve(listen(address)));
        Some(Self { namespace, dns, addresses, servers, folder })
    }

    /// Starts a load whose resolver asks the DNS server. The files of the resolver are replaced in a mount namespace of the load.
    fn load(&self, arguments: &[&str]) -> Watched {
        let script = "for file in resolv.conf nsswitch.conf; do if [ -e /etc/$file ]; then \
                      mount --bind \"$0/$file\" /etc/$file || exit 9; fi; done; exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script]).arg(self.folder.path()).arg(program());
        command.env("XDG_STATE_HOME", "/nonexistent");
        self.namespace.within(|| Watched::start_as(command, arguments)).unwrap()
    }
}

#[test]
fn connections_follow_the_addresses_of_a_name_while_the_load_runs() {
    let Some(network) = Network::create() else { return };
    let Network { dns, addresses, servers, .. } = &network;
    let [first, second, third] = servers;
    let url = format!("http://shop.test:{PORT}/");
    dns.set(Some(&addresses[..2]));
    let flags = ["-q", "200", "-d", "1h", "--warmup", "0s", "-c", "4", "--resolve-all", "--resolve-every"];
    let mut load = network.load(&[&flags[..], &["100ms", &url]].concat());
    load.wait_for(|line| line["answered"].as_u64() > Some(0));
    // Connections use the addresses in turn, and all connections are open before the load.
    assert_eq!([first.opened(), second.opened(), third.opened()], [2, 2, 0]);
    wait_until("answers of both", || first.answered() > 0 && second.answered() > 0);

    // A name that keeps one address, and gets another one.
    dns.set(Some(&addresses[1..]));
    wait_until("the end of the connections to the first address", || first.closed() == 2);
    wait_until("answers of the third address", || third.answered() > 0);
    assert_eq!(second.closed(), 0, "its address is still one of the name");

    // Without an answer, the addresses stay.
    dns.set(None);
    let (asked, answered) = (dns.asked(), third.answered());
    wait_until("lookups that fail", || dns.asked() > asked + 2);
    wait_until("answers while lookups fail", || third.answered() > answered);
    dns.set(Some(&addresses[2..]));
    wait_until("the end of the connections to the second address", || second.closed() == second.opened());

    let result = load.interrupt();
    let (book, lookups) = (&result["book"], &result["lookups"]);
    assert!(book["failed"] == 0 && book["timed_out"] == 0, "{result}");
    let total: u64 = servers.iter().map(|server| server.answered()).sum();
    assert_eq!(book["answered"].as_u64(), Some(total), "{result}");
    let servers_of =
        |last: &[u8]| -> Vec<String> { last.iter().map(|last| format!("127.0.0.{last}:{PORT}")).collect() };
    assert_eq!(result["plan"]["network"]["servers"], serde_json::json!(servers_of(&[2, 3])), "{result}");
    assert_eq!(lookups["servers"], serde_json::json!(servers_of(&[4])), "{result}");
    assert!(lookups["changes"].as_u64() >= Some(2) && lookups["failed"].as_u64() >= Some(1), "{lookups}");
}

#[test]
fn a_name_with_several_addresses_is_one_server_unless_all_are_requested() {
    let Some(network) = Network::create() else { return };
    network.dns.set(Some(&network.addresses));
    let url = format!("http://shop.test:{PORT}/");
    let mut load = network.load(&["-q", "200", "-d", "1h", "--warmup", "0s", "-c", "6", &url]);
    load.wait_for(|line| line["answered"].as_u64() > Some(0));
    let asked = network.dns.asked();
    let result = load.interrupt();
    let mut opened = network.servers.each_ref().map(|server| server.opened());
    opened.sort_unstable();
    assert_eq!(opened, [0, 0, 6], "{result}");
    assert_eq!((network.dns.asked(), asked), (1, 1), "a name is looked up once");
    assert!(result["lookups"].is_null(), "{result}");
    // A name without an address is an error before the load.
    network.dns.set(Some(&[]));
    let mut load = network.load(&["-d", "1h", &url]);
    assert_eq!(load.load.0.wait().unwrap().code(), Some(2));
}
