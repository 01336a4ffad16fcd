//! An Envoy dynamic module with the filters of the catalogue: `burn`, which uses a stated CPU time per request, the three tasks of
//! `hoptax_tasks`, and `plans`, which enforces the plans of the image registry.
//!
//! `filter` holds the filters, `burn` uses the CPU time, `plans` counts pulls. `abi`, `request` and `hooks` are the interface to Envoy. Tests
//! run without Envoy and are built without it.

#[cfg(not(test))]
mod abi;
mod burn;
mod filter;
#[cfg(not(test))]
mod hooks;
mod plans;
#[cfg(not(test))]
mod request;
