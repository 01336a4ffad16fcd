//! Finds code, and paths that Envoy itself would open, in the configuration of a user who may not read files of this machine or run
//! programs on it. It finds only known cases, and is not a sandbox. Files that the passes of `adapt` know are in
//! [`crate::LabFiles::copies`].

use serde_json::Value;

use crate::adapt::Adapted;
use crate::names::is_field;
use crate::place::Problem;
use crate::tree::{is_within, last_step, message, walk};

/// Parts of the types of extensions that run code in the configuration, or in a file that it names. Lua scripts can use the library `os`;
/// dynamic modules and precompiled WebAssembly are machine code.
const CODE: [&str; 5] = [".lua.", ".wasm.", ".golang.", ".dynamic_modules.", ".dynamic_module."];
/// Parts of the types of extensions that read files of the machine or its environment, or put programs into its kernel.
const READING: [&str; 3] =
    [".formatter.file_content.", ".socket_interface.sockmap.", ".common_inputs.environment_variable."];
/// Format commands that read files or environment variables. Commands for variables are replaced in known formats.
const COMMANDS: [&str; 2] = ["%FILE_CONTENT(", "%ENVIRONMENT("];
/// The end of the name of an option that makes Envoy find extensions by name instead of by type.
const BY_NAME: &str = "no_extension_lookup_by_name";
/// Fields with a path that Envoy or one of its libraries opens, and that no pass replaces.
const PATHS: [&str; 8] = [
    "subject_token_path",
    "actor_token_path",
    "path_config_source",
    "symlink_root",
    "key_log",
    "bpf_program_path",
    "cgroup_path",
    "perf_tracing_file_path",
];
/// Fields with a source of configuration, in which `path` is a file.
const SOURCES: [&str; 8] = [
    "config_source",
    "sds_config",
    "rds_config_source",
    "scoped_rds_config_source",
    "odcds_config",
    "leds_config",
    "eds_config",
    "source",
];

/// Reasons why an untrusted configuration may not have a node.
const RUNS_CODE: &str = "an extension runs code that comes with the configuration, and such code can do everything that the user may do";
const READS: &str = "an extension or a format would read files of this machine or its environment";
const OPENS_FILE: &str = "the proxy would open a file of this machine";
const WRITES: &str = "a tap would write a file to this machine for each request";
const NAMES_CODE: &str = "with this option, Envoy finds extensions by their names alone, so hoptax cannot recognise one that runs code";
const NOT_CHECKED: &str =
    "the settings of an extension are in `metadata`, where hoptax does not check fields";

impl Adapted {
    /// Every node that would make the proxy run code that is not part of Envoy, or open a file outside of its lab.
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
    let (field, of) = (last_step(pointer), stated_type(node));
    let is_one = |fields: &[&str]| fields.iter().any(|one| is_field(field, one));
    let text = node.as_str().unwrap_or_default();
    if CODE.iter().any(|part| of.contains(part)) {
        Some(RUNS_CODE)
    } else if READING.iter().any(|part| of.contains(part))
        || COMMANDS.iter().any(|command| text.contains(command))
    {
        Some(READS)
    } else if is_one(&PATHS) || is_one(&SOURCES) && node.get("path").is_some() {
        Some(OPENS_FILE)
    } else if is_one(&["file_per_tap"]) {
        Some(WRITES)
    } else if field.ends_with(BY_NAME) {
        Some(NAMES_CODE)
    } else if is_one(&["typed_config"]) && is_in_metadata(pointer) {
        Some(NOT_CHECKED)
    } else {
        None
    }
}

/// The type that a node states, in lower case: the type of a message, or an Envoy type in a text anywhere, because wrapped messages may
/// have fields with unknown names.
fn stated_type(node: &Value) -> String {
    let Some(text) = node.as_str() else { return message(node).of.to_ascii_lowercase() };
    let of = last_step(text).to_ascii_lowercase();
    if of.starts_with("envoy.") { of } else { String::new() }
}

