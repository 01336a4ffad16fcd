//! `hoptax serve`: the history of the store as pages, and a REST API that runs loads, searches, studies and bills as jobs.
//!
//! A request passes the gate ([`mod@gate`]) before anything else: it names this server, no page of another server sends it, and it shows
//! the token if there is one. A load goes to an allowed target ([`hoptax_session::targets`]) or not at all; a study is a built-in one, and a
//! configuration is taken only if the owner of the server allows it, and checked ([`mod@billing`]). One job runs at a time, and several
//! loads if the owner allows it ([`mod@jobs`]), each on a thread of its own ([`mod@working`]); its result is in the store when it has
//! ended. Decisions are functions of values; I/O is in `history`, `sending`, `finding`, `studying`, `billing`, `server` and the handlers of
//! `api`.

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
