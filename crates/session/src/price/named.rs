//! Finds the part of a configuration that a user names: by its name in the file, by the last word of its type, or by the catalogue function
//! for the same extension.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use hoptax_bootstrap::parts::{Form, Part};
use hoptax_functions::{Catalogue, Context, Function};
use hoptax_text::nearest::hint;

use crate::price::arm::short_name;

/// Reason why a name does not select exactly one part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameError {
    /// No part has this name.
    #[error("no part `{wanted}`{hint}; {known}")]
    None {
        /// The name.
        wanted: String,
        /// The nearest names, worded to continue the error message.
        hint: String,
        /// The names of all parts.
        known: String,
    },
    /// Several parts are called so.
    #[error(
        "`{wanted}` may be any of {}; name one of them as written here, without its line",
        parts.join(", ")
    )]
    Several {
        /// The name.
        wanted: String,
        /// The parts with their places.
        parts: Vec<String>,
    },
}

/// The part that a name selects.
///
/// **Rule.** A name in the file takes precedence; the kind of the part may precede it (`HTTP filter cors`). Otherwise, a part is selected
/// by the last word of its name or of its type (`jwt_authn`), or by the id or the family of a catalogue function that is a single HTTP
/// filter, network filter or access log of the same form (`jwt`, `access-log/json`, `access-log`).
///
/// # Errors
/// When the name selects no part, or several.
pub(crate) fn named<'p>(
    wanted: &str,
    parts: &[&'p Part],
    catalogue: &Catalogue,
) -> Result<&'p Part, NameError> {
    let is_written = |part: &&&Part| part.name == wanted || full_name(part) == wanted;
    let mut meant: Vec<&Part> = parts.iter().filter(is_written).copied().collect();
    if meant.is_empty() {
        let forms: Vec<Form> =
            catalogue.iter().filter(|function| is_called(function, wanted)).filter_map(form).collect();
        let is_meant = |part: &&&Part| {
            let is_of = |form: &Form| {
                form.words().contains(&wanted) || forms.iter().any(|function| function.is_same(form))
            };
            short_name(&part.name) == wanted || part.form.as_ref().is_some_and(is_of)
        };
        meant = parts.iter().filter(is_meant).copied().collect();
    }
    match meant.as_slice() {
        [one] => Ok(one),
        [] => Err(no_such_part(wanted, parts, catalogue)),
        several => {
            let listed = several.iter().map(|part| format!("`{}` ({})", full_name(part), part.place));
            Err(NameError::Several { wanted: wanted.to_owned(), parts: listed.collect() })
        }
    }
}

/// The name of a part, unique among the parts that a request passes.
fn full_name(part: &Part) -> String {
    format!("{} {}", part.kind, part.name)
}

/// True if a name is the id of a function, or its family, which is the first part of the id.
fn is_called(function: &Function, name: &str) -> bool {
    let rest = function.id.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The form of a function that is one filter or access log; none for all others.
fn form(function: &Function) -> Option<Form> {
    let companion = function.asks_companion.then(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 1)));
    let context = Context { directory: Path::new("/"), companion };
    let fragment = function.render(&function.default_knobs(), &context).ok()?;
    let mut all =
        fragment.http_filters.into_iter().chain(fragment.access_log).chain(fragment.network_filters);
    let (one, further) = (all.next()?, all.next());
    further.is_none().then(|| Form::from_extension(&one.into())).flatten()
}

/// The error for a name that no part has, with the nearest existing names.
fn no_such_part(wanted: &str, parts: &[&Part], catalogue: &Catalogue) -> NameError {
    let mut names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    let known = if names.is_empty() {
        "there are none".to_owned()
    } else {
        format!("parts: `{}`", names.join("`, `"))
    };
    names.extend(parts.iter().map(|part| short_name(&part.name)));
    names.extend(parts.iter().filter_map(|part| part.form.as_ref()).flat_map(Form::words));
    let replaces_a_part = |function: &&Function| {
        let form = form(function);
        let has_form = |part: &&Part| {
            part.form.as_ref().zip(form.as_ref()).is_some_and(|(one, other)| one.is_same(other))
        };
        parts.iter().any(has_form)
    };
    names.extend(catalogue.iter().filter(replaces_a_part).map(|function| function.id.as_str()));
    names.sort_unstable();
    names.dedup();
    NameError::None { wanted: wanted.to_owned(), hint: hint(wanted, names), known }
}

