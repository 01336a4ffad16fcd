//! Untrusted Envoy configurations: lints, fixes and lints them again, and renders every form. Also reads files of allowed faults.

#![cfg_attr(feature = "run", no_main)]

use hoptax_bootstrap::{Loaded, choices, read_partly};
use hoptax_fuzz::fuzz_target;
use hoptax_lint::{Allowances, Finding, in_file, lint, lint_generated, mend, output};
use hoptax_report::render::terminal;
use hoptax_report::{Style, documents};
use hoptax_result::LintResult;

fuzz_target!(|input: (&str, &str)| {
    let (text, other) = input;
    let load = |path: &str| match path.len() % 2 {
        0 => Ok(Loaded { name: path.to_owned(), text: other.to_owned() }),
        _ => Err("it does not exist".to_owned()),
    };
    let _ = choices("envoy.yaml", text);
    let Ok(read) = read_partly("envoy.yaml", text, None, &load) else { return };
    let mut linted = lint_generated(&read, "other.yaml", other, &|pointer| pointer.len() as u64);
    if let Ok(mut allowances) = Allowances::read("allow.yaml", other) {
        allowances.sort_out(&mut linted);
        let _ = allowances.without_effect();
    }
    let findings: Vec<&Finding> = linted.findings.iter().collect();
    let (mended, _) = mend(&read.configuration, &findings);
    for one in mended {
        let _ = read.configuration.texts().nth(one.text).and_then(|old| in_file(text, &old, &one.changed));
        if let Ok(read) = read_partly("envoy.yaml", &one.changed, None, &load) {
            let _ = lint(&read);
        }
    }
    let result = LintResult::new((), output::body(vec![output::file("envoy.yaml", &linted, &read.unread)]));
    // A written text can be read again and rendered.
    let text = serde_json::to_string(&result).expect("JSON");
    let again: LintResult = serde_json::from_str(&text).expect("the same result");
    assert_eq!(result, again);
    let _ = terminal::details(&documents::lint(&result), Style { width: 100, colour: false });
    let _ = (output::sarif(&result), output::github(&result), output::lines(&result));
});
