//! WebAssembly filters for Envoy, selected by the plugin configuration: `empty` does nothing, `headers` adds a header to request
//! and response, and `rate-limit 100` allows 100 requests per second and rejects the others with status 429. `add-header`,
//! `check-token` and `rewrite-json` are the [tasks](task) that other mechanisms perform too. `plans` and its settings enforce the
//! [plans] of the image registry.
//!
//! The token bucket of the rate limit is in shared data of the proxy, so all workers share one limit. Updates are
//! compare-and-swap operations.

mod plans;
mod task;

use std::rc::Rc;
use std::time::{Duration, SystemTime};

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType, LogLevel, Status};

use plans::{Plans, PlansContext};
use task::{Task, TaskContext};

/// The key of the token bucket in the shared data.
const BUCKET: &str = "hoptax.bucket";

/// The version with which shared data is only set if there is none yet. Envoy compares versions only of data that exist, and without
/// a version it would replace what another worker has set meanwhile. It reaches this version after four billion updates.
const IF_ABSENT: Option<u32> = Some(u32::MAX);

proxy_wasm::main! {{
    proxy_wasm::set_log_level(LogLevel::Warn);
    proxy_wasm::set_root_context(|_| Box::new(Root { filter: Filter::Empty }));
}}

/// The kind of a filter.
#[derive(Clone)]
enum Filter {
    Empty,
    Headers,
    RateLimit { per_second: f64 },
    Task(Task),
    Plans(Rc<Plans>),
}

impl Filter {
    /// Parses a configuration; None if it is invalid.
    fn read(configuration: &str) -> Option<Self> {
        if let Some(settings) = configuration.trim_start().strip_prefix("plans ") {
            return Some(Self::Plans(Rc::new(Plans::read(settings)?)));
        }
        let mut words = configuration.split_whitespace();
        let filter = match words.next()? {
            "empty" => Self::Empty,
            "headers" => Self::Headers,
            "rate-limit" => Self::RateLimit { per_second: words.next()?.parse().ok()? },
            name => Self::Task(Task::read(name)?),
        };
        words.next().is_none().then_some(filter)
    }
}

struct Root {
    filter: Filter,
}

impl Context for Root {}

impl RootContext for Root {
    fn on_configure(&mut self, _: usize) -> bool {
        let configuration = self.get_plugin_configuration().unwrap_or_default();
        let filter = std::str::from_utf8(&configuration).ok().and_then(Filter::read);
        // An invalid configuration is rejected, so it is never measured.
        filter.map(|filter| self.filter = filter).is_some()
    }

    fn create_http_context(&self, _: u32) -> Option<Box<dyn HttpContext>> {
        Some(match &self.filter {
            Filter::Task(task) => Box::new(TaskContext::new(*task)),
            Filter::Plans(plans) => Box::new(PlansContext::new(Rc::clone(plans))),
            filter => Box::new(Request { filter: filter.clone() }),
        })
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}

struct Request {
    filter: Filter,
}

impl Context for Request {}

impl HttpContext for Request {
    fn on_http_request_headers(&mut self, _: usize, _: bool) -> Action {
        match self.filter {
            Filter::Empty | Filter::Task(_) | Filter::Plans(_) => {}
            Filter::Headers => self.add_http_request_header("x-hoptax-wasm", "request"),
            Filter::RateLimit { per_second } => {
                if !self.take(per_second) {
                    self.send_http_response(429, Vec::new(), None);
                    return Action::Pause;
                }
            }
        }
        Action::Continue
    }

    fn on_http_response_headers(&mut self, _: usize, _: bool) -> Action {
        if matches!(self.filter, Filter::Headers) {
            self.add_http_response_header("x-hoptax-wasm", "response");
        }
        Action::Continue
    }
}

impl Request {
    /// Takes a token from the bucket; false if it is empty.
    fn take(&self, per_second: f64) -> bool {
        let now = self.get_current_time();
        loop {
            let (kept, version) = self.get_shared_data(BUCKET);
            let mut bucket = kept.as_deref().and_then(Bucket::read).unwrap_or(Bucket::full(per_second, now));
            let passes = bucket.take(per_second, now);
            match self.set_shared_data(BUCKET, Some(&bucket.bytes()), version.or(IF_ABSENT)) {
                Ok(()) => return passes,
                Err(Status::CasMismatch) => {}
                // A request that cannot be counted is rejected.
                Err(_) => return false,
            }
        }
    }
}

/// A token bucket.
struct Bucket {
    tokens: f64,
    filled: Duration,
}

impl Bucket {
    fn full(per_second: f64, now: SystemTime) -> Self {
        Self { tokens: per_second, filled: since_epoch(now) }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (tokens, filled) = bytes.split_at_checked(8)?;
        Some(Self {
            tokens: f64::from_le_bytes(tokens.try_into().ok()?),
            filled: Duration::from_nanos(u64::from_le_bytes(filled.try_into().ok()?)),
        })
    }

    fn bytes(&self) -> Vec<u8> {
        [self.tokens.to_le_bytes(), (self.filled.as_nanos() as u64).to_le_bytes()].concat()
    }

    fn take(&mut self, per_second: f64, now: SystemTime) -> bool {
        let now = since_epoch(now);
        let since = now.saturating_sub(self.filled).as_secs_f64();
        self.tokens = (self.tokens + since * per_second).min(per_second);
        self.filled = self.filled.max(now);
        let passes = self.tokens >= 1.0;
        if passes {
            self.tokens -= 1.0;
        }
        passes
    }
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
