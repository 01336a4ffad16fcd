//! Studies and bills as jobs of `hoptax serve`, on real Envoy. The rest of its answers is tested in `crates/serve`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Guarded, Lab, hoptax};

/// A proxy with parts that all requests pass, without files and without code.
const CONFIGURATION: &str = "\
static_resources:
  listeners:
    - name: web
      address: {socket_address: {address: 0.0.0.0, port_value: 8080}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: web
                http_filters:
                  - name: header
                    typed_config:
                      '@type': type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation
                      mutations:
                        request_mutations: [{append: {header: {key: x-added, value: '1'}}}]
                  - name: envoy.filters.http.router
                    typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
                route_config:
                  name: shop
                  virtual_hosts:
                    - name: shop
                      domains: [shop.example]
                      routes: [{match: {prefix: /cart}, route: {cluster: shop}}]
  clusters:
    - name: shop
      type: STRICT_DNS
      load_assignment:
        cluster_name: shop
        endpoints:
          - lb_endpoints:
              - endpoint: {address: {socket_address: {address: 192.0.2.7, port_value: 80}}}
";

/// A server of results with a store of its own.
struct Served {
    process: Guarded,
    url: String,
}

impl Served {
    fn start(lab: &Lab) -> Self {
        let mut serve = hoptax();
        serve.args([
            "serve",
            "--allow-bills",
            "--listen",
            "127.0.0.1:0",
            "--store",
            &lab.file("store.sqlite"),
        ]);
        let mut process = Guarded(serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
        let mut said = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let url = said.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{said}"));
        Self { url: format!("{url}api/v1"), process }
    }

    fn get(&self, path: &str) -> String {
        let answer = ureq::get(format!("{}{path}", self.url)).call().unwrap();
        answer.into_body().read_to_string().unwrap()
    }

    fn post(&self, path: &str, body: &Value) {
        let request = ureq::post(format!("{}{path}", self.url)).header("Content-Type", "application/json");
        assert_eq!(request.send(body.to_string()).unwrap().status(), 202, "{path}");
    }

    /// The first job, once a condition holds.
    fn job_when(&self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let job: Value = serde_json::from_str(&self.get("/jobs/1")).unwrap();
            if holds(&job) {
                return job;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn ended(&self) -> Value {
        self.job_when(|job| !job["ended_at"].is_null())
    }
}

/// The soft and the hard limit of a process, by the name that the kernel has for it; none if it has ended.
fn limits_of(process_id: u32, name: &str) -> Option<[String; 2]> {
    let all = fs::read_to_string(format!("/proc/{process_id}/limits")).ok()?;
    let mut limits =
        all.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().map(str::to_owned);
    Some([limits.next()?, limits.next()?])
}

fn has_line(job: &Value, part: &str) -> bool {
    job["notes"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().contains(part))
}

#[test]
fn a_configuration_that_is_sent_becomes_a_bill_under_its_name() {
    let lab = Lab::new();
    let served = Served::start(&lab);
    served.post("/bills", &json!({"configuration": CONFIGURATION, "name": "mine.yaml", "budget": "3s"}));
    let job = served.ended();
    assert_eq!((job["state"].as_str(), job["run"].as_i64()), (Some("done"), Some(1)), "{job}");
    assert!(has_line(&job, "Variants of listener web"), "{job}");
    let result = served.get("/runs/1/result");
    assert!(result.contains("\"configuration\": \"mine.yaml\""), "{result}");
    // Nothing of it names the folder that it was measured in.
    assert!(!job.to_string().contains("hoptax-serve-"), "{job}");
    let runs = served.get("/runs");
    assert!(runs.contains("\"bill\"") && !runs.contains("hoptax-serve-"), "{runs}");
    assert_eq!(served.process.children(), [0; 0]);
}

#[test]
fn a_study_shows_its_steps_and_ends_with_its_processes_when_it_is_stopped() {
    let lab = Lab::new();
    let served = Served::start(&lab);
    // A study of few proxies: its first slice comes once all have started.
    served.post("/studies", &json!({"study": "anchors", "budget": "50s"}));
    let job = served.job_when(|job| job["step"]["done"].as_u64() > Some(0) || !job["ended_at"].is_null());
    assert!(job["step"]["line"].as_str().unwrap().starts_with("round 1"), "{job}");
    assert!(job["step"]["all"].as_u64() > job["step"]["done"].as_u64(), "{job}");
    assert!(has_line(&job, "study `anchors`"), "{job}");
    // What a job starts fills neither the disk nor the table of open files.
    let processes = served.process.children();
    for (name, most) in [("Max file size", 1 << 30), ("Max open files", 16_384), ("Max core file size", 0)] {
        let found: Vec<[String; 2]> = processes.iter().filter_map(|id| limits_of(*id, name)).collect();
        assert!(!found.is_empty(), "{processes:?}");
        for limit in found.iter().flatten() {
            assert!(limit.parse::<u64>().is_ok_and(|limit| limit <= most), "{name}: {found:?}");
        }
    }
    served.post("/jobs/1/stop", &json!({}));
    let job = served.ended();
    assert_eq!((job["state"].as_str(), &job["problem"]), (Some("interrupted"), &Value::Null), "{job}");
    assert_eq!(served.process.children(), [0; 0]);
}
