//! Makes the proxy's local rate limits admit every request. The loads of a study far exceed most limits, so costs would otherwise be those
//! of refused requests, which differ from those of admitted requests.

use serde_json::Value;

use super::Context;
use crate::tree::{join, last_step, set};

/// Number of tokens in a bucket that no load can empty.
const TOKENS: u64 = 1_000_000_000;

pub(super) fn adapt(context: &mut Context<'_>) {
    let is_bucket = |pointer: &str, node: &Value| {
        last_step(pointer) == "token_bucket" && node.get("max_tokens").is_some_and(|tokens| !tokens.is_null())
    };
    for pointer in context.find(&is_bucket) {
        let Some(tokens) = context.tree.pointer(&join(&pointer, "max_tokens")).map(Value::to_string) else {
            continue;
        };
        if let Some(bucket) = context.tree.pointer_mut(&pointer) {
            set(bucket, "max_tokens", TOKENS.into());
            set(bucket, "tokens_per_fill", TOKENS.into());
        }
        let what = format!("a limit of {} tokens", tokens.trim_matches('"'));
        context.list(
            &pointer,
            &what,
            "a limit that admits every request: above the limit, hoptax would measure refusals",
        );
    }
}
