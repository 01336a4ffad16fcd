//! What the pages of this repository write as a study or as a call of a function must be one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use hoptax_functions::{Catalogue, FunctionCall};
use hoptax_study::configurations::Configurations;
use hoptax_study::file;
use hoptax_study::plan::Plan;

/// The configuration that examples call `envoy.yaml`.
const ENVOY: &str = r#"
static_resources:
  listeners:
    - name: ingress
      address: {socket_address: {address: 0.0.0.0, port_value: 8080}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: ingress
                http_filters:
                  - name: envoy.filters.http.lua
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
                      default_source_code: {inline_string: "function envoy_on_request(handle) end"}
                  - name: envoy.filters.http.router
                    typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
                route_config:
                  virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: shop}}]}]
  clusters:
    - name: shop
      type: STATIC
      load_assignment:
        cluster_name: shop
        endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 10.0.0.1, port_value: 80}}}}]}]
"#;
/// What an example that leaves them out is given.
const LOADS: &str = "loads: [{name: saturation, loop: closed}]\n";
/// Names before braces that are not functions: ids of arms.
const ARMS: [&str; 2] = ["baseline", "filtered"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages with their names.
fn pages() -> Vec<(String, String)> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let docs = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut paths: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)).into_iter().chain(docs).collect();
    paths.sort();
    let page = |path: PathBuf| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap())
    };
    paths.into_iter().map(page).collect()
}

/// The blocks of YAML of a page, each with the number of its first line.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(page.lines()) {
        match &mut open {
            None if line.trim() == "```yaml" => open = Some((number + 1, String::new())),
            None => {}
            Some(_) if line.trim() == "```" => blocks.extend(open.take()),
            Some((_, block)) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    blocks
}

fn has_key(block: &str, key: &str) -> bool {
    block.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
}

#[test]
fn every_study_of_the_pages_can_be_planned() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("envoy.yaml"), ENVOY).unwrap();
    let catalogue = Catalogue::load().unwrap();
    let mut found = 0;
    for (name, page) in pages() {
        for (line, block) in blocks(&page).into_iter().filter(|(_, block)| has_key(block, "arms")) {
            found += 1;
            let mut text = block.clone();
            for (key, default) in [("name", "name: example\n"), ("loads", LOADS)] {
                if !has_key(&block, key) {
                    text.push_str(default);
                }
            }
            let place = format!("{name}:{line}");
            let (file, positions) = file::read(&place, &text).unwrap_or_else(|error| panic!("{error}"));
            let configurations = Configurations::read(&file, folder.path());
            let plan = Plan::with_configurations(&file, &positions, &catalogue, configurations);
            plan.unwrap_or_else(|error| panic!("lines are those of the block at {place}: {error}"));
        }
    }
    assert!(found > 5, "{found} studies: the pages have more");
}

/// The calls with knobs in a text, such as `rbac{rules=100}`.
fn calls(text: &str) -> Vec<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-/_".contains(c);
    let call = |(brace, _): (usize, &str)| {
        let name = text[..brace].chars().rev().take_while(|c| is_of_name(*c)).count();
        let end = brace + text[brace..].find('}')? + 1;
        let call = &text[brace - name..end];
        (name > 0 && call.contains('=') && !call.contains('\n')).then_some(call)
    };
    text.match_indices('{').filter_map(call).collect()
}

#[test]
fn every_call_of_a_function_on_the_pages_is_one() {
    let catalogue = Catalogue::load().unwrap();
    let mut found = 0;
    for (name, page) in pages() {
        for text in calls(&page).into_iter().filter(|call| !ARMS.contains(&call.split('{').next().unwrap())) {
            found += 1;
            let call = FunctionCall::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            catalogue.resolve(&call).unwrap_or_else(|errors| panic!("{name}: `{text}`: {errors:?}"));
        }
    }
    assert!(found > 10, "{found} calls: the pages have more");
    assert_eq!(calls("`a/b{c=1}` {d=2} e{f}\n"), ["a/b{c=1}"]);
}
