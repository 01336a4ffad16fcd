//! The layers of CPU time, and which of them a sample belongs to.
//!
//! A sample belongs to the layer of its innermost frame that a pattern names, of those on its own side of the system call: the work of the
//! kernel for `writev` is not Envoy. The C library is a layer of its own, whoever calls it. A sample without a match belongs to the rest of
//! its side.

use crate::profile::script::{Frame, Sample, UNKNOWN};

/// A layer, with the patterns of its functions.
#[derive(Clone, Copy, Debug)]
struct Layer {
    /// Its name in results.
    name: &'static str,
    side: Side,
    /// Beginnings of the names of its functions in the kernel and in C, and parts of their names in C++.
    patterns: &'static [&'static str],
}

/// On which side of the system call a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Kernel,
    Program,
}

const fn kernel(name: &'static str, patterns: &'static [&'static str]) -> Layer {
    Layer { name, side: Side::Kernel, patterns }
}

const fn program(name: &'static str, patterns: &'static [&'static str]) -> Layer {
    Layer { name, side: Side::Program, patterns }
}

/// The rest of the kernel.
const KERNEL_OTHER: &str = "kernel: other";
/// The C library and the dynamic linker.
const LIBC: &str = "libc";
/// Functions of the proxy with symbols that no pattern names.
const PROXY_OTHER: &str = "proxy: other";
/// Functions of the proxy without symbols.
const PROXY_UNKNOWN: &str = "proxy: without symbols";

/// The layers with patterns, in the order in which reports show them. The first match of a frame counts.
const LAYERS: &[Layer] = &[
    kernel("kernel: packet filter", &["nf_", "nft_", "ipt_", "xt_", "ip_set_", "iptable_"]),
    kernel(
        "kernel: scheduler",
        &[
            "__schedule",
            "schedule",
            "try_to_wake_up",
            "ttwu_",
            "__wake_up",
            "default_wake_function",
            "pick_next_",
            "finish_task_switch",
            "update_curr",
            "enqueue_",
            "dequeue_",
            "select_task_rq",
            "set_next_",
            "put_prev_",
            "futex_",
            "__x64_sys_futex",
            "resched_",
            "switch_mm",
            "__switch_to",
            "wake_up_",
        ],
    ),
    kernel("kernel: event polling", &["ep_", "do_epoll_", "__x64_sys_epoll_", "eventpoll_", "eventfd_"]),
    kernel(
        "kernel: interrupts and timers",
        &[
            "asm_sysvec_",
            "sysvec_",
            "hrtimer_",
            "tick_",
            "irq_",
            "__irq_",
            "timerfd_",
            "run_timer_",
            "clockevents_",
            "perf_",
        ],
    ),
    kernel(
        "kernel: copies",
        &["rep_movs", "copy_user", "_copy_", "copy_from_", "copy_to_", "copyin", "copyout", "skb_copy_"],
    ),
    kernel(
        "kernel: memory",
        &[
            "kmem_cache_",
            "kmalloc",
            "__kmalloc",
            "kfree",
            "__kfree",
            "alloc_pages",
            "__alloc_pages",
            "alloc_skb",
            "__alloc_skb",
            "skb_release_",
            "get_page_",
            "free_",
            "__free_",
            "do_user_addr_fault",
            "handle_mm_fault",
            "exc_page_fault",
            "asm_exc_page_fault",
            "page_frag_",
            "slab_",
            "___slab",
            "__slab",
        ],
    ),
    kernel(
        "kernel: network receive",
        &[
            "net_rx_action",
            "__netif_receive",
            "netif_receive",
            "process_backlog",
            "ip_rcv",
            "ip_local_deliver",
            "ip_sublist_rcv",
            "tcp_v4_rcv",
            "tcp_v4_do_rcv",
            "tcp_rcv_",
            "tcp_recvmsg",
            "tcp_data_",
            "tcp_ack",
            "tcp_queue_rcv",
            "tcp_cleanup_rbuf",
            "inet_recvmsg",
            "sock_recvmsg",
            "sock_read_iter",
            "sock_def_readable",
            "sock_poll",
            "tcp_poll",
            "__x64_sys_recv",
            "__sys_recv",
            "br_",
            "napi_",
            "__napi_",
            "veth_poll",
            "skb_defer_",
            "tcp_in_",
            "gro_",
        ],
    ),
    kernel(
        "kernel: network send",
        &[
            "tcp_sendmsg",
            "tcp_write_xmit",
            "__tcp_transmit_skb",
            "tcp_push",
            "__tcp_push",
            "tcp_skb_",
            "tcp_stream_",
            "tcp_send_",
            "inet_sendmsg",
            "sock_sendmsg",
            "sock_write_iter",
            "__ip_queue_xmit",
            "ip_queue_xmit",
            "ip_output",
            "ip_finish_output",
            "__ip_finish_output",
            "ip_local_out",
            "__ip_local_out",
            "__dev_queue_xmit",
            "dev_hard_start_xmit",
            "dev_queue_xmit",
            "loopback_xmit",
            "veth_xmit",
            "validate_xmit_",
            "__x64_sys_send",
            "__sys_send",
            "neigh_",
            "netif_rx",
            "__netif_rx",
            "sk_stream_",
            "tcp_established_options",
        ],
    ),
    kernel(
        "kernel: connections",
        &[
            "inet_csk_",
            "inet_accept",
            "tcp_v4_connect",
            "tcp_conn_",
            "tcp_close",
            "__tcp_close",
            "inet_release",
            "inet_shutdown",
            "__sys_accept",
            "__sys_connect",
            "tcp_check_req",
            "tcp_v4_syn_",
            "sock_close",
            "__sock_release",
            "inet_create",
            "sock_alloc",
        ],
    ),
    kernel(
        "kernel: system call entry",
        &[
            "entry_SYSCALL",
            "do_syscall_64",
            "x64_sys_call",
            "syscall_",
            "__fdget",
            "fdget",
            "__fget",
            "fput",
            "import_iovec",
            "__import_iovec",
            "do_writev",
            "do_readv",
            "vfs_",
            "ksys_",
            "rw_verify_area",
            "__x64_sys_",
            "sockfd_lookup",
        ],
    ),
    program(
        "TLS",
        &[
            "SSL_",
            "ssl_",
            "bssl::",
            "EVP_",
            "AES_",
            "aes_",
            "aesni_",
            "gcm_",
            "BN_",
            "bn_",
            "EC_",
            "ec_",
            "ecp_",
            "x25519",
            "sha256_",
            "SHA256",
            "SHA512",
            "HMAC",
            "CRYPTO_",
            "TransportSockets::Tls",
        ],
    ),
    program(
        "allocation",
        &[
            "tcmalloc::",
            "operator new",
            "operator delete",
            "malloc",
            "free",
            "calloc",
            "realloc",
            "_int_malloc",
            "_int_free",
            "cfree",
            "posix_memalign",
            "TCMallocInternal",
        ],
    ),
    program("proxy: buffers", &["Envoy::Buffer::"]),
    program(
        "proxy: codec",
        &[
            "Envoy::Http::Http1::",
            "Envoy::Http::Http2::",
            "Envoy::Http::Http3::",
            "Envoy::Quic::",
            "nghttp2_",
            "http2::adapter::",
            "quiche::",
            "http_parser_",
            "Envoy::Http::HeaderMap",
            "Envoy::Http::RequestHeaderMap",
            "Envoy::Http::ResponseHeaderMap",
            "Envoy::Http::HeaderString",
        ],
    ),
    program("proxy: router", &["Envoy::Router::"]),
    program(
        "proxy: filters",
        &["Envoy::Extensions::", "Envoy::Http::FilterManager", "Envoy::Http::ActiveStream"],
    ),
    program("proxy: statistics", &["Envoy::Stats::"]),
    program(
        "proxy: event loop",
        &["Envoy::Event::", "event_", "epoll_dispatch", "evmap_", "evtimer", "min_heap_"],
    ),
    program(
        "proxy: connections",
        &[
            "Envoy::Network::",
            "Envoy::Upstream::",
            "Envoy::ConnectionPool::",
            "Envoy::Http::HttpConnPool",
            "Envoy::Http::ConnPool",
        ],
    ),
    program("proxy: HTTP connections", &["Envoy::Http::"]),
];

/// The names of all layers, in the order in which reports show them.
pub fn names() -> impl Iterator<Item = &'static str> {
    let of = |side: Side| LAYERS.iter().filter(move |layer| layer.side == side).map(|layer| layer.name);
    of(Side::Kernel).chain([KERNEL_OTHER, LIBC]).chain(of(Side::Program)).chain([PROXY_OTHER, PROXY_UNKNOWN])
}

/// The layer of a sample.
pub fn layer_of(sample: &Sample) -> &'static str {
    let Some(innermost) = sample.frames.first() else { return PROXY_UNKNOWN };
    if innermost.is_in_kernel() {
        let own = sample.frames.iter().take_while(|frame| frame.is_in_kernel());
        return first_match(own, Side::Kernel).unwrap_or(KERNEL_OTHER);
    }
    match first_match([innermost].into_iter(), Side::Program) {
        Some(layer) => layer,
        None if is_of_libc(innermost) => LIBC,
        None if innermost.symbol == UNKNOWN => PROXY_UNKNOWN,
        None => {
            let own = sample.frames.iter().filter(|frame| !frame.is_in_kernel());
            first_match(own, Side::Program).unwrap_or(PROXY_OTHER)
        }
    }
}

