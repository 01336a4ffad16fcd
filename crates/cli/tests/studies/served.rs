//! Studies and bills as jobs of `hoptax serve`, on real Envoy. The rest of its answers is tested in `crates/serve`.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::browser::use_in_browser;
use crate::support::{Guarded, Lab, hoptax, ran, root, serve};

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

/// The path of the API below the first page.
const API: &str = "api/v1";

/// A server of results with a store of its own.
struct Served {
    process: Guarded,
    /// The address of its API.
    url: String,
}

impl Served {
    fn start(lab: &Lab) -> Self {
        let (process, url) = serve(lab.file("store.sqlite"), &["--allow-bills"]);
        Self { url: format!("{url}{API}"), process }
    }

    /// The address of its first page.
    fn page(&self) -> &str {
        self.url.strip_suffix(API).unwrap()
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

/// The page takes the configuration and reads its bill, beside a recorded one, whose numbers no other work on the machine withholds.
#[test]
fn a_configuration_that_is_dropped_on_the_page_becomes_a_bill_under_its_name_and_is_read_there() {
    let lab = Lab::new();
    let mut import = hoptax();
    import.args(["runs", "import", "--store", &lab.file("store.sqlite")]);
    ran(import.arg(root().join("crates/report/recorded/bill.json"))).succeeded();
    let served = Served::start(&lab);
    let file = lab.folder.path().join("mine.yaml");
    fs::write(&file, CONFIGURATION).unwrap();
    if !use_in_browser("bill.mjs", &[served.page().as_ref(), file.as_ref()]) {
        served.post("/bills", &json!({"configuration": CONFIGURATION, "name": "mine.yaml", "budget": "3s"}));
    }
    let job = served.ended();
    assert_eq!((job["state"].as_str(), job["run"].as_i64()), (Some("done"), Some(2)), "{job}");
    assert!(has_line(&job, "Arms of listener web"), "{job}");
    let result = served.get("/runs/2/result");
    assert!(result.contains("\"configuration\": \"mine.yaml\""), "{result}");
    // Nothing of it names the folder that it was measured in.
    assert!(!job.to_string().contains("hoptax-serve-"), "{job}");
    let runs = served.get("/runs");
    assert!(!runs.contains("hoptax-serve-"), "{runs}");
    let listed: Value = serde_json::from_str(&runs).unwrap();
    let latest = &listed["runs"][0];
    assert_eq!((&latest["run"], &latest["kind"]), (&json!(2), &json!("bill")), "{runs}");
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
    // The processes of a job fill neither the disk, nor the table of open files, nor the memory.
    let processes = served.process.children();
    for (name, most) in [
        ("Max file size", 1 << 30),
        ("Max open files", 16_384),
        ("Max data size", 4 << 30),
        ("Max core file size", 0),
    ] {
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
