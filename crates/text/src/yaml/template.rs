//! Tells templates from files in YAML: texts from which a tool has yet to make one.
//!
//! A valid file may hold everything that templates have, in scripts, bodies and formats. So a text is a template only if it is no YAML
//! and has a sign of one outside of quotes and of texts in lines of their own, or if a value that cannot be a free text, such as a
//! port, has one. Which values those are, the reader of a file knows.
//!
//! Sources of the forms: the manuals of envsubst, Helm, Jinja, ERB, Kustomize, `CMake` (`configure_file`) and BOSH.

/// Signs at the beginning and the end of a template's expression.
const EXPRESSIONS: [(&str, &str); 5] = [("{{", "}}"), ("{%", "%}"), ("<%", "%>"), ("${", "}"), ("$(", ")")];
/// Signs that are no YAML where a value is expected.
const NO_YAML: [&str; 4] = ["{{", "{%", "<%", "${"];
/// Signs that other texts, such as scripts of a shell, do not have.
const NOWHERE_ELSE: [&str; 3] = ["{{", "{%", "<%"];
/// The signs around a name.
struct Signs {
    begin: &'static str,
    end: &'static str,
}

/// Signs around a name that a tool replaces.
const AROUND: [Signs; 2] = [Signs { begin: "@", end: "@" }, Signs { begin: "((", end: "))" }];
/// Sign around a name that a tool replaces, like [`AROUND`]. It is within other names too, so it counts around a whole value only.
const AROUND_WHOLE: &str = "__";
/// First characters of all signs but the last.
const FIRST: [char; 5] = ['{', '<', '$', '@', '('];
/// Words of templates of Helm that occur nowhere else.
const OF_HELM: [&str; 8] =
    [".Values", ".Release", ".Chart", ".Capabilities", ".Template", ".Files", "nindent", "include \""];

/// A sign of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its line, from 1.
    pub line: u64,
    /// The sign, as a user finds it in the text.
    pub sign: String,
    /// Command that renders the text.
    command: String,
}

impl Template {
    /// A sign in a line of a text.
    pub fn new(text: &str, line: u64, sign: &str) -> Self {
        Self { line, sign: sign.to_owned(), command: command(text, sign) }
    }

    /// The column of its sign in the text, from 1; 0 if it is not there.
    pub fn column(&self, text: &str) -> u64 {
        let place = usize::try_from(self.line).ok().and_then(|line| line.checked_sub(1));
        let line = place.and_then(|place| text.lines().nth(place)).unwrap_or_default();
        let before = line.find(&self.sign).and_then(|at| line.get(..at));
        before.map_or(0, |before| before.chars().count() as u64 + 1)
    }

    /// Returns the message for the user: the kind of the template, and the remedy. `line` is that of its sign in the file of the user.
    pub fn message(&self, line: u64) -> String {
        format!(
            "looks like a template (`{}` in line {line}): render it first, {}, and give the rendered file",
            self.sign, self.command
        )
    }
}

/// Detects a template in a text that fails to parse as YAML at `line`; none if no sign of a template stands there or above.
pub fn unparsed(text: &str, line: u64) -> Option<Template> {
    let of_line = |bare: &str| {
        let expression = first_of(bare, &NO_YAML).map(|(at, sign)| (at, sign.to_owned()));
        expression.into_iter().chain(reserved(bare)).min().map(|(_, sign)| sign)
    };
    let (number, sign) =
        bare_lines(text).into_iter().find_map(|(number, bare)| Some((number, of_line(&bare)?)))?;
    (number <= line).then(|| Template::new(text, number, &sign))
}

/// Detects a template by signs that no other text has, outside of quotes and of texts in lines of their own.
pub fn anywhere(text: &str) -> Option<Template> {
    let mut lines = bare_lines(text).into_iter();
    let (number, sign) =
        lines.find_map(|(number, bare)| Some((number, first_of(&bare, &NOWHERE_ELSE)?.1)))?;
    Some(Template::new(text, number, sign))
}

