//! `hoptax price --pod` on a real Kubernetes: that of `tools/cluster`, with real Envoys in its pods. `make test-cluster` starts it and runs
//! these tests in its network namespace.

use std::env;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use hoptax_subject::envoy::release::PINNED_VERSION;
use serde_json::Value;

use crate::support::{Guarded, Ran, hoptax, ran, root, run, wait_at_pace};

/// The pod with a sidecar.
const CART: &str = "shop/cart-7d9f4-x2k";

/// The folder of the programs of the cluster.
pub(super) fn programs() -> PathBuf {
    let cluster = env::var_os("HOPTAX_CLUSTER").expect("`make test-cluster` runs these tests");
    Path::new(&cluster).join("bin")
}

/// `kubectl` as the administrator of the cluster.
pub(super) fn kubectl(arguments: &[&str], input: &str) {
    let mut command = Command::new(programs().join("kubectl"));
    command.args(["--context", "admin"]).args(arguments).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut process = command.spawn().unwrap();
    process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(process.wait().unwrap().success(), "{arguments:?}");
}

/// The folder of the pinned Envoy, which is installed if it is missing.
pub(super) fn envoy() -> String {
    let ran = run(["lab", "envoy", "install", PINNED_VERSION]);
    let (_, program) = ran.stdout.trim().split_once(" is at ").unwrap_or_else(|| panic!("{ran:?}"));
    Path::new(program).parent().unwrap().to_str().unwrap().to_owned()
}

/// The cluster has no network: `make test-cluster` runs this before.
#[test]
#[ignore = "installs Envoy for the cluster of `make test-cluster`"]
fn the_pinned_envoy_is_installed() {
    assert!(Path::new(&envoy()).join("envoy").is_file());
}

/// Has the pods of the fixture run.
fn pods() {
    static RUN: OnceLock<()> = OnceLock::new();
    RUN.get_or_init(|| {
        let text = fs::read_to_string(root().join("crates/cli/tests/fixtures/pods.yaml")).unwrap();
        let text = text.replace("path: ENVOY", &format!("path: {}", envoy()));
        let text = text.replace("path: PROGRAMS", &format!("path: {}", programs().display()));
        kubectl(&["apply", "--filename", "-"], &text);
        // A negative time is a week.
        let wait = ["--namespace", "shop", "wait", "--timeout=-1s"];
        let ready = ["--for=condition=Ready", "pod/cart-7d9f4-x2k", "pod/gateway-0", "pod/tools-0"];
        kubectl(&[&wait[..], &ready].concat(), "");
        let reason = "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImageNeverPull";
        kubectl(&[&wait[..], &[reason, "pod/waiting-0"]].concat(), "");
    });
}

/// Waits until something is so, which asking costs the start of a program.
fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    wait_at_pace(Duration::from_millis(200), what, is_so);
}

