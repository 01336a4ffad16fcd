//! A filter for Envoy that uses a stated CPU time for each request, as a dynamic module: what a study measures of it is known
//! beforehand, as the response time of Envoy's own `fault/delay` is.
//!
//! [`burn`] is the filter's work, [`hooks`] what Envoy calls. Tests need no Envoy, so they are built without the latter.

mod burn;
#[cfg(not(test))]
mod hooks;
