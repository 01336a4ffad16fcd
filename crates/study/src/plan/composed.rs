//! Resolves the functions of an arm that has several.

use hoptax_functions::{Catalogue, Component, Composition, FunctionCall};

use super::{BASELINE, DIRECT, SAME};
use crate::file::{ComposedEntry, OrderWord};

/// The functions of an entry, whose place in the file is `pointer`.
///
/// # Errors
/// Every problem of the entry with its place: a name that means something else, a function that does not exist, and
/// functions that cannot be combined.
pub(super) fn functions(
    entry: &ComposedEntry,
    catalogue: &Catalogue,
    pointer: &str,
) -> Result<Composition, Vec<(String, String)>> {
    let place = |index: usize| format!("{pointer}/functions/{index}");
    let mut problems = Vec::new();
    let name = &entry.name;
    if [BASELINE, DIRECT, SAME].contains(&name.as_str()) {
        problems.push((
            format!("{pointer}/name"),
            format!("`{name}` is the name of an arm of hoptax: choose another"),
        ));
    } else if catalogue.get(name).is_some() {
        problems
            .push((format!("{pointer}/name"), format!("`{name}` is the name of a function: choose another")));
    }
    let mut components = Vec::new();
    for (index, text) in entry.functions.iter().enumerate() {
        match component(text, catalogue) {
            Ok(component) => components.push((index, component)),
            Err(messages) => problems.extend(messages.into_iter().map(|message| (place(index), message))),
        }
    }
    let (indexes, components): (Vec<usize>, Vec<Component>) = components.into_iter().unzip();
    match Composition::new(components, entry.order.into()) {
        Ok(functions) if problems.is_empty() => Ok(functions),
        Ok(_) => Err(problems),
        Err(conflicts) => {
            problems.extend(conflicts.into_iter().map(|conflict| {
                let index = indexes.get(conflict.index).copied().unwrap_or_default();
                (place(index), format!("{conflict}; remove one of them, or write two arms"))
            }));
            Err(problems)
        }
    }
}

fn component(text: &str, catalogue: &Catalogue) -> Result<Component, Vec<String>> {
    let call = FunctionCall::parse(text).map_err(|error| vec![error.to_string()])?;
    let (function, knobs) = catalogue
        .resolve(&call)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    Ok(Component { name: call.to_string(), function: function.clone(), knobs })
}

/// A one-line description.
pub(super) fn summary(entry: &ComposedEntry) -> String {
    let order = match entry.order {
        OrderWord::Recommended => "",
        OrderWord::AsWritten => ", HTTP filters as written",
    };
    format!("One proxy with `{}`{order}", entry.functions.join("`, `"))
}
