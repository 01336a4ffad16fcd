//! The recorded output of perf, by layer. `recorded/perf-script-6.1.txt` is that of
//! `perf record -e cpu-clock -F 999 -g -- dd if=/dev/zero of=/dev/null bs=64k count=3000` and of
//! `perf script --no-inline -F pid,period,ip,sym,dso`, with perf 6.1 on Linux 6.18.

use std::collections::BTreeMap;

use super::folded::Folded;
use super::{layer_of, samples};

const TEXT: &str = include_str!("../../recorded/perf-script-6.1.txt");

#[test]
fn recorded_samples_have_their_layers_and_lose_no_time() {
    let samples = samples(TEXT).unwrap();
    let mut layers: BTreeMap<&str, u64> = BTreeMap::new();
    for sample in &samples {
        *layers.entry(layer_of(sample)).or_default() += sample.cpu_ns;
    }
    let all_ns: u64 = samples.iter().map(|sample| sample.cpu_ns).sum();
    assert_eq!(layers.values().sum::<u64>(), all_ns);
    assert_eq!(Folded::new(&samples).cpu_ns(), all_ns);
    insta::assert_debug_snapshot!(layers);
}