/// The sign in a value that cannot be a free text: an expression, or a name that a tool replaces.
pub fn sign_in(value: &str) -> Option<String> {
    // A configuration has millions of values, and nearly all have none of these.
    if !value.contains(FIRST) && !value.starts_with(AROUND_WHOLE) {
        return None;
    }
    let expression = |(sign, end): &(&str, &str)| {
        let at = value.find(sign)?;
        value.get(at..)?.contains(end).then(|| (at, (*sign).to_owned()))
    };
    let mut found: Vec<(usize, String)> = EXPRESSIONS.iter().filter_map(expression).collect();
    found.extend(variable(value));
    found.extend(AROUND.iter().filter_map(|around| named(value, around)));
    let whole = value.strip_prefix(AROUND_WHOLE).and_then(|rest| rest.strip_suffix(AROUND_WHOLE));
    found.extend(whole.filter(|name| is_name(name)).map(|_| (0, value.to_owned())));
    found.into_iter().min().map(|(_, sign)| sign)
}

/// The sign in a value that may be a free text: the whole of it is one expression or one name that a tool replaces.
pub fn sign_of_whole(value: &str) -> Option<String> {
    let value = value.trim();
    let is_whole = |(begin, end): &&(&str, &str)| {
        let inner = value.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
        inner.is_some_and(|inner| !inner.contains(begin))
    };
    let is_upper = |name: &str| !name.is_empty() && name.chars().all(is_of_variable);
    match EXPRESSIONS.iter().find(is_whole) {
        // Others write texts such as `${x}` too, but capitals are for the environment.
        Some((begin @ ("${" | "$("), _)) => {
            let name = value.get(2..value.len() - 1).unwrap_or_default();
            let name = name.split([':', '-']).next().unwrap_or_default();
            is_upper(name).then(|| (*begin).to_owned())
        }
        Some((begin, _)) => Some((*begin).to_owned()),
        None => variable(value).map(|(_, sign)| sign).filter(|sign| sign == value),
    }
}

/// The line of a text that has a value and no comment there.
pub fn line_of(text: &str, value: &str) -> Option<u64> {
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with('#'));
    lines.find(|(line, _)| line.contains(value)).map(|(_, number)| number)
}

/// A variable of the environment without braces, and where it is. Its name is in capitals.
fn variable(text: &str) -> Option<(usize, String)> {
    text.match_indices('$').find_map(|(at, _)| {
        let name: String = text.get(at + 1..)?.chars().take_while(|c| is_of_variable(*c)).collect();
        name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_').then(|| (at, format!("${name}")))
    })
}

fn is_of_variable(letter: char) -> bool {
    letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_'
}

/// A name with signs around it, and where it is.
fn named(text: &str, Signs { begin, end }: &Signs) -> Option<(usize, String)> {
    text.match_indices(begin).find_map(|(at, _)| {
        let rest = text.get(at + begin.len()..)?;
        let length = rest.find(|c| !is_of_name(c))?;
        let (name, behind) = rest.split_at(length);
        (is_name(name) && behind.starts_with(end)).then(|| (at, format!("{begin}{name}{end}")))
    })
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_of_name)
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_-./".contains(letter)
}

/// A value that begins with `@NAME@`, which YAML reserves, and where it is in a line.
fn reserved(bare: &str) -> Option<(usize, String)> {
    bare.match_indices('@').find_map(|(at, _)| {
        let is_begin = bare.get(..at)?.ends_with([' ', '[', '{', ',']) || at == 0;
        let (_, sign) = named(bare.get(at..)?, &AROUND[0]).filter(|(first, _)| *first == 0)?;
        is_begin.then_some((at, sign))
    })
}

