//! The training rows that a model holds: one unit for those of the training, and one for those of
//! each update.

use super::Model;
use crate::algorithms::UnitSink;
use crate::base::sparse::{Csr, Scored, SparseError, top_k};
use crate::base::store::{FormatError, StoreError, Stored};
use crate::data::{Dataset, DatasetView};

/// How many terms of a row are told.
const TERMS: usize = 8;

/// The name of the unit of the rows that came with an update; those of the training have 0.
pub(super) fn name(update: usize) -> String {
    format!("rows-{update:04}")
}

/// Whether a unit of this name holds rows.
pub(super) fn is_rows(unit: &str) -> bool {
    unit.starts_with("rows-")
}

/// Writes the rows that came with an update.
pub(super) fn write(
    dataset: DatasetView<'_>,
    update: usize,
    units: &UnitSink<'_>,
) -> Result<(), StoreError> {
    let DatasetView { features, labels, .. } = dataset;
    units.write(
        &name(update),
        &[
            ("feature_starts", features.offsets().into()),
            ("features", features.indices().into()),
            ("values", features.values().into()),
            ("label_starts", labels.offsets().into()),
            ("labels", labels.indices().into()),
        ],
    )
}

/// All rows that a model holds and after them some more, which have the model's features and all
/// labels.
pub(super) fn read_with(stored: &Stored, more: DatasetView<'_>) -> Result<Dataset, FormatError> {
    let manifest = stored.manifest();
    let (mut features, mut values) = (Lists::default(), Vec::new());
    let mut labels = Lists::default();
    for update in 0..=manifest.training.updates.len() {
        let unit = stored.unit(&name(update))?;
        let starts = unit.array::<u64>("feature_starts")?;
        let label_starts = unit.array::<u64>("label_starts")?;
        if starts.is_empty() || starts.len() != label_starts.len() {
            return Err(unit.refused("its labels are not those of its rows"));
        }
        features.append(&starts, &unit.array("features")?);
        values.extend_from_slice(&unit.array::<f32>("values")?);
        labels.append(&label_starts, &unit.array("labels")?);
    }
    let found = features.starts.len() as u64 - 1;
    if found != manifest.instances {
        return Err(stored.refused(format!("it holds {found} rows of {}", manifest.instances)));
    }
    features.append(more.features.offsets(), more.features.indices());
    values.extend_from_slice(more.features.values());
    labels.append(more.labels.offsets(), more.labels.indices());
    let refused = |error: SparseError| stored.refused(format!("its rows: {error}"));
    let (columns, none) = (more.features.columns(), vec![(); labels.entries.len()]);
    let features = Csr::try_new(columns, features.starts, features.entries, values);
    let labels = Csr::try_new(more.labels.columns(), labels.starts, labels.entries, none);
    let (features, labels) = (features.map_err(refused)?, labels.map_err(refused)?);
    Ok(Dataset { features, labels, label_names: None, named: None })
}

/// The features of one of the rows that a model holds that have the largest values, in that order; nothing if
/// it does not hold the row.
pub(super) fn heaviest(stored: &Stored, row: u32, most: usize) -> Option<Vec<u32>> {
    if !stored.manifest().training.keep_rows {
        return None;
    }
    let mut row = row as usize;
    for update in 0..=stored.manifest().training.updates.len() {
        let unit = stored.unit(&name(update)).ok()?;
        let starts = unit.array::<u64>("feature_starts").ok()?;
        let rows = starts.len().saturating_sub(1);
        if row >= rows {
            row -= rows;
            continue;
        }
        let places = starts[row] as usize..starts[row + 1] as usize;
        let (features, values) = (unit.array::<u32>("features").ok()?, unit.array("values").ok()?);
        let entries = features.get(places.clone())?.iter().zip(values.get(places)?);
        let mut heaviest: Vec<Scored> = entries.map(|(&id, &score)| Scored { id, score }).collect();
        top_k(&mut heaviest, most);
        return Some(heaviest.into_iter().map(|entry| entry.id).collect());
    }
    None
}

/// The first of the rows that a model holds that have a label.
fn with_label(stored: &Stored, label: u32, most: usize) -> Option<Vec<u32>> {
    let (mut found, mut before) = (Vec::new(), 0);
    for update in 0..=stored.manifest().training.updates.len() {
        let unit = stored.unit(&name(update)).ok()?;
        let starts = unit.array::<u64>("label_starts").ok()?;
        let labels = unit.array::<u32>("labels").ok()?;
        for (row, ends) in (before..).zip(starts.windows(2)) {
            if found.len() == most {
                return Some(found);
            }
            let own = labels.get(ends[0] as usize..ends[1] as usize).unwrap_or_default();
            found.extend(own.contains(&label).then_some(row));
        }
        before += starts.len().saturating_sub(1) as u32;
    }
    Some(found)
}

impl Model {
    /// The first training rows that have a label, at most so many, each with the terms that weigh most in it;
    /// none unless the model keeps its rows. Rows are counted from 0, those of updates last.
    pub fn examples(&self, label: u32, most: usize) -> Vec<(u32, Vec<&str>)> {
        if !self.manifest().training.keep_rows {
            return Vec::new();
        }
        let term = |id: u32| self.text()?.vectoriser().term(id);
        let terms = |row: u32| heaviest(&self.stored, row, TERMS).unwrap_or_default();
        let rows = with_label(&self.stored, label, most).unwrap_or_default();
        let named = |row| (row, terms(row).into_iter().filter_map(term).collect());
        rows.into_iter().map(named).collect()
    }
}

/// The columns of rows, one row after the other.
struct Lists {
    starts: Vec<u64>,
    entries: Vec<u32>,
}

impl Default for Lists {
    fn default() -> Self {
        Lists { starts: vec![0], entries: Vec::new() }
    }
}

impl Lists {
    /// Appends rows. What a damaged file says is checked when all rows are together.
    fn append(&mut self, starts: &[u64], entries: &[u32]) {
        let before = self.entries.len() as u64;
        self.starts.extend(starts[1..].iter().map(|start| start.saturating_add(before)));
        self.entries.extend_from_slice(entries);
    }
}
