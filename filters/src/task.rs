//! The tasks that a study performs in every extension mechanism: add a header, check a token, rewrite a JSON body.

use std::time::UNIX_EPOCH;

use hoptax_tasks::{ADDED_HEADER, ADDED_VALUE, TOKEN_HEADER, is_valid_token, rewrite_json};
use proxy_wasm::hostcalls::{define_metric, increment_metric};
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::{Action, MetricType};

/// A task, with its counter of requests for which it was done.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    kind: Kind,
    requests: u32,
}

#[derive(Clone, Copy)]
enum Kind {
    AddHeader,
    CheckToken,
    RewriteJson,
}

impl Task {
    /// The task with this name; None if there is none.
    pub(crate) fn read(name: &str) -> Option<Self> {
        let kind = match name {
            "add-header" => Kind::AddHeader,
            "check-token" => Kind::CheckToken,
            "rewrite-json" => Kind::RewriteJson,
            _ => return None,
        };
        let requests = define_metric(MetricType::Counter, &format!("hoptax.{name}.requests")).ok()?;
        Some(Self { kind, requests })
    }
}

/// A task on one request.
pub(crate) struct TaskContext {
    task: Task,
    /// Size of the part of the body that waits for the rest, bytes.
    buffered_bytes: usize,
}

impl TaskContext {
    pub(crate) fn new(task: Task) -> Self {
        Self { task, buffered_bytes: 0 }
    }

    fn done(&self) -> Action {
        // A counter that exists can be incremented.
        let _ = increment_metric(self.task.requests, 1);
        Action::Continue
    }

    fn refuse(&self, status: u32) -> Action {
        self.send_http_response(status, Vec::new(), None);
        Action::Pause
    }
}

impl Context for TaskContext {}

impl HttpContext for TaskContext {
    fn on_http_request_headers(&mut self, _: usize, is_last: bool) -> Action {
        match self.task.kind {
            Kind::AddHeader => self.add_http_request_header(ADDED_HEADER, ADDED_VALUE),
            Kind::CheckToken => {
                let now_s = self.get_current_time().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                // The bytes, because a header need not be UTF-8.
                let token = self.get_http_request_header_bytes(TOKEN_HEADER);
                if !token.is_some_and(|token| is_valid_token(&token, now_s)) {
                    return self.refuse(401);
                }
            }
            // The length of the new body belongs into the headers, so they wait for it.
            Kind::RewriteJson => return if is_last { Action::Continue } else { Action::Pause },
        }
        self.done()
    }

    /// Requests of a study have no trailers, so the last part of the body ends the request.
    fn on_http_request_body(&mut self, part_bytes: usize, is_last: bool) -> Action {
        if !matches!(self.task.kind, Kind::RewriteJson) {
            return Action::Continue;
        }
        self.buffered_bytes += part_bytes;
        if !is_last {
            return Action::Pause;
        }
        let body = self.get_http_request_body(0, self.buffered_bytes).unwrap_or_default();
        let Some(body) = rewrite_json(&body) else { return self.refuse(400) };
        self.set_http_request_body(0, self.buffered_bytes, &body);
        self.set_http_request_header("content-length", Some(&body.len().to_string()));
        self.done()
    }
}
