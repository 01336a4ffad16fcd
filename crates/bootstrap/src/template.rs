//! Distinguishes templates, which a tool must render first, from Envoy configurations.
//!
//! [`hoptax_text::yaml::template`] knows the signs of templates. This module lists the fields of Envoy that hold no free text: a sign in
//! one of them indicates a template.

use hoptax_text::yaml::template::{self, Template};
use serde_json::Value;

use crate::document::Source;
use crate::place::Problem;
use crate::tree;

/// Fields, by their suffixes, that hold no free text.
const OF_VALUES: [&str; 20] = [
    "port_value",
    "timeout",
    "interval",
    "duration",
    "weight",
    "numerator",
    "status",
    "max_requests",
    "max_pending_requests",
    "max_connections",
    "max_concurrent_streams",
    "max_retries",
    "num_retries",
    "limit_bytes",
    "threshold",
    "prefix_len",
    "codec_type",
    "lb_policy",
    "dns_lookup_family",
    "@type",
];
/// The field with the host of a socket address, beside its port.
const ADDRESS: &str = "address";
/// First character of each path, and the fields of a route's match that hold one.
const PATH: char = '/';
const OF_PATHS: [&str; 3] = ["prefix", "path", "path_separated_prefix"];
/// Nodes with the user's own fields, as in the formats of access logs.
const OF_THE_USER: [&str; 3] = ["json_format", "typed_json_format", "filter_metadata"];

/// The problem for a text that is not YAML from `line` on, if it is a template.
pub(crate) fn unparsed(source: &Source, line: u64) -> Option<Problem> {
    template::unparsed(&source.text, line).map(|found| problem(source, &found))
}

/// The problem for a parsed text, if it is a template.
pub(crate) fn parsed(source: &Source, value: &Value) -> Option<Problem> {
    let mut found: Option<(String, String)> = None;
    tree::walk(value, "", &mut |pointer, node| {
        if found.is_some() {
            return;
        }
        let of_text = node.as_str().and_then(|text| {
            let sign = sign(value, pointer, text)?;
            Some((text.to_owned(), sign))
        });
        // The parser turns lines with template commands into keys.
        let command = node.as_object().and_then(|entries| entries.keys().find(|key| key.starts_with("<%")));
        let command = command.and_then(|key| Some((key.split('>').next()?.to_owned(), "<%".to_owned())));
        found = of_text.or(command);
    });
    let (text, sign) = found?;
    let line = template::line_of(&source.text, &text).or_else(|| template::line_of(&source.text, &sign))?;
    Some(problem(source, &Template::new(&source.text, line, &sign)))
}

/// The problem for a text in which nothing else was found, if it has a sign that only templates have.
pub(crate) fn other(source: &Source) -> Option<Problem> {
    template::anywhere(&source.text).map(|found| problem(source, &found))
}

/// The sign of a template in the text of a field; none if the field may hold such a text.
fn sign(root: &Value, pointer: &str, text: &str) -> Option<String> {
    // Checks the sign first: most texts have none, and there are many pointers.
    let sign = template::sign_in(text)?;
    if pointer.split('/').any(|step| OF_THE_USER.contains(&step)) {
        return None;
    }
    let field = tree::last_name(pointer);
    let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
    if field == ADDRESS {
        return root.pointer(parent)?.get("port_value").map(|_| sign);
    }
    if OF_PATHS.contains(&field) && tree::last_name(parent) == "match" && !text.starts_with(PATH) {
        return template::sign_of_whole(text);
    }
    OF_VALUES.iter().any(|end| field.ends_with(end)).then_some(sign)
}

fn problem(source: &Source, found: &Template) -> Problem {
    let place = source.place(found.line);
    let message = found.message(place.line);
    Problem { place, message }
}

#[cfg(test)]
mod tests {
    use hoptax_text::yaml::envoy;

    use super::*;

