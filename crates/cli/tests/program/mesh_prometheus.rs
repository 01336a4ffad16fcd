//! `hoptax mesh` with a Prometheus as the source of CPU times, in the cluster of `tools/cluster`. There is no Prometheus in it: a server of the
//! test answers as its API is described, with what the kubelet has whenever it is asked.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use hoptax_cluster::usage::{Container, Reading, readings};
use serde_json::{Value, json};

use super::agent_pods_cluster::asked;
use super::mesh_cluster::{alone, found, result_in, sidecar, wait_until_clean};
use crate::support::ran;

/// The URL of a server that answers as Prometheus does.
fn stand_in() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(&stream);
        }
    });
    format!("http://{address}/prefix")
}

fn answer(stream: &TcpStream) {
    let mut question = String::new();
    BufReader::new(stream).read_line(&mut question).unwrap();
    let result = if question.starts_with("GET /prefix/api/v1/query?query=count") {
        vec![json!({"metric": {}, "value": [0, "1"]})]
    } else {
        series()
    };
    let body = json!({"status": "success", "data": {"resultType": "matrix", "result": result}}).to_string();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let mut stream = stream;
    // Whoever was interrupted hears no answer.
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

/// The readings of the kubelet as series of one value.
fn series() -> Vec<Value> {
    let metrics = asked(&["get", "--raw", "/api/v1/nodes/node/proxy/metrics/cadvisor"]);
    let of = |(one, reading): (Container, Reading)| {
        let labels = json!({
            "__name__": "container_cpu_usage_seconds_total", "namespace": one.namespace, "pod": one.pod,
            "container": one.name, "id": reading.group, "cpu": "total", "instance": "node:10250",
        });
        let value = json!([reading.at_us as f64 / 1e6, reading.cpu_s.to_string()]);
        json!({"metric": labels, "values": [value]})
    };
    readings(&metrics).into_iter().map(of).collect()
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn the_cpu_time_of_a_sidecar_is_that_which_a_prometheus_has() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let url = stand_in();
    let more = ["--cpu-time", "prometheus", "--prometheus", &url];
    ran(&mut sidecar("100", folder.path(), &more)).succeeded();
    let result = result_in(folder.path());
    assert_eq!(result["environment"]["cluster"]["cpu_time"], "prometheus");
    let cost = &result["arms"][2]["cost"]["cpu_us_per_request"];
    assert!(cost["estimate"].as_f64() > Some(5.0), "{result:#}");
    let source = found(&result, "cpu-source")[0];
    assert_eq!(source["severity"], "info", "its times are those of the kubelet: {source:#}");
    let message = source["message"].as_str().unwrap();
    assert!(message.contains("from a Prometheus (as --cpu-time asks)"), "{message}");
    assert!(found(&result, "cpu-unknown").is_empty(), "{:#}", result["findings"]);
    wait_until_clean();
}

#[test]
#[ignore = "needs the cluster of `make test-cluster`"]
fn a_prometheus_that_is_not_there_is_said_before_anybody_waits_for_readings_and_nothing_is_left() {
    let _alone = alone();
    for (address, expected) in [
        ("default/none:9090", "does not show service `default/none`: 404"),
        ("default/kubernetes:443", "gives no CPU times: its service selects no pods"),
        ("http://127.0.0.1:1", "Prometheus `http://127.0.0.1:1` gives no CPU times"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let more = ["--cpu-time", "prometheus", "--prometheus", address];
        ran(&mut sidecar("100", folder.path(), &more)).fails(3, expected);
    }
    wait_until_clean();
}
