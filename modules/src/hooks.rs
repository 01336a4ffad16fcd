//! The event hooks that Envoy calls.
//!
//! Envoy rejects a module that lacks one of these hooks, so unused hooks are defined too. They omit their parameters: in the C
//! calling convention, the caller passes and removes them.

use std::cell::RefCell;
use std::ffi::{c_char, c_void};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hoptax_tasks::{ADDED_HEADER, ADDED_VALUE, TOKEN_HEADER, is_valid_token, rewrite_json};

use crate::abi::{self, BUFFER_BODY, Buffer, CONTINUE, DISCARD_BODY, STOP_HEADERS, SUCCESS, VERSION};
use crate::burn::Burner;
use crate::filter::Filter;
use crate::request::Request;

/// The name of the counter of burned CPU time, nanoseconds.
const BURNED_NS: &str = "burn.cpu_ns";

thread_local! {
    /// One burner per worker thread, as only the same thread can compensate its overshoot.
    static BURNER: RefCell<Burner> = const { RefCell::new(Burner::new()) };
}

/// A filter, with its counters by their ids. It has no state of its own for a request, so it stands for all of them.
struct Configured {
    filter: Filter,
    requests: usize,
    burned_ns: usize,
}

unsafe extern "C" {
    /// `clock_gettime(2)` of the C library.
    fn clock_gettime(clock: i32, time: *mut TimeSpec) -> i32;
}

/// `struct timespec` on 64-bit Linux.
#[repr(C)]
struct TimeSpec {
    seconds: i64,
    nanoseconds: i64,
}

/// The id of the CPU clock of the calling thread on Linux.
const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

/// CPU time of the calling thread, nanoseconds.
fn thread_cpu_ns() -> i64 {
    let mut time = TimeSpec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `time` is writable and has the layout that the C library expects. The call fails only for unknown clocks.
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

/// Busy-waits. The loop has no PAUSE instruction, at which a hypervisor may deschedule the processor.
fn wait(nanoseconds: i64) {
    let (began, long) = (Instant::now(), Duration::from_nanos(nanoseconds.unsigned_abs()));
    while began.elapsed() < long {}
}

/// The time, seconds since 1970.
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Called when Envoy loads the module. Returns the version of the interface.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_program_init() -> *const c_char {
    VERSION.as_ptr()
}

/// Called for a filter configuration. Null rejects it.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_config_new(
    envoy: *mut c_void,
    name: Buffer,
    text: Buffer,
) -> *const Configured {
    // SAFETY: Envoy passes texts that are valid during the call.
    let (name, text) = unsafe { (name.bytes(), text.bytes()) };
    let define = |name: &str| {
        let (name, mut id) = (Buffer::new(name.as_bytes()), 0);
        // SAFETY: name and id are valid during the call, and no labels are given.
        let result = unsafe { abi::define_counter(envoy, name, std::ptr::null(), 0, &raw mut id) };
        (result == SUCCESS).then_some(id)
    };
    let configured = Filter::read(name, text).and_then(|filter| {
        let requests = define(filter.requests_counter())?;
        let burned_ns = if matches!(filter, Filter::Burn { .. }) { define(BURNED_NS)? } else { 0 };
        Some(Configured { filter, requests, burned_ns })
    });
    configured.map_or(std::ptr::null(), |configured| Box::into_raw(Box::new(configured)))
}

/// Called when a configuration is no longer used.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_config_destroy(configured: *mut Configured) {
    // SAFETY: The pointer is from `config_new`, and Envoy destroys it once.
    drop(unsafe { Box::from_raw(configured) });
}

/// Called for each request.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_new(
    configured: *const Configured,
    _envoy: *mut c_void,
) -> *const Configured {
    configured
}

/// Called for the headers of a request.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_request_headers(
    envoy: *mut c_void,
    configured: *const Configured,
    is_last: bool,
) -> u32 {
    // SAFETY: The pointer is from `filter_new`, and the configuration is destroyed after the filter.
    let configured = unsafe { &*configured };
    // SAFETY: It ends with this hook.
    let mut request = unsafe { Request::new(envoy) };
    match &configured.filter {
        Filter::Burn { budget_ns } => {
            let burned_ns = BURNER.with_borrow_mut(|burner| burner.burn(*budget_ns, thread_cpu_ns, wait));
            request.count(configured.burned_ns, burned_ns.unsigned_abs());
        }
        Filter::AddHeader => request.add_header(ADDED_HEADER, ADDED_VALUE.as_bytes()),
        Filter::CheckToken => {
            if !request.header(TOKEN_HEADER).is_some_and(|token| is_valid_token(token, now_s())) {
                request.respond(401);
                return STOP_HEADERS;
            }
        }
        // The length of the new body belongs into the headers, so they wait for it.
        Filter::RewriteJson => return if is_last { CONTINUE } else { STOP_HEADERS },
        Filter::Plans(plans) => {
            request.count(configured.requests, 1);
            // A request in Envoy has both.
            let (method, path) = (request.header(":method"), request.header(":path"));
            let (method, path) = (method.unwrap_or_default(), path.unwrap_or_default());
            let refusal = plans.refusal(method, path, request.header(plans.token_header()), now_s());
            return match refusal {
                None => CONTINUE,
                Some(refusal) => {
                    request.refuse(&refusal);
                    STOP_HEADERS
                }
            };
        }
    }
    request.count(configured.requests, 1);
    CONTINUE
}

/// Called for each part of the body of a request. Requests of a study have no trailers, so the last part ends the request.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_request_body(
    envoy: *mut c_void,
    configured: *const Configured,
    is_last: bool,
) -> u32 {
    // SAFETY: The pointer is from `filter_new`, and the configuration is destroyed after the filter.
    let configured = unsafe { &*configured };
    if !matches!(configured.filter, Filter::RewriteJson) {
        return CONTINUE;
    }
    if !is_last {
        return BUFFER_BODY;
    }
    // SAFETY: It ends with this hook.
    let mut request = unsafe { Request::new(envoy) };
    let Some(body) = rewrite_json(&request.body()) else {
        request.respond(400);
        return DISCARD_BODY;
    };
    request.replace_body(&body);
    request.count(configured.requests, 1);
    CONTINUE
}

/// Unused hooks. Envoy ignores their return value, or uses it as the status of the request.
macro_rules! idle_hooks {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> u32 {
                CONTINUE
            }
        )*
    };
}

idle_hooks! {
    envoy_dynamic_module_on_http_filter_request_trailers
    envoy_dynamic_module_on_http_filter_response_headers
    envoy_dynamic_module_on_http_filter_response_body
    envoy_dynamic_module_on_http_filter_response_trailers
    envoy_dynamic_module_on_http_filter_stream_complete
    envoy_dynamic_module_on_http_filter_destroy
    envoy_dynamic_module_on_http_filter_http_callout_done
    envoy_dynamic_module_on_http_filter_http_stream_headers
    envoy_dynamic_module_on_http_filter_http_stream_data
    envoy_dynamic_module_on_http_filter_http_stream_trailers
    envoy_dynamic_module_on_http_filter_http_stream_complete
    envoy_dynamic_module_on_http_filter_http_stream_reset
    envoy_dynamic_module_on_http_filter_scheduled
    envoy_dynamic_module_on_http_filter_downstream_above_write_buffer_high_watermark
    envoy_dynamic_module_on_http_filter_downstream_below_write_buffer_low_watermark
}
