//! Models whose files say something else than was written, with checksums that fit or are not asked
//! for: opening refuses them, or predictions end soon, name labels that exist, and take little memory.

use fastrand::Rng;
use labelwood::Settings;
use labelwood::algorithms::craftml::{self, Diversity, Metric, Projection};
use labelwood::algorithms::{fastxml, grove, label_forest, label_tree, neighbours, one_vs_rest};
use labelwood::data::documents::{Documents, Format, Labels, Options as Reading};
use labelwood::data::{Dataset, LabelIndexBuilder, Vocabulary};
use labelwood::model::{Model, TrainOptions, UpdateStart, train_with, update};
use labelwood::run::{Pool, Task};
use labelwood::settings::Favour;
use labelwood::shard::{ModelShare, Share};
use labelwood::sparse::{Csr, LabelSet, Query};
use labelwood::store::{Load, Manifest, Options, Start};
use labelwood::text::{self, TextReader};
use serde_json::Value;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Counts the memory in use, and gives nobody a huge piece: a number in a file must not ask for one.
struct Counted;

#[global_allocator]
static MEMORY: Counted = Counted;
static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST_IN_USE: AtomicUsize = AtomicUsize::new(0);
/// The models here are of some KB.
const MOST: usize = 64 << 20;

// SAFETY: all memory is the system's; what is refused is refused as the trait says, with null.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MOST {
            return std::ptr::null_mut();
        }
        let now = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST_IN_USE.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of the trait.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of the trait.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Some labels with names in two languages and a broader one.
const VOCABULARY: &[u8] = b"@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    <x:2> skos:prefLabel 'S2'@en, 'S2 too'@fi ; skos:altLabel 'second'@en ; skos:broader <x:3> .
    <x:3> skos:prefLabel 'S3'@en, 'S3 too'@fi .";

/// A saved model and what is asked of it.
struct Saved {
    name: &'static str,
    folder: PathBuf,
    manifest: Manifest,
    rows: Csr,
}

fn documents() -> String {
    let mut random = Rng::with_seed(5);
    let mut text = String::new();
    for row in 0..300 {
        let subject = row % 24;
        let words = (0..6).map(|_| format!("w{}", subject * 3 + random.usize(..7)));
        let words = words.collect::<Vec<_>>().join(" ");
        text.push_str(&format!("{words}\tS{subject};T{}\n", subject / 4));
    }
    text
}

fn algorithms() -> Vec<(&'static str, Settings)> {
    let forest = craftml::Params { trees: 3, leaf: 4, branches: 4, ..Default::default() };
    let trees = label_tree::Params {
        trees: 2,
        branches: Some(2),
        leaf: Some(2),
        depth: 20,
        ..Default::default()
    };
    let projected = craftml::Params {
        feature_projection: Projection::Hashing,
        feature_dimensions: 40,
        diversity: Diversity::DxDy,
        metric: Metric::Euclidean,
        ..forest.clone()
    };
    let label_forest = label_forest::Params { submodels: 6, ..Default::default() };
    let one_vs_rest = one_vs_rest::Params::default();
    let two = vec![forest.clone().into(), trees.clone().into()];
    let three = two.iter().cloned().chain([one_vs_rest.clone().into()]).collect();
    let grove = |parts| Settings::from(grove::Params { parts, ..grove::Params::default() });
    vec![
        ("craftml", Settings::from(forest)),
        ("projected", Settings::from(projected)),
        ("label-tree", Settings::from(trees)),
        ("one-vs-rest", Settings::from(one_vs_rest)),
        ("label-forest", Settings::from(label_forest)),
        ("neighbours", Settings::from(neighbours::Params::default())),
        (
            "pfastrexml",
            Settings::from(fastxml::Params { trees: 3, ..fastxml::Params::pfastrexml() }),
        ),
        ("grove", grove(two)),
        ("grove of three", grove(three)),
    ]
}

/// A model of each algorithm, with all that models can hold.
fn saved(parent: &Path, task: &Task) -> Vec<Saved> {
    let (text, options) = (documents(), Reading::default());
    let documents =
        Documents::from_bytes(text.as_bytes(), "f", Format::Tsv, &options, Labels::Required, task);
    let vocabulary = Vocabulary::from_bytes(VOCABULARY, "v.ttl", Some("en")).unwrap();
    let names = LabelIndexBuilder::new(&vocabulary.labels);
    let (reader, dataset) =
        TextReader::fit(documents.unwrap(), &options, text::Params::default(), names, task)
            .unwrap();
    let save = |(name, algorithm): (&'static str, Settings)| {
        let folder = parent.join(name);
        let extras = TrainOptions {
            threshold: name == "one-vs-rest",
            text: Some(&reader),
            calibrate: name == "label-tree" || name == "craftml",
            favour: if name == "one-vs-rest" { Favour::Tail } else { Favour::None },
            keep_rows: true,
        };
        train_with(&dataset, extras, &algorithm, &folder, Start::default(), task).unwrap();
        let manifest = Manifest::read(&folder).unwrap();
        let features = dataset.features.columns() as u32;
        let mut rows = Csr::new(features as usize + 5);
        for row in 0..300 {
            let columns: Vec<u32> = (row % 17..features + 5).step_by(7).collect();
            rows.push_row(&columns, &vec![0.5; columns.len()]).unwrap();
        }
        Saved { name, folder, manifest, rows }
    };
    algorithms().into_iter().map(save).collect()
}

