//! The training rows that a model holds: one unit for those of the training, and one for those of
//! each update.

use crate::algorithms::UnitSink;
use crate::base::sparse::{Csr, LabelRows};
use crate::base::store::{FormatError, StoreError, Stored, Unit};
use crate::data::{Dataset, DatasetView};

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
    let mut all = Collected::default();
    for update in 0..=manifest.training.updates.len() {
        let unit = stored.unit(&name(update))?;
        all.add_unit(unit)?;
    }
    let found = all.feature_starts.len() as u64 - 1;
    if found != manifest.instances {
        return Err(stored.refused(format!("it holds {found} rows of {}", manifest.instances)));
    }
    let DatasetView { features, labels, .. } = more;
    all.add(features.offsets(), features.indices(), features.values());
    all.add_labels(labels.offsets(), labels.indices());
    let none = vec![(); all.labels.len()];
    let refused =
        |error: crate::base::sparse::SparseError| stored.refused(format!("its rows: {error}"));
    Ok(Dataset {
        features: Csr::try_new(features.columns(), all.feature_starts, all.features, all.values)
            .map_err(refused)?,
        labels: LabelRows::try_new(labels.columns(), all.label_starts, all.labels, none)
            .map_err(refused)?,
        label_names: None,
    })
}

/// Rows one after the other.
struct Collected {
    feature_starts: Vec<u64>,
    features: Vec<u32>,
    values: Vec<f32>,
    label_starts: Vec<u64>,
    labels: Vec<u32>,
}

impl Default for Collected {
    fn default() -> Self {
        Collected {
            feature_starts: vec![0],
            features: Vec::new(),
            values: Vec::new(),
            label_starts: vec![0],
            labels: Vec::new(),
        }
    }
}

impl Collected {
    fn add_unit(&mut self, unit: &Unit) -> Result<(), FormatError> {
        let starts = unit.array::<u64>("feature_starts")?;
        let label_starts = unit.array::<u64>("label_starts")?;
        if starts.is_empty() || starts.len() != label_starts.len() {
            return Err(unit.refused("its labels are not those of its rows"));
        }
        self.add(&starts, &unit.array::<u32>("features")?, &unit.array::<f32>("values")?);
        self.add_labels(&label_starts, &unit.array::<u32>("labels")?);
        Ok(())
    }

    fn add(&mut self, starts: &[u64], features: &[u32], values: &[f32]) {
        extend(&mut self.feature_starts, starts, self.features.len());
        self.features.extend_from_slice(features);
        self.values.extend_from_slice(values);
    }

    fn add_labels(&mut self, starts: &[u64], labels: &[u32]) {
        extend(&mut self.label_starts, starts, self.labels.len());
        self.labels.extend_from_slice(labels);
    }
}

/// Appends where rows end that come after so many entries. What a damaged file says is checked
/// when all rows are together.
fn extend(to: &mut Vec<u64>, starts: &[u64], entries: usize) {
    to.extend(starts[1..].iter().map(|start| start.saturating_add(entries as u64)));
}
