//! Properties of Dunnett's critical value. Each case integrates many times: here, the code that does is optimized.

use hoptax_stats::{CostsAgainstReference, dunnett};
use proptest::prelude::*;
use statrs::distribution::{ContinuousCDF, StudentsT};

fn equal(comparisons: usize, copies_of_reference: u32) -> CostsAgainstReference {
    CostsAgainstReference { copies_of_reference, copies: vec![1; comparisons] }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn more_costs_raise_it_and_it_is_at_most_that_of_independent_errors(
        comparisons in 1_usize..40, copies in 1_u32..6, freedom in 2.0..60.0_f64,
    ) {
        let of = |groups: &[CostsAgainstReference]| dunnett(groups, freedom, 0.95).unwrap();
        let one = of(&[equal(comparisons, copies)]);
        prop_assert!(of(&[equal(comparisons + 1, copies)]) > one);
        prop_assert!(of(&[equal(comparisons, copies), equal(1, copies)]) > one);
        // More copies of the reference leave less in common.
        prop_assert!(of(&[equal(comparisons, copies + 1)]) >= one - 1e-6);
        let tail = 0.05 / comparisons as f64;
        let independent = -StudentsT::new(0.0, 1.0, freedom).unwrap().inverse_cdf(tail / 2.0);
        prop_assert!(one <= independent + 1e-3);
    }
}
