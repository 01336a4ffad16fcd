//! The guide for operators: configuration changes that save CPU time, ordered by their savings in the price list.

use hoptax_result::{ArmResult, StudyResult, percent};

use super::markdown::{cell, code, file_name, row};
use crate::failure::Failure;
use crate::functions::{Price, circumstances, meaning_of_own_loads, own_load};
use crate::prices;

/// Its path relative to the folder of the documents.
pub(super) const PATH: &str = "guide/operators.md";

/// A function is cheap enough to stay if the interval of its CPU time ends below this share of plain proxying.
const LITTLE_SHARE: f64 = 0.03;

/// A change of a configuration.
struct Change {
    /// The arm of the price list before the change.
    from: &'static str,
    /// The arm after the change; none if the function is removed.
    to: Option<&'static str>,
    /// The change, and when it is possible.
    advice: &'static str,
}

/// A change from one arm to another.
const fn instead(from: &'static str, to: &'static str, advice: &'static str) -> Change {
    Change { from, to: Some(to), advice }
}

/// The removal of a function.
const fn without(from: &'static str, advice: &'static str) -> Change {
    Change { from, to: None, advice }
}

const CHANGES: [Change; 19] = [
    instead(
        "ext-proc{parts=bodies}",
        "ext-proc",
        "Send the processor bodies only on routes where it reads them",
    ),
    instead("ext-proc", "header-mutation", "Change headers in the proxy, if the processor does no more"),
    instead("ext-authz/grpc", "ext-authz/http", "Ask the same service over HTTP, if it has both interfaces"),
    instead(
        "ext-authz/grpc",
        "jwt{cached_tokens=100}",
        "Verify tokens in the proxy, if the service does no more",
    ),
    instead(
        "jwt",
        "jwt{cached_tokens=100}",
        "Keep verified tokens (`jwt_cache_config`), if clients send the same token again",
    ),
    instead("jwt{alg=ES256}", "jwt", "Have tokens signed with RSA, whose signatures are cheaper to verify"),
    instead(
        "rate-limit/global",
        "rate-limit/local",
        "Limit in each proxy, if the sum over proxies need not be exact",
    ),
    instead("rate-limit/wasm", "rate-limit/local", "Use Envoy's own limit, if it can express the rule"),
    instead("route/mirror", "route/mirror{percent=10}", "Mirror a share of the requests"),
    instead("tracing/opentelemetry", "tracing/opentelemetry{percent=1}", "Sample one request in a hundred"),
    without(
        "tracing/opentelemetry{percent=0}",
        "Remove a tracer that samples nothing: it still has work for each request (the price includes request ids)",
    ),
    instead(
        "compress/zstd",
        "compress/gzip{level=1}",
        "Compress less, if processors are scarcer than the network",
    ),
    instead(
        "compress/brotli",
        "compress/gzip{level=1}",
        "Compress less, if processors are scarcer than the network",
    ),
    instead(
        "compress/gzip",
        "compress/gzip{level=1}",
        "Compress less, if processors are scarcer than the network",
    ),
    instead(
        "route/path{routes=1000}",
        "route/path{routes=50}",
        "Split long tables by domain: routes of a virtual host are tried in turn",
    ),
    instead("access-log/grpc", "access-log/file", "Write lines, and let an agent of the machine send them"),
    instead(
        "access-log/file{fields=20}",
        "access-log/file{fields=5}",
        "Log only the fields that somebody reads",
    ),
    instead(
        "lua",
        "header-mutation",
        "Change headers without a script, if the values are known beforehand or come from Envoy's command operators",
    ),
    instead("rbac{rules=50}", "rbac", "Merge rules: they are tried in turn"),
];

