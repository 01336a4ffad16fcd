//! Caddy. It opens its port with `SO_REUSEPORT`. One of its threads executes Go code at a time.

use std::net::SocketAddr;

use serde_json::json;

use super::program::Front;

pub(super) static CADDY: Front = Front {
    name: "caddy",
    program: "caddy",
    title: "Caddy",
    package: "caddy",
    version: &["version"],
    protocols: &["http1"],
    takes_tls: false,
    threads: 1,
    config,
    arguments: |_, config| vec!["run".into(), "--config".into(), config.into()],
    // Otherwise it writes the last configuration and an instance id into the user's folders.
    environment: |folder| {
        vec![
            ("GOMAXPROCS", "1".into()),
            ("XDG_CONFIG_HOME", folder.join("config").into()),
            ("XDG_DATA_HOME", folder.join("data").into()),
        ]
    },
};

fn config(listen: SocketAddr, servers: &[SocketAddr]) -> String {
    let keep_alive = json!({"max_idle_conns": 1024, "max_idle_conns_per_host": 1024, "idle_timeout": "5m"});
    let proxy = json!({
        "handler": "reverse_proxy",
        "upstreams": servers.iter().map(|server| json!({"dial": server.to_string()})).collect::<Vec<_>>(),
        // The default is a random choice.
        "load_balancing": {"selection_policy": {"policy": "round_robin"}},
        "transport": {"protocol": "http", "compression": false, "versions": ["1.1"], "keep_alive": keep_alive},
    });
    let server = json!({
        "listen": [listen.to_string()],
        "protocols": ["h1"],
        "automatic_https": {"disable": true},
        "routes": [{"handle": [proxy]}],
    });
    json!({
        "admin": {"disabled": true, "config": {"persist": false}},
        "logging": {"logs": {"default": {"level": "WARN"}}},
        "apps": {"http": {"servers": {"ingress": server}}},
    })
    .to_string()
}