    /// Parses a text, and returns the message about it.
    fn message(text: &str) -> Option<String> {
        let source = Source::file("a.yaml", text);
        match envoy::first(text) {
            Err(error) => unparsed(&source, error.line),
            Ok(tree) => parsed(&source, &tree.to_value()),
        }
        .map(|problem| format!("{}: {}", problem.place, problem.message))
    }

    #[test]
    fn templates_are_named_with_their_first_line_and_the_command_that_renders_them() {
        for (text, line, sign, command) in [
            ("a:\n- name: {{ .name }}\n", 2, "{{", "helm template"),
            ("a: 1\n{{- if .Values.x }}\nb: 2\n{{- end }}\n", 2, "{{", "helm template"),
            ("a: {b: {{ name }}}\n", 1, "{{", "jinja2"),
            ("{% for x in y %}\n- a\n{% endfor %}\n", 1, "{%", "jinja2"),
            ("a: {port_value: ${PORT}}\n", 1, "${", "envsubst <"),
            ("# c\na:\n  address: ${HOST}\n  port_value: 80\n", 3, "${", "envsubst <"),
            ("a:\n  port_value: \"{{ .port }}\"\n", 2, "{{", "helm template"),
            ("connect_timeout: $(TIMEOUT)\n", 1, "$(", "sed -E"),
            ("a:\n  port_value: <%= port %>\n", 2, "<%", "erb"),
            ("a:\n  b: 1\n<% if x %>\n  c: 2\n<% end %>\n", 3, "<%", "erb"),
            ("# $PORT\na: {port_value: $PORT}\n", 2, "$PORT", "envsubst <"),
            ("connect_timeout: $TIMEOUT\n", 1, "$TIMEOUT", "envsubst <"),
            ("a:\n  address: $HOST.example\n  port_value: 80\n", 2, "$HOST", "envsubst <"),
            ("match: {prefix: $PREFIX}\n", 1, "$PREFIX", "envsubst <"),
            ("a: {port_value: @PORT@}\n", 1, "@PORT@", "sed 's/@PORT@"),
            ("a: {port_value: '@PORT@'}\n", 1, "@PORT@", "sed 's/@PORT@"),
            ("a: {port_value: __PORT__}\n", 1, "__PORT__", "sed 's/__PORT__"),
            ("a: {port_value: ((port))}\n", 1, "((port))", "bosh interpolate"),
        ] {
            let message = message(text).unwrap_or_else(|| panic!("{text}"));
            assert!(
                message
                    .starts_with(&format!("a.yaml:{line}: looks like a template (`{sign}` in line {line})")),
                "{message}"
            );
            assert!(message.contains(command), "{message}");
        }
    }

    #[test]
    fn a_configuration_that_holds_such_signs_in_texts_is_none() {
        for text in [
            "inline_string: \"{{ .x }} ${HOME} $(x) {% if %} <% x %>\"\n",
            "format: '%REQ(:path)% ${x}'\n",
            "inline_code: |\n  local a = {{1}, {2}}\n  b = '${c}'\n",
            "text: hello ${name}\n",
            "address: ${x}\n",
            "json_format: {duration: '%DURATION%', status: $STATUS, timeout: '${T}'}\n",
            "typed_json_format: {a: {status: '@x@'}}\n",
            "match: {prefix: /$PREFIX, safe_regex: {regex: '^/[A-Z]+$'}}\n",
            "string_match: {prefix: $PREFIX}\nregex: $A\ninline_string: $CODE\nvalue: $HOME\n",
            "socket_address: {address: my__own__host, port_value: 80}\n",
            // The problem is outside of the template.
            "code: |\n  {{ a }}\nb: [1\n",
            "code: |-\n    {{ a }}\n\n    x\nb: c: d\n",
            "a: \"{{ x }}\" # {{ y }}\nb: c: d\n",
            "a: b: c\nd: {{ x }}\n",
        ] {
            assert_eq!(message(text), None, "{text}");
        }
    }
}
