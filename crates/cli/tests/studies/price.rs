//! `hoptax price` on real Envoy: a configuration of the user runs here, whole and without each of its parts.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::time::Duration;

use hoptax_host::link::{FAR, Link, LinkSpec};
use serde_json::json;

use crate::support::study::arm;
use crate::support::{checked, hoptax, program, ran, root, run};

fn edge() -> String {
    root().join("crates/bootstrap/fixtures/edge.yaml").to_str().unwrap().to_owned()
}

fn fixture(name: &str) -> String {
    root().join("crates/cli/tests/fixtures").join(name).to_str().unwrap().to_owned()
}

pub(crate) fn shop() -> String {
    fixture("bill.yaml")
}

/// The lines of a section, without their indentation.
fn section<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let behind = text.split_once(title).unwrap_or_else(|| panic!("no {title} in:\n{text}")).1;
    behind.lines().skip(1).take_while(|line| line.starts_with("  ")).map(str::trim).collect()
}

#[test]
fn the_whole_and_every_arm_answer_and_the_parts_act() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(["price", &edge(), "--try", "--out", folder.path().to_str().unwrap()]).succeeded();
    let arms = section(&ran.stdout, "Arms of listener edge");
    assert_eq!(arms.len(), 12, "{arms:#?}");
    for arm in &arms {
        assert!(arm.ends_with("10 of status 200"), "{arms:#?}");
    }
    let activity = section(&ran.stdout, "Activity of the parts");
    let parts = [
        "users",
        "authorization",
        "cors",
        "to-file",
        "envoy.tracers.zipkin",
        "envoy.transport_sockets.tls",
        "cart",
    ];
    for part in parts {
        let line = activity.iter().find(|line| line.contains(&format!("  {part}  ")));
        assert!(line.is_some_and(|line| line.contains('+')), "{part}: {activity:#?}");
    }
    let whole = fs::read_to_string(folder.path().join("tries/whole/bootstrap.json")).unwrap();
    assert!(!whole.contains("hunter2") && !whole.contains("192.0.2.9"), "{whole}");
}

#[test]
fn an_idle_part_beside_an_active_one_with_the_same_statistics_did_not_act() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let ran = run(["price", &fixture("shared-statistics.yaml"), "--try", "--out", out]).succeeded();
    // Of two listeners, the one that forwards is tried.
    assert_eq!(section(&ran.stdout, "Arms of listener web").len(), 7, "{}", ran.stdout);
    let activity = section(&ran.stdout, "Activity of the parts");
    for (part, acts) in
        [("acts", true), ("rests", false), ("every", true), ("errors", false), ("forwarded", true)]
    {
        let line = activity.iter().find(|line| line.contains(&format!("  {part}  ")));
        let line = line.unwrap_or_else(|| panic!("no {part}: {activity:#?}"));
        assert_eq!((line.contains('+'), line.contains("not exercised")), (acts, !acts), "{line}");
    }
}

#[test]
fn a_compressor_acts_on_responses_of_its_length_and_type() {
    let folder = tempfile::tempdir().unwrap();
    let activity = |headers: &[&str]| {
        let out = folder.path().to_str().unwrap();
        let config = shop();
        let fixed = ["price", &config, "--try", "--without", "gzip", "--out", out];
        let ran = run(fixed.into_iter().chain(headers.iter().flat_map(|header| ["--header", *header])));
        section(&ran.stdout, "Activity of the parts")
            .first()
            .map(|line| (*line).to_owned())
            .expect(&ran.stderr)
    };
    let idle = activity(&[]);
    assert!(
        idle.contains("not exercised") && idle.ends_with("at least 100 bytes of type application/json"),
        "{idle}"
    );
    let acts = activity(&["x-hoptax-size: 2000", "x-hoptax-header: content-type:application/json"]);
    assert!(acts.ends_with(".compressed +10"), "{acts}");
}

