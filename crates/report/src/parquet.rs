//! A table as a Parquet file. Its columns are nullable strings, 64-bit integers and doubles.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::tables::{Column, Table, Values};

/// The file, with all rows in one row group (none if there are no rows), uncompressed. Numbers are not rounded.
///
/// # Errors
/// When the library refuses the table.
pub fn bytes(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let fields = table.columns.iter().map(|column| field(column).map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    if table.rows() > 0 {
        let mut group = file.next_row_group()?;
        for column in &table.columns {
            let missing = || ParquetError::General(format!("no place for the column `{}`", column.name));
            let mut writer = group.next_column()?.ok_or_else(missing)?;
            match &column.values {
                Values::Ids(values) | Values::Words(values) => {
                    write::<ByteArrayType, _>(&mut writer, values, |text| ByteArray::from(text.as_str()))
                }
                Values::Integers(values) => write::<Int64Type, _>(&mut writer, values, |value| *value),
                Values::Doubles { values, .. } => write::<DoubleType, _>(&mut writer, values, |value| *value),
            }?;
            writer.close()?;
        }
        group.close()?;
    }
    file.into_inner()
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match &column.values {
        Values::Ids(_) | Values::Words(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Integers(_) => (Physical::INT64, None),
        Values::Doubles { .. } => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
}

/// Writes the existing values, and the definition level of each row: 1 with a value, 0 without one.
fn write<T: DataType, V>(
    column: &mut SerializedColumnWriter<'_>,
    values: &[Option<V>],
    convert: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.iter().flatten().map(convert).collect();
    column.typed::<T>().write_batch(&present, Some(&levels), None).map(|_| ())
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;
    use ::parquet::schema::printer::print_schema;
    use bytes::Bytes;
    use hoptax_result::{CountedTime, ResponseHistogram};
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::{csv, fixture, histograms, tables};

    fn read(table: &Table) -> SerializedFileReader<Bytes> {
        SerializedFileReader::new(Bytes::from(super::bytes(table).unwrap())).unwrap()
    }

    /// The value that a reader should find.
    fn expected(values: &Values, row: usize) -> Field {
        match values {
            Values::Ids(all) | Values::Words(all) => all[row].clone().map_or(Field::Null, Field::Str),
            Values::Integers(all) => all[row].map_or(Field::Null, Field::Long),
            Values::Doubles { values, .. } => values[row].map_or(Field::Null, Field::Double),
        }
    }

    fn is_same(a: &Field, b: &Field) -> bool {
        match (a, b) {
            (Field::Double(a), Field::Double(b)) if a.is_nan() => b.is_nan(),
            _ => a == b,
        }
    }

    fn values(rows: usize) -> impl Strategy<Value = Values> {
        let doubles = vec(option::of(prop::num::f64::ANY), rows);
        prop_oneof![
            vec(option::of(any::<String>()), rows).prop_map(Values::Ids),
            vec(option::of("[a-c+]{0,2}"), rows).prop_map(Values::Words),
            vec(option::of(any::<i64>()), rows).prop_map(Values::Integers),
            (doubles, option::of(0_usize..7))
                .prop_map(|(values, decimals)| Values::Doubles { values, decimals }),
        ]
    }

    fn any_table() -> impl Strategy<Value = Table> {
        let named = |(number, values)| Column { name: format!("column {number}, a.b"), values };
        (0_usize..50)
            .prop_flat_map(|rows| vec(values(rows), 1..7))
            .prop_map(move |columns| Table { columns: columns.into_iter().enumerate().map(named).collect() })
    }

    proptest! {
        // Each case has a table of up to fifty rows.
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn what_is_read_back_equals_the_table(table in any_table()) {
            let file = read(&table);
            let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
            prop_assert_eq!(rows.len(), table.rows());
            prop_assert_eq!(file.metadata().file_metadata().num_rows(), table.rows() as i64);
            for (number, row) in rows.iter().enumerate() {
                let found: Vec<_> = row.get_column_iter().collect();
                prop_assert_eq!(found.len(), table.columns.len());
                for ((name, field), column) in found.into_iter().zip(&table.columns) {
                    prop_assert_eq!(name, &column.name);
                    let expected = expected(&column.values, number);
                    prop_assert!(is_same(field, &expected), "{:?} instead of {:?}", field, expected);
                }
            }
        }
    }

    /// The schema of a table, after a test that its columns are those of CSV.
    fn schema(table: &Table) -> String {
        let file = read(table);
        let metadata = file.metadata().file_metadata();
        let columns = metadata.schema_descr().columns();
        let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
        assert_eq!(csv::text(table).lines().next(), Some(names.join(",").as_str()));
        let mut text = Vec::new();
        print_schema(&mut text, metadata.schema());
        String::from_utf8(text).unwrap()
    }

    /// A table of this many times of 100 and of 126 us.
    fn times([first, second]: [u64; 2]) -> Table {
        let counts = vec![CountedTime::new(100_000, first), CountedTime::new(126_000, second)];
        histograms::table(&[ResponseHistogram { arm: "lua".to_owned(), load: "open".to_owned(), counts }])
    }

    #[test]
    fn columns_have_the_names_of_csv_and_types() {
        let schemas = [
            schema(&tables::numbers(&fixture::loaded())),
            schema(&tables::slices(&fixture::study())),
            schema(&tables::timeline(&fixture::timeline())),
            schema(&times([3, 4])),
        ];
        insta::assert_snapshot!(schemas.join("\n"));
    }

    #[test]
    fn a_void_study_has_columns_and_no_rows() {
        let file = read(&tables::numbers(&fixture::void()));
        assert_eq!(file.get_row_iter(None).unwrap().count(), 0);
        assert_eq!(file.metadata().file_metadata().schema_descr().num_columns(), 9);
    }

    #[test]
    fn an_empty_field_of_csv_is_null_and_doubles_are_not_rounded() {
        let file = read(&tables::slices(&fixture::study()));
        let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let at = |row: usize, name: &str| {
            let mut columns = rows[row].get_column_iter();
            columns.find(|(column, _)| *column == name).unwrap().1.clone()
        };
        assert_eq!(at(1, "rate"), Field::Null);
        assert_eq!(at(1, "set_aside"), Field::Null);
        assert_eq!(at(2, "set_aside"), Field::Str("steal+run-delay".to_owned()));
        assert_eq!((at(2, "slowdown"), at(2, "round")), (Field::Null, Field::Long(0)));
        let table = times([1, 2]);
        assert!(csv::text(&table).contains(",1,0.333333,1,0.333333\n"), "{}", csv::text(&table));
        let row = read(&table).get_row_iter(None).unwrap().next().unwrap().unwrap();
        let share = row.get_column_iter().find(|(name, _)| *name == "share").unwrap().1.clone();
        assert_eq!(share, Field::Double(1.0 / 3.0));
    }
}
