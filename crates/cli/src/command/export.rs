//! `hoptax convert export`: converts a result to the format of another tool, or a table of a study to Parquet.

use hoptax_session::export::{Converted, convert, send};
use hoptax_session::tables::StudyTable;
use hoptax_tools::export::Format;

use crate::arguments::ExportArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &ExportArguments) -> Result<Code, Failure> {
    let (file, to) = (&arguments.file, arguments.to);
    if arguments.send_to.is_some() && to != Format::Otlp {
        return Err(Failure::bad_input("`--send-to` needs `--to otlp`"));
    }
    if arguments.table.is_some() && to != Format::Parquet {
        return Err(Failure::bad_input("`--table` needs `--to parquet`"));
    }
    let table = arguments.table.unwrap_or(StudyTable::Numbers);
    match (convert(file, to, table)?, &arguments.send_to) {
        (Converted::Text(text), Some(url)) => {
            print::note(&format!("hoptax: metrics received by `{}`", send(url, &text)?));
        }
        (Converted::Text(text), None) => print::result(&text)?,
        (Converted::Binary(bytes), _) => {
            let (file, name) = (file.display(), table.as_str());
            let instead = format!(
                "redirect it, `hoptax convert export {file} --to parquet --table {name} > {name}.parquet`"
            );
            print::binary(&bytes, &instead)?;
        }
    }
    Ok(Code::Success)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn a_format_has_the_name_by_which_it_is_asked_for() {
        for format in Format::value_variants() {
            assert_eq!(format.to_possible_value().unwrap().get_name(), format.name());
        }
    }
}
