//! What must hold for every algorithm of the registry, and a toy that proves that nothing else is needed
//! to add one.

mod explain;
#[allow(unreachable_pub)]
pub(crate) mod toy;

use super::*;
use crate::base::run::{Pool, Progress};
use crate::base::store::Start;
use crate::data::generate::{Generator, Profile};
use crate::model::train;
use std::sync::{Arc, Mutex};

fn dataset(rows: u64, task: &Task) -> Dataset {
    let profile = Profile { instances: rows, ..Profile::named("eurlex-4k").unwrap() };
    let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..rows, task).unwrap();
    Dataset { features, labels, label_names: None, named: None }
}

#[test]
fn names_differ_and_find_their_algorithm() {
    let names = Settings::names();
    for (at, name) in names.iter().enumerate() {
        assert!(!names[..at].contains(name), "{name}");
        assert_eq!(Settings::named(name).unwrap().name(), *name);
    }
    assert!(Settings::named("forest").is_none());
}

#[test]
fn every_preset_is_possible_and_the_first_is_the_default() {
    for settings in Settings::all() {
        let presets = settings.presets();
        assert_eq!((presets[0].0, &presets[0].1), ("default", &settings));
        for (name, preset) in presets {
            preset.check().unwrap_or_else(|error| panic!("{} {name}: {error}", settings.name()));
        }
    }
}

#[test]
fn settings_come_back_from_their_values_and_the_table_knows_each() {
    for settings in Settings::all() {
        let name = settings.name();
        let values = settings.values();
        assert_eq!(Settings::from_values(name, values.clone()).unwrap(), settings);
        let table = settings.table();
        for value in values.as_object().unwrap().keys() {
            assert!(table.iter().any(|setting| setting.name == value), "{name} {value}");
        }
        for setting in &table {
            assert!(setting.help.ends_with('.') && setting.help.len() > 10, "{name} {setting:?}");
        }
        let mut unknown = values;
        unknown["colour"] = "green".into();
        let error = Settings::from_values(name, unknown).unwrap_err();
        assert_eq!(error, "`colour` is no setting of it");
    }
}

#[test]
fn what_tuning_tries_are_settings_with_possible_values() {
    for settings in Settings::all() {
        for Change { setting, values } in settings.changes() {
            assert!(settings.find(&setting).is_some(), "{} {setting}", settings.name());
            for value in values {
                settings.set(&setting, value).unwrap();
            }
        }
    }
}

#[test]
fn what_grows_has_a_size_that_can_be_changed() {
    for settings in Settings::all().filter(|settings| settings.facts().grows.is_some()) {
        let ones = vec![1; settings.size().len()];
        let small = settings.resized(&ones);
        assert!(small.size().iter().all(|size| size.count == 1), "{}", settings.name());
        assert!(settings.may_become(&small) && !small.may_become(&settings));
        assert_eq!(settings.reduced(1), settings);
    }
}

#[test]
fn every_algorithm_counts_its_units_as_it_says() {
    // Rows without names teach nothing to what goes by names alone.
    for settings in Settings::all().filter(|settings| settings.name() != "names") {
        let last = Arc::new(Mutex::new(None));
        let seen = last.clone();
        let task = Pool::new(2).unwrap().task().on_progress(move |progress| {
            let mut seen = seen.lock().unwrap();
            // Of two threads, either may be the first to tell.
            let is_more = seen.is_none_or(|seen: Progress| {
                seen.stage != progress.stage || seen.done <= progress.done
            });
            if is_more {
                *seen = Some(progress);
            }
        });
        let rows = dataset(100, &task);
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("model");
        train(&rows, &settings, &target, Start::default(), &task).unwrap();
        let last = last.lock().unwrap().expect("units are counted");
        assert_eq!(last.done, last.total, "{}: {last:?}", settings.name());
    }
}
