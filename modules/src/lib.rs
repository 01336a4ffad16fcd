//! An Envoy dynamic module with a filter that uses a stated CPU time per request. Its cost is known before a study measures it,
//! like the response time of Envoy's own `fault/delay`.
//!
//! [`burn`] uses the CPU time; [`hooks`] is the interface to Envoy. Tests run without Envoy and are built without [`hooks`].

mod burn;
#[cfg(not(test))]
mod hooks;