/// Asks an open model all kinds of things.
fn use_model(model: &Model, rows: &Csr, task: &Task) {
    let labels = model.labels().counts().len();
    let allowed: LabelSet = (0..labels as u32 + 9).step_by(2).collect();
    for few in [1, 3, rows.len()] {
        let rows = rows.view().slice(0..few);
        for beam in [None, Some(1)] {
            for allowed in [None, Some(&allowed)] {
                let query = Query { k: 5, beam, allowed };
                let found = model.predict(rows.view(), query, task).unwrap();
                let filled = model.fill(&found, query);
                for best in found.rows().chain(filled.rows()).flatten() {
                    assert!((best.id as usize) < labels, "label {} of {labels}", best.id);
                    model.labels().name(best.id);
                    model.label_terms(best.id);
                }
            }
        }
    }
    let (learned, mut tree) = (model.learned(), 0);
    let figures = learned.figures();
    if learned.settings().name() == "craftml" {
        assert!(figures.iter().all(|(_, tree)| tree["leaves"].as_u64() > Some(0)));
    }
    while learned.clusters(tree).is_some() {
        tree += 1;
    }
    drop(learned.tables());
    if let Some(text) = model.text() {
        text.vectoriser().transform(&["w1 w2 w3", ""], task).unwrap();
    }
    if let Some(names) = model.labels().names() {
        names.find("S3");
        for language in names.languages() {
            assert_eq!(names.in_language(language).unwrap().len(), labels);
        }
        for id in 0..labels as u32 {
            assert!(names.broader(id).iter().all(|&broad| (broad as usize) < labels));
            assert!(names.names_in("fi", id).chain(names.names(id)).all(|name| !name.is_empty()));
        }
    }
}

/// Opens a model and asks it; says whether it was opened.
fn ask(saved: &Saved, load: Load, task: &Task) -> bool {
    let started = Instant::now();
    MOST_IN_USE.store(IN_USE.load(Ordering::Relaxed), Ordering::Relaxed);
    let before = IN_USE.load(Ordering::Relaxed);
    let options = Options { load, verify: false };
    if let Ok(part) = ModelShare::open(&saved.folder, Share { index: 0, of: 2 }, options, task) {
        part.scores(saved.rows.view(), Query::top(5), task).unwrap();
    }
    let opened = Model::open(&saved.folder, options, task);
    if let Ok(model) = &opened {
        use_model(model, &saved.rows, task);
    }
    let took = MOST_IN_USE.load(Ordering::Relaxed).saturating_sub(before);
    assert!(took < MOST, "{took} bytes");
    assert!(started.elapsed() < Duration::from_secs(30), "it took {:?}", started.elapsed());
    opened.is_ok()
}

/// Changes some bytes: numbers that are huge, small or those of neighbours, or whole stretches.
fn damage(bytes: &mut [u8], from: usize, random: &mut Rng) {
    let room = bytes.len() - from;
    if room < 16 {
        return;
    }
    for _ in 0..=random.usize(..3) {
        let at = from + random.usize(..room - 8) / 4 * 4;
        let number = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let new = match random.usize(..9) {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << 31,
            3 => number ^ (1 << 31),
            4 => number.wrapping_add(1),
            5 => number.wrapping_sub(1),
            6 => random.usize(..64) as u32,
            7 => random.usize(..64) as u32 | 1 << 31,
            _ => random.usize(..u32::MAX as usize) as u32,
        };
        let longest = 1 + random.usize(..40);
        let stretch = (1 + random.usize(..longest)) * 4;
        let end = bytes.len().min(at + stretch);
        if random.usize(..3) == 0 {
            bytes[at..end].fill(new as u8);
        } else {
            bytes[at..at + 4].copy_from_slice(&new.to_le_bytes());
        }
    }
}

/// Where the arrays of a unit start; its header is before.
fn arrays_of(bytes: &[u8]) -> usize {
    8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize
}

#[test]
fn any_bytes_in_any_file_of_a_model_are_refused_or_harmless() {
    let (parent, task) = (tempfile::tempdir().unwrap(), Pool::new(2).unwrap().task());
    let mut random = Rng::with_seed(1);
    for saved in saved(parent.path(), &task) {
        assert!(ask(&saved, Load::Map, &task), "{}", saved.name);
        let (mut opened, mut refused) = (0, 0);
        for unit in &saved.manifest.units {
            let path = saved.folder.join(&unit.file);
            let good = fs::read(&path).unwrap();
            for round in 0..16 {
                let mut bytes = good.clone();
                let from = if round % 8 == 0 { 0 } else { arrays_of(&good) };
                damage(&mut bytes, from, &mut random);
                fs::write(&path, &bytes).unwrap();
                let load = if round % 2 == 0 { Load::Map } else { Load::Copy };
                if ask(&saved, load, &task) { opened += 1 } else { refused += 1 }
            }
            fs::write(&path, &good).unwrap();
        }
        // Otherwise nothing was tried.
        assert!(opened > 8 && refused > 8, "{}: {opened} {refused}", saved.name);
    }
}

