//! The program as a user runs it: loads, searches, results and their formats. Loads go to an origin, most of them without Envoy.
//!
//! All tests of this folder are one program, because each program links the whole of hoptax. They run beside each other. A test that
//! disturbs the machine on purpose, or needs a process to itself, has a program of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

/// An HTTP/2 server that a test controls frame by frame.
#[path = "../../../load/tests/support/http2.rs"]
#[allow(dead_code, unreachable_pub, reason = "this program uses a part of it")]
mod peer;
#[path = "../support/mod.rs"]
mod support;

mod agent_pods;
mod agent_pods_cluster;
mod agent_pods_rights;
mod agent_pods_thousand;
mod agents;
mod answers;
mod bodies;
mod bounds;
mod circles;
mod collector;
mod crosscheck;
mod dns;
mod doctor;
mod envoy_release;
mod first_screens;
mod forgotten;
mod fortio;
mod http3;
mod imports;
mod interchange;
mod intervals;
mod lint;
mod lists;
mod load;
mod load_ends;
mod merge;
mod mesh;
mod mesh_cluster;
mod mesh_consul;
mod mesh_istio;
mod mesh_istio_functions;
mod mesh_prometheus;
mod multiplexed;
mod network;
mod numbers;
mod overload;
mod page;
mod pod;
mod protocols;
mod reference;
mod requests;
mod scale;
mod serve;
mod signals;
mod size;
mod store;
mod streams;
mod tables;
mod terminal;
mod workflows;
mod zones;
