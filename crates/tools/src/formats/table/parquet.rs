//! A table of bins in a Parquet file.

use bytes::Bytes;
use hoptax_result::LoadResult;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use super::{Bin, NAMES, NUMBERS, distribution, lacks};

/// The most rows that are read.
const MOST_ROWS: usize = 1_000_000;

/// Reads the distribution with this name, or the only one.
///
/// # Errors
/// When it is no such file, or it is not clear which distribution is meant: the reason.
pub(in super::super) fn read(file: &[u8], name: Option<&str>) -> Result<LoadResult, String> {
    let file = SerializedFileReader::new(Bytes::copy_from_slice(file)).map_err(|error| error.to_string())?;
    let schema = file.metadata().file_metadata().schema_descr();
    let columns: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
    let place = |column: &str| columns.iter().position(|other| *other == column);
    let names = NAMES.map(place);
    let mut numbers = [0; 3];
    for (number, column) in numbers.iter_mut().zip(NUMBERS) {
        *number = place(column).ok_or_else(|| lacks(column, columns.iter().copied()))?;
    }
    let mut bins: Vec<Bin> = Vec::new();
    for number in 0..file.num_row_groups() {
        let group = file.get_row_group(number).map_err(|error| error.to_string())?;
        let names = names.map(|place| place.map(|place| column(group.as_ref(), place)).transpose());
        let numbers = numbers.map(|place| column(group.as_ref(), place));
        let [arms, loads] = names;
        let [from_us, to_us, counts] = numbers;
        let (arms, loads, from_us, to_us, counts) = (arms?, loads?, from_us?, to_us?, counts?);
        for row in 0..from_us.len() {
            let text = |column: &Option<Vec<Option<Value>>>| match column.as_ref()?.get(row)? {
                Some(Value::Text(text)) => Some(text.clone()),
                _ => None,
            };
            let value = |column: &Vec<Option<Value>>| match column.get(row) {
                Some(Some(Value::Number(number))) => *number,
                _ => f64::NAN,
            };
            let (arm, load) = (text(&arms), text(&loads));
            let bin = Bin::new([arm.as_deref(), load.as_deref()], [&from_us, &to_us, &counts].map(value));
            bins.push(bin.ok_or_else(|| {
                format!(
                    "row {} has no bin: `from_us`, `to_us` from there on, and a whole number as `count`",
                    bins.len() + 1
                )
            })?);
        }
    }
    distribution("parquet", &bins, name)
}

/// A value of a column.
#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Number(f64),
}

/// The values of a column in a row group; none for null.
fn column(group: &dyn RowGroupReader, place: usize) -> Result<Vec<Option<Value>>, String> {
    let rows = usize::try_from(group.metadata().num_rows()).ok().filter(|rows| *rows <= MOST_ROWS);
    let rows = rows.ok_or_else(|| format!("it has more than {MOST_ROWS} rows"))?;
    let reader = group.get_column_reader(place).map_err(|error| error.to_string())?;
    let read = match reader {
        ColumnReader::ByteArrayColumnReader(reader) => {
            values(reader, rows, |text| Some(Value::Text(text.as_utf8().ok()?.to_owned())))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            values(reader, rows, |number| Some(Value::Number(f64::from(*number))))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            values(reader, rows, |number| Some(Value::Number(*number as f64)))
        }
        ColumnReader::FloatColumnReader(reader) => {
            values(reader, rows, |number| Some(Value::Number(f64::from(*number))))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            values(reader, rows, |number| Some(Value::Number(*number)))
        }
        _ => return Err("a column is neither text nor a number".to_owned()),
    };
    read.map_err(|error| error.to_string())
}

/// The values of a column that is not nested.
fn values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    value: impl Fn(&T::T) -> Option<Value>,
) -> Result<Vec<Option<Value>>, ParquetError> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    let mut all = Vec::new();
    while all.len() < rows {
        let (before, levels_before) = (present.len(), levels.len());
        let (records, ..) = reader.read_records(rows - all.len(), Some(&mut levels), None, &mut present)?;
        if records == 0 {
            break;
        }
        let mut values = present.get(before..).unwrap_or_default().iter();
        // A column that is never null has no levels.
        let levels = levels.get(levels_before..).unwrap_or_default();
        if levels.is_empty() {
            all.extend(values.map(&value));
        } else {
            all.extend(levels.iter().map(|level| if *level > 0 { value(values.next()?) } else { None }));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use hoptax_report::{histograms, parquet};
    use hoptax_result::ResponseHistogram;
    use proptest::prelude::*;

    use super::*;

    fn file() -> Vec<u8> {
        let of = |arm: &str| ResponseHistogram {
            arm: arm.to_owned(),
            load: "open".to_owned(),
            counts: vec![(100_000, 3), (300_000, 1)],
        };
        parquet::bytes(&histograms::table(&[of("lua"), of("jwt")])).unwrap()
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        assert!(read(b"PAR1", None).unwrap_err().contains("Parquet"), "{:?}", read(b"PAR1", None));
        let error = read(&file(), None).unwrap_err();
        assert_eq!(error, "it has `jwt under open` and `lua under open`: name one with `--statistic`");
        assert_eq!(read(&file(), Some("lua under open")).unwrap().book.answered, 4);
    }

    proptest! {
        #[test]
        fn no_damage_panics(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
            let mut damaged = file();
            for (place, byte) in places {
                let place = place.index(damaged.len());
                damaged[place] = byte;
            }
            let _ = read(&damaged, Some("lua under open"));
        }
    }
}
