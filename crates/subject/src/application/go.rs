//! `apps/limiter`: a service in Go, which can limit requests with the library that Go services use for that.

use super::known::Known;

pub(super) static GO: Known = Known {
    name: "go",
    title: "the application in Go",
    program: "hoptax-limiter",
    arguments: &["-listen", "{host}:{port}"],
    flags: &["limit"],
    remedy: "`make limiter` builds it into .tools/bin; run from that folder, or add it to PATH",
};
