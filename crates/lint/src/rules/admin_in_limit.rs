//! Connections to the admin interface count towards the connection limit.

use crate::found::Found;
use crate::proxy::Proxy;
use crate::rule::{Rule, Severity};

pub(super) static RULE: Rule = Rule {
    id: "admin-in-limit",
    severity: Severity::Warning,
    title: "the admin interface counts among limited connections",
    why: "The limit of the runtime key `overload.global_downstream_max_connections` holds for the admin interface, too: when it is reached, the interface that would show why cannot be reached either. The limit of the resource monitor leaves that out.",
    cure: "Set `ignore_global_conn_limit: true` on `admin`.",
    source: "operations-deployment-charts of Wikimedia, change 1ae458fd",
    check,
};

fn check(proxy: &Proxy<'_>, found: &mut Vec<Found>) {
    let admin = proxy.root.get("/admin").filter(|_| proxy.has_runtime_limit());
    if let Some(admin) = admin.filter(|admin| !admin.is_set("/ignore_global_conn_limit")) {
        let one = admin.found(
            "",
            "the limit of connections holds for the admin interface, too: it cannot be reached when the limit is reached",
        );
        found.push(one.set(admin.field("/ignore_global_conn_limit"), true));
    }
}
