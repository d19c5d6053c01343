//! Parquet files: for many searches, import the file into an engine; for one scan, filter its record batches without an engine.
//!
//! ```sh
//! cargo run --example parquet_mask --features arrow
//! ```

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_select::filter::filter_record_batch;
use casefilter::arrow::arrow_array::types::Float64Type;
use casefilter::arrow::arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, cast::AsArray};
use casefilter::arrow::parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder};
use casefilter::{Catalog, Engine, Filter, ImportMode, Order, SearchRequest};

type AnyError = Box<dyn std::error::Error>;

/// The number of cases in the file.
const CASES: u32 = 10_000;
/// The name of a column, which is also the name of its field.
const AMOUNT: &str = "totalAmountInDefaultCurrency";

/// Writes a file like the export of a data warehouse: the columns have the paths of fields as names, and one column is not a field.
fn write_export(path: &Path) -> Result<(), AnyError> {
    let status = |n: u32| ["open", "blocked", "resolvedFalsePositive", "open"][n as usize % 4];
    let ids: ArrayRef = Arc::new(StringArray::from_iter_values((0..CASES).map(|n| format!("case-{n}"))));
    let states: ArrayRef = Arc::new(StringArray::from_iter_values((0..CASES).map(status)));
    let amounts: ArrayRef =
        Arc::new(Float64Array::from_iter((0..CASES).map(|n| (n % 10 > 0).then(|| f64::from(n)))));
    let branches: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..CASES).map(|n| format!("branch {}", n % 7))));
    let columns = [("id", ids), ("caseReview.status", states), (AMOUNT, amounts), ("branch", branches)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))?;
    let mut writer = ArrowWriter::try_new(File::create(path)?, batch.schema(), None)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

fn main() -> Result<(), AnyError> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("export.parquet");
    write_export(&path)?;
    let catalog = Catalog::cases();
    let filter = Filter::compile_text(&catalog, &format!("status = open and {AMOUNT} >= 9000"))?;
    println!("filter: {filter}");

    let engine = Engine::new(catalog.clone());
    let mut import = engine.import(ImportMode::Strict);
    import.parquet("export.parquet", File::open(&path)?)?;
    println!("engine: {} cases imported", import.commit()?.stored);
    let largest_first = Order::parse(&catalog, &format!("-{AMOUNT}"))?;
    let request = SearchRequest::new(filter.clone()).with_order(largest_first).with_limit(3).with_count(true);
    let answer = engine.search(&request)?;
    // Documents are made from all columns, including columns that are not fields.
    answer.documents().for_each(|document| println!("  {document}"));
    assert_eq!(answer.ids().collect::<Vec<_>>(), ["case-9999", "case-9996", "case-9995"]);

    // The same filter, applied to record batches while they are read from the file.
    let (mut selected, mut sum) = (0, 0.0);
    for batch in
        ParquetRecordBatchReaderBuilder::try_new(File::open(&path)?)?.with_batch_size(2_048).build()?
    {
        let batch = batch?;
        let mask = filter.mask(&batch)?;
        println!("mask: {} of {} rows", mask.true_count(), batch.num_rows());
        let kept = filter_record_batch(&batch, &mask)?;
        let amounts =
            kept.column_by_name(AMOUNT).ok_or("no column of amounts")?.as_primitive::<Float64Type>();
        sum += amounts.values().iter().sum::<f64>();
        selected += kept.num_rows() as u64;
    }
    println!("sum of the selected amounts: {sum}");
    assert_eq!(answer.total(), Some(selected));
    assert_eq!((selected, sum), (450, 4_275_250.0));
    Ok(())
}
