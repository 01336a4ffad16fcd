//! Every function of the catalogue on real Envoy: Envoy accepts it, and it takes effect.
//!
//! A function without work would look cheap, so each needs evidence of its work: the request at the origin, the response at the
//! client, or the counters or files of Envoy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use hoptax_functions::{Function, REQUEST_PATH};
use hoptax_subject::envoy::process::Source;
use hoptax_subject::lab::{GENERATOR, Lab, PeerNames};
use hoptax_subject::origin::OriginProcess;

use crate::composition::composed;
use crate::support;
use crate::support::proxied::{
    Witness, catalogue, deprecated, get, spec, spec_with, start, started, statistics,
};
use crate::support::study::StudyFolder;

/// Observed effects of a function on a request.
struct Seen {
    response: String,
    requests: Vec<String>,
    stats: String,
    files: BTreeMap<String, String>,
}

/// Sends one request through a function: the function's own request, with `path` and `headers` modified by `change`.
fn see(call: &str, change: impl Fn(&mut String, &mut BTreeMap<String, String>)) -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let witnesses = [Witness::start()];
    let proxy = start(call, folder.path(), &witnesses);
    let catalogue = catalogue();
    let id = call.split('{').next().unwrap();
    let request = catalogue.get(id).map(|function| function.request.clone()).unwrap_or_default();
    let mut path = request.query.map_or(REQUEST_PATH.to_owned(), |query| format!("{REQUEST_PATH}?{query}"));
    let mut headers = request.headers;
    change(&mut path, &mut headers);
    let response = get(proxy.address, &path, &headers);
    let stats = statistics(&proxy);
    proxy.end().unwrap();
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), text)
    });
    Seen { response, requests: witnesses[0].heads(), stats, files: files.collect() }
}

fn as_it_is(_: &mut String, _: &mut BTreeMap<String, String>) {}