/// `hoptax price --dry-run` of a pod.
fn outlined(pod: &str, arguments: &[&str]) -> Ran {
    pods();
    run([&["price", "--dry-run", "--pod", pod][..], arguments].concat())
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_dump_of_a_proxy_on_the_loopback_of_its_pod_is_read() {
    for (pod, arguments, expected) in [
        (CART, vec![], "container `istio-proxy`, port 15000, the usual port"),
        ("shop/gateway-0", vec![], "container `envoy`, port 19001, its `--config-yaml`"),
        (CART, vec!["--container", "istio-proxy", "--kube-context", "admin"], "container `istio-proxy`"),
    ] {
        // Envoy serves a moment after its container has begun.
        wait_until("a dump", || outlined(pod, &arguments).code == Some(0));
        let ran = outlined(pod, &arguments);
        assert!(ran.stderr.contains(expected) && ran.stdout.contains("inbound"), "{ran:?}");
    }
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_dump_of_a_sidecar_of_consul_is_read() {
    // Its listeners come from the agent, once that knows the service.
    wait_until("its listener", || outlined("shop/web-0", &[]).stdout.contains("public_listener"));
    let ran = outlined("shop/web-0", &[]).succeeded();
    assert!(ran.stderr.contains("container `consul-dataplane`, port 19000, the usual port"), "{ran:?}");
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_run_folder_keeps_the_dump_for_its_owner() {
    wait_until("a dump", || outlined(CART, &[]).code == Some(0));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    run(["price", "--pod", CART, "--try", "--out", out.to_str().unwrap()]).succeeded();
    let dump = out.join("pod-dump/shop.cart-7d9f4-x2k.json");
    assert_eq!(fs::metadata(&dump).unwrap().permissions().mode() & 0o777, 0o600);
    let dump: Value = serde_json::from_str(&fs::read_to_string(&dump).unwrap()).unwrap();
    let types = dump["configs"].as_array().unwrap().iter().map(|section| section["@type"].as_str().unwrap());
    assert!(
        types.clone().any(|name| name.ends_with("EndpointsConfigDump")),
        "{:?}",
        types.collect::<Vec<_>>()
    );
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_pod_without_a_dump_is_named_with_the_cause() {
    wait_until("a dump", || outlined(CART, &[]).code == Some(0));
    for (pod, arguments, code, expected) in [
        (CART, vec!["--kube-context", "admn"], 2, "no context `admn`; it has `admin`, `alice`, `expired`"),
        (CART, vec!["--kube-context", "admn"], 2, "; did you mean `admin`?"),
        (
            CART,
            vec!["--kube-context", "expired"],
            3,
            "does not accept the credentials of the kubeconfig: 401",
        ),
        (CART, vec!["--kube-context", "nobody"], 3, "the cluster treats you as `system:anonymous`"),
        ("shpo/cart-7d9f4-x2k", vec![], 2, "no namespace `shpo`; did you mean `shop`?"),
        ("shop/cart", vec![], 2, "did you mean `cart-7d9f4-x2k`?"),
        ("shop/tools-0", vec![], 2, "no container of a known proxy"),
        ("shop/waiting-0", vec![], 3, "its phase is Pending (`envoy`: ErrImageNeverPull)"),
        (
            CART,
            vec!["--container", "side"],
            2,
            "has no running container `side`; name one with --container: ",
        ),
        ("shop/waiting-0", vec![], 3, " -n shop describe pod waiting-0`"),
        (CART, vec!["--admin-port", "15999"], 3, "refused"),
        (CART, vec!["--admin-port", "8080"], 3, "it answered with status 503"),
    ] {
        let ran = outlined(pod, &arguments);
        assert!(ran.code == Some(code) && ran.stderr.contains(expected), "{pod} {arguments:?}: {ran:?}");
    }
}

/// A kubeconfig with one cluster and one user, whose part is `user`.
pub(super) fn kubeconfig(server: &str, user: &str) -> String {
    format!(
        "current-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a, user: {user}}}]\n\
         clusters: [{{name: a, cluster: {{server: '{server}', insecure-skip-tls-verify: true}}}}]\n"
    )
}

/// `hoptax price --dry-run` of a pod with the kubeconfig of a path.
fn outlined_by(kubeconfig: &Path) -> Ran {
    ran(hoptax().args(["price", "--dry-run", "--pod", CART]).env("KUBECONFIG", kubeconfig))
}

#[test]
#[ignore = "needs the client of Kubernetes, which `make test-cluster` builds"]
fn a_kubeconfig_that_leads_nowhere_is_named_with_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    fs::write(&path, kubeconfig("https://me:hunter2@127.0.0.1:1", "{token: hunter2}")).unwrap();
    let nobody = outlined_by(&path);
    let expected = "cannot reach the API server of context `a` at https://x@127.0.0.1:1";
    nobody.fails(3, expected);
    assert!(!nobody.stderr.contains("hunter2"), "{nobody:?}");
    let none = outlined_by(&folder.path().join("none"));
    let expected = format!(
        "cannot read the kubeconfig `{}`: there is no such file; set",
        folder.path().join("none").display()
    );
    none.fails(3, &expected);
    fs::write(&path, "apiVersion: v1\nkind: Config\n").unwrap();
    outlined_by(&path).fails(2, "no current context");
}

#[test]
#[ignore = "needs the client of Kubernetes, which `make test-cluster` builds"]
fn no_error_repeats_a_secret_of_a_kubeconfig_or_of_a_program_for_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let program = |end: &str| {
        format!(
            "{{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, \
             args: [-c, 'echo hunter2; {end}'], env: [{{name: A, value: hunter2}}]}}}}"
        )
    };
    let server = "https://127.0.0.1:1";
    let proxy = "https://127.0.0.1:1', proxy-url: 'socks5://me:hunter2@127.0.0.1:1";
    for (server, user, expected) in [
        (server, "{token: hunter2, [}".to_owned(), "it is not a kubeconfig"),
        (server, "hunter2".to_owned(), "it is not a kubeconfig"),
        (server, program("exit 0"), "`sh` printed something other than credentials"),
        (server, program("exit 3"), "`sh` ended with exit status: 3"),
        (proxy, "{token: hunter2}".to_owned(), "the variable HTTPS_PROXY"),
    ] {
        fs::write(&path, kubeconfig(server, &user)).unwrap();
        let hidden = outlined_by(&path);
        hidden.fails(3, expected);
        assert!(!hidden.stderr.contains("hunter2"), "{hidden:?}");
    }
}

#[test]
#[ignore = "needs the client of Kubernetes, which `make test-cluster` builds"]
fn a_server_that_is_no_api_server_is_not_taken_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    for (answer, expected) in [
        ("404 Not Found", "does not show pod `shop/cart-7d9f4-x2k`: 404 <p>page</p>"),
        ("403 Forbidden", "does not show pod `shop/cart-7d9f4-x2k`: 403 <p>page</p>"),
        ("200 OK", "answered with something other than a Kubernetes object"),
    ] {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", server.local_addr().unwrap());
        fs::write(&path, kubeconfig(&address, "{token: hunter2}")).unwrap();
        let answering = thread::spawn(move || {
            let (mut connection, _) = server.accept().unwrap();
            assert!(connection.read(&mut [0; 4096]).unwrap() > 0);
            let text = format!("HTTP/1.1 {answer}\r\ncontent-length: 11\r\n\r\n<p>page</p>");
            connection.write_all(text.as_bytes()).unwrap();
        });
        let page = outlined_by(&path);
        page.fails(3, expected);
        assert!(!page.stderr.contains("hunter2"), "{page:?}");
        answering.join().unwrap();
    }
}

#[test]
#[ignore = "needs the client of Kubernetes, which `make test-cluster` builds"]
fn a_signal_ends_the_wait_for_an_api_server_that_does_not_answer_and_leaves_no_run_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    fs::write(&path, kubeconfig(&address, "{token: a}")).unwrap();
    let out = folder.path().join("out");
    let mut command = hoptax();
    command.args(["price", "--pod", CART, "--out", out.to_str().unwrap()]).env("KUBECONFIG", &path);
    let mut process = Guarded(command.stdin(Stdio::null()).spawn().unwrap());
    let mut connection = None;
    wait_until("its connection", || {
        connection = server.accept().ok();
        connection.is_some()
    });
    process.signal("TERM");
    assert_eq!(process.0.wait().unwrap().signal(), Some(15));
    assert!(!out.exists());
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_printed_rule_grants_what_a_forbidden_request_lacked() {
    let of_alice = || outlined(CART, &["--kube-context", "alice"]);
    let forbidden = of_alice();
    forbidden.fails(3, "`alice` may not `get` `pods` in namespace `shop`");
    let (_, rule) = forbidden.stderr.split_once("\n\n").unwrap();
    let forwards = |line: &&str| line.contains("pods/portforward");
    assert_eq!(rule.lines().filter(forwards).count(), 1, "{rule}");
    let half: Vec<&str> = rule.lines().filter(|line| !forwards(line)).collect();
    kubectl(&["apply", "--filename", "-"], &half.join("\n"));
    // The API server learns of a rule a moment after it was applied.
    wait_until("the first right", || of_alice().stderr.contains("may not `get` `pods/portforward`"));
    kubectl(&["apply", "--filename", "-"], rule);
    wait_until("the second right", || of_alice().code == Some(0));
}
