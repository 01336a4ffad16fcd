//! Untrusted listeners files: reads them, renders every form, imports it again, and derives their promises. Also imports untrusted
//! configurations.

#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_listeners::check::courses;
use hoptax_listeners::{Form, Format, Source, import, is_listeners, read, render};
use hoptax_text::yaml::envoy::first;

fuzz_target!(|input: (&str, &str)| {
    let (text, services) = input;
    let _ = is_listeners(text);
    if let Ok(tree) = first(text) {
        let _ = import(&tree.to_value());
    }
    let source = |name, text| Source { name, text };
    for other in [None, Some(source("services.yaml", services))] {
        let plan = match read(source("listeners.yaml", text), other) {
            Ok(plan) => plan,
            Err(problems) => {
                let _ = problems.to_string();
                continue;
            }
        };
        let _ = courses(&plan);
        let Ok(rendered) = render(&plan) else { continue };
        for form in [Form::Bootstrap, Form::LdsCds, Form::ConfigMap, Form::Helm] {
            for format in [Format::Yaml, Format::Json] {
                let files = rendered.clone().outputs(form, format);
                assert!(files.iter().all(|file| first(&file.text).is_ok()));
            }
        }
        let _ = import(&rendered.bootstrap());
        let _ = rendered.traced();
    }
});
