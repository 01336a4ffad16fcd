//! The fuzz targets, which are files in `targets/`: for the fuzzer, each is a program; for tests, each is a module of one test program. So
//! `make test` compiles and lints them, and runs them on the inputs that the fuzzer kept.

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
                // A function, so the target may return early.
                let read = |$input: $kind| $body;
                if let Ok(input) = <$kind>::arbitrary_take_rest(Unstructured::new(&bytes)) {
                    read(input);
                }
            }
        }
    };
}
