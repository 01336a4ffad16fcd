//! `hoptax serve`: the history of the store as pages, and a REST API that runs loads, searches, studies and bills as jobs.
//!
//! Each request first passes the gate ([`mod@gate`]): it must name this server, must not come from a page of another server, and must
//! present the token if there is one. Loads may go only to allowed targets ([`hoptax_session::targets`]). Studies must be built in.
//! Configurations are accepted only if the owner of the server allows it, and are checked ([`mod@billing`]). One job runs at a time, or
//! several loads if the owner allows it ([`mod@jobs`]), each on its own thread ([`mod@working`]); its result is in the store when the job
//! has ended. Decisions are functions of values; I/O is in `history`, `sending`, `finding`, `studying`, `billing`, `server` and the
//! handlers of `api`.

mod address;
mod again;
mod api;
mod app;
mod billing;
mod budget;
mod chosen;
mod connections;
mod curve;
mod finding;
mod folder;
mod gate;
mod history;
mod hosts;
mod job;
mod jobs;
mod labels;
mod metrics;
mod openapi;
mod pages;
mod policy;
mod problem;
mod router;
mod sending;
mod server;
mod studying;
mod wanted;
mod working;

pub use history::OnUpdate;
pub use hosts::AllowedHost;
pub use openapi::openapi;
pub use server::{Options, Server, routes};
