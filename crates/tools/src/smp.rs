//! Service Mesh Performance (SMP) v0.0.1: conversion of hoptax results to and from its messages, its test configurations as loads, and its
//! index `MeshMark`. Nothing here reads a file or opens a connection.
//!
//! Field names and types are those of the proto files of SMP,
//! <https://github.com/service-mesh-performance/service-mesh-performance/tree/6ecbce79/protos>.

mod document;
mod duration;
mod kept;
mod load;
mod meshmark;
mod message;
mod restore;
mod study;
mod test;

pub use document::{
    Client, Document, Environment, Latency, MeshConfig, Node, Protocol, Read, TestConfig, TestResult, Unit,
    Workload, read, text,
};
pub use load::of_load;
pub use meshmark::meshmark;
pub use restore::{Restored, restore};
pub use study::of_study;
pub use test::{Chosen, PlannedLoad, choose, plan};

/// The version of SMP.
pub const VERSION: &str = "v0.0.1";
