//! The explanation of a request that a scan answers: what the scan read, and what it found.

use std::fmt::{self, Write as _};
use std::time::Duration;

use casefilter::explain::Explanation;
use casefilter::{Catalog, Engine, FacetsRequest, RowGroups, SearchRequest};
use serde::Serialize;
use serde_json::value::to_raw_value;

use crate::commands::scanned::ScannedFiles;
use crate::input::explained::Explained;
use crate::output::failure::Failure;
use crate::output::figures::{counted, duration, thousands};

/// The explanation of a scan, in the form in which it is printed as JSON.
///
/// The members `cases`, `nodes`, `facets` and `analysis` are also in the explanation of an engine.
#[derive(Serialize)]
struct ScanExplanation {
    cases: u64,
    scan: Work,
    nodes: Vec<Criterion>,
    page: Page,
    /// True if the request asks for the total. The scan counts the selected cases even if the request does not ask for the total.
    total: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facets: Vec<Facet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    analysis: Option<Analysis>,
}

/// The amounts of data that the scan read.
#[derive(Serialize)]
struct Work {
    files: usize,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_groups: Option<Groups>,
}

/// The numbers of tested row groups, of skipped row groups, and of rows that page statistics exclude, summed over all Parquet
/// files.
#[derive(Serialize)]
struct Groups {
    tested: u64,
    skipped: u64,
    excluded_rows: u64,
}

/// A criterion of the normal form of the filter. In the list, it comes after the criteria that enclose it.
#[derive(Serialize)]
struct Criterion {
    depth: usize,
    test: String,
}

#[derive(Serialize)]
struct Page {
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<String>,
    offset: u64,
    limit: u64,
}

/// A field whose values the scan counts.
#[derive(Serialize)]
struct Facet {
    field: String,
}

/// The result of the scan, and the times of its phases.
#[derive(Serialize)]
struct Analysis {
    selected: u64,
    on_page: u64,
    phases: [Phase; 2],
}

#[derive(Serialize)]
struct Phase {
    name: &'static str,
    time_us: f64,
}

/// Explains how a scan answered a request. `compiling` is the time of compiling the filter, if the explanation shows times.
pub(super) fn explain(
    scanned: &ScannedFiles,
    files: usize,
    catalog: &Catalog,
    (request, facets): (&SearchRequest, &FacetsRequest),
    compiling: Option<Duration>,
) -> Result<Explained, Failure> {
    let answer = &scanned.answer;
    // The explanation of an engine without cases has the criteria of the normal form.
    let engine = Engine::new(catalog.clone());
    let Explanation { nodes, .. } = engine.explain(request)?;
    let phase = |name, time: Duration| Phase { name, time_us: time.as_secs_f64() * 1e6 };
    let groups = |RowGroups { tested, skipped, excluded_rows, .. }| Groups { tested, skipped, excluded_rows };
    let row_groups = answer.row_groups.map(groups);
    let explanation = ScanExplanation {
        cases: answer.documents,
        scan: Work { files, bytes: answer.bytes, row_groups },
        nodes: nodes.into_iter().map(|node| Criterion { depth: node.depth, test: node.test }).collect(),
        page: Page {
            order: request.order.as_ref().map(ToString::to_string),
            offset: request.offset,
            limit: request.limit,
        },
        total: request.count,
        facets: engine
            .explain_facets(facets)?
            .into_iter()
            .map(|facet| Facet { field: facet.field })
            .collect(),
        analysis: compiling.map(|compiling| Analysis {
            selected: answer.selected,
            on_page: answer.answer.ids().count() as u64,
            phases: [phase("compile", compiling), phase("scan", scanned.took)],
        }),
    };
    let text = explanation.to_string();
    let json = to_raw_value(&explanation).map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(Explained { json, text })
}

impl fmt::Display for ScanExplanation {
    /// Prints the criteria, which are indented by nesting, and then one line for each other part.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "criterion")?;
        for Criterion { depth, test } in &self.nodes {
            writeln!(f, "{:1$}{test}", "", depth.saturating_mul(2))?;
        }
        let Work { files, bytes, row_groups } = &self.scan;
        let files = counted(*files as u64, "file");
        let cases = counted(self.cases, "case");
        writeln!(f, "\nScan: {cases} of {files}, without an index; {} bytes read.", thousands(*bytes))?;
        if let Some(Groups { tested, skipped, excluded_rows }) = row_groups {
            let all = counted(tested.saturating_add(*skipped), "row group");
            write!(f, "Row groups: the filter is tested in {} of {all}", thousands(*tested))?;
            match excluded_rows {
                0 => writeln!(f, ".")?,
                rows => writeln!(f, ", except for {} that page statistics exclude.", counted(*rows, "row"))?,
            }
        }
        let Page { order, offset, limit } = &self.page;
        let order = order.as_ref().map_or("in stored order".to_owned(), |order| format!("by {order}"));
        let kept = thousands(offset.saturating_add(*limit));
        let page = format!("{} from {} {order}", counted(*limit, "case"), thousands(*offset));
        match limit {
            0 => writeln!(f, "Page: not requested.")?,
            _ => writeln!(f, "Page: {page}; the first {kept} are kept while the files are read.")?,
        }
        let total = if self.total { "counted while the files are read" } else { "not requested" };
        writeln!(f, "Total: {total}.")?;
        if let Some(Analysis { selected, on_page, phases }) = &self.analysis {
            writeln!(f, "Result: {} selected, {} on the page.", thousands(*selected), thousands(*on_page))?;
            let mut times = String::new();
            for Phase { name, time_us } in phases {
                let time = duration(Duration::from_secs_f64(time_us / 1e6));
                write!(times, "{}{name} {time}", if times.is_empty() { "" } else { ", " })?;
            }
            writeln!(f, "Time: {times}.")?;
        }
        for Facet { field } in &self.facets {
            writeln!(f, "{field} is counted while the files are read.")?;
        }
        Ok(())
    }
}
