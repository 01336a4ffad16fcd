//! Studies, calls of functions, links and paths that the pages of this repository write must be such.

use std::fs;
use std::path::{Path, PathBuf};

use hoptax_functions::{Catalogue, FunctionCall};
use hoptax_plan::configurations::{Configuration, Configurations};
use hoptax_plan::file;
use hoptax_plan::plan::Plan;
use hoptax_subject::envoy::given::Given;

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
/// The loads of an example that states none.
const LOADS: &str = "loads: [{name: saturation, loop: closed}]\n";
/// Names before braces that are not functions: ids of arms.
const ARMS: [&str; 2] = ["baseline", "filtered"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below a folder, without those that a build or a run leaves there.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || ["target", "runs", "corpus", "node_modules"].contains(&name.as_str()) {
            continue;
        }
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files.extend(files_below(&entry.path()));
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    files
}

fn name_of(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().into_owned()
}

/// The Markdown files of the repository with their paths.
fn pages() -> Vec<(String, String)> {
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let page = |path: PathBuf| (name_of(&path), fs::read_to_string(&path).unwrap());
    files_below(&root()).into_iter().filter(is_page).map(page).collect()
}

/// The pages on which people read of studies and functions. Recorded outputs of other programs are none.
fn pages_of_people() -> Vec<(String, String)> {
    pages().into_iter().filter(|(name, _)| !name.starts_with("crates/")).collect()
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
    for (name, page) in pages_of_people() {
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
            let configurations = Configurations::named_by(&file, |config| {
                let given = Given::read(&folder.path().join(config)).map_err(|error| error.to_string())?;
                Configuration::new(given, |_| Ok(String::new()))
            });
            let plan = Plan::with_configurations(&file, &positions, catalogue, configurations);
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
    // The program writes a page for each study from its plan, whose arms have names of their own before braces.
    for (name, page) in pages_of_people().into_iter().filter(|(name, _)| !name.starts_with("docs/studies/")) {
        for text in calls(&page).into_iter().filter(|call| !ARMS.contains(&call.split('{').next().unwrap())) {
            found += 1;
            let call = FunctionCall::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            catalogue.resolve(&call).unwrap_or_else(|errors| panic!("{name}: `{text}`: {errors:?}"));
        }
    }
    assert!(found > 10, "{found} calls: the pages have more");
    assert_eq!(calls("`a/b{c=1}` {d=2} e{f}\n"), ["a/b{c=1}"]);
}

/// A page without its code, in which nothing is a link or a heading.
fn without_code(page: &str) -> String {
    let mut in_block = false;
    let mut text = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block && !line.starts_with("    ") {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The targets of the links and pictures of a page, as they are written.
fn links(page: &str) -> Vec<&str> {
    let targets = |open: &'static str, close: char| {
        let target = move |(start, _): (usize, &str)| page[start + open.len()..].split_once(close);
        page.match_indices(open).filter_map(target).map(|(target, _)| target)
    };
    targets("](", ')').chain(targets("src=\"", '"')).collect()
}

/// The names under which the headings of a page can be linked.
fn anchors(page: &str) -> Vec<String> {
    let heading = |line: &str| {
        let title = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))?;
        let letter = |c: char| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        };
        Some(title.to_lowercase().chars().filter_map(letter).collect())
    };
    page.lines().filter_map(heading).collect()
}

/// Returns the reason why a link of a page leads nowhere, if so. Addresses on the network are not tried.
fn fault_of_link(page: &Path, target: &str) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let linked = if path.is_empty() { page.to_owned() } else { page.parent().unwrap().join(path) };
    if !linked.exists() {
        return Some(format!("`{target}` leads to no file"));
    }
    let anchor = anchor.filter(|_| linked.extension().is_some_and(|extension| extension == "md"))?;
    let anchors = anchors(&without_code(&fs::read_to_string(&linked).unwrap()));
    (!anchors.iter().any(|other| other == anchor)).then(|| format!("`{target}` leads to no heading"))
}