/// True if a node is inside of `metadata`, but not inside of its settings for filters. Field names remain there in their original spelling,
/// since some are the user's own.
fn is_in_metadata(pointer: &str) -> bool {
    let steps = pointer.split('/').take_while(|step| !is_field(step, "filter_metadata"));
    let steps: Vec<&str> = steps.collect();
    steps.windows(2).any(|pair| pair[0] == "metadata" && !is_field(pair[1], "typed_filter_metadata"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::adapted;

    /// The lines of nodes that reach out of a lab.
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

    /// An HTTP filter in a matcher that `xds` defines, with fields in camel case.
    const MATCHED: &str = "{name: m, typed_config: {'@type': type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher, \
        xds_matcher: {matcher_tree: {custom_match: {name: ip, typed_config: {'@type': type.googleapis.com/xds.type.v3.TypedStruct, \
        type_url: type.googleapis.com/xds.type.matcher.v3.IPMatcher, value: {rangeMatchers: [{ranges: [{addressPrefix: 0.0.0.0}], onMatch: \
        {action: {name: a, typedConfig: {'@type': type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction, \
        typedConfig: {name: l, typedConfig: {'@type': type.googleapis.com/xds.type.v3.TypedStruct, \
        typeUrl: type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua, value: {inlineCode: 'x'}}}}}}}]}}}}}}}";
    /// A principal of an RBAC filter with a matcher of texts below `metadata`, whose fields keep their names.
    const PRINCIPAL: &str = "{principals: [{metadata: {filter: f, path: [{key: k}], value: {stringMatch: {custom: {name: l, typedConfig: \
        {'@type': type.googleapis.com/xds.type.v3.TypedStruct, typeUrl: x/envoy.extensions.string_matcher.lua.v3.Lua, \
        value: {sourceCode: {inlineString: 'x'}}}}}}}}]}";

    /// The lines of nodes that reach out of a lab, in a configuration with this node in line 2.
    fn lines_with(node: &str) -> Vec<u64> {
        lines(&format!("static_resources: {{listeners: [{{name: a}}]}}\nown: {node}"))
    }

    #[test]
    fn code_is_found_where_field_names_are_not_those_of_protocol_buffers() {
        assert_eq!(lines_with(MATCHED), [2]);
        assert_eq!(lines_with(PRINCIPAL), [2]);
        // The type alone is enough, whatever surrounds it, and so is the field where no type is known.
        let of = "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua";
        assert_eq!(lines_with(&format!("{{metadata: {{a: {{anyField: {of}}}}}}}")), [2]);
        for field in ["typedConfig", "typed_config"] {
            assert_eq!(lines_with(&format!("{{metadata: {{a: {{{field}: {{b: c}}}}}}}}")), [2], "{field}");
            let of_user = format!("{{metadata: {{filter_metadata: {{a: {{{field}: {{b: c}}}}}}}}}}");
            assert_eq!(lines_with(&of_user), [0; 0], "{field}");
        }
        assert_eq!(lines_with("{name: envoy.filters.http.lua, text: 'see a.lua. and b.wasm.'}"), [0; 0]);
    }

    #[test]
    fn formats_and_inputs_that_read_files_or_variables_are_found() {
        for of in [
            "envoy.extensions.formatter.file_content.v3.FileContent",
            "envoy.extensions.network.socket_interface.sockmap.v3.Sockmap",
            "envoy.extensions.matching.common_inputs.environment_variable.v3.Config",
        ] {
            let extension = format!("{{name: x, typed_config: {{'@type': type.googleapis.com/{of}}}}}");
            assert_eq!(lines_with(&extension), [2], "{of}");
        }
        assert_eq!(lines_with("{text_format: 'x %FILE_CONTENT(/etc/passwd)%'}"), [2]);
        let is_found = |text: &str| why("/a", &json!(text)).is_some();
        assert!(is_found("%ENVIRONMENT(HOME)%"));
        assert!(!is_found("%REQ(A)% FILE_CONTENT"));
        // In known formats, variables are replaced, so they are no reason for a refusal.
        assert_eq!(lines_with("{text_format: '%ENVIRONMENT(HOME)%'}"), [0; 0]);
    }

    #[test]
    fn names_that_stand_for_types_are_found_in_every_form_of_a_runtime_key() {
        for layer in [
            "{envoy.reloadable_features.no_extension_lookup_by_name: false}",
            "{envoy: {reloadable_features: {no_extension_lookup_by_name: false}}}",
        ] {
            let runtime = format!("{{layers: [{{name: a, static_layer: {layer}}}]}}");
            let text = format!("static_resources: {{listeners: [{{name: a}}]}}\nlayered_runtime: {runtime}");
            assert_eq!(lines(&text), [2], "{layer}");
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
        for source in [
            "sds_config",
            "sdsConfig",
            "source",
            "odcds_config",
            "leds_config",
            "eds_config",
            "scopedRdsConfigSource",
        ] {
            assert!(is_found(&format!("/a/{source}"), json!({"path": "/etc/passwd"})), "{source}");
        }
        for path in ["pathConfigSource", "bpf_program_path", "cgroupPath", "perf_tracing_file_path"] {
            assert!(is_found(&format!("/a/{path}"), json!("/etc/passwd")), "{path}");
        }
        for tap in ["file_per_tap", "filePerTap"] {
            assert!(is_found(&format!("/a/{tap}"), json!({"path_prefix": "tap"})), "{tap}");
        }
        assert!(!is_found("/a/sds_config", json!({"ads": {}})));
        assert!(!is_found("/a/match", json!({"path": "/etc/passwd"})));
    }
}
