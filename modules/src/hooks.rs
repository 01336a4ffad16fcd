//! Event hooks and callbacks of Envoy 1.40's C interface for dynamic modules
//! (`source/extensions/dynamic_modules/abi/abi.h` in its sources, version v0.2.0).
//!
//! Envoy rejects a module that lacks one of these hooks, so unused hooks are defined too. They omit their parameters: in the C
//! calling convention, the caller passes and removes them.
//!
//! All unsafe code here relies on two guarantees of Envoy: pointers that it passes are valid during the call, and a
//! configuration is destroyed after the last filter created from it.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::time::{Duration, Instant};

use crate::burn::Burner;

/// The version of the interface.
const VERSION: &CStr = c"v0.2.0";
/// The name of the counter of requests.
const REQUESTS: &str = "burn.requests";
/// The name of the counter of burned CPU time, nanoseconds.
const BURNED_NS: &str = "burn.cpu_ns";
/// The status with which the request continues through the filter chain.
const CONTINUE: u32 = 0;
/// The result of a successful callback.
const SUCCESS: u32 = 0;

thread_local! {
    /// One burner per worker thread, as only the same thread can compensate its overshoot.
    static BURNER: RefCell<Burner> = const { RefCell::new(Burner::new()) };
}

/// Borrowed bytes.
#[repr(C)]
struct Buffer {
    start: *const u8,
    length: usize,
}

impl Buffer {
    /// The bytes; None if empty, as `start` may then be null.
    ///
    /// # Safety
    /// If `length` is not 0, `length` bytes must be readable from `start` while the slice is in use.
    unsafe fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: Guaranteed by the caller.
        (self.length > 0).then(|| unsafe { std::slice::from_raw_parts(self.start, self.length) })
    }
}

/// The configuration of a filter.
struct Configuration {
    budget_ns: i64,
    requests: usize,
    burned_ns: usize,
}

unsafe extern "C" {
    /// Defines a counter and writes its id to `id`.
    fn envoy_dynamic_module_callback_http_filter_config_define_counter(
        envoy: *mut c_void,
        name: Buffer,
        labels: *const Buffer,
        labels_length: usize,
        id: *mut usize,
    ) -> u32;
    /// Adds `value` to a counter.
    fn envoy_dynamic_module_callback_http_filter_increment_counter(
        envoy: *mut c_void,
        id: usize,
        labels: *const Buffer,
        labels_length: usize,
        value: u64,
    ) -> u32;
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

/// Called when Envoy loads the module. Returns the version of the interface.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_program_init() -> *const c_char {
    VERSION.as_ptr()
}

/// Called for a filter configuration, whose text is the budget in microseconds. Null rejects the configuration.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_config_new(
    envoy: *mut c_void,
    _name: Buffer,
    text: Buffer,
) -> *const Configuration {
    // SAFETY: Envoy passes a text that is valid during the call.
    let budget_us =
        unsafe { text.bytes() }.and_then(|text| std::str::from_utf8(text).ok()?.trim().parse::<u32>().ok());
    let define = |name: &str| {
        let (name, mut id) = (Buffer { start: name.as_ptr(), length: name.len() }, 0);
        // SAFETY: name and id are valid during the call, and no labels are given.
        let result = unsafe {
            envoy_dynamic_module_callback_http_filter_config_define_counter(
                envoy,
                name,
                std::ptr::null(),
                0,
                &raw mut id,
            )
        };
        (result == SUCCESS).then_some(id)
    };
    match (budget_us, define(REQUESTS), define(BURNED_NS)) {
        (Some(budget_us), Some(requests), Some(burned_ns)) => Box::into_raw(Box::new(Configuration {
            budget_ns: i64::from(budget_us) * 1000,
            requests,
            burned_ns,
        })),
        _ => std::ptr::null(),
    }
}

/// Called when a configuration is no longer used.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_config_destroy(configuration: *mut Configuration) {
    // SAFETY: The pointer is from `config_new`, and Envoy destroys it once.
    drop(unsafe { Box::from_raw(configuration) });
}

/// Called for each request. The filter has no state of its own, so it is represented by its configuration.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_new(
    configuration: *const Configuration,
    _envoy: *mut c_void,
) -> *const Configuration {
    configuration
}

/// Called for the headers of a request: burns the budget.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_request_headers(
    envoy: *mut c_void,
    filter: *const Configuration,
    _is_last: bool,
) -> u32 {
    // SAFETY: The pointer is from `filter_new`, and the configuration is destroyed after the filter.
    let configuration = unsafe { &*filter };
    let burned_ns =
        BURNER.with_borrow_mut(|burner| burner.burn(configuration.budget_ns, thread_cpu_ns, wait));
    for (counter, value) in [(configuration.requests, 1), (configuration.burned_ns, burned_ns.unsigned_abs())]
    {
        // SAFETY: The filter is valid during the call, and no labels are given. For an unknown counter, Envoy returns an error.
        unsafe {
            envoy_dynamic_module_callback_http_filter_increment_counter(
                envoy,
                counter,
                std::ptr::null(),
                0,
                value,
            );
        }
    }
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
    envoy_dynamic_module_on_http_filter_request_body
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