#[test]
fn every_link_between_files_leads_to_a_file_and_a_heading() {
    let mut found = 0;
    let mut faults = Vec::new();
    for (name, page) in pages() {
        let page = without_code(&page);
        for target in links(&page) {
            found += 1;
            faults.extend(fault_of_link(&root().join(&name), target).map(|fault| format!("{name}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(found > 50, "{found} links: the pages have more");
}

/// The table of contents of the book.
const SUMMARY: &str = "SUMMARY.md";
/// The folders whose pages the program writes; each has a list of its pages.
const WRITTEN: [&str; 3] = ["checks/", "functions/", "studies/"];

/// The pages of the book by their paths below `docs/`.
fn documents() -> Vec<(String, String)> {
    let below = |(name, page): (String, String)| Some((name.strip_prefix("docs/")?.to_owned(), page));
    pages().into_iter().filter_map(below).filter(|(name, _)| name != SUMMARY).collect()
}

#[test]
fn every_document_is_in_the_index() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let linked = links(&index);
    let is_in_list = |name: &str| {
        WRITTEN.iter().any(|folder| name.strip_prefix(folder).is_some_and(|page| page != "README.md"))
    };
    let absent: Vec<String> = documents()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name != "README.md" && !is_in_list(name) && !linked.contains(&name.as_str()))
        .collect();
    assert!(absent.is_empty(), "not in docs/README.md: {}", absent.join(", "));
}

/// The pages that are not in a table of contents exactly once, and its lines that are no pages.
fn faults_of_contents(summary: &str, pages: &[String]) -> Vec<String> {
    let listed = links(summary);
    let times = |page: &str| listed.iter().filter(|target| **target == page).count();
    let mut faults: Vec<String> = pages
        .iter()
        .filter(|page| times(page) != 1)
        .map(|page| format!("{page} is listed {} times", times(page)))
        .collect();
    let strange = listed.iter().filter(|target| !pages.iter().any(|page| page == *target));
    faults.extend(strange.map(|target| format!("{target} is no page")));
    faults
}

#[test]
fn every_page_is_in_the_book_once() {
    let summary = fs::read_to_string(root().join("docs").join(SUMMARY)).unwrap();
    let pages: Vec<String> = documents().into_iter().map(|(name, _)| name).collect();
    let faults = faults_of_contents(&summary, &pages);
    assert!(faults.is_empty(), "docs/{SUMMARY}: {}", faults.join(", "));
    assert!(pages.len() > 150, "{} pages: the book has more", pages.len());
}

#[test]
fn pages_that_are_missing_doubled_or_none_are_found() {
    let pages = ["a.md", "b.md", "c.md"].map(str::to_owned);
    let faults = faults_of_contents("- [A](a.md)\n- [B](b.md)\n- [B again](b.md)\n- [D](d.md)\n", &pages);
    assert_eq!(faults, ["b.md is listed 2 times", "c.md is listed 0 times", "d.md is no page"]);
}

/// True if a link of a page leads out of the folder of the page at this depth: in the book, there is nothing.
fn leaves_the_book(depth: usize, target: &str) -> bool {
    let mut depth = depth;
    let mut parts = target.split('#').next().unwrap_or_default().split('/');
    !target.contains("://")
        && parts.any(|part| {
            if part != ".." {
                depth += usize::from(part != ".");
                return false;
            }
            let is_out = depth == 0;
            depth = depth.saturating_sub(1);
            is_out
        })
}

#[test]
fn links_between_pages_of_the_book_stay_in_it() {
    let mut faults = Vec::new();
    for (name, page) in documents() {
        let (page, depth) = (without_code(&page), name.matches('/').count());
        let left = links(&page).into_iter().filter(|target| leaves_the_book(depth, target));
        faults.extend(left.map(|target| format!("{name}: {target}")));
    }
    assert!(faults.is_empty(), "write paths outside of docs/ as code: {}", faults.join(", "));
    let left =
        ["../a.md", "b/../../c.md", "b/../c.md", "https://a.example/../b"].map(|to| leaves_the_book(0, to));
    assert_eq!(left, [true, true, false, false]);
    assert!(!leaves_the_book(1, "../a.md#b") && leaves_the_book(1, "../../a.md"));
}

#[test]
fn links_that_lead_nowhere_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    let text = "# Two words, `one` more\n[a](b.md) ![c](#two-words-one-more) [d](#none) [e](https://f.example/) <img src=\"i.png\">\n```\n[g](h)\n```\n";
    fs::write(&page, text).unwrap();
    let text = without_code(text);
    let faults: Vec<String> =
        links(&text).into_iter().filter_map(|target| fault_of_link(&page, target)).collect();
    assert_eq!(
        faults,
        ["`b.md` leads to no file", "`#none` leads to no heading", "`i.png` leads to no file"]
    );
}

/// The paths in a text that begin at `docs/` of this repository; those within addresses and longer paths are not.
fn paths_of_documents(text: &str) -> Vec<&str> {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let path = |(start, _): (usize, &str)| {
        let before = text[..start].chars().next_back();
        let end = text[start..].find(|c| !is_of_path(c)).map_or(text.len(), |length| start + length);
        (!before.is_some_and(is_of_path)).then(|| text[start..end].trim_end_matches(['.', '/']))
    };
    text.match_indices("docs/").filter_map(path).collect()
}

#[test]
fn every_document_that_a_file_names_exists() {
    let mut found = 0;
    let mut faults = Vec::new();
    for path in files_below(&root()) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for document in paths_of_documents(&text) {
            found += 1;
            if !root().join(document).exists() {
                faults.push(format!("{}: {document}", name_of(&path)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(found > 20, "{found} names: the files have more");
    assert_eq!(
        paths_of_documents("see docs/guide. https://a.example/docs/none (docs/README.md)"),
        ["docs/guide", "docs/README.md"]
    );
}