/// The sign that a text has first, and where it is.
fn first_of(text: &str, signs: &[&'static str]) -> Option<(usize, &'static str)> {
    signs.iter().filter_map(|sign| Some((text.find(sign)?, *sign))).min()
}

fn command(text: &str, sign: &str) -> String {
    match sign {
        "{{" if OF_HELM.iter().any(|part| text.contains(part)) => {
            "`helm template CHART > rendered.yaml`".to_owned()
        }
        "{{" if is_of_go(text) => {
            "with Helm `helm template CHART > rendered.yaml`, with another Go tool for example `gomplate --file FILE --out rendered.yaml`".to_owned()
        }
        "{{" | "{%" => {
            "with Jinja `jinja2 FILE VALUES.yaml > rendered.yaml`, with Ansible `ansible localhost -m template -a 'src=FILE dest=rendered.yaml'`".to_owned()
        }
        "<%" => "`erb FILE > rendered.yaml`".to_owned(),
        "$(" => "`sed -E 's/\\$\\((\\w+)\\)/${\\1}/g' FILE | envsubst > rendered.yaml`".to_owned(),
        variable if variable.starts_with('$') => "`envsubst < FILE > rendered.yaml`".to_owned(),
        bosh if bosh.starts_with("((") => "`bosh interpolate FILE --vars-file VALUES.yaml > rendered.yaml`".to_owned(),
        name => format!("`sed 's/{name}/VALUE/g' FILE > rendered.yaml`"),
    }
}

/// Returns true if an expression in double braces is of Go: it begins with a dot, a variable or a word of that language.
fn is_of_go(text: &str) -> bool {
    const WORDS: [&str; 8] = ["if", "range", "with", "end", "define", "template", "block", "else"];
    let mut parts = text.split("{{").skip(1).map(|part| part.trim_start_matches('-').trim_start());
    parts.any(|part| {
        let word = part.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        part.starts_with(['.', '$', '/']) || WORDS.contains(&word)
    })
}

/// The lines of a text without the parts in quotes, in comments, and in texts in lines of their own.
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

/// A line without its comment and without its parts in quotes, which may continue.
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
    use super::*;

    #[test]
    fn a_value_that_is_no_free_text_shows_each_form_of_a_name_that_a_tool_replaces() {
        for (value, sign) in [
            ("$PORT", Some("$PORT")),
            ("${PORT}", Some("${")),
            ("$HOST.svc", Some("$HOST")),
            ("${T}s", Some("${")),
            ("$(PORT)", Some("$(")),
            ("@PORT@", Some("@PORT@")),
            ("@PORT@s", Some("@PORT@")),
            ("__PORT__", Some("__PORT__")),
            ("((port))", Some("((port))")),
            ("{{ .port }}", Some("{{")),
            ("<%= port %>", Some("<%")),
            ("my__own__host", None),
            ("fe80::1%eth0", None),
            ("$lower", None),
            ("a@b", None),
            ("%DURATION%", None),
            ("10s", None),
            ("$", None),
            ("", None),
        ] {
            assert_eq!(sign_in(value).as_deref(), sign, "{value}");
        }
    }

    #[test]
    fn a_free_text_is_a_template_only_if_the_whole_of_it_is_a_name() {
        for (value, sign) in [
            ("$PREFIX", Some("$PREFIX")),
            ("${PREFIX}", Some("${")),
            ("${PREFIX:-/}", Some("${")),
            ("{{ .name }}", Some("{{")),
            ("/a/$PREFIX", None),
            ("${x}", None),
            ("${A}/${B}", None),
            ("^/a$", None),
            ("__x__", None),
            ("${é", None),
        ] {
            assert_eq!(sign_of_whole(value).as_deref(), sign, "{value}");
        }
    }

    #[test]
    fn a_text_that_is_no_yaml_has_its_first_sign_outside_of_quotes() {
        let of = |text: &str| unparsed(text, 9).map(|found| (found.line, found.sign));
        assert_eq!(of("a: '{{ x }}'\nport: @PORT@\n"), Some((2, "@PORT@".to_owned())));
        assert_eq!(of("{port: @port@}"), Some((1, "@port@".to_owned())));
        assert_eq!(of("a: b@c@d\nb: [\n"), None);
        assert_eq!(of("a: @annotation\n"), None);
        let found = unparsed("port: @PORT@", 1).unwrap();
        assert_eq!(found.column("port: @PORT@"), 7);
        assert!(found.message(7).contains("`@PORT@` in line 7"), "{}", found.message(7));
        assert!(found.message(7).contains("sed 's/@PORT@/VALUE/g'"), "{}", found.message(7));
    }
}
