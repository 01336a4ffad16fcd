//! The parsers of perf's output (samples, stacks and counters), with arbitrary text.

#![cfg_attr(feature = "run", no_main)]

use hoptax_fuzz::fuzz_target;
use hoptax_plan::profile::folded::Folded;
use hoptax_plan::profile::{flame, layer_of, samples, top_down};

fuzz_target!(|text: &str| {
    if let Ok(samples) = samples(text) {
        for sample in &samples {
            assert!(!layer_of(sample).is_empty());
        }
        let folded = Folded::new(&samples);
        assert_eq!(Folded::read(&folded.text()).cpu_ns(), folded.cpu_ns());
    }
    let mut folded = Folded::read(text);
    folded.join(Folded::read(text));
    let _ = folded.cpu_ns();
    if text.len() < 200 {
        let _ = flame::graph("fuzz", &folded);
    }
    let _ = top_down::group(text);
    for share in top_down::shares(text).values() {
        assert!(share.is_finite(), "{share}");
    }
});
