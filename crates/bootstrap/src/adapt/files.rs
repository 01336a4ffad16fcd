//! Copies files that the proxy reads into the lab's folder, and redirects files that it writes to it. Folders become empty folders there.

use serde_json::Value;

use super::{Context, Copied, path_text};
use crate::tree::{extension_type, join, last_step, message, set, text};

/// Fields that name a file to read.
const READ: [&str; 9] = [
    "filename",
    "proto_descriptor",
    "library_path",
    "city_db_path",
    "isp_db_path",
    "anon_db_path",
    "asn_db_path",
    "country_db_path",
    "account_db_path",
];

/// Fields that name a file to write, by the end of their pointers.
const WRITTEN: [&str; 5] =
    ["/access_log", "/access_log_path", "/event_log_path", "/profile_path", "/file_per_tap/path_prefix"];

/// Fields that name a folder, by the end of their pointers.
const FOLDERS: [&str; 3] = ["/cache_path", "/file_path_prefix", "/storage_buffer_path"];

/// Files that stand for streams of the process.
const STREAMS: [&str; 3] = ["/dev/stdout", "/dev/stderr", "/dev/null"];

pub(super) fn adapt(context: &mut Context<'_>) {
    let lab = path_text(&context.lab.folder);
    let read = |pointer: &str, node: &Value| {
        READ.contains(&last_step(pointer)) && node.as_str().is_some_and(|path| !path.starts_with(&lab))
    };
    for pointer in context.find(&read) {
        let Some(path) = context.text(&pointer) else { continue };
        let number = context.files.copies.len() + 1;
        let to = context.lab.folder.join("files").join(format!("{number}-{}", last_step(&path)));
        let place = context.configuration.place(&pointer);
        context.files.copies.push(Copied { place, from: path.clone(), to: to.clone() });
        context.replace(
            &pointer,
            path_text(&to).into(),
            &format!("file `{path}`"),
            "a copy in the run's folder",
        );
    }
    let ending = |ends: &[&str]| {
        let has_end = |pointer: &str| ends.iter().any(|end| pointer.ends_with(end));
        context.find(&|pointer, node| has_end(pointer) && node.is_string())
    };
    let (mut written, folders) = (ending(&WRITTEN), ending(&FOLDERS));
    for logger in
        context.find(&|_, node| extension_type(node).starts_with("envoy.extensions.access_loggers.file."))
    {
        let settings = format!("{logger}/typed_config");
        let at = context.tree.pointer(&settings).map_or("", |settings| message(settings).at);
        written.push(format!("{settings}{at}/path"));
    }
    let files = written.into_iter().map(|pointer| (pointer, false));
    let folders = folders.into_iter().map(|pointer| (pointer, true));
    let folder = context.lab.folder.join("written");
    for (index, (pointer, is_folder)) in files.chain(folders).enumerate() {
        let Some(path) = context.text(&pointer) else { continue };
        if STREAMS.contains(&path.as_str()) {
            continue;
        }
        let to = folder.join(format!("{}-{}", index + 1, last_step(&path)));
        let (made, what, with) = if is_folder {
            (to.clone(), format!("folder `{path}`"), "an empty folder in the run's folder")
        } else {
            (folder.clone(), format!("file `{path}`"), "a file in the run's folder")
        };
        context.files.folders.insert(made);
        context.replace(&pointer, path_text(&to).into(), &what, with);
    }
    for pointer in context.find(&|_, node| !text(node, "/environment_variable").is_empty()) {
        let at = join(&pointer, "environment_variable");
        if let Some(node) = context.tree.pointer_mut(&pointer) {
            set(node, "inline_string", "lab".into());
        }
        context.replace(&at, Value::Null, "the value of an environment variable", "the text `lab`");
    }
    for pointer in context.find(&|_, node| node.get("watched_directory").is_some_and(Value::is_object)) {
        context.remove_key(
            &pointer,
            "watched_directory",
            "files of the lab do not change, so nothing is watched",
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use crate::fixture::adapted;

    #[test]
    fn each_path_that_is_written_or_that_is_a_folder_is_one_of_the_lab_and_is_listed() {
        let adapted = adapted(
            "static_resources: {listeners: [{name: a}]}
tap: {sinks: [{file_per_tap: {path_prefix: /var/tap}}]}
mongo: {access_log: /var/log/mongo.log}
log: {name: own, typed_config: {'@type': type.googleapis.com/xds.type.v3.TypedStruct, type_url: type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog, value: {path: /var/log/own.log}}}
cache: {cache_path: /var/cache/own}
server: {path_mappings: [{request_path_prefix: /s, file_path_prefix: /var/www}]}
buffer: {storage_buffer_path: /var/spool/own}",
        );
        let left = adapted.bootstrap().to_string();
        assert!(!left.contains("/var/") && left.contains("\"/s\""), "{left}");
        let listed: Vec<(u64, &str, &str)> = adapted
            .replacements
            .iter()
            .filter(|one| one.node.contains("/var/"))
            .map(|one| (one.place.line, one.node.as_str(), one.with.as_str()))
            .collect();
        let (file, folder) = ("a file in the run's folder", "an empty folder in the run's folder");
        assert_eq!(
            listed,
            [
                (2, "file `/var/tap`", file),
                (3, "file `/var/log/mongo.log`", file),
                (4, "file `/var/log/own.log`", file),
                (5, "folder `/var/cache/own`", folder),
                (6, "folder `/var/www`", folder),
                (7, "folder `/var/spool/own`", folder),
            ]
        );
        let made = ["/lab/written", "/lab/written/4-own", "/lab/written/5-www", "/lab/written/6-own"];
        assert_eq!(adapted.files.folders, BTreeSet::from(made.map(PathBuf::from)));
    }

    #[test]
    fn a_prefix_of_paths_of_requests_is_no_file() {
        let adapted = adapted(
            "static_resources: {listeners: [{name: a}]}
service: {http_service: {path_prefix: /authorize/v2}}",
        );
        assert_eq!(adapted.bootstrap()["service"]["http_service"]["path_prefix"], "/authorize/v2");
    }
}
