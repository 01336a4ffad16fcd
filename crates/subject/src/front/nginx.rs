//! nginx. It keeps idle connections for a day, because those of an arm are idle while other arms are measured. `reuseport` makes its port
//! shareable. Its relative paths start at the folder that it is started with.

use std::net::SocketAddr;

use super::program::{Front, no_environment};

pub(super) static NGINX: Front = Front {
    name: "nginx",
    program: "nginx",
    title: "nginx",
    package: "nginx-light",
    version: &["-v"],
    protocols: &["http1"],
    takes_tls: false,
    threads: 1,
    config,
    arguments: |folder, config| vec!["-p".into(), folder.into(), "-c".into(), config.into()],
    environment: no_environment,
};

fn config(listen: SocketAddr, servers: &[SocketAddr]) -> String {
    let servers: String = servers.iter().map(|server| format!("server {server}; ")).collect();
    format!(
        "daemon off;\nmaster_process off;\nworker_processes 1;\npid nginx.pid;\nerror_log stderr warn;\n\
         events {{ worker_connections 40000; }}\n\
         http {{\n  access_log off;\n  client_body_temp_path body;\n  proxy_temp_path proxy;\n  \
         fastcgi_temp_path fastcgi;\n  uwsgi_temp_path uwsgi;\n  scgi_temp_path scgi;\n  \
         keepalive_requests 1000000000;\n  keepalive_timeout 1d;\n  \
         upstream servers {{ {servers}keepalive 1024; keepalive_requests 1000000000; }}\n  \
         server {{\n    listen {listen} reuseport;\n    location / {{\n      proxy_pass http://servers;\n      \
         proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n    }}\n  }}\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_port_is_shared_and_its_folders_are_relative() {
        let config = config(([127, 0, 0, 1], 4_001).into(), &[([127, 0, 0, 1], 4_002).into()]);
        assert!(!config.contains("_path /") && config.contains("proxy_temp_path proxy;"), "{config}");
        assert!(config.contains("listen 127.0.0.1:4001 reuseport;"), "{config}");
        assert!(config.contains("keepalive_timeout 1d;"), "{config}");
    }
}