#[cfg(test)]
mod tests {
    use hoptax_bootstrap::parts::PartKind;
    use serde_json::{Value, json};

    use super::*;
    use crate::price::arm::tests::part;

    fn extension(kind: PartKind, name: &str, of: &str, settings: Value) -> Part {
        let mut configuration = settings;
        configuration["@type"] = format!("type.googleapis.com/envoy.extensions.{of}").into();
        Part {
            form: Form::from_extension(&json!({"name": name, "typed_config": configuration})),
            ..part(kind, name)
        }
    }

    fn all() -> Vec<Part> {
        let json_format = json!({"log_format": {"json_format": {"status": "%RESPONSE_CODE%"}}});
        vec![
            extension(
                PartKind::HttpFilter,
                "tokens",
                "filters.http.jwt_authn.v3.JwtAuthentication",
                json!({}),
            ),
            extension(PartKind::HttpFilter, "one", "filters.http.lua.v3.Lua", json!({})),
            extension(PartKind::HttpFilter, "other", "filters.http.lua.v3.Lua", json!({})),
            extension(
                PartKind::AccessLog,
                "to-stdout",
                "access_loggers.stream.v3.StdoutAccessLog",
                json_format,
            ),
            extension(PartKind::AccessLog, "to-file", "access_loggers.file.v3.FileAccessLog", json!({})),
            extension(PartKind::HttpFilter, "cors", "filters.http.cors.v3.Cors", json!({})),
            part(PartKind::UpstreamFilter, "cors"),
            part(PartKind::StatisticsSink, "envoy.stat_sinks.statsd"),
        ]
    }

    fn name_of(wanted: &str) -> Result<String, String> {
        let all = all();
        let parts: Vec<&Part> = all.iter().collect();
        let named = named(wanted, &parts, Catalogue::load().unwrap());
        named.map(full_name).map_err(|error| error.to_string())
    }

    #[test]
    fn a_part_is_meant_by_its_name_its_type_and_the_function_that_is_the_same() {
        for (wanted, name) in [
            ("tokens", "HTTP filter tokens"),
            ("jwt_authn", "HTTP filter tokens"),
            ("JwtAuthentication", "HTTP filter tokens"),
            ("jwt", "HTTP filter tokens"),
            ("access-log/json", "access log to-stdout"),
            ("access-log/file", "access log to-file"),
            ("stream", "access log to-stdout"),
            ("statsd", "statistics sink envoy.stat_sinks.statsd"),
            ("upstream HTTP filter cors", "upstream HTTP filter cors"),
        ] {
            assert_eq!(name_of(wanted), Ok(name.to_owned()), "{wanted}");
        }
    }

    #[test]
    fn a_name_of_several_parts_lists_them_with_their_lines() {
        for (wanted, names) in [
            ("lua", ["HTTP filter one", "HTTP filter other"]),
            ("add-header/lua", ["HTTP filter one", "HTTP filter other"]),
            ("access-log", ["access log to-stdout", "access log to-file"]),
            ("cors", ["HTTP filter cors", "upstream HTTP filter cors"]),
        ] {
            let error = name_of(wanted).unwrap_err();
            let [one, other] = names.map(|name| format!("`{name}` (envoy.yaml:1)"));
            assert!(error.contains(&format!("{one}, {other}")), "{wanted}: {error}");
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_names() {
        let error = name_of("jwt_auth").unwrap_err();
        assert!(error.contains("did you mean `jwt_authn`") && error.contains("`to-stdout`"), "{error}");
        let error = name_of("access-log/jsn").unwrap_err();
        assert!(error.contains("`access-log/json`"), "{error}");
        let error = name_of("rbac").unwrap_err();
        assert!(error.starts_with("no part `rbac`"), "a function that is not there: {error}");
    }

    #[test]
    fn functions_that_are_one_extension_have_a_form() {
        let catalogue = Catalogue::load().unwrap();
        let form_of = |id: &str| form(catalogue.get(id).unwrap());
        let ids = [
            "jwt",
            "ext-authz/grpc",
            "ext-authz/http",
            "compress/gzip",
            "add-header/wasm",
            "rate-limit/global",
        ];
        for id in ids {
            assert!(form_of(id).is_some(), "{id}");
        }
        assert!(form_of("route/path").is_none());
        assert!(!form_of("compress/gzip").unwrap().is_same(&form_of("compress/brotli").unwrap()));
    }
}