fn first_match<'a>(mut frames: impl Iterator<Item = &'a Frame>, side: Side) -> Option<&'static str> {
    frames.find_map(|frame| {
        let names_frame = |layer: &&Layer| {
            layer.side == side && layer.patterns.iter().any(|pattern| matches(frame, pattern))
        };
        LAYERS.iter().find(names_frame).map(|layer| layer.name)
    })
}

/// Names of C++ have a namespace, before which other words may stand, such as those of a lambda or a result type.
fn matches(frame: &Frame, pattern: &str) -> bool {
    if pattern.contains("::") { frame.symbol.contains(pattern) } else { frame.symbol.starts_with(pattern) }
}

fn is_of_libc(frame: &Frame) -> bool {
    let name = frame.object.rsplit('/').next().unwrap_or_default();
    ["libc.", "libc-", "libm.", "libm-", "libpthread", "ld-linux", "[vdso]"]
        .iter()
        .any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A sample with these frames, the innermost first. Those of the kernel begin with `k `, those of libc with `c `.
    fn layer(frames: &[&str]) -> &'static str {
        let frame = |text: &&str| {
            let (object, symbol) = match text.split_once(' ') {
                Some(("k", symbol)) => ("[kernel.kallsyms]", symbol),
                Some(("c", symbol)) => ("/usr/lib/x86_64-linux-gnu/libc.so.6", symbol),
                _ => ("/opt/envoy", *text),
            };
            Frame { symbol: symbol.to_owned(), object: object.to_owned() }
        };
        layer_of(&Sample { cpu_ns: 1, frames: frames.iter().map(frame).collect() })
    }

    #[test]
    fn a_sample_belongs_to_its_innermost_named_function() {
        let send = [
            "k tcp_v4_rcv",
            "k net_rx_action",
            "k veth_xmit",
            "k tcp_sendmsg",
            "k do_syscall_64",
            "c writev",
        ];
        assert_eq!(layer(&send), "kernel: network receive", "on the loopback interface, sending delivers");
        assert_eq!(layer(&send[2..]), "kernel: network send");
        assert_eq!(layer(&["k nft_do_chain", "k tcp_v4_rcv"]), "kernel: packet filter");
        assert_eq!(layer(&["k unheard_of", "k ep_poll"]), "kernel: event polling");
        assert_eq!(
            layer(&["k unheard_of", "Envoy::Buffer::OwnedImpl::read"]),
            KERNEL_OTHER,
            "the other side does not count"
        );
        assert_eq!(layer(&["c __memmove_avx_unaligned", "Envoy::Buffer::OwnedImpl::add"]), LIBC);
        assert_eq!(layer(&["c malloc", "Envoy::Buffer::OwnedImpl::add"]), "allocation");
        assert_eq!(
            layer(&["absl::InlinedVector::resize", "Envoy::Router::Filter::decodeHeaders"]),
            "proxy: router"
        );
        assert_eq!(layer(&["absl::InlinedVector::resize"]), PROXY_OTHER);
        assert_eq!(layer(&[UNKNOWN]), PROXY_UNKNOWN);
        assert_eq!(layer(&[]), PROXY_UNKNOWN);
        assert_eq!(
            layer(&["non-virtual thunk to Envoy::Http::Http1::ConnectionImpl::dispatch"]),
            "proxy: codec"
        );
    }

    #[test]
    fn every_layer_has_one_name_and_every_pattern_can_match() {
        let all: Vec<&str> = names().collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        for layer in LAYERS {
            for pattern in layer.patterns {
                let object = if layer.side == Side::Kernel { "[kernel.kallsyms]" } else { "/opt/envoy" };
                let frame = Frame { symbol: (*pattern).to_owned(), object: object.to_owned() };
                let found = layer_of(&Sample { cpu_ns: 1, frames: vec![frame] });
                assert_eq!(found, layer.name, "`{pattern}` is matched before");
            }
        }
    }
}
