//! Connections to the admin interface count towards the connection limit.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "admin-in-limit",
    severity: Severity::Warning,
    title: "the connection limit also applies to the admin interface",
    why: "The limit of the runtime key `overload.global_downstream_max_connections` also applies to the admin interface: once it is reached, the interface that would show why refuses connections, too. The limit of the resource monitor excludes the admin interface.",
    cure: "Set `ignore_global_conn_limit: true` on `admin`.",
    source: "operations-deployment-charts of Wikimedia, change 1ae458fd",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let admin = proxy.root.get("/admin").filter(|_| proxy.has_runtime_limit());
    if let Some(admin) = admin.filter(|admin| !admin.is_set("/ignore_global_conn_limit")) {
        let one = admin.found(
            "",
            "the connection limit also applies to the admin interface, which refuses connections once the limit is reached",
        );
        found.push(one.set(admin.field("/ignore_global_conn_limit"), true));
    }
}
