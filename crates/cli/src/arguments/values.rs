//! Parsers of argument values, and values that are chosen by their names.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
pub(crate) use hoptax_session::values::{
    ProtocolChoice, agent, duration, duration_or_none, file_name, in_a_word, interval, label,
    millis_of_processors, name_in_cluster, named_file, output_file, percentile, predicted_rate, price, rate,
    rounds, seed, share, whole,
};
use hoptax_text::command_line::option;

/// A value that is chosen by its name.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    choices: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let choices: Vec<(&'static str, T)> = choices.into_iter().collect();
    let names: Vec<&'static str> = choices.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).try_map(move |given| {
        choices.iter().find(|(name, _)| *name == given).map(|(_, value)| value.clone()).ok_or("no such value")
    })
}

/// An option with the name of a value that was chosen, after a space; nothing without a value.
pub(crate) fn chosen_option(name: &str, value: Option<&impl ValueEnum>) -> String {
    let value = value.and_then(ValueEnum::to_possible_value);
    option(name, value.as_ref().map(PossibleValue::get_name))
}
