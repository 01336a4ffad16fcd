//! A configuration of somebody who may not read files of this machine or run programs on it: code that it brings, and paths that Envoy
//! itself would open. Files that the passes of `adapt` know are those of [`crate::LabFiles::copies`].

use serde_json::Value;

use crate::adapt::Adapted;
use crate::place::Problem;
use crate::tree::{is_within, last_step, message, walk};

/// Parts of the types of extensions that run code of the configuration, or of a file that it names. Scripts have the library `os` of Lua;
/// modules are code of the machine, as precompiled WebAssembly is.
const CODE: [&str; 5] = [".lua.", ".wasm.", ".golang.", ".dynamic_modules.", ".dynamic_module."];
/// Fields with a path that Envoy or a library of it opens, and that no pass replaces.
const PATHS: [&str; 5] =
    ["subject_token_path", "actor_token_path", "path_config_source", "symlink_root", "key_log"];
/// Fields with a source of configuration, in which `path` is a file.
const SOURCES: [&str; 3] = ["config_source", "sds_config", "rds_config_source"];

impl Adapted {
    /// Every node with which the proxy would run code that is not Envoy's, or open a file outside of its lab.
    pub fn reaching_out(&self) -> Vec<Problem> {
        let mut found: Vec<(String, &str)> = Vec::new();
        walk(&self.tree, "", &mut |pointer, node| {
            if node.is_null() || found.last().is_some_and(|(last, _)| is_within(pointer, last)) {
                return;
            }
            if let Some(why) = why(pointer, node) {
                found.push((pointer.to_owned(), why));
            }
        });
        let problem = |(pointer, why): (String, &str)| Problem {
            place: self.place(&pointer),
            message: format!("{why}; price it with `hoptax price FILE` on the machine itself"),
        };
        found.into_iter().map(problem).collect()
    }
}

fn why(pointer: &str, node: &Value) -> Option<&'static str> {
    let of = message(node).of.to_ascii_lowercase();
    let field = last_step(pointer);
    if CODE.iter().any(|part| of.contains(part)) {
        Some(
            "an extension runs code that comes with the configuration, and code may do anything that its user may",
        )
    } else if PATHS.contains(&field) || SOURCES.contains(&field) && node.get("path").is_some() {
        Some("the proxy would open a file of this machine")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::adapted;

    /// The lines of what reaches out of a lab.
    fn lines(text: &str) -> Vec<u64> {
        adapted(text).reaching_out().into_iter().map(|problem| problem.place.line).collect()
    }

    #[test]
    fn code_of_every_kind_is_found_with_its_line_also_in_the_wrapper_of_a_type() {
        for of in [
            "envoy.extensions.filters.http.lua.v3.Lua",
            "envoy.extensions.filters.http.lua.v3.LuaPerRoute",
            "envoy.extensions.string_matcher.lua.v3.Lua",
            "envoy.extensions.filters.network.wasm.v3.Wasm",
            "envoy.extensions.filters.http.golang.v3alpha.Config",
            "envoy.extensions.filters.http.dynamic_modules.v3.DynamicModuleFilter",
        ] {
            let plain = format!("{{'@type': type.googleapis.com/{of}}}");
            let wrapped = format!(
                "{{'@type': type.googleapis.com/xds.type.v3.TypedStruct, type_url: a.example/{of}, value: {{a: b}}}}"
            );
            for settings in [plain, wrapped] {
                let text = format!(
                    "static_resources: {{listeners: [{{name: a}}]}}\nown:\n  - {{name: x, typed_config: {settings}}}"
                );
                assert_eq!(lines(&text), [3], "{text}");
            }
        }
    }

    #[test]
    fn filters_of_envoy_reach_nothing() {
        let text = "static_resources: {listeners: [{name: a}]}
own: {name: x, typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors}}
route: {path: /etc/passwd, prefix: /}";
        assert_eq!(lines(text), [0; 0]);
    }

    #[test]
    fn paths_that_no_pass_replaces_are_found() {
        let text = "static_resources: {listeners: [{name: a}]}
token: {subject_token_path: /var/run/secrets/token}";
        assert_eq!(lines(text), [2]);
        let is_found = |pointer: &str, node: Value| why(pointer, &node).is_some();
        assert!(is_found("/a/path_config_source", json!({"path": "/etc/passwd"})));
        assert!(is_found("/a/key_log", json!({"path": "/etc/cron.d/evil"})));
        assert!(is_found("/a/sds_config", json!({"path": "/etc/passwd"})));
        assert!(!is_found("/a/sds_config", json!({"ads": {}})));
        assert!(!is_found("/a/match", json!({"path": "/etc/passwd"})));
    }
}
