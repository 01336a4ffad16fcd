//! The load engine: sends requests on a schedule and records the outcome of each.
//!
//! A [`Worker`] is one thread: an epoll loop over its own connections, with nothing shared. It can run repeatedly over
//! the same warm connections; a study uses this to measure many arms in turn. [`trial::run`] combines several workers
//! into one timed trial. Neither knows about studies, proxies or files.
//!
//! Four timestamps of each request are recorded: intended start, first byte written, first byte read, last byte read.
//! They give three distributions, which separate the effects of coordinated omission (Gil Tene): response time, from
//! the intended start; service time, from the first byte written; and send lag, the time between the two.

mod address_rules;
mod addresses;
mod backlog;
mod batches;
mod by_connection;
mod by_key;
mod by_request;
mod connect_error;
mod connection;
mod connection_error;
mod counts;
mod course;
mod current;
mod dial;
mod distribution;
mod division;
mod early_end;
pub mod encoded;
mod expect;
mod expected_length;
mod failure;
mod generator_delay;
mod grpc_call;
mod handshakes;
pub mod hdr;
mod in_flight;
pub mod interval;
mod kernel;
mod lifetime;
pub mod log;
mod log_histogram;
mod lookups;
pub mod merge;
mod named_requests;
mod negotiate;
pub mod options;
mod outliers;
mod pace;
mod peer;
mod phases;
mod placeholders;
mod pool;
mod protocol;
mod recording;
mod request_names;
mod resolve;
mod run;
mod schedule;
mod share;
mod target;
mod think;
mod times;
mod trace;
mod traffic;
mod transport;
pub mod trial;
mod unclaimed;
mod url;
mod worker;

pub use connect_error::ConnectError;
pub use connection::Closing;
pub use course::Course;
pub use dial::{Dial, Source, Sources};
pub use distribution::{Distribution, histogram};
pub use early_end::EarlyEnd;
pub use expect::Expectation;
pub use expected_length::ExpectedLength;
pub use failure::Failure;
pub use grpc_call::{GrpcCallError, grpc_call};
pub use handshakes::Handshakes;
pub use hoptax_host::clock::now_ns;
pub use hoptax_wire::proxy_protocol::Version as ProxyProtocol;
pub use hoptax_wire::tls::ClientConfig;
pub use lifetime::{Connect, Lifetime, RequestsPerConnection};
pub use lookups::{AddressUpdates, HostPort, Refresh};
pub use negotiate::negotiate;
pub use pace::{MAX_RATE, Pace, StagePlan};
pub use peer::Peer;
pub use pool::{PoolOrder, Pooling, WhenBusy, WhenLate};
pub use protocol::{Content, EncodeError, Protocol};
pub use recording::Recording;
pub use resolve::{Family, Lookup, ResolveError, Resolver, StaticAddress};
pub use run::{LiveSample, Release, Run};
pub use schedule::{Arrivals, ArrivalsError, Schedule};
pub use share::Share;
pub use target::{RequestSpec, Target, TargetError};
pub use think::Think;
pub use trace::{Trace, TraceError};
pub use traffic::{MessageTimes, Traffic};
pub use unclaimed::UnclaimedRequests;
pub use url::{join_url, without_user};
pub use worker::{Worker, WorkerSpec};