fn counted(seen: &Seen, name: &str) -> u64 {
    let line = seen.stats.lines().find(|line| line.starts_with(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("no {name}")).rsplit(' ').next().unwrap().parse().unwrap()
}

/// A predicate on the observed effects of a function.
type Evidence = fn(&Seen) -> bool;

/// The evidence for functions whose effect a client, an origin or a file shows, and the study of all functions below does not.
const EVIDENCE: &[(&str, Evidence)] = &[
    ("access-log/file", |seen| seen.files["access.log"].contains("GET /hoptax HTTP/1.1")),
    ("access-log/json", |seen| {
        let line: serde_json::Value = serde_json::from_str(seen.files["access.json"].trim()).unwrap();
        line["status"] == 200 && line.as_object().unwrap().len() == 12
    }),
    ("compress/gzip", |seen| seen.response.contains("content-encoding: gzip")),
    ("cors", |seen| seen.response.contains("access-control-allow-origin: https://hoptax.example")),
    ("header-mutation", |seen| {
        seen.response.contains("x-hoptax-response-1: added")
            && seen.requests[0].contains("x-hoptax-request-1: added")
    }),
    ("lua", |seen| {
        seen.response.contains("x-hoptax-lua: response") && seen.requests[0].contains("x-hoptax-lua: request")
    }),
    ("outlier-detection", |seen| counted(seen, "cluster.origin.outlier_detection.ejections_active") == 0),
    ("request-id", |seen| seen.requests[0].contains("x-request-id: ")),
];

#[test]
fn functions_have_their_visible_effect() {
    for (id, evidence) in EVIDENCE {
        let seen = see(id, as_it_is);
        assert!(seen.response.starts_with("HTTP/1.1 200"), "{id}: {}", seen.response);
        assert!(evidence(&seen), "{id}: no sign of its work in {}\n{:?}", seen.response, seen.requests);
    }
}

/// Every function that needs nothing but this program: Envoy accepts it, its proof moves, and requests are answered. The study leaves
/// out those for which two other tests assert this as they are by default: in a composition; and alone, before they are unloaded.
#[test]
fn envoy_accepts_every_function_and_its_proof_moves() {
    let needs_nothing =
        |function: &&Function| function.application(&function.default_knobs()).unwrap().is_empty();
    let all: Vec<&Function> = catalogue().iter().filter(needs_nothing).collect();
    let composed = composed();
    let is_elsewhere = |function: &Function| {
        let obstacle = function.obstacle_to_unloading(&function.default_knobs()).unwrap();
        composed.contains(&function.id) && obstacle.is_none()
    };
    let alone = all.iter().copied().filter(|function| !is_elsewhere(function));
    let ids: BTreeSet<&str> = alone.map(|function| function.id.as_str()).collect();
    assert!(ids.len() > 40, "{ids:?}");
    let arms: String = ids.iter().map(|id| format!("  - {id}\n")).collect();
    let text = format!(
        "name: all\nrounds: 2\narms:\n  - baseline\n{arms}loads:\n  - {{name: in-use, loop: open, rate: 1000, \
         connections: 4, blocks: 1, slice: 50ms}}\n"
    );
    let study = StudyFolder::new(&text);
    let result = study.short_form();
    let arms = result["arms"].as_array().unwrap();
    let measured: BTreeSet<&str> = arms.iter().filter_map(|arm| arm["function"].as_str()).collect();
    assert_eq!(measured, ids);
    let covered: BTreeSet<&str> = measured.into_iter().chain(composed.iter().map(String::as_str)).collect();
    let wanted: BTreeSet<&str> = all.iter().map(|function| function.id.as_str()).collect();
    assert_eq!(covered, wanted);
    for arm in arms {
        assert_eq!(arm["unproven"], serde_json::json!([]), "{}", arm["id"]);
        assert_eq!(arm["failures"], serde_json::json!({}), "{}", arm["id"]);
        assert!(arm["book"]["answered"].as_u64() > Some(0), "{arm}");
    }
    assert_eq!(deprecated(&study.out()), Vec::<String>::new());
}

#[test]
fn web_assembly_filters_change_headers() {
    let seen = see("wasm/headers", as_it_is);
    assert!(seen.response.contains("x-hoptax-wasm: response"), "{}", seen.response);
    assert!(seen.requests[0].contains("x-hoptax-wasm: request"), "{:?}", seen.requests);
    let seen = see("wasm/empty", as_it_is);
    assert!(!seen.response.contains("x-hoptax-wasm") && !seen.requests[0].contains("x-hoptax-wasm"));
}

/// CPU time of all threads of a process, by the scheduler's account.
fn cpu_ns(process: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let of = |thread: std::io::Result<fs::DirEntry>| -> u64 {
        let account = fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
        account.split(' ').next().unwrap().parse().unwrap()
    };
    threads.map(of).sum()
}

/// Accuracy depends on the machine, and studies measure it.
#[test]
fn burn_uses_at_least_the_requested_cpu_time_of_the_proxy() {
    const REQUESTS: u64 = 50;
    for us in [0, 5, 100] {
        let folder = tempfile::tempdir().unwrap();
        let witnesses = [Witness::start()];
        let proxy = start(&format!("control/burn{{us={us}}}"), folder.path(), &witnesses);
        let before_ns = cpu_ns(proxy.id());
        for _ in 0..REQUESTS {
            assert!(get(proxy.address, REQUEST_PATH, &BTreeMap::new()).starts_with("HTTP/1.1 200"));
        }
        let used_ns = cpu_ns(proxy.id()) - before_ns;
        let names = ["hoptax.burn.requests".to_owned(), "hoptax.burn.cpu_ns".to_owned()];
        let counted = proxy.statistics(&names).unwrap().unwrap();
        let [requests, burned_ns] = counted[..] else { panic!("{counted:?}") };
        assert_eq!(requests, REQUESTS);
        assert!(burned_ns >= us * 1000 * REQUESTS && (us > 0 || burned_ns == 0), "{us} us: {burned_ns} ns");
        assert!(used_ns > burned_ns, "{us} us: the proxy used {used_ns} ns, of them {burned_ns} burning");
        proxy.end().unwrap();
    }
}

#[test]
fn limits_pass_the_configured_number_of_requests_and_of_connections() {
    let too_many = "HTTP/1.1 429";
    for (id, refusal) in [
        ("rate-limit/local", too_many),
        ("rate-limit/wasm", too_many),
        ("rate-limit/lua", too_many),
        ("connection-rate-limit", ""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let witnesses = [Witness::start()];
        let proxy = start(&format!("{id}{{per_second=3}}"), folder.path(), &witnesses);
        let began = Instant::now();
        let responses: Vec<String> =
            (0..30).map(|_| get(proxy.address, REQUEST_PATH, &BTreeMap::new())).collect();
        let passed = responses.iter().filter(|response| response.starts_with("HTTP/1.1 200")).count();
        // A connection that is refused is closed without a response.
        let is_refused = |one: &&String| one.is_empty() == refusal.is_empty() && one.starts_with(refusal);
        let refused = responses.iter().filter(is_refused).count();
        assert_eq!(passed + refused, 30, "{id}: {responses:?}");
        // A burst of three, and three for each second that passed.
        let most = 3 + 3 * (began.elapsed().as_secs() as usize + 1);
        assert!((3..=most).contains(&passed), "{id}: {passed} passed");
        proxy.end().unwrap();
    }
}

/// A plan begins again with each minute of the clock, which may begin between two requests.
#[test]
fn plan_limits_pass_the_plan_of_the_account() {
    for id in ["plan-limit/wasm", "plan-limit/module", "plan-limit/native"] {
        let folder = tempfile::tempdir().unwrap();
        let witnesses = [Witness::start()];
        let proxy = start(&format!("{id}{{pulls_per_minute=3}}"), folder.path(), &witnesses);
        let token = catalogue().get(id).unwrap().request.headers.clone();
        let began = Instant::now();
        let responses: Vec<String> = (0..7).map(|_| get(proxy.address, REQUEST_PATH, &token)).collect();
        let passed = responses.iter().filter(|response| response.starts_with("HTTP/1.1 200")).count();
        let refused = responses.iter().filter(|response| response.starts_with("HTTP/1.1 429")).count();
        assert_eq!(passed + refused, 7, "{id}: {responses:?}");
        let most = 3 * (began.elapsed().as_secs() as usize / 60 + 2);
        assert!((3..=most).contains(&passed), "{id}: {passed} passed");
        let is_told = |response: &&String| {
            response.contains("\r\nratelimit: ") || response.contains("x-ratelimit-reset: ")
        };
        let told =
            responses.iter().filter(|response| response.starts_with("HTTP/1.1 429")).filter(is_told).count();
        assert_eq!(told, refused, "{id}: {responses:?}");
        assert!(get(proxy.address, REQUEST_PATH, &BTreeMap::new()).starts_with("HTTP/1.1 401"), "{id}");
        proxy.end().unwrap();
    }
}

/// A process with such a ring has sockets that use it: Envoy makes one for each worker.
#[test]
fn sockets_use_io_uring_where_the_kernel_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let rings = |call: &str| {
        let proxy = start(call, folder.path(), &[Witness::start()]);
        assert!(get(proxy.address, REQUEST_PATH, &BTreeMap::new()).starts_with("HTTP/1.1 200"), "{call}");
        let files = fs::read_dir(format!("/proc/{}/fd", proxy.id())).unwrap();
        let targets = files.map(|file| fs::read_link(file.unwrap().path()).unwrap_or_default());
        let rings = targets.filter(|target| target.to_str() == Some("anon_inode:[io_uring]")).count();
        proxy.end().unwrap();
        rings
    };
    assert_eq!(rings("baseline"), 0);
    let is_disabled = fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    assert_eq!(rings("io-uring") > 0, is_disabled.is_ok_and(|value| value.trim() == "0"));
}

#[test]
fn the_filter_binaries_match_their_recorded_hashes() {
    let folder = support::root().join("filters");
    let recorded = fs::read_to_string(folder.join("hoptax_filters.wasm.sha256")).unwrap();
    let checked =
        std::process::Command::new("sha256sum").arg(folder.join("hoptax_filters.wasm")).output().unwrap();
    let hash = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(hash.split(' ').next(), recorded.split(' ').next());
}

#[test]
fn the_plain_proxy_shows_no_sign_of_any_function() {
    let seen = see("baseline", as_it_is);
    let head = seen.response.split("\r\n\r\n").next().unwrap();
    for sign in ["content-encoding", "access-control", "x-hoptax"] {
        assert!(!head.contains(sign), "{head}");
    }
    assert!(!seen.requests[0].contains("x-request-id"), "{:?}", seen.requests);
    assert!(seen.files.keys().all(|file| !file.starts_with("access")), "{:?}", seen.files.keys());
    assert!(!seen.stats.contains("ejections_active") && !seen.stats.contains("rbac"));
}

#[test]
fn functions_reject_requests_that_they_must_reject() {
    let status = |call: &str, change: fn(&mut String, &mut BTreeMap<String, String>)| {
        see(call, change).response.split(' ').nth(1).unwrap().to_owned()
    };
    let no_headers: fn(&mut String, &mut BTreeMap<String, String>) = |_, headers| headers.clear();
    assert_eq!(status("rbac", no_headers), "403");
    assert_eq!(status("jwt", no_headers), "401");
    assert_eq!(status("route/header", no_headers), "404");
    // A GET is no call of the Model Context Protocol, and a forged session starts the flow of OAuth2.
    assert_eq!(status("mcp", as_it_is), "400");
    assert_eq!(
        status("oauth2/session", |_, headers| {
            let forged = "OauthHMAC=AAAA; OauthExpires=4102444799; BearerToken=token";
            headers.insert("cookie".to_owned(), forged.to_owned());
        }),
        "302"
    );
    assert_eq!(status("route/path{routes=200}", |path, _| path.push('x')), "404");
    assert_eq!(status("route/path{routes=200}", as_it_is), "200");
}

#[test]
fn round_robin_uses_all_four_origins() {
    let folder = tempfile::tempdir().unwrap();
    let witnesses = [(); 4].map(|()| Witness::start());
    let proxy = start("balance/round-robin", folder.path(), &witnesses);
    for _ in 0..8 {
        assert!(get(proxy.address, REQUEST_PATH, &BTreeMap::new()).starts_with("HTTP/1.1 200"));
    }
    let counts: Vec<usize> = witnesses.iter().map(|witness| witness.heads().len()).collect();
    assert_eq!(counts, [2, 2, 2, 2]);
}

/// Three workers: neither the processors nor the control group of CI machines would lead to this number.
#[test]
fn envoy_has_the_workers_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec("baseline", folder.path(), &[Witness::start()]);
    spec.workers = 3;
    let proxy = started(&spec);
    assert!(statistics(&proxy).contains("\nserver.concurrency: 3\n"));
    proxy.end().unwrap();
}

