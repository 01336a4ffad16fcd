//! `apps/image-registry`: a service in Rust with storage, which can refuse pulls beyond a plan.

use super::known::Known;

pub(super) static IMAGE_REGISTRY: Known = Known {
    name: "image-registry",
    title: "the image registry",
    program: "image-registry",
    arguments: &["--listen", "{host}:{port}", "--sample"],
    flags: &["enforced-by", "pulls-per-minute"],
    remedy: "`make registry-program` builds it into .tools/bin; run from that folder, or add it to PATH",
};
