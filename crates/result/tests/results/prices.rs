//! The words for the origin of a price.

use hoptax_result::PriceMade;

#[test]
fn the_origin_of_a_price_has_one_name_in_json_and_in_outputs() {
    for made in [PriceMade::Listed, PriceMade::MeasuredHere, PriceMade::Converted, PriceMade::NoPrice] {
        let in_json = serde_json::to_value(made).unwrap();
        assert_eq!(in_json.as_str().unwrap().replace('-', " "), made.words());
    }
}
