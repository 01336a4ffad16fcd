//! Graph files, topologies of isotope and manifests of Kubernetes. An import gives a graph file that can be read again.

#![cfg_attr(feature = "run", no_main)]

use hoptax_functions::Catalogue;
use hoptax_fuzz::fuzz_target;
use hoptax_predict::size::graph;
use hoptax_predict::size::import::isotope;
use hoptax_predict::size::import::kubernetes::{self, ManifestFile};

fuzz_target!(|input: (&str, &str)| {
    let (text, other) = input;
    let _ = graph::read("fuzz.yaml", text, Catalogue::load().expect("the catalogue is sound"));
    let _ = isotope::is_topology(text);
    let _ = isotope::read("fuzz.yaml", text, Some(other));
    let from_isotope = isotope::read("fuzz.yaml", text, None).ok();
    let files = [("a.yaml", text), ("b.yaml", other)];
    let files = files.map(|(name, text)| ManifestFile { name: name.to_owned(), text: text.to_owned() });
    let from_kubernetes = kubernetes::read("fuzz", &files, None).ok();
    for imported in from_isotope.into_iter().chain(from_kubernetes) {
        let text = imported.to_yaml();
        if let Err(problems) =
            graph::read("imported.yaml", &text, Catalogue::load().expect("the catalogue is sound"))
        {
            // A graph without proxies is valid, and predicts no sizes.
            assert!(problems.to_string().contains("no service has a proxy"), "{problems}\n{text}");
        }
    }
});
