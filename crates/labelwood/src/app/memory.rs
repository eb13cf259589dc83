//! How much memory a training or an update needs, and what to change if there is less.

use crate::algorithms::Settings;
use crate::data::{DatasetView, LabelIndex};
use crate::model::Model;
use crate::text::{Arrays, TextReader};
use serde_json::Value;

/// Bytes that a process takes whatever it learns from: code, stacks, buffers.
const PROCESS: u64 = 8 << 20;

/// What the memory of a training follows from.
///
/// ```
/// use labelwood::Settings;
/// use labelwood::app::TrainingNeed;
/// use labelwood::run::Pool;
/// let task = Pool::new(1)?.task();
/// let rows = labelwood::data::read_bytes(
///     b"2 2 2\n0 0:1\n1 1:1\n", "a.txt", &Default::default(), &task)?.dataset;
/// let settings = Settings::named("craftml").expect("it is an algorithm");
/// let need = TrainingNeed::new(rows.view(), &settings, 2);
/// let twice = TrainingNeed { calibrate: true, ..need.clone() };
/// assert!(need.bytes() < twice.bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TrainingNeed<'a> {
    /// The rows to learn from.
    pub rows: DatasetView<'a>,
    /// What is learned.
    pub settings: &'a Settings,
    /// Whether it is learned a second time, to calibrate it.
    pub calibrate: bool,
    /// Whether it is learned a second time, for a threshold.
    pub threshold: bool,
    /// How many threads learn.
    pub threads: usize,
    /// Whether the model stays in memory rather than going to disk.
    pub keeps_model: bool,
    /// How text became the rows, if they were text.
    pub reader: Option<&'a TextReader>,
}

/// Changes of settings, and the number of threads, that make a training fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// The threads to use, if fewer.
    pub threads: Option<usize>,
    /// The settings to change, with their values.
    pub settings: Vec<(&'static str, Value)>,
}

impl<'a> TrainingNeed<'a> {
    /// A plain training into a folder.
    pub fn new(rows: DatasetView<'a>, settings: &'a Settings, threads: usize) -> Self {
        let (calibrate, threshold, keeps_model, reader) = (false, false, false, None);
        TrainingNeed { rows, settings, calibrate, threshold, threads, keeps_model, reader }
    }

    /// The bytes at the peak, about.
    pub fn bytes(&self) -> u64 {
        let estimate = self.settings.estimate(self.rows, self.threads);
        let model = if self.keeps_model { estimate.model } else { 0 };
        // The rows stay prepared while the second model is learned and kept in memory.
        let learns_threshold = self.threshold && !self.settings.facts().is_calibrated;
        let again = match self.calibrate || learns_threshold {
            true => estimate.memory.saturating_add(estimate.model),
            false => 0,
        };
        let parts = [PROCESS, estimate.memory, again, model, self.text_bytes()];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// The settings without the parts that need most, so that the others have room in so many bytes, where
    /// held-out rows decide on parts anyway; nothing if all parts have room, or none.
    pub fn narrowed(&self, limit: u64) -> Option<Settings> {
        let bytes = |settings: &Settings| TrainingNeed { settings, ..self.clone() }.bytes();
        if self.settings.find("choose") != Some(true.into()) || bytes(self.settings) <= limit {
            return None;
        }
        let possible = self.settings.resolve(self.rows);
        let is_possible =
            |part: &Settings| possible.parts().iter().any(|one| one.name() == part.name());
        let mut settings = self.settings.keeping(is_possible)?;
        while bytes(&settings) > limit {
            let alone = |part: &Settings| settings.keeping(|other| other == part);
            let need = |part: &&Settings| alone(part).map_or(0, |alone| bytes(&alone));
            let largest = settings.parts().iter().max_by_key(need)?.clone();
            settings = settings.keeping(|part| *part != largest)?;
        }
        Some(settings)
    }

    /// The first change that makes it fit into so many bytes, if there is one: fewer threads, then
    /// settings that need less.
    pub fn remedy(&self, limit: u64) -> Option<Remedy> {
        let fits = |settings: &Settings, threads| {
            TrainingNeed { settings, threads, ..self.clone() }.bytes() <= limit
        };
        if let Some(fewer) = (1..self.threads).rev().find(|&fewer| fits(self.settings, fewer)) {
            return Some(Remedy { threads: Some(fewer), settings: Vec::new() });
        }
        let threads = (self.threads > 1).then_some(1);
        let (mut smaller, mut changes) = (self.settings.clone(), Vec::new());
        for (setting, value) in self.settings.savings() {
            let Ok(changed) = smaller.set(setting, value.clone()) else { continue };
            changes.push((setting, value));
            smaller = changed;
            if fits(&smaller, 1) {
                return Some(Remedy { threads, settings: changes });
            }
        }
        None
    }

    /// The terms of the text, and label names with the lines that they are written from.
    fn text_bytes(&self) -> u64 {
        let Some(reader) = self.reader else { return 0 };
        let Arrays { text, starts, slots, idf } = reader.vectoriser().arrays();
        let terms = text.len() + 8 * (starts.len() + slots.len()) + 4 * idf.len();
        let names = self.rows.label_names.into_iter().flat_map(LabelIndex::lines);
        (terms + names.map(|name| 2 * name.len() + 16).sum::<usize>()) as u64
    }
}

/// The bytes that adding rows to a model takes at the peak, about.
pub fn update_bytes(model: &Model, added: DatasetView<'_>, threads: usize) -> u64 {
    let manifest = model.manifest();
    let settings = model.learned().settings();
    let of_new = TrainingNeed::new(added, &settings, threads).bytes();
    // All rows are about as large as the new ones.
    let all = manifest.instances as f64 / added.len().max(1) as f64 + 1.0;
    let rows = if manifest.training.keep_rows { (of_new as f64 * all) as u64 } else { of_new };
    let largest = manifest.units.iter().map(|unit| unit.bytes).max().unwrap_or(0);
    rows.saturating_add(largest.saturating_mul(2 * threads as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::data::Dataset;
    use crate::data::generate::{Generator, Profile};

    #[test]
    fn parts_of_a_grove_that_have_no_room_are_left_out() {
        let task = Pool::new(2).unwrap().task();
        let profile = Profile { instances: 2000, ..Profile::named("eurlex-4k").unwrap() };
        let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..2000, &task).unwrap();
        let dataset = Dataset { features, labels, label_names: None, named: None };
        let grove = Settings::default();
        fn need<'a>(dataset: &'a Dataset, settings: &'a Settings) -> TrainingNeed<'a> {
            TrainingNeed::new(dataset.view(), settings, 2)
        }
        let bytes = |name: &str| {
            let alone = grove.keeping(|part| part.name() == name).unwrap();
            need(&dataset, &alone).bytes()
        };
        let (least, most) = (bytes("neighbours"), need(&dataset, &grove).bytes());
        assert!(least < most, "{least} of {most}");
        assert_eq!(need(&dataset, &grove).narrowed(most), None);
        assert_eq!(need(&dataset, &grove).narrowed(least - 1), None);
        let narrowed = need(&dataset, &grove).narrowed(most - 1).unwrap();
        assert!(need(&dataset, &narrowed).bytes() < most);
        let names: Vec<&str> = narrowed.parts().iter().map(|part| part.name()).collect();
        assert!(names.contains(&"neighbours") && names.len() < 4, "{names:?}");
        let fixed = grove.set("choose", false).unwrap();
        assert_eq!(need(&dataset, &fixed).narrowed(most - 1), None);
    }
}