/// The client offers all groups, and Envoy 1.40 prefers X25519MLKEM768 unless its configuration selects another.
#[test]
fn envoy_negotiates_the_key_exchange_group_of_the_function() {
    let folder = tempfile::tempdir().unwrap();
    let lab = Lab::create(&folder.path().join("lab"), ["server"], &PeerNames::default()).unwrap();
    let ca = lab.authority().display().to_string();
    for (group, registered, counted_as) in [
        ("x25519", "X25519", "X25519"),
        ("x25519mlkem768", "X25519MLKEM768", "X25519MLKEM768"),
        ("p256", "secp256r1", "P-256"),
    ] {
        let call = format!("tls/terminate{{group={group}}}");
        let mut spec = spec(&call, &folder.path().join(group), &[Witness::start()]);
        let Source::Plan(plan) = &mut spec.source else { panic!("a plan") };
        plan.downstream = Some(lab.tls_settings("server", GENERATOR, true, false));
        let proxy = started(&spec);
        let url = format!("https://{}{REQUEST_PATH}", proxy.address);
        let load = ["load", "-q", "200", "-n", "80", "--warmup", "0s", "-c", "2", "--json", "-"];
        let more = ["--requests-per-connection", "1", "--ca", &ca, &url];
        let ran = support::run(load.into_iter().chain(support::UNHURRIED).chain(more));
        let result = support::checked("load", &ran.stdout);
        let tls = &result["tls"];
        assert_eq!(tls["key_exchange_group"], registered, "{tls}");
        assert_eq!(tls["version"], "1.3", "{tls}");
        // The first key share is X25519, and the two initial connections have no earlier response to learn from.
        let retries = tls["hello_retry_requests"].as_u64().unwrap();
        assert_eq!((1..=2).contains(&retries), group != "x25519", "{tls}");
        let stats = statistics(&proxy);
        let groups: Vec<&str> =
            stats.lines().filter_map(|line| line.split_once(".ssl.curves.")?.1.split(':').next()).collect();
        assert_eq!(groups, [counted_as], "{stats}");
        proxy.end().unwrap();
    }
}

