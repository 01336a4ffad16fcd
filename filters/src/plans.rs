//! Enforces the plans of the image registry. The counts are in shared data of the proxy, so all workers share them.
//!
//! Shared data ends with the proxy. A proxy that has no count of an account therefore asks the application for the pulls that it has
//! served to the account in this minute, and continues from there. The application records a pull before it responds, so every pull
//! that a client has received from an earlier proxy is in that answer. A pull that was in flight when the proxy ended may not be; its
//! client has received nothing.

use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use hoptax_tasks::plans::{Admission, Count, Grant, Refusal, Rules, Verdict, minute_of};
use proxy_wasm::hostcalls::{define_metric, increment_metric, log};
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::{Action, LogLevel, MetricType, Status};

use crate::IF_ABSENT;

/// Time limit for the application to state the pulls of an account.
const USAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// The plans, with their counter of requests.
pub(crate) struct Plans {
    rules: Rules,
    requests: u32,
}

impl Plans {
    /// The plans with these settings; None if they are invalid. The reason is in Envoy's log.
    pub(crate) fn read(settings: &str) -> Option<Self> {
        let rules = Rules::read(settings).inspect_err(|error| {
            // Without the log, the filter is rejected all the same.
            let _ = log(LogLevel::Error, error);
        });
        let rules = rules.ok()?;
        let requests = define_metric(MetricType::Counter, "hoptax.plans.requests").ok()?;
        Some(Self { rules, requests })
    }
}

/// The enforcement for one request.
pub(crate) struct PlansContext {
    plans: Rc<Plans>,
    /// The pull that waits for the application, and the minute that it was asked about.
    waiting: Option<(Grant, u32)>,
}

impl PlansContext {
    pub(crate) fn new(plans: Rc<Plans>) -> Self {
        Self { plans, waiting: None }
    }

    fn now_s(&self) -> u64 {
        self.get_current_time().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
    }

    /// Counts a pull; None if there is no count of the account.
    fn count(&self, grant: Grant) -> Option<Admission> {
        let (key, limit) = (key(grant), self.plans.rules.limit(grant.plan));
        loop {
            let (bytes, version) = self.get_shared_data(&key);
            let count = match bytes.and_then(|bytes| bytes.try_into().ok()) {
                Some(bits) => Count::from_bits(u64::from_le_bytes(bits)),
                None if self.plans.rules.usage_cluster.is_some() => return None,
                None => Count::default(),
            };
            let (after, admission) = count.take(limit, self.now_s());
            // A refused pull leaves the count as it is.
            if !admission.admitted || self.store(&key, after, version.or(IF_ABSENT)) {
                return Some(admission);
            }
        }
    }

    /// Stores a count; false if another worker has changed it.
    fn store(&self, key: &str, count: Count, version: Option<u32>) -> bool {
        self.set_shared_data(key, Some(&count.bits().to_le_bytes()), version) != Err(Status::CasMismatch)
    }

    /// Asks the application for the pulls of an account in this minute.
    fn ask(&mut self, grant: Grant) -> Action {
        let minute = minute_of(self.now_s());
        let path = format!("/usage/{}/{minute}", grant.account);
        let cluster = self.plans.rules.usage_cluster.as_deref().unwrap_or_default();
        let headers = vec![(":method", "GET"), (":path", path.as_str()), (":authority", cluster)];
        match self.dispatch_http_call(cluster, headers, None, Vec::new(), USAGE_TIMEOUT) {
            Ok(_) => {
                self.waiting = Some((grant, minute));
                Action::Pause
            }
            Err(_) => self.refuse(&Refusal::uncounted()),
        }
    }

    /// The pulls in the response of the application; None if it has none.
    fn stated(&self, body_bytes: usize) -> Option<u32> {
        if self.get_http_call_response_header_bytes(":status")? != b"200" {
            return None;
        }
        let body = self.get_http_call_response_body(0, body_bytes)?;
        std::str::from_utf8(&body).ok()?.trim().parse().ok()
    }

    fn refuse(&self, refusal: &Refusal) -> Action {
        let headers = refusal.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.send_http_response(refusal.status.into(), headers, Some(refusal.body.as_bytes()));
        Action::Pause
    }

    /// Whatever follows the headers waits with them.
    fn wait(&self) -> Action {
        if self.waiting.is_some() { Action::Pause } else { Action::Continue }
    }
}

/// The key of an account's count in the shared data.
fn key(grant: Grant) -> String {
    format!("hoptax.plans.{}", grant.account)
}

impl Context for PlansContext {
    fn on_http_call_response(&mut self, _: u32, headers: usize, body_bytes: usize, _: usize) {
        let Some((grant, minute)) = self.waiting.take() else { return };
        // Without headers, the call has failed.
        let pulls = if headers > 0 { self.stated(body_bytes) } else { None };
        let admission = pulls.and_then(|pulls| {
            // Another worker may have been faster, and has counted since.
            self.store(&key(grant), Count { minute, pulls }, IF_ABSENT);
            self.count(grant)
        });
        match admission.map_or_else(|| Some(Refusal::uncounted()), |admission| Refusal::for_pull(&admission)) {
            None => self.resume_http_request(),
            Some(refusal) => {
                self.refuse(&refusal);
            }
        }
    }
}

impl HttpContext for PlansContext {
    fn on_http_request_headers(&mut self, _: usize, _: bool) -> Action {
        // A counter that exists can be incremented.
        let _ = increment_metric(self.plans.requests, 1);
        let rules = &self.plans.rules;
        // The bytes, because a header need not be UTF-8. A request in Envoy has a method and a path.
        let header = |name: &str| self.get_http_request_header_bytes(name);
        let (method, path) = (header(":method").unwrap_or_default(), header(":path").unwrap_or_default());
        match rules.judge(&method, &path, header(&rules.token_header).as_deref(), self.now_s()) {
            Verdict::Pass => Action::Continue,
            Verdict::Refuse(refusal) => self.refuse(&refusal),
            Verdict::Count(grant) => match self.count(grant) {
                Some(admission) => match Refusal::for_pull(&admission) {
                    None => Action::Continue,
                    Some(refusal) => self.refuse(&refusal),
                },
                None => self.ask(grant),
            },
        }
    }

    fn on_http_request_body(&mut self, _: usize, _: bool) -> Action {
        self.wait()
    }

    fn on_http_request_trailers(&mut self, _: usize) -> Action {
        self.wait()
    }
}
