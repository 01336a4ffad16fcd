//! The fuzz targets, which are files in `targets/`: one program each for the fuzzer, and modules of one program of tests. So the build of
//! all tests compiles and lints them, and a change that fails on an input which the fuzzer once kept is seen without the fuzzer.

#[cfg(feature = "run")]
pub use libfuzzer_sys::fuzz_target;

#[cfg(test)]
extern crate self as hoptax_fuzz;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod targets;

/// The test of a target, in place of the macro of the fuzzer.
#[cfg(all(test, not(feature = "run")))]
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: $kind:ty| $body:block) => {
        #[test]
        fn all_kept_inputs_are_read() {
            use arbitrary::{Arbitrary, Unstructured};

            for bytes in hoptax_fuzz::corpus::inputs(module_path!()) {
                // In a function of its own, a target may return early.
                let read = |$input: $kind| $body;
                if let Ok(input) = <$kind>::arbitrary_take_rest(Unstructured::new(&bytes)) {
                    read(input);
                }
            }
        }
    };
}
