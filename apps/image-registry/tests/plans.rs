//! The real application behind real Envoy, with each mechanism: who is admitted, how many pulls, and what a restart changes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, RwLock};
use std::thread;

use hoptax_functions::{Catalogue, FunctionCall, REQUEST_PATH};
use hoptax_tasks::plans::Plan;
use image_registry::lab::Mechanism;
use support::{Client, PASSWORD, Response, Setup, in_one_minute, statuses};

#[test]
fn only_a_valid_token_reaches_an_image() {
    for mechanism in Mechanism::ALL {
        let setup = Setup::start(mechanism, 1);
        let client = setup.client(Plan::Personal);
        client.push("tool", b"content");
        let admitted = client.pull("tool");
        assert_eq!((admitted.status, admitted.body.as_slice()), (200, &b"content"[..]), "{mechanism:?}");
        let refused = |what: &str, response: &Response| {
            assert_eq!(response.status, 401, "{mechanism:?}: {what}");
            assert!(response.header("www-authenticate").unwrap().starts_with("Bearer "), "{what}");
        };
        for (what, token) in support::bad_tokens(&client.token(), &setup.key()) {
            let authorization = [b"Bearer ", token.as_slice()].concat();
            refused(what, &setup.send("GET", b"/images/tool", &[("authorization", &authorization)], b""));
            refused(
                what,
                &setup.send("PUT", b"/images/tool", &[("authorization", &authorization)], b"other"),
            );
        }
        refused("none", &setup.send("GET", b"/images/tool", &[], b""));
        assert_eq!(client.pull("tool").body, b"content");
    }
}

/// No spelling of a path delivers an image without a token, and no input crashes the filter.
#[test]
fn no_path_avoids_the_token() {
    for mechanism in Mechanism::ALL {
        let setup = Setup::start(mechanism, 1);
        let client = setup.client(Plan::Personal);
        client.push("tool", b"content");
        let paths: [&[u8]; 12] = [
            b"/images/tool",
            b"/images/tool?a",
            b"/images/tool#a",
            b"/%69mages/tool",
            b"/images%2ftool",
            b"//images/tool",
            b"/./images/tool",
            b"/a/../images/tool",
            b"/IMAGES/tool",
            b"/images/\xff\xfe",
            b"/images/%ff%00",
            b"http://a/images/tool",
        ];
        for path in paths {
            let shown = String::from_utf8_lossy(path);
            for token in [&b""[..], b"Bearer \xff\xfe.\x80.\x80", b"Bearer ...."] {
                let response = setup.send("GET", path, &[("authorization", token)], b"");
                assert_ne!(response.status, 200, "{mechanism:?}: {shown}");
                assert_ne!(response.body, b"content", "{mechanism:?}: {shown}");
            }
        }
        assert_eq!(client.pull("tool").status, 200, "{mechanism:?}: the filter works on");
    }
}

