//! A table of bins in CSV, with the names of its columns in the first line.

use csv::{ReaderBuilder, StringRecord};
use hoptax_result::LoadResult;

use super::{Bin, Judgement, NAMES, NUMBERS, SHARE, distribution, lacks};

/// Reads the distribution with this name, or the only one. `format` is the original format of the table.
///
/// # Errors
/// The reason, when it is not such a table, or when the selection is ambiguous.
pub(in super::super) fn read(format: &str, text: &str, name: Option<&str>) -> Result<LoadResult, String> {
    let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let place = |column: &str| header.iter().position(|other| other == column);
    let names = NAMES.map(place);
    let mut numbers = [0; 3];
    for (number, column) in numbers.iter_mut().zip(NUMBERS) {
        *number = place(column).ok_or_else(|| lacks(column, header.iter()))?;
    }
    let bin = |row: &StringRecord| {
        let mut values = [0.0; 3];
        for (value, place) in values.iter_mut().zip(numbers) {
            *value = row.get(place)?.trim().parse().ok()?;
        }
        Bin::new(names.map(|place| row.get(place?)), values)
    };
    let mut bins = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| error.to_string())?;
        let line = row.position().map_or(0, csv::Position::line);
        bins.push(bin(&row).ok_or_else(|| {
            format!(
                "line {line} of the table is not a bin: the first line names the columns, and each further line needs `from_us`, a \
                 `to_us` that is not smaller, and a whole number as `count`"
            )
        })?);
    }
    let is_of_study = NAMES.into_iter().chain([SHARE]).all(|column| place(column).is_some());
    let judgement = if is_of_study { Judgement::for_study() } else { Judgement::default() };
    distribution(format, &judgement, &bins, name)
}

#[cfg(test)]
mod tests {
    use hoptax_result::CountRange;
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "arm,load,from_us,to_us,count,share\n\"f{a=1,b=2}\",open,100,112.2,3,0.75\n\"f{a=1,b=2}\",open,112.2,125.9,1,0.25\n";

    #[test]
    fn the_table_of_a_study_is_read() {
        let result = read("csv", TEXT, None).unwrap();
        assert_eq!(result.book.answered, 4);
        let ranges = result.imported.clone().unwrap().ranges;
        assert_eq!((ranges[0].percentile, ranges[0].low_us, ranges[0].high_us), (50.0, 100.0, 112.2));
        assert!(read("csv", TEXT, Some("f{a=1,b=2} under open")).is_ok());
    }

    #[test]
    fn times_in_the_table_of_another_program_may_be_those_of_failed_requests() {
        let result = read("csv", "from_us,to_us,count\n1,2,3\n", None).unwrap();
        assert_eq!(result.imported.clone().unwrap().answered, Some(CountRange { at_least: 0, at_most: 3 }));
        assert_eq!(result.latency.service.count, 3);
    }

    #[test]
    fn other_tables_are_refused_with_the_reason() {
        let error = read("csv", "arm,number\nlua,1\n", None).unwrap_err();
        assert_eq!(error, "it has no column `from_us`; it has `arm`, `number`");
        assert!(
            read("csv", &TEXT.replace("112.2,125.9,1", "112.2,125.9,some"), None)
                .unwrap_err()
                .contains("line 3")
        );
        assert!(read("csv", "", None).is_err());
    }

    proptest! {
        // A fuzz target has this reader, and its kept inputs are tried with each change.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_text_panics(text in ".{0,200}", words in prop::collection::vec("(from_us|to_us|count|arm|,|\"|[0-9]{1,9}|-|\\.| |\n)", 0..60)) {
            let _ = (read("csv", &text, None), read("csv", &format!("from_us,to_us,count\n{}", words.concat()), Some("a")));
        }
    }
}
