//! Tells templates from configurations: texts from which a tool has yet to make one.
//!
//! A valid configuration may hold everything that templates have, in scripts, bodies and formats. So a text is a template only if it
//! is no YAML and has a sign of one outside of quotes and of texts in lines of their own, or if a field that cannot hold a text, such as a
//! port, has one.

use serde_json::Value;

use crate::document::Source;
use crate::place::Problem;
use crate::tree;

/// Signs of templates.
const SIGNS: [&str; 5] = ["{{", "{%", "<%", "${", "$("];
/// Signs that are no YAML where a value is expected.
const NO_YAML: [&str; 4] = ["{{", "{%", "<%", "${"];
/// Signs that other texts, such as scripts of a shell, do not have.
const NOWHERE_ELSE: [&str; 3] = ["{{", "{%", "<%"];
/// What is found in templates of Helm only.
const OF_HELM: [&str; 8] =
    [".Values", ".Release", ".Chart", ".Capabilities", ".Template", ".Files", "nindent", "include \""];
/// Fields, by their ends, that hold no free text: a sign there is one of a template.
const OF_VALUES: [&str; 14] = [
    "port_value",
    "timeout",
    "interval",
    "duration",
    "weight",
    "numerator",
    "status",
    "max_requests",
    "max_connections",
    "num_retries",
    "codec_type",
    "lb_policy",
    "dns_lookup_family",
    "@type",
];
/// The field with the host of a socket address, beside its port.
const ADDRESS: &str = "address";

/// The problem that a text which is no YAML from `line` on is a template; none if it is not.
pub(crate) fn unparsed(source: &Source, line: u64) -> Option<Problem> {
    let (number, sign) = first_bare(&source.text, &NO_YAML)?;
    (number <= line).then(|| problem(source, number, sign))
}

/// The problem that a text which was parsed is a template; none if it is not.
pub(crate) fn parsed(source: &Source, value: &Value) -> Option<Problem> {
    let mut found: Option<String> = None;
    tree::walk(value, "", &mut |pointer, node| {
        let text = node.as_str().filter(|text| has_sign(text) && is_of_value(value, pointer));
        // Lines with commands of a template become keys.
        let command = node.as_object().and_then(|entries| entries.keys().find(|key| key.starts_with("<%")));
        let one = text.or(command.and_then(|key| key.split('>').next()));
        if let (None, Some(one)) = (&found, one) {
            found = Some(one.to_owned());
        }
    });
    let found = found?;
    let sign = first_of(&found, &SIGNS)?;
    let line = source.text.lines().zip(1_u64..).find(|(line, _)| line.contains(&found));
    let line = line.or_else(|| source.text.lines().zip(1..).find(|(line, _)| line.contains(sign)))?;
    Some(problem(source, line.1, sign))
}

/// The problem that a text in which nothing else was found is a template: it has a sign that is in no other text. None if it is not.
pub(crate) fn other(source: &Source) -> Option<Problem> {
    first_bare(&source.text, &NOWHERE_ELSE).map(|(number, sign)| problem(source, number, sign))
}