#[test]
fn clients_that_race_for_a_plan_are_admitted_exactly() {
    const CLIENTS: usize = 16;
    const PULLS: usize = 20;
    for mechanism in Mechanism::ALL {
        let setup = Setup::start(mechanism, 4);
        in_one_minute(|| {
            let client = setup.client(Plan::Team);
            client.push(&client.name, b"content");
            let (token, start) = (client.token(), Barrier::new(CLIENTS));
            let race = || {
                start.wait();
                (0..PULLS).map(|_| client.pull_with(&client.name, &token).status).collect::<Vec<_>>()
            };
            let all: Vec<u16> = thread::scope(|scope| {
                let threads: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(race)).collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            move || {
                assert_eq!(
                    statuses(&all),
                    [(200, 100), (429, CLIENTS * PULLS - 100)].into(),
                    "{mechanism:?}"
                );
            }
        });
    }
}

#[test]
fn a_pull_beyond_the_plan_is_told_when_to_try_again() {
    for mechanism in Mechanism::ALL {
        let setup = Setup::start(mechanism, 1);
        in_one_minute(|| {
            let client = setup.client(Plan::Personal);
            client.push(&client.name, b"content");
            let admitted: Vec<Response> = (0..10).map(|_| client.pull(&client.name)).collect();
            let refused = client.pull(&client.name);
            move || {
                assert!(admitted.iter().all(|response| response.status == 200), "{mechanism:?}");
                assert_eq!(admitted[3].header("ratelimit").unwrap().split(';').nth(1), Some("r=6"));
                assert_eq!(refused.status, 429, "{mechanism:?}");
                let wait_s: u64 = refused.header("retry-after").unwrap().parse().unwrap();
                assert!((1..=60).contains(&wait_s), "{wait_s}");
                assert_eq!(refused.header("ratelimit-policy"), Some(r#""pulls";q=10;w=60"#));
                assert_eq!(refused.header("ratelimit"), Some(format!(r#""pulls";r=0;t={wait_s}"#).as_str()));
            }
        });
    }
}

#[test]
fn an_upgrade_counts_from_the_next_pull() {
    for mechanism in Mechanism::ALL {
        let setup = Setup::start(mechanism, 2);
        in_one_minute(|| {
            let client = setup.client(Plan::Personal);
            client.push(&client.name, b"content");
            let pulls = |token: &str, count: usize| -> Vec<u16> {
                (0..count).map(|_| client.pull_with(&client.name, token).status).collect()
            };
            let old = client.token();
            let before = pulls(&old, 12);
            let upgraded = client.upgrade(Plan::Team);
            let after = pulls(&upgraded, 95);
            // All pulls of the account count, with any of its tokens.
            let with_old = pulls(&old, 1);
            move || {
                assert_eq!(statuses(&before), [(200, 10), (429, 2)].into(), "{mechanism:?}");
                assert_eq!(statuses(&after), [(200, 90), (429, 5)].into(), "{mechanism:?}");
                assert_eq!(with_old, [429], "{mechanism:?}");
            }
        });
    }
}

/// Clients pull without a pause, with the current token, while the account is upgraded.
#[test]
fn an_upgrade_in_the_middle_of_a_race_admits_as_many_as_the_new_plan() {
    const CLIENTS: usize = 16;
    const PULLS_AFTER: usize = 10;
    for mechanism in Mechanism::ALL {
        let setup = Setup::start(mechanism, 4);
        in_one_minute(|| {
            let client = setup.client(Plan::Personal);
            client.push(&client.name, b"content");
            let (current, pulls) = (RwLock::new((client.token(), false)), AtomicUsize::new(0));
            let pull = || {
                let (token, is_upgraded) = current.read().unwrap().clone();
                let status = client.pull_with(&client.name, &token).status;
                pulls.fetch_add(1, Ordering::Relaxed);
                (status, is_upgraded)
            };
            let race = || {
                let mut statuses = Vec::new();
                loop {
                    let (status, is_upgraded) = pull();
                    statuses.push(status);
                    if is_upgraded {
                        break;
                    }
                }
                statuses.extend((0..PULLS_AFTER).map(|_| pull().0));
                statuses
            };
            let all: Vec<u16> = thread::scope(|scope| {
                let threads: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(race)).collect();
                // The old plan is used up.
                while pulls.load(Ordering::Relaxed) < 2 * CLIENTS {
                    thread::yield_now();
                }
                let upgraded = client.upgrade(Plan::Team);
                *current.write().unwrap() = (upgraded, true);
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            let admitted = all.iter().filter(|status| **status == 200).count();
            move || {
                assert_eq!(admitted, 100, "{mechanism:?}: {:?}", statuses(&all));
                assert!(all.iter().all(|status| [200, 429].contains(status)), "{mechanism:?}");
            }
        });
    }
}

#[test]
fn a_proxy_that_was_killed_gives_nobody_a_full_bucket() {
    for mechanism in Mechanism::ALL {
        let mut setup = Setup::start(mechanism, 2);
        in_one_minute(|| {
            let client = setup.client(Plan::Personal);
            client.push(&client.name, b"content");
            let before: Vec<u16> = (0..7).map(|_| client.pull(&client.name).status).collect();
            let (name, token) = (client.name.clone(), client.token());
            setup.restart_proxy();
            let client = Client::new(&setup, &name);
            // Requests with bodies, which must not pass while the first of them waits for the application.
            let after: Vec<u16> = (0..8).map(|_| client.pull_with_body(&name, &token).status).collect();
            move || {
                assert_eq!(before, [200; 7], "{mechanism:?}");
                assert_eq!(after, [200, 200, 200, 429, 429, 429, 429, 429], "{mechanism:?}");
            }
        });
    }
}

/// A pull that cannot be counted is refused.
#[test]
fn a_filter_without_the_application_admits_nothing() {
    let mut setup = Setup::start(Mechanism::Wasm, 1);
    let token = setup.client(Plan::Personal).token();
    setup.end_application();
    let response = Client::new(&setup, "nobody").pull_with("tool", &token);
    assert_eq!(response.status, 503);
    assert_eq!(response.header("retry-after"), Some("1"));
}

#[test]
fn only_the_right_password_opens_a_session() {
    let setup = Setup::start(Mechanism::Wasm, 1);
    let name = setup.client(Plan::Personal).name;
    let mut client = Client::new(&setup, &name);
    let mut nobody = Client::new(&setup, "nobody");
    for (client, password) in [(&mut client, "wrong horse"), (&mut nobody, PASSWORD)] {
        assert_eq!(client.enter("/login", password), 401);
        assert_eq!(client.send("GET", "/account").status, 401);
    }
    assert_eq!(client.enter("/login", PASSWORD), 200);
    assert_eq!(client.send("GET", "/account").status, 200);
    client.push("tool", b"content");
    assert_eq!(client.pull("tool").body, b"content");
}

#[test]
fn a_session_ends_when_its_owner_logs_out() {
    let setup = Setup::start(Mechanism::Module, 1);
    let client = setup.client(Plan::Personal);
    assert_eq!(client.send("GET", "/account").status, 200);
    assert_eq!(client.send("POST", "/logout").status, 204);
    // The browser no longer sends the cookie, but someone who copied it may.
    for (method, path) in [("GET", "/account"), ("POST", "/token")] {
        assert_eq!(client.send(method, path).status, 401, "{path}");
    }
}

/// Without a proxy, the application enforces the plans itself if asked to.
#[test]
fn the_application_can_enforce_the_plans() {
    let setup = Setup::start_without_proxy(&["--enforced-by", "application"]);
    in_one_minute(|| {
        let client = setup.client(Plan::Personal);
        client.push(&client.name, b"content");
        let all: Vec<u16> = (0..12).map(|_| client.pull(&client.name).status).collect();
        move || assert_eq!(statuses(&all), [(200, 10), (429, 2)].into())
    });
}

/// The application as an arm of `hoptax study image-registry`, with the request of its functions.
#[test]
fn a_sample_is_served_without_signing_up() {
    let catalogue = Catalogue::load().unwrap();
    let (function, _) = catalogue.resolve(&FunctionCall::parse("plan-limit/application").unwrap()).unwrap();
    let headers: Vec<(&str, &[u8])> =
        function.request.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    for (enforced_by, admitted) in [("proxy", 5), ("application", 3)] {
        in_one_minute(|| {
            let flags = ["--sample", "--enforced-by", enforced_by, "--pulls-per-minute", "3"];
            let setup = Setup::start_without_proxy(&flags);
            let pull = |headers| setup.send("GET", REQUEST_PATH.as_bytes(), headers, b"").status;
            let all: Vec<u16> = (0..5).map(|_| pull(&headers)).collect();
            assert_eq!(pull(&[]), 401);
            move || assert_eq!(all.iter().filter(|status| **status == 200).count(), admitted, "{all:?}")
        });
    }
}

#[test]
fn envoy_accepts_the_configuration() {
    for mechanism in Mechanism::ALL {
        let setup = Setup::start_without_proxy(&[]);
        setup.spec(mechanism, 1).validate(&AtomicBool::new(false)).unwrap();
    }
}