/// The proof of these functions is the negotiated group.
#[test]
fn every_key_exchange_group_is_negotiated_on_both_sides_of_the_proxy() {
    let arms: String = ["tls/originate", "tls/terminate", "tls/terminate-mutual"]
        .into_iter()
        .flat_map(|id| {
            ["x25519", "x25519mlkem768", "p256"].map(|group| format!("  - {id}{{group={group}}}\n"))
        })
        .collect();
    let text = format!(
        "name: groups\nrounds: 2\narms:\n  - baseline\n{arms}loads:\n  - {{name: handshakes, loop: open, rate: 200, \
         connections: 4, requests_per_connection: 1, blocks: 1, slice: 50ms}}\n"
    );
    let result = StudyFolder::new(&text).short_form();
    let arms = result["arms"].as_array().unwrap();
    assert!(arms.len() >= 10, "{result}");
    for arm in arms {
        assert_eq!(arm["unproven"], serde_json::json!([]), "{}", arm["id"]);
        assert_eq!(arm["failures"], serde_json::json!({}), "{}", arm["id"]);
    }
}

/// A certificate that the service removes is fetched again by the next handshake.
#[test]
fn a_certificate_is_fetched_by_the_first_handshake_or_again() {
    let folder = tempfile::tempdir().unwrap();
    let lab = Lab::create(&folder.path().join("lab"), ["server"], &PeerNames::default()).unwrap();
    let (here, log) = (IpAddr::V4(Ipv4Addr::LOCALHOST), folder.path().join("companion.log"));
    let secrets = ["--secrets".into(), lab.folder().into()];
    let companion = OriginProcess::start(support::program(), here, &secrets, &log, &[]).unwrap();
    let ca = lab.authority().display().to_string();
    for removed in ["never", "always"] {
        let call = format!("tls/on-demand-certificate{{removed={removed}}}");
        let directory = folder.path().join(removed);
        let mut spec = spec_with(&call, &directory, &[Witness::start()], Some(companion.address));
        let Source::Plan(plan) = &mut spec.source else { panic!("a plan") };
        plan.downstream = Some(lab.tls_settings("server", GENERATOR, true, false));
        let proxy = started(&spec);
        let url = format!("https://{}{REQUEST_PATH}", proxy.address);
        let counted = |name: &str| -> u64 {
            let name = [format!("listener.*.on_demand_secret.{name}")];
            proxy.statistics(&name).unwrap().unwrap()[0]
        };
        let fetches = [(); 2].map(|()| {
            let load = ["load", "-n", "1", "--warmup", "0s", "-c", "1", "--json", "-", "--ca", &ca, &url];
            let ran = support::run(load.into_iter().chain(support::UNHURRIED));
            assert_eq!(support::checked("load", &ran.stdout)["statuses"]["200"], 1, "{}", ran.stderr);
            if removed == "always" {
                support::wait_until("the removal", || counted("cert_active") == 0);
            }
            counted("cert_requested")
        });
        // A load may negotiate its protocol on a connection of its own.
        match removed {
            "never" => assert_eq!(fetches, [1, 1]),
            _ => assert!(fetches[0] >= 1 && fetches[1] > fetches[0], "{fetches:?}"),
        }
        proxy.end().unwrap();
    }
}

/// Shows that the absence of lines about deprecated fields is meaningful.
#[test]
fn envoy_logs_deprecated_fields() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec("baseline", folder.path(), &[Witness::start()]);
    let cluster = serde_json::json!({"cluster": {"http2_protocol_options": {}}});
    let Source::Plan(plan) = &mut spec.source else { panic!("a plan") };
    plan.fragment = Some(serde_json::from_value(cluster).unwrap());
    started(&spec).end().unwrap();
    assert!(!deprecated(folder.path()).is_empty());
}