/// The page.
///
/// # Errors
/// When the price list cannot be read, or lacks an arm.
pub(super) fn page() -> Result<String, Failure> {
    let listed = prices::published()?;
    let mut changes = Vec::new();
    for change in &CHANGES {
        let from = arm(listed, change.from)?;
        let to = change.to.map(|to| arm(listed, to)).transpose()?;
        changes.push((change, from, to));
    }
    changes
        .sort_by(|(_, from, to), (_, other, other_to)| saved(other, *other_to).total_cmp(&saved(from, *to)));

    let mut text = format!(
        "# What to turn off first\n\nFor operators of Envoy who want to save processor time. The prices are those of the [price \
         list](../results/price-list/README.md): CPU time that a function adds to each request, in percent of plain proxying, with a 95 % \
         interval ({}).{} On your machine and under your load they differ, so begin with your own proxy:\n\n    curl \
         'http://ADMIN/config_dump?include_eds' > dump.json\n    hoptax price dump.json --budget 5m               # the cost of each part \
         of your configuration\n    hoptax price dump.json --without jwt_authn       # of this part alone\n    hoptax price dump.json \
         --what-if 'jwt -> check-token/lua'\n\n[Bills](bills.md) has the rules for naming parts.\n\n## Changes, the largest saving \
         first\n\nThe order is that of the estimates. A change is worth as much as it saves of all CPU time of the proxy, plain proxying \
         included.\n\n",
        circumstances(listed),
        meaning_of_own_loads(listed)
    );
    text += &row(["as it is", "price", "as it could be", "price", "the change"]);
    text += &row(["---", "---:", "---", "---:", "---"]);
    for (change, from, to) in &changes {
        let (name, price) = to.map_or_else(|| ("-".to_owned(), "-".to_owned()), |to| named(listed, to));
        let (from_name, from_price) = named(listed, from);
        text += &row([&from_name, &from_price, &name, &price, &cell(change.advice)]);
    }
    text += &may_stay(listed);
    text += "\n## Before and after\n\n    hoptax lint new.yaml                          # faults that a change may have introduced\n    \
             hoptax compare old.yaml new.yaml              # decides if the two differ, side by side\n    hoptax gate edge.yaml \
             --candidate config=new.yaml --fail-on 'cpu>+3%'\n\n[Compare](compare.md) and [gate](gate.md) say how sure the answer is. \
             Memory and connections have prices too: the list has them in columns of their own, and a filter in WebAssembly that does \
             nothing takes as much memory as one that works.\n";
    Ok(text)
}

/// The functions that certainly cost little at their default knobs.
fn may_stay(listed: &StudyResult) -> String {
    let costs_little = |arm: &&ArmResult| {
        let is_default = arm.function.as_deref() == Some(arm.id.as_str());
        is_default && arm.cost.cpu_share.is_some_and(|share| share.high < LITTLE_SHARE)
    };
    let names: Vec<String> = listed.arms.iter().filter(costs_little).map(link).collect();
    format!(
        "\n## Functions that may stay\n\nThe interval of their price ends below {}, so turning them off saves nothing noticeable while no \
         limit is reached, no request fails, and connections stay open: {}.\n",
        percent(LITTLE_SHARE, 0),
        names.join(", ")
    )
}

fn arm<'a>(listed: &'a StudyResult, id: &str) -> Result<&'a ArmResult, Failure> {
    let found = listed.arms.iter().find(|arm| arm.id == id);
    found.ok_or_else(|| {
        Failure::environment(format!("the price list has no arm `{id}`, which the guide of operators names"))
    })
}

/// The CPU time that a change saves, as a share of plain proxying.
fn saved(from: &ArmResult, to: Option<&ArmResult>) -> f64 {
    share(from) - to.map_or(0.0, share)
}

fn share(arm: &ArmResult) -> f64 {
    arm.cost.cpu_share.map_or(0.0, |share| share.estimate)
}

/// An arm with a link to the page of its function, and its price.
fn named(listed: &StudyResult, arm: &ArmResult) -> (String, String) {
    (link(arm), Price::from_arm(arm).cpu_share + &own_load(listed, arm))
}

fn link(arm: &ArmResult) -> String {
    let function = arm.function.as_deref().unwrap_or(&arm.id);
    format!("[{}](../functions/{})", cell(&code(&arm.id)), file_name(function))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::tests::with_own_load;

    #[test]
    fn changes_are_in_the_order_of_what_they_save_and_every_one_saves() {
        let (page, listed) = (page().unwrap(), prices::published().unwrap());
        let rows: Vec<&str> =
            page.lines().filter(|line| line.contains("](../functions/") && line.starts_with('|')).collect();
        assert_eq!(rows.len(), CHANGES.len(), "{page}");
        assert!(page.contains(&circumstances(listed)), "{page}");
        let list = with_own_load();
        let (_, price) = named(&list, arm(&list, "jwt").unwrap());
        assert!(price.contains(" %, at 1,500 requests/s"), "{price}");
        let mut before = f64::INFINITY;
        for row in rows {
            let ids: Vec<&str> = row
                .split('`')
                .skip(1)
                .step_by(2)
                .filter(|id| listed.arms.iter().any(|arm| arm.id == *id))
                .collect();
            let to = ids.get(1).map_or(0.0, |id| share(arm(listed, id).unwrap()));
            let saved = share(arm(listed, ids[0]).unwrap()) - to;
            assert!(saved > 0.0 && saved <= before, "{row}");
            before = saved;
        }
    }

    #[test]
    fn functions_that_may_stay_cost_little_and_dear_ones_are_not_among_them() {
        let stay = may_stay(prices::published().unwrap());
        assert!(stay.contains("`timeout/route`") && !stay.contains("`jwt`"), "{stay}");
    }
}
