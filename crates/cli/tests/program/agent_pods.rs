//! `hoptax load --agent-pods`: agents in pods, as far as no cluster is needed: what is refused, the manifests, and the requests that an API
//! server of the test gets. Module `agent_pods_cluster` has a real one.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::process::{ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::pod::kubeconfig;
use crate::support::{Guarded, hoptax, ran, run, server};

/// A load that needs no cluster to be refused.
const REFUSED: [&str; 6] = ["load", "--agent-pods", "2", "--namespace", "perf", "--agent-image"];

#[test]
fn agents_in_pods_that_cannot_be_are_refused_with_the_reason_before_anything_is_made() {
    let url = "http://shop.web/";
    let with = |more: &[&'static str]| [&REFUSED[..], &["a/b:1"], more].concat();
    for (arguments, expected) in [
        (vec!["load", "--agent-pods", "2", url], "--namespace"),
        (vec!["load", "--kube-context", "prod", url], "--agent-pods"),
        (vec!["load", "--dry-run", url], "--agent-pods"),
        (vec!["load", "--least-agents", "1", url], "--agents"),
        (with(&["--agents", "a:1", url]), "cannot be used with"),
        (
            vec!["load", "--agent-pods", "2", "--namespace", "Perf", "--agent-image", "a", url],
            "`Perf` is not a valid name of a namespace",
        ),
        (with(&["--agent-cpus", "0", url]), "it must be a number of processors"),
        (with(&["--agent-pull", "soon", url]), "--agent-pull"),
        (with(&["--least-agents", "3", url]), "more than the 2"),
        (with(&["-c", "1", url]), "raise --connections to 2"),
        (with(&["--stages", "1@1s", url]), "does not support --stages"),
        (with(&["-d", "25h", url]), "at most a day"),
        (with(&["http://127.0.0.1:8080/"]), "`127.0.0.1` is the pod of each agent"),
        (with(&["http://localhost/"]), "`localhost` is the pod of each agent"),
        (with(&["http://0.0.0.0/"]), "`0.0.0.0` is the pod of each agent"),
    ] {
        run(arguments.iter().copied()).fails(2, expected);
    }
}

#[test]
fn a_dry_run_prints_the_rights_and_the_manifests_and_needs_no_cluster() {
    let more = ["a/b:1", "--dry-run", "-w", "2", "-d", "30s", "http://shop.web/x", "http://shop.web:80/y"];
    let ran = run(REFUSED.into_iter().chain(more)).succeeded();
    let documents: Vec<Value> =
        ran.stdout.split("---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect();
    let kinds: Vec<&str> = documents.iter().map(|document| document["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Role", "RoleBinding", "Job", "Secret"], "{}", ran.stdout);
    assert!(documents.iter().all(|document| document["metadata"]["namespace"] == "perf"));
    let container = &documents[2]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        (&container["image"], &container["resources"]["limits"]["cpu"]),
        (&"a/b:1".into(), &"3".into())
    );
    let arguments = container["args"].as_array().unwrap();
    let targets = arguments.iter().filter(|argument| *argument == "shop.web:80").count();
    assert_eq!(targets, 1, "{arguments:?}");
}

/// With a client of Kubernetes, `make test-cluster` tests the rest.
#[cfg(not(feature = "cluster"))]
#[test]
fn agents_in_pods_need_a_program_with_a_client_of_kubernetes() {
    let ran = run(REFUSED.into_iter().chain(["a/b:1", "http://shop.web/"]));
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("--features cluster") && ran.stderr.contains("--agents"), "{}", ran.stderr);
    run(["runs", "cleanup", "--kube-context", "prod"]).fails(3, "--features cluster");
}

/// A request to an API server: its method with its path, and its body.
type Request = (String, Value);

