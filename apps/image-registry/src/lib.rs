//! A registry of images with plans that the proxy in front of it enforces: a sample application for the data plane.
//!
//! [`application`] is the registry: accounts, tokens, images, storage, and a page. [`lab`] starts it behind Envoy, which enforces the
//! plans in a WebAssembly filter or in a dynamic module. The plans themselves are in `hoptax_tasks::plans`, which all of them share.

pub mod application;
pub mod lab;
