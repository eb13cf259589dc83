//! Any bytes in any unit of a model of any algorithm, and any sizes in its manifest, give predictions
//! or an error.
//!
//! The first byte says of which algorithm the model is, the second which of its units is changed and
//! the next three what the manifest says about sizes; the others are places in the unit and what is
//! changed there.

#![no_main]

use labelwood::Settings;
use labelwood::data::Dataset;
use labelwood::data::generate::{Generator, Profile};
use labelwood::model::Model;
use labelwood::sparse::Csr;
use labelwood::store::{Load, Manifest, Options};
use labelwood_fuzz::{RUN, check_predictions, patched};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    // Few trees are enough, and of label trees those with many levels are of use as well.
    let halves = Settings::preset("label-tree", "parabel").expect("it is a preset");
    let small = |settings: Settings| settings.resized(&vec![2; settings.size().len()]);
    Settings::all().map(small).chain([halves]).enumerate().map(Fixture::new).collect()
});

struct Fixture {
    folder: PathBuf,
    manifest: Manifest,
    units: Vec<Vec<u8>>,
    rows: Csr,
}

impl Fixture {
    fn new((at, settings): (usize, Settings)) -> Self {
        let profile =
            Profile { instances: 60, ..Profile::named("eurlex-4k").expect("it is a profile") };
        let generator = Generator::new(profile, 1).expect("the profile is right");
        let (features, labels) = generator.rows(0..60, &RUN).expect("nobody cancels");
        let rows = features.view().slice(0..4);
        let dataset = Dataset { features, labels, label_names: None, named: None };
        let model = Model::train(dataset.view(), Default::default(), &settings, &RUN)
            .expect("there are rows");
        let folder = format!("labelwood-fuzz-{at}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        model.stored().save(&folder, true).expect("temporary files can be written");
        let manifest = model.manifest().clone();
        let read = |file: &str| fs::read(folder.join(file)).expect("it was just written");
        let units = manifest.units.iter().map(|unit| read(&unit.file)).collect();
        Fixture { folder, manifest, units, rows }
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&[algorithm, unit, features, labels, instances], patches)) =
        bytes.split_first_chunk()
    else {
        return;
    };
    let fixture = &FIXTURES[usize::from(algorithm) % FIXTURES.len()];
    let unit = usize::from(unit) % fixture.units.len();
    let content = patched(&fixture.units[unit], patches, 3);
    // Zero leaves a size as it is; others are powers of two.
    let size = |known: u64, change: u8| if change == 0 { known } else { 1 << (change % 64) };
    let mut manifest = fixture.manifest.clone();
    manifest.features = size(manifest.features, features);
    manifest.labels = size(manifest.labels, labels);
    manifest.instances = size(manifest.instances, instances);
    let path = fixture.folder.join(&manifest.units[unit].file);
    let written = fs::write(fixture.folder.join("manifest.json"), manifest.to_bytes())
        .and_then(|()| fs::write(&path, content));
    written.expect("temporary files can be written");
    let options = Options { load: Load::Copy, verify: false };
    if let Ok(model) = Model::open(&fixture.folder, options, &RUN) {
        check_predictions(&model, &fixture.rows);
    }
    fs::write(&path, &fixture.units[unit]).expect("temporary files can be written");
});
