//! What Envoy calls, and what it is asked, by the C interface of Envoy 1.40 for dynamic modules
//! (`source/extensions/dynamic_modules/abi/abi.h` of its sources, version v0.2.0).
//!
//! Envoy refuses a module that lacks one of these hooks, so those that a filter of request headers has no use for are here as
//! well. They do not name their parameters: in C's calling convention it is the caller that passes and removes them.
//!
//! Everything unsafe here rests on one promise of Envoy's: the pointers that it passes are valid during the call, and a
//! configuration is destroyed after the last filter that was made from it.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::time::{Duration, Instant};

use crate::burn::Burner;

/// The version of the interface.
const VERSION: &CStr = c"v0.2.0";
/// The statistic that counts the requests.
const REQUESTS: &str = "burn.requests";
/// The statistic that sums up the CPU time, nanoseconds.
const BURNED_NS: &str = "burn.cpu_ns";
/// The filter is done, and the request goes on.
const CONTINUE: u32 = 0;
/// A callback did what it was asked.
const SUCCESS: u32 = 0;

thread_local! {
    /// One for each worker: what a thread burned too much, it alone can make up for.
    static BURNER: RefCell<Burner> = const { RefCell::new(Burner::new()) };
}

/// Bytes that somebody else owns.
#[repr(C)]
struct Buffer {
    start: *const u8,
    length: usize,
}

impl Buffer {
    /// The bytes; None where there are none, as they may begin nowhere then.
    ///
    /// # Safety
    /// As many bytes as `length` says must be readable from `start` while the slice is in use, if there are any.
    unsafe fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: As the caller promises.
        (self.length > 0).then(|| unsafe { std::slice::from_raw_parts(self.start, self.length) })
    }
}

/// A filter as it is configured.
struct Configuration {
    budget_ns: i64,
    requests: usize,
    burned_ns: usize,
}

unsafe extern "C" {
    /// Defines a counter and writes its number to `id`.
    fn envoy_dynamic_module_callback_http_filter_config_define_counter(
        envoy: *mut c_void,
        name: Buffer,
        labels: *const Buffer,
        labels_length: usize,
        id: *mut usize,
    ) -> u32;
    /// Adds to a counter.
    fn envoy_dynamic_module_callback_http_filter_increment_counter(
        envoy: *mut c_void,
        id: usize,
        labels: *const Buffer,
        labels_length: usize,
        value: u64,
    ) -> u32;
    /// The C library's.
    fn clock_gettime(clock: i32, time: *mut TimeSpec) -> i32;
}

/// A time as `clock_gettime` writes it on 64-bit Linux.
#[repr(C)]
struct TimeSpec {
    seconds: i64,
    nanoseconds: i64,
}

/// Linux' number for the CPU time of the calling thread.
const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

/// CPU time of this thread, nanoseconds.
fn thread_cpu_ns() -> i64 {
    let mut time = TimeSpec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `time` is valid for writing and has the layout that the C library expects. The call fails for unknown clocks only.
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

/// Uses the processor. There is no hint of a waiting loop in it: a host may take the processor from a guest that gives it.
fn wait(nanoseconds: i64) {
    let (began, long) = (Instant::now(), Duration::from_nanos(nanoseconds.unsigned_abs()));
    while began.elapsed() < long {}
}

/// Envoy has loaded the module.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_program_init() -> *const c_char {
    VERSION.as_ptr()
}

/// A filter is configured: the text of its configuration is the budget in microseconds. Null refuses it.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_config_new(
    envoy: *mut c_void,
    _name: Buffer,
    text: Buffer,
) -> *const Configuration {
    // SAFETY: Envoy gives a text that is valid during the call.
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

/// A configuration is not needed any longer.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_config_destroy(configuration: *mut Configuration) {
    // SAFETY: It is the one that `config_new` gave, and Envoy destroys it once.
    drop(unsafe { Box::from_raw(configuration) });
}

/// A request has come: its filter is the configuration itself, as it has nothing of its own.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_new(
    configuration: *const Configuration,
    _envoy: *mut c_void,
) -> *const Configuration {
    configuration
}

/// The headers of a request are there: burns.
#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_http_filter_request_headers(
    envoy: *mut c_void,
    filter: *const Configuration,
    _is_last: bool,
) -> u32 {
    // SAFETY: It is the one that `filter_new` gave, and is destroyed after the filter.
    let configuration = unsafe { &*filter };
    let burned_ns =
        BURNER.with_borrow_mut(|burner| burner.burn(configuration.budget_ns, thread_cpu_ns, wait));
    for (counter, value) in [(configuration.requests, 1), (configuration.burned_ns, burned_ns.unsigned_abs())]
    {
        // SAFETY: The filter lives during the call, and no labels are given. An unknown counter is an answer, not a fault.
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

/// Hooks that have nothing to do. The interface ignores what they return, or takes it for what becomes of the request.
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