/// Where all that leaves the machine passes a link, no packet does: the files name servers, services, statistics sinks, a proxy and
/// a source of credentials by address and by name, and the resolver is elsewhere. Agents of the machine itself get nothing, either.
#[test]
fn no_packet_leaves_for_the_addresses_and_names_of_a_configuration() {
    let spec = LinkSpec { delay: Duration::ZERO, jitter: Duration::ZERO, rate: None, loss: 0.0, seed: 1 };
    let Ok(link) = Link::create(&spec) else {
        assert!(!rustix::process::geteuid().is_root(), "root may make a link");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("resolv.conf"), "nameserver 192.0.2.53\noptions timeout:1 attempts:1\n")
        .unwrap();
    let inside = |arguments: &[&str]| {
        let script =
            "ip route replace default dev hoptax0 && mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script]).arg(folder.path().join("resolv.conf")).arg(program());
        command.env("XDG_STATE_HOME", "/nonexistent").args(arguments);
        link.near.within(|| ran(&mut command)).unwrap()
    };
    // The interface announces itself to IPv6 routers.
    let quiet = || fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    let _ = link.near.within(quiet).unwrap();
    let far = link.far.within(|| UdpSocket::bind((FAR, 0)).unwrap()).unwrap();
    let near = link.near.within(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    // Packets arrive in their order: with this one, all earlier ones were counted.
    let passed = || {
        near.send_to(b"x", far.local_addr().unwrap()).unwrap();
        far.recv(&mut [0]).unwrap();
        link.carried()[0].packets
    };
    let mut before = passed();
    let agents = [8125, 2000].map(|port| {
        let agent = link.near.within(|| UdpSocket::bind(("127.0.0.1", port)).unwrap()).unwrap();
        agent.set_nonblocking(true).unwrap();
        agent
    });
    for (config, listener, part) in [
        (fixture("leads-out.yaml"), "web", "over-proxy"),
        (fixture("sinks-dump.json"), "web", "agent"),
        (edge(), "edge", "cors"),
    ] {
        let out = folder.path().join(part);
        let ran = inside(&["price", &config, "--try", "--without", part, "--out", out.to_str().unwrap()])
            .succeeded();
        let arms = section(&ran.stdout, &format!("Arms of listener {listener}"));
        assert!(!arms.is_empty(), "{config}: {}", ran.stdout);
        for arm in &arms {
            assert!(arm.ends_with("10 of status 200"), "{config}: {arms:#?}");
        }
        before += 1;
        assert_eq!(passed(), before, "{config}: {}", ran.stdout);
    }
    for agent in &agents {
        let received = agent.recv(&mut [0]).map_err(|error| error.kind());
        assert_eq!(received, Err(ErrorKind::WouldBlock), "{agent:?}");
    }
    // A bill is such tries and a study of such arms.
    let (study, out) = (folder.path().join("study.yaml"), folder.path().join("out"));
    let measured = json!({"name": "edge", "hops": [{"config": edge()}]});
    let load = "{name: saturation, loop: closed, connections: 4, blocks: 1, slice: 50ms}";
    fs::write(&study, format!("name: edge\narms: [baseline, {measured}]\nloads: [{load}]\n")).unwrap();
    let [study, out_folder] = [&study, &out].map(|path| path.to_str().unwrap());
    let ran = inside(&["study", study, "--smoke", "--out", out_folder]).succeeded();
    let result = checked("study", &fs::read_to_string(out.join("result.json")).unwrap());
    let measured = arm(&result, "edge");
    assert!(measured["book"]["answered"].as_u64() > Some(0), "{measured:#}");
    assert_eq!(passed(), before + 1, "{}", ran.stdout);
    // A packet for their address does pass the link, and so does a question for a name.
    near.send_to(b"x", "192.0.2.9:8125").unwrap();
    assert_eq!(passed(), before + 3);
    assert_ne!(inside(&["load", "--count", "1", "http://cart-1.example/"]).code, Some(0));
    assert!(passed() > before + 4);
}

#[test]
fn a_dry_run_lists_requests_parts_and_replacements_without_secrets() {
    let ran = run(["price", &edge(), "--dry-run"]).succeeded();
    assert!(ran.stdout.contains("GET https://hoptax.shop.example/cart"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("hunter2"), "{}", ran.stdout);
    assert!(section(&ran.stdout, "Replacements").len() > 10);
    assert!(ran.stdout.contains("\n\nnext: the same command without `--dry-run` "), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 100), "{}", ran.stdout);
}

#[test]
fn a_dry_run_names_all_files_that_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("envoy.yaml");
    let text = fs::read_to_string(fixture("secrets.yaml")).unwrap();
    fs::write(&path, text.replace("hoptax_filters.wasm", "missing.wasm")).unwrap();
    let ran = run(["price", path.to_str().unwrap(), "--dry-run"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    for file in ["missing.wasm", "script.lua"] {
        assert!(ran.stderr.contains(&format!("file `{file}` does not exist")), "{}", ran.stderr);
    }
    assert!(section(&ran.stdout, "Replacements").len() > 10, "{}", ran.stdout);
}

fn sidecar() -> String {
    fixture("sidecar-dump.json")
}

/// A dump as a sidecar of a mesh gives it, with extensions that a release of Envoy lacks.
#[test]
fn the_dump_of_a_sidecar_has_a_request_for_each_listener_that_takes_connections() {
    let ran = run(["price", &sidecar(), "--dry-run"]).succeeded();
    let of = |listener: &str| {
        let behind = ran.stdout.split_once(&format!("Listener {listener} (")).expect(listener).1;
        // Long lines go on below.
        let (of_listener, _) = behind.split_once("\n\n").unwrap();
        of_listener.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let inbound = of("virtualInbound");
    assert!(inbound.contains("https://") && inbound.contains("client certificate"), "{inbound}");
    for part in [
        "istio.metadata_exchange",
        "istio.stats",
        "envoy.access_loggers.file",
        "downstream TLS",
        "stats_tags",
    ] {
        assert!(inbound.contains(part), "{part}: {inbound}");
    }
    assert!(of("0.0.0.0_9080").contains("http://reviews.shop.svc.cluster.local/"), "{}", ran.stdout);
    assert!(of("virtualOutbound").contains("to cluster PassthroughCluster"), "{}", ran.stdout);
    assert!(of("connect_originate").contains("measure the listener in front of it"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("bm90IGEg"), "certificates are not printed");
}

#[test]
fn extensions_that_envoy_lacks_are_removed_from_a_sidecar_and_named() {
    let folder = tempfile::tempdir().unwrap();
    for (listener, more, lacking, acting) in [
        (
            "virtualInbound",
            &[][..],
            &["istio.metadata_exchange", "istio.stats"][..],
            &["envoy.transport_sockets.tls"][..],
        ),
        // Metadata of the endpoints select the socket with TLS.
        ("0.0.0.0_9080", &[], &["istio.alpn", "istio.stats"], &["envoy.access_loggers.file", "upstream TLS"]),
        (
            "0.0.0.0_9080",
            &[
                "--request",
                "GET http://ratings/",
                "--without",
                "internal_upstream",
                "--without",
                "access-log/json",
            ],
            &["istio.stats"],
            &["envoy.access_loggers.file"],
        ),
        ("virtualOutbound", &[], &["istio.stats"], &["envoy.access_loggers.file"]),
    ] {
        let (config, out) = (sidecar(), folder.path().to_str().unwrap());
        let fixed = ["price", &config, "--try", "--listener", listener, "--out", out];
        let ran = run(fixed.into_iter().chain(more.iter().copied())).succeeded();
        let arms = section(&ran.stdout, &format!("Arms of listener {listener}"));
        assert!(arms.len() > 3, "{listener}: {arms:#?}");
        for arm in &arms {
            assert!(arm.ends_with("10 of status 200"), "{listener}: {arms:#?}");
        }
        let named = section(&ran.stdout, "Removed, because this Envoy lacks them; `--envoy PATH`");
        for extension in lacking {
            assert!(named.iter().any(|line| line.contains(extension)), "{listener}: {named:?}");
        }
        let activity = section(&ran.stdout, "Activity of the parts");
        for part in acting {
            let acts = activity.iter().find(|line| line.contains(part)).copied().unwrap_or_default();
            assert!(acts.contains('+'), "{listener}: {part}: {activity:#?}");
        }
    }
}

#[test]
fn parts_are_named_by_their_function_in_both_options() {
    let parts = |name: &str| {
        let ran = run(["price", &edge(), "--dry-run", "--without", name]).succeeded();
        section(&ran.stdout, "  parts").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    for (name, part) in [
        ("basic-auth", "users"),
        ("ext-authz/grpc", "authorization"),
        ("access-log", "to-file"),
        ("statsd", "envoy.stat_sinks.statsd"),
        ("UpstreamTlsContext", "cart"),
    ] {
        let found = parts(name);
        assert!(matches!(found.as_slice(), [one] if one.contains(part)), "{name}: {found:?}");
    }
    run(["price", &edge(), "--dry-run", "--without", "shop"]).fails(2, "`statistics tag shop` (");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let change = "access-log/file -> access-log/json";
    let ran =
        run(["price", &shop(), "--try", "--without", "access-log/file", "--what-if", change, "--out", out]);
    let arms = section(&ran.stdout, "Arms of listener web");
    assert!(
        arms.iter().any(|line| line.contains(change) && line.ends_with("10 of status 200")),
        "{}\n{arms:#?}",
        ran.stderr
    );
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("envoy.yaml");
    let path = path.to_str().unwrap();
    let fails_with = |text: &str, more: &[&str], expected: &str| {
        fs::write(path, text).unwrap();
        run(["price", path].into_iter().chain(more.iter().copied())).fails(2, expected);
    };
    fails_with("a: [", &["--dry-run"], "neither YAML nor JSON");
    fails_with("dynamic_resources: {lds_config: {ads: {}}}", &["--dry-run"], "/config_dump");
    fails_with("{name: shop, version: '1'}", &["--dry-run"], "neither an Envoy bootstrap nor a /config_dump");
    fails_with(
        "listeners: [{name: a, port: 6001, upstream: a.example}]",
        &["--dry-run"],
        "envoy.yaml > envoy.yaml` makes a configuration from it",
    );
    fails_with("static_resources: {}", &["--dry-run"], "has no listener");
    fails_with(
        "static_resources: {listeners: [{name: north}]}",
        &["--dry-run", "--listener", "nroth"],
        "`north`",
    );
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    fails_with("static_resources: {no_such_field: 1}", &["--out", out], "no_such_field");
    run(["price", &edge(), "--dry-run", "--without", "cor"]).fails(2, "did you mean `cors`");
    run(["price", &edge(), "--price-per-core-hour", "0.04"]).fails(2, "--rate");
    let ran = run(["price", &edge(), "--dry-run", "--request", "GET http://a.shop.example/cart"]);
    let unwrapped = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("no request") && unwrapped.contains("accepts https"), "{unwrapped}");
    ran.fails(2, "no listener can be priced");
}

#[test]
fn a_folder_whose_name_is_not_text_is_refused_before_anything_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join(OsStr::from_bytes(b"bill-\xff"));
    let mut command = hoptax();
    command.args(["price", &edge(), "--out"]).arg(&out);
    let ran = ran(&mut command);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("is not valid UTF-8") && !out.exists(), "{}", ran.stderr);
}
