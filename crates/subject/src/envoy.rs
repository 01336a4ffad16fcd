//! Envoy as a subject.

pub mod bootstrap;