/// Calls `each` with the place of every number in some JSON.
fn each_number(value: &Value, at: &str, each: &mut impl FnMut(String)) {
    match value {
        Value::Number(_) => each(at.to_owned()),
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| each_number(value, &format!("{at}/{key}"), each));
        }
        Value::Array(list) => {
            let numbered = list.iter().enumerate();
            numbered.for_each(|(key, value)| each_number(value, &format!("{at}/{key}"), each));
        }
        _ => {}
    }
}

#[test]
fn any_numbers_in_a_manifest_are_refused_or_harmless() {
    let (parent, task) = (tempfile::tempdir().unwrap(), Pool::new(2).unwrap().task());
    for saved in saved(parent.path(), &task) {
        let write = |manifest: &Manifest| {
            fs::write(saved.folder.join("manifest.json"), manifest.to_bytes()).unwrap();
            ask(&saved, Load::Map, &task)
        };
        for number in [0, 1, 7, u64::from(u32::MAX), u64::MAX] {
            for change in [
                |manifest: &mut Manifest, number| manifest.features = number,
                |manifest: &mut Manifest, number| manifest.labels = number,
                |manifest: &mut Manifest, number| manifest.instances = number,
            ] {
                let mut manifest = saved.manifest.clone();
                change(&mut manifest, number);
                write(&manifest);
                // Without what says how many features there are.
                manifest.training.text = None;
                manifest.units.retain(|unit| !unit.name().ends_with("features"));
                write(&manifest);
            }
            let mut places = Vec::new();
            let training = &saved.manifest.training;
            each_number(&training.settings, "", &mut |at| places.push((false, at)));
            let none = Value::Null;
            let of_text = training.text.as_ref().unwrap_or(&none);
            each_number(of_text, "", &mut |at| places.push((true, at)));
            for (is_text, place) in places {
                let mut manifest = saved.manifest.clone();
                let training = &mut manifest.training;
                let value =
                    if is_text { training.text.as_mut().unwrap() } else { &mut training.settings };
                *value.pointer_mut(&place).unwrap() = number.into();
                write(&manifest);
                manifest.features = u64::from(u32::MAX);
                manifest.training.text = None;
                manifest.units.retain(|unit| !unit.name().ends_with("features"));
                write(&manifest);
            }
        }
        assert!(write(&saved.manifest), "{}", saved.name);
    }
}

#[test]
fn files_that_change_under_a_mapped_model_neither_hang_nor_crash_it() {
    let (parent, task) = (tempfile::tempdir().unwrap(), Pool::new(2).unwrap().task());
    let mut random = Rng::with_seed(2);
    for saved in saved(parent.path(), &task) {
        let options = Options { load: Load::Map, verify: true };
        let (features, labels) = (saved.rows.view().slice(0..40), 30);
        let mut added = labelwood::sparse::LabelRows::new(labels);
        (0..40).for_each(|row| added.push_row(&[row % labels as u32], &[()]).unwrap());
        let more = Dataset { features, labels: added, label_names: None, named: None };
        for unit in &saved.manifest.units {
            let path = saved.folder.join(&unit.file);
            let good = fs::read(&path).unwrap();
            // In place, as `dd conv=notrunc` writes.
            let put = |bytes: &[u8]| {
                let mut file = fs::File::options().write(true).open(&path).unwrap();
                file.seek(SeekFrom::Start(0)).unwrap();
                file.write_all(bytes).unwrap();
            };
            for round in 0..12 {
                let model = Model::open(&saved.folder, options, &task).unwrap();
                if round % 3 == 0 {
                    use_model(&model, &saved.rows, &task);
                }
                let mut bytes = good.clone();
                match round {
                    0 => bytes.fill(0),
                    1 => bytes.fill(0xff),
                    2 => bytes.iter_mut().for_each(|byte| *byte = random.usize(..256) as u8),
                    _ => damage(&mut bytes, arrays_of(&good), &mut random),
                }
                put(&bytes);
                let started = Instant::now();
                use_model(&model, &saved.rows, &task);
                if round < 6 {
                    let target = parent.path().join("updated");
                    let start = UpdateStart { overwrite: true, again: true };
                    let _ = update(&model, &more, &target, start, &task);
                }
                let took = started.elapsed();
                assert!(took < Duration::from_secs(30), "{} {}: {took:?}", saved.name, unit.file);
                put(&good);
            }
        }
    }
}
