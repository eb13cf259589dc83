//! What a model knows of its labels: how often each occurred in training, and its name.

use crate::algorithms::UnitSink;
use crate::base::array::Array;
use crate::base::store::{FormatError, StoreError, Stored};
use crate::data::{DatasetView, LabelIndex};

/// The unit of the labels.
pub(super) const UNIT: &str = "labels";

/// The labels of a model.
#[derive(Clone, Debug)]
pub struct Labels {
    pub(super) counts: Array<u32>,
    names: Option<LabelIndex>,
}

impl Labels {
    /// How many training rows have each label.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The labels' names, if training knew them.
    pub fn names(&self) -> Option<&LabelIndex> {
        self.names.as_ref()
    }

    /// The name to show for a label, if there is one.
    pub fn name(&self, id: u32) -> Option<&str> {
        self.names.as_ref().map(|names| names.display(id))
    }

    /// The tags of the languages in which there are names, that of [`names`](Self::names) first; none if
    /// the vocabulary of the training did not tell.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.names.iter().flat_map(LabelIndex::languages)
    }

    /// The labels with their names in a language, where they have some, else with those of
    /// [`names`](Self::names); nothing if no label has a name in that language.
    pub fn names_in(&self, language: &str) -> Option<LabelIndex> {
        self.names.as_ref()?.in_language(language)
    }

    /// The broader labels of a label, as the vocabulary of the training gives them.
    pub fn broader(&self, id: u32) -> &[u32] {
        self.names.as_ref().map_or(&[], |names| names.broader(id))
    }

    /// The label that people mean by a text: as training had it or by any of its names, or by its number if
    /// the model has no names.
    pub fn find(&self, text: &str) -> Option<u32> {
        match &self.names {
            Some(names) => names.find(text),
            None => text.parse().ok().filter(|&label: &u32| (label as usize) < self.counts.len()),
        }
    }

    /// The `count` labels with the most training rows, most frequent first; ties go to the lower id.
    pub fn most_frequent(&self, count: usize) -> Vec<u32> {
        self.most_frequent_of(count, |_| true)
    }

    /// The same among the labels that are `allowed`.
    pub(super) fn most_frequent_of(&self, count: usize, allowed: impl Fn(u32) -> bool) -> Vec<u32> {
        let ids = 0..self.counts.len() as u32;
        let mut ids: Vec<u32> = ids.filter(|&id| allowed(id)).collect();
        let by_count = |id: &u32| (std::cmp::Reverse(self.counts[*id as usize]), *id);
        if count < ids.len() {
            ids.select_nth_unstable_by_key(count, by_count);
            ids.truncate(count);
        }
        ids.sort_unstable_by_key(by_count);
        ids
    }
}

pub(super) fn write(dataset: DatasetView<'_>, units: &UnitSink<'_>) -> Result<(), StoreError> {
    if !units.lacks(UNIT) {
        return Ok(());
    }
    write_counted(&dataset.labels.column_counts(), dataset.label_names, units)
}

/// Writes labels of which so many rows have each.
pub(super) fn write_counted(
    counts: &[u32],
    index: Option<&LabelIndex>,
    units: &UnitSink<'_>,
) -> Result<(), StoreError> {
    let mut arrays = vec![("counts", counts.into())];
    // A vocabulary may have more labels than there are here.
    let names = index.map(|index| index.with_lines(index.lines().take(counts.len())));
    let names = names.as_ref().map(LabelIndex::to_arrays).unwrap_or_default();
    arrays.extend(names.iter().map(|(name, array)| (&**name, *array)));
    units.write(UNIT, &arrays)
}

pub(super) fn read(stored: &Stored) -> Result<Labels, FormatError> {
    let unit = stored.unit(UNIT)?;
    let counts = unit.array::<u32>("counts")?;
    if counts.len() as u64 != stored.manifest().labels {
        return Err(unit.refused(format!("it counts {} labels", counts.len())));
    }
    let names = LabelIndex::from_unit(unit)?;
    match &names {
        Some(names) if names.len() != counts.len() => {
            Err(unit.refused(format!("{} names for {} labels", names.len(), counts.len())))
        }
        _ => Ok(Labels { counts, names }),
    }
}
