//! Each target as a module. Without the fuzzer, its macro makes a test.
#[path = "../targets/agents.rs"]
mod agents;
#[path = "../targets/configuration.rs"]
mod configuration;
#[path = "../targets/cookies.rs"]
mod cookies;
#[path = "../targets/expected_body.rs"]
mod expected_body;
#[path = "../targets/formats.rs"]
mod formats;
#[path = "../targets/graphs.rs"]
mod graphs;
#[path = "../targets/grpc.rs"]
mod grpc;
#[path = "../targets/grpc_messages.rs"]
mod grpc_messages;
#[path = "../targets/hgrm.rs"]
mod hgrm;
#[path = "../targets/hlog.rs"]
mod hlog;
#[path = "../targets/http2.rs"]
mod http2;
#[path = "../targets/http3.rs"]
mod http3;
#[path = "../targets/index.rs"]
mod index;
#[path = "../targets/lint.rs"]
mod lint;
#[path = "../targets/listeners.rs"]
mod listeners;
#[path = "../targets/log.rs"]
mod log;
#[path = "../targets/origin_http2.rs"]
mod origin_http2;
#[path = "../targets/origin_request.rs"]
mod origin_request;
#[path = "../targets/plans.rs"]
mod plans;
#[path = "../targets/pods.rs"]
mod pods;
#[path = "../targets/profile.rs"]
mod profile;
#[path = "../targets/request.rs"]
mod request;
#[path = "../targets/response.rs"]
mod response;
#[path = "../targets/results.rs"]
mod results;
#[path = "../targets/secrets.rs"]
mod secrets;
#[path = "../targets/smp.rs"]
mod smp;
#[path = "../targets/study_file.rs"]
mod study_file;
#[path = "../targets/tasks.rs"]
mod tasks;
#[path = "../targets/tcp.rs"]
mod tcp;
#[path = "../targets/tools.rs"]
mod tools;
#[path = "../targets/websocket.rs"]
mod websocket;

/// Targets that are not modules here are neither linted nor tested.
#[test]
fn every_target_is_a_module() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/targets");
    for entry in std::fs::read_dir(folder).expect("a folder of targets") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        assert!(
            include_str!("targets.rs").contains(&format!("../targets/{name}\"")),
            "{name} is not in fuzz/src/targets.rs"
        );
    }
}