/// The first line with one of the signs outside of quotes, comments and texts in lines of their own.
fn first_bare(text: &str, signs: &[&'static str]) -> Option<(u64, &'static str)> {
    bare_lines(text).into_iter().find_map(|(number, line)| Some((number, first_of(&line, signs)?)))
}

/// The sign that a text has first.
fn first_of(text: &str, signs: &[&'static str]) -> Option<&'static str> {
    signs.iter().filter_map(|sign| Some((text.find(sign)?, *sign))).min().map(|(_, sign)| sign)
}

/// Whether a text has a sign and what ends it.
fn has_sign(text: &str) -> bool {
    let ends = ["}}", "%}", "%>", "}", ")"];
    SIGNS.iter().zip(ends).any(|(sign, end)| {
        text.find(sign).is_some_and(|at| text.get(at..).is_some_and(|rest| rest.contains(end)))
    })
}

fn is_of_value(root: &Value, pointer: &str) -> bool {
    let field = tree::last_name(pointer);
    if field == ADDRESS {
        let parent = pointer.rsplit_once('/').and_then(|(parent, _)| root.pointer(parent));
        return parent.is_some_and(|parent| parent.get("port_value").is_some());
    }
    OF_VALUES.iter().any(|end| field.ends_with(end))
}

fn problem(source: &Source, line: u64, sign: &str) -> Problem {
    let command = match sign {
        "{{" if OF_HELM.iter().any(|part| source.text.contains(part)) => {
            "`helm template CHART > rendered.yaml`".to_owned()
        }
        "{{" if is_of_go(&source.text) => {
            "with Helm `helm template CHART > rendered.yaml`, with other tools of Go as `gomplate --file FILE --out rendered.yaml`".to_owned()
        }
        "{{" | "{%" => {
            "with Jinja `jinja2 FILE VALUES.yaml > rendered.yaml`, with Ansible `ansible localhost -m template -a 'src=FILE dest=rendered.yaml'`".to_owned()
        }
        "<%" => "`erb FILE > rendered.yaml`".to_owned(),
        "${" => "`envsubst < FILE > rendered.yaml`".to_owned(),
        _ => "`sed -E 's/\\$\\((\\w+)\\)/${\\1}/g' FILE | envsubst > rendered.yaml`".to_owned(),
    };
    let place = source.place(line);
    let message = format!(
        "looks like a template (`{sign}` in line {}): render it first, {command}, and give what was rendered",
        place.line
    );
    Problem { place, message }
}

/// Whether what is in double braces is of Go: it begins with a dot, a variable or a word of that language.
fn is_of_go(text: &str) -> bool {
    const WORDS: [&str; 8] = ["if", "range", "with", "end", "define", "template", "block", "else"];
    let mut parts = text.split("{{").skip(1).map(|part| part.trim_start_matches('-').trim_start());
    parts.any(|part| {
        let word = part.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        part.starts_with(['.', '$', '/']) || WORDS.contains(&word)
    })
}

/// The lines of a text without what is in quotes, in comments, and in texts in lines of their own.
fn bare_lines(text: &str) -> Vec<(u64, String)> {
    let mut bare = Vec::new();
    // The indentation of the line with the key of a text in lines of its own.
    let mut inside: Option<usize> = None;
    for (line, number) in text.lines().zip(1_u64..) {
        let indentation = line.len() - line.trim_start().len();
        if inside.is_some_and(|key| line.trim().is_empty() || indentation > key) {
            continue;
        }
        inside = None;
        let left = without_quotes(line);
        let header = left.trim_end().rsplit([' ', ':', '-']).next().unwrap_or_default();
        let is_header = header.starts_with(['|', '>'])
            && header.chars().skip(1).all(|c| c.is_ascii_digit() || matches!(c, '+' | '-'));
        let strips = left.trim_end().ends_with(": |-") || left.trim_end().ends_with(": >-");
        if is_header || strips {
            // Of `- key: |`, the text is deeper than the key.
            inside = Some(indentation);
        }
        bare.push((number, left));
    }
    bare
}

/// A line without its comment and without what is in quotes, which may continue.
fn without_quotes(line: &str) -> String {
    let mut left = String::new();
    let (mut quote, mut before) = (None, ' ');
    for letter in line.chars() {
        match quote {
            Some(open) => {
                if letter == open && (open != '"' || before != '\\') {
                    quote = None;
                }
            }
            // Within a word, it is an apostrophe.
            None if matches!(letter, '"' | '\'') && !before.is_alphanumeric() => quote = Some(letter),
            None if letter == '#' && before.is_whitespace() => break,
            None => left.push(letter),
        }
        before = letter;
    }
    left
}

#[cfg(test)]
mod tests {
    use hoptax_yaml::envoy;

    use super::*;

    /// The message about a text, which is parsed first.
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
            // What is wrong is elsewhere.
            "code: |\n  {{ a }}\nb: [1\n",
            "code: |-\n    {{ a }}\n\n    x\nb: c: d\n",
            "a: \"{{ x }}\" # {{ y }}\nb: c: d\n",
            "a: b: c\nd: {{ x }}\n",
        ] {
            assert_eq!(message(text), None, "{text}");
        }
    }
}