/// An API server that answers by a function of a request, and the requests that it got.
struct ApiServer {
    address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl ApiServer {
    fn start(answer: fn(&str) -> (u16, Value)) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&requests);
        let address = server(move |stream| serve(stream, answer, &all));
        Self { address, requests }
    }

    /// The program with a kubeconfig whose context `a` is this server.
    fn hoptax(&self, folder: &tempfile::TempDir) -> Command {
        let path = folder.path().join("kubeconfig");
        let text = kubeconfig(&format!("http://{}", self.address), "{token: hunter2}");
        fs::write(&path, text).unwrap();
        let mut command = hoptax();
        command.env("KUBECONFIG", path);
        command
    }

    /// A load of two agents in pods of this cluster.
    fn load(&self, folder: &tempfile::TempDir, url: &str) -> Command {
        let mut command = self.hoptax(folder);
        command.args(REFUSED).args(["a/b:1", url]);
        command
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// Serves the requests of a connection.
fn serve(stream: TcpStream, answer: fn(&str) -> (u16, Value), all: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_ascii_lowercase());
            if head.len() == 1 {
                line.trim().trim_end_matches(" HTTP/1.1").clone_into(&mut head[0]);
            }
        }
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body).unwrap();
        let (status, text) = answer(&head[0]);
        all.lock().unwrap().push((head.remove(0), serde_json::from_slice(&body).unwrap_or_default()));
        let text = text.to_string();
        let length = text.len();
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{text}"
        );
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// A request that is forbidden.
fn forbidden(resource: &str) -> (u16, Value) {
    let message = format!(
        "{resource} is forbidden: User \"alice\" cannot create resource \"{resource}\" in API group \"\" in the namespace \"perf\""
    );
    (
        403,
        json!({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": message}),
    )
}

/// A load that runs, and the lines of its stderr.
pub(super) fn begun(mut command: Command) -> (Guarded, Lines<BufReader<ChildStderr>>) {
    let mut load = Guarded(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(load.0.stderr.take().unwrap()).lines();
    (load, lines)
}

/// The next line with a text; before the end of the load there is one.
pub(super) fn line_with(lines: &mut Lines<BufReader<ChildStderr>>, text: &str) -> String {
    let mut seen = Vec::new();
    for line in lines.map_while(Result::ok) {
        if line.contains(text) {
            return line;
        }
        seen.push(line);
    }
    panic!("no line has `{text}`: {seen:#?}");
}

#[test]
#[ignore = "needs the client of Kubernetes, which `make test-cluster` builds"]
fn a_job_whose_secret_may_not_be_made_is_removed() {
    let server = ApiServer::start(|request| match request.split('/').next_back().unwrap() {
        "jobs" => (201, json!({"metadata": {"uid": "id-1"}})),
        "secrets" => forbidden("secrets"),
        _ => (200, json!({"kind": "Status", "status": "Success"})),
    });
    let folder = tempfile::tempdir().unwrap();
    let ran = ran(&mut server.load(&folder, "http://10.0.0.1/"));
    assert!(ran.code == Some(3), "{ran:?}");
    assert!(ran.stderr.contains("`alice` may not `create` `secrets` in namespace `perf`"), "{ran:?}");
    assert!(!ran.stderr.contains("hunter2"), "{ran:?}");
    let requests = server.requests();
    let [(made, job), (refused, secret), (removed, options)] = requests.as_slice() else {
        panic!("{requests:#?}")
    };
    let name = job["metadata"]["name"].as_str().unwrap();
    assert_eq!(made, "POST /apis/batch/v1/namespaces/perf/jobs");
    assert_eq!(refused, "POST /api/v1/namespaces/perf/secrets");
    assert_eq!(removed, &format!("DELETE /apis/batch/v1/namespaces/perf/jobs/{name}"));
    assert_eq!(options["propagationPolicy"], "Background");
    assert_eq!(secret["metadata"]["ownerReferences"][0]["uid"], "id-1");
    assert_eq!(secret["metadata"]["ownerReferences"][0]["name"], name);
    assert!(secret["stringData"]["token"].as_str().unwrap().len() >= 32, "a short token");
}

#[test]
#[ignore = "needs the client of Kubernetes, which `make test-cluster` builds"]
fn agents_keep_off_the_pods_of_a_service_and_an_interrupt_removes_their_job() {
    let server = ApiServer::start(|request| {
        let (method, path) = request.split_once(' ').unwrap();
        if path.ends_with("/services/shop") {
            return (200, json!({"spec": {"selector": {"app": "shop"}}}));
        }
        if path.contains("/pods?") {
            let condition = json!({
                "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available",
            });
            let index = json!({"batch.kubernetes.io/job-completion-index": "0"});
            let metadata = json!({"name": "pod-0", "labels": index});
            let status = json!({"phase": "Pending", "conditions": [condition]});
            return (200, json!({"items": [{"metadata": metadata, "status": status}]}));
        }
        let made = json!({"metadata": {"uid": "id-1"}, "items": []});
        (if method == "POST" { 201 } else { 200 }, made)
    });
    let folder = tempfile::tempdir().unwrap();
    let (mut load, mut lines) = begun(server.load(&folder, "http://shop.web/"));
    let line = line_with(&mut lines, "fits on no node");
    assert!(
        line.contains("agent pod `pod-0` fits on no node: 0/1 nodes are available; request less"),
        "{line}"
    );
    load.signal("INT");
    lines.for_each(drop);
    assert_eq!(load.0.wait().unwrap().code(), Some(130));
    let requests = server.requests();
    assert_eq!(requests[0].0, "GET /api/v1/namespaces/web/services/shop");
    let affinity = &requests[1].1["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"];
    let term = &affinity["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"];
    assert_eq!(term["labelSelector"], json!({"matchLabels": {"app": "shop"}}));
    assert_eq!(term["namespaces"], json!(["web"]));
    assert!(requests.last().unwrap().0.starts_with("DELETE /apis/batch/v1/namespaces/perf/jobs/"));
    assert!(requests.iter().any(|(request, _)| request.contains("/events?fieldSelector=")));
}

#[test]
#[ignore = "needs the client of Kubernetes, which `make test-cluster` builds"]
fn cleanup_removes_the_jobs_of_loads_whose_agents_do_not_run() {
    let server = ApiServer::start(|request| {
        if request.contains("/namespaces?") {
            let made = json!("2026-01-01T00:00:00Z");
            let of = |name: &str| json!({"metadata": {"name": name, "creationTimestamp": made}});
            return (200, json!({"items": [of("hoptax-mesh-1-istio"), of("hoptax-mesh-2-istio")]}));
        }
        if request.contains("/hoptax-mesh-") {
            let is_running = request.contains("mesh-2") && request.ends_with("/jobs");
            let running = if is_running { json!([{"status": {"ready": 1}}]) } else { json!([]) };
            return (200, json!({"items": running}));
        }
        // One was killed while no node took its pods, one runs, one waits for its pods, and one has ended.
        let job = |name: &str, made: Value, status: Value| {
            let metadata = json!({"name": name, "namespace": "perf", "creationTimestamp": made});
            json!({"metadata": metadata, "status": status})
        };
        let (long_ago, later) = (json!("2026-01-01T00:00:00Z"), json!("2999-01-01T00:00:00Z"));
        let jobs = [
            job("one", long_ago.clone(), json!({"active": 2, "ready": 0})),
            job("two", long_ago, json!({"active": 2, "ready": 2})),
            job("three", later.clone(), json!({"active": 2})),
            job("four", later, json!({"failed": 2})),
        ];
        (200, json!({"items": jobs}))
    });
    let folder = tempfile::tempdir().unwrap();
    let ran = ran(server.hoptax(&folder).args(["runs", "cleanup", "--kube-context", "a"]));
    let removed = "removed job perf/one\nremoved job perf/four\nremoved namespace hoptax-mesh-1-istio\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), removed), "{ran:?}");
    for left in ["two", "three"] {
        assert!(ran.stderr.contains(&format!("job `perf/{left}` was kept")), "{ran:?}");
    }
    let requests: Vec<String> = server.requests().into_iter().map(|(request, _)| request).collect();
    let list = "GET /apis/batch/v1/jobs?labelSelector=app.kubernetes.io%2Fname%3Dhoptax-agent%2Capp.kubernetes.io%2Fmanaged-by%3Dhoptax";
    let removed = ["one", "four"].map(|name| format!("DELETE /apis/batch/v1/namespaces/perf/jobs/{name}"));
    let namespaces = "GET /api/v1/namespaces?labelSelector=app.kubernetes.io%2Fname%3Dhoptax-mesh%2Capp.kubernetes.io%2Fmanaged-by%3Dhoptax";
    let jobs_of = |number: u32| format!("GET /apis/batch/v1/namespaces/hoptax-mesh-{number}-istio/jobs");
    let pods_of = |number: u32| format!("GET /api/v1/namespaces/hoptax-mesh-{number}-istio/pods");
    let deleted = "DELETE /api/v1/namespaces/hoptax-mesh-1-istio".to_owned();
    let of_mesh = [namespaces.to_owned(), jobs_of(1), pods_of(1), deleted, jobs_of(2), pods_of(2)];
    let expected: Vec<String> = [list.to_owned()].into_iter().chain(removed).chain(of_mesh).collect();
    assert_eq!(requests, expected);
    assert!(ran.stderr.contains("namespace `hoptax-mesh-2-istio` was kept"), "{ran:?}");
}
