//! A table in a Parquet file, as CSV.

use bytes::Bytes;
use csv::Writer;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// Converts a Parquet file to CSV, with the names of its columns in the first line. A null becomes an empty field.
///
/// The library panics on some damaged files, and allocates any size that they state. Call this in a separate process with a memory limit.
///
/// # Errors
/// The reason, when it is not a Parquet file.
pub fn csv_of_parquet(file: Vec<u8>) -> Result<String, String> {
    if file.is_empty() {
        return Err("it is empty".to_owned());
    }
    let file = SerializedFileReader::new(Bytes::from(file)).map_err(|error| error.to_string())?;
    let columns = file.metadata().file_metadata().schema_descr().columns();
    let mut table = Writer::from_writer(Vec::new());
    table.write_record(columns.iter().map(|column| column.name())).map_err(|error| error.to_string())?;
    for row in file.get_row_iter(None).map_err(|error| error.to_string())? {
        let row = row.map_err(|error| error.to_string())?;
        let fields = row.get_column_iter().map(|(_, field)| text(field));
        table.write_record(fields).map_err(|error| error.to_string())?;
    }
    let bytes = table.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// A value with enough digits to distinguish it from all others.
fn text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Float(number) => number.to_string(),
        Field::Double(number) => number.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use hoptax_report::{histograms, parquet};
    use hoptax_result::{CountedTime, ResponseHistogram};

    use super::*;
    use crate::formats::table::import_table;

    fn file() -> Vec<u8> {
        let of = |arm: &str| ResponseHistogram {
            arm: arm.to_owned(),
            load: "open".to_owned(),
            counts: vec![CountedTime::new(100_000, 3), CountedTime::new(300_000, 1)],
        };
        parquet::bytes(&histograms::table(&[of("lua{a=1,b=2}"), of("jwt")])).unwrap()
    }

    #[test]
    fn one_of_several_distributions_is_read() {
        let table = csv_of_parquet(file()).unwrap();
        let error = import_table("parquet", &table, None).unwrap_err();
        assert_eq!(
            error,
            "`--statistic` must name one of its 2 statistics, `jwt under open` and `lua{a=1,b=2} under open`"
        );
        assert_eq!(import_table("parquet", &table, Some("jwt under open")).unwrap().book.answered, 4);
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        for other in [&b"PAR1"[..], b"from_us,to_us,count\n1,2,3\n"] {
            let error = csv_of_parquet(other.to_vec()).unwrap_err();
            assert!(error.contains("Parquet"), "{error}");
        }
        assert_eq!(csv_of_parquet(Vec::new()).unwrap_err(), "it is empty");
    }
}
