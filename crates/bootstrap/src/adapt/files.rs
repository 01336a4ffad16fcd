//! Files that the proxy reads are copied into the lab's folder, and files that it writes are written there.

use serde_json::Value;

use super::{Context, Copied, path_text};
use crate::tree::{extension_type, join, last_step, text};

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

/// Fields that name a file to write.
const WRITTEN: [&str; 4] = ["access_log_path", "event_log_path", "profile_path", "path_prefix"];

/// Files that stand for streams of the process.
const STREAMS: [&str; 3] = ["/dev/stdout", "/dev/stderr", "/dev/null"];

pub(super) fn adapt(context: &mut Context<'_>) {
    let lab = path_text(&context.lab.folder);
    let read = |pointer: &str, node: &Value| {
        READ.contains(&last_step(pointer)) && node.as_str().is_some_and(|path| !path.starts_with(&lab))
    };
    for pointer in context.find(&read) {
        let Some(path) = context.tree.pointer(&pointer).and_then(Value::as_str).map(str::to_owned) else {
            continue;
        };
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
    let mut written =
        context.find(&|pointer, node| WRITTEN.contains(&last_step(pointer)) && node.is_string());
    for logger in
        context.find(&|_, node| extension_type(node).starts_with("envoy.extensions.access_loggers.file."))
    {
        written.push(format!("{logger}/typed_config/path"));
    }
    let folder = context.lab.folder.join("written");
    for (index, pointer) in written.into_iter().enumerate() {
        let Some(path) = context.tree.pointer(&pointer).and_then(Value::as_str).map(str::to_owned) else {
            continue;
        };
        if STREAMS.contains(&path.as_str()) {
            continue;
        }
        let to = folder.join(format!("{}-{}", index + 1, last_step(&path)));
        context.files.folders.insert(folder.clone());
        context.replace(
            &pointer,
            path_text(&to).into(),
            &format!("file `{path}`"),
            "a file in the run's folder",
        );
    }
    for pointer in context.find(&|_, node| !text(node, "/environment_variable").is_empty()) {
        let at = join(&pointer, "environment_variable");
        if let Some(node) = context.tree.pointer_mut(&pointer) {
            node["inline_string"] = "lab".into();
        }
        context.replace(&at, Value::Null, "the value of an environment variable", "the text `lab`");
    }
    for pointer in context.find(&|_, node| node.get("watched_directory").is_some_and(Value::is_object)) {
        context.remove_key(&pointer, "watched_directory", "files of the lab do not change");
    }
}
