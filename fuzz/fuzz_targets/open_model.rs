//! Any bytes as a model's manifest, or as one of its trees, give predictions or an error.
//!
//! The rest of the folder is that of the fixture in `tests/compat`, and the manifest of a changed
//! tree has the right `model_id`: without it nothing behind it would ever be reached. The first
//! byte says what the others are.

#![no_main]

use labelwood::model::Model;
use labelwood::sparse::Csr;
use labelwood::store::{Load, Manifest, Options};
use labelwood_fuzz::{RUN, check_predictions, patched};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static FIXTURE: LazyLock<Fixture> = LazyLock::new(Fixture::load);

struct Fixture {
    folder: PathBuf,
    manifest: Manifest,
    tree: Vec<u8>,
    rows: Csr,
}

impl Fixture {
    fn load() -> Self {
        let from =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/labelwood/tests/compat/v1/model");
        let folder = std::env::temp_dir().join(format!("labelwood-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
        let manifest = Manifest::read(Path::new(from)).expect("the fixture is a model");
        for unit in &manifest.units {
            fs::copy(Path::new(from).join(&unit.file), folder.join(&unit.file))
                .expect("the fixture's files are there");
        }
        let tree = fs::read(folder.join(&manifest.units[0].file)).expect("it was just copied");
        let mut rows = Csr::new(manifest.features as usize + 5);
        for row in 0..8u32 {
            let columns: Vec<u32> = (row..rows.columns() as u32).step_by(3).collect();
            let values: Vec<f32> =
                columns.iter().map(|&column| 1.0 + (column % 4) as f32).collect();
            rows.push_row(&columns, &values).expect("columns rise");
        }
        Fixture { folder, manifest, tree, rows }
    }
}

/// The manifest and the tree that the bytes stand for.
fn decode(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (&kind, rest) = bytes.split_first()?;
    let fixture = &*FIXTURE;
    if kind % 4 == 0 {
        return Some((rest.to_vec(), fixture.tree.clone()));
    }
    let (settings, rest) = rest.split_at_checked(4)?;
    let tree = if kind % 4 == 1 { rest.to_vec() } else { patched(&fixture.tree, rest, 2) };
    let mut manifest = fixture.manifest.clone();
    if kind % 4 == 3 {
        manifest.features = u64::from(settings[0]);
        let chosen = &mut manifest.training.settings;
        chosen["branches"] = settings[1].into();
        chosen["precision"] = ["half", "byte"][usize::from(settings[2] % 2)].into();
        chosen["feature_projection"] = ["none", "hashing"][usize::from(settings[2] / 2 % 2)].into();
        chosen["diversity"] = ["sxsy", "dxdy"][usize::from(settings[2] / 4 % 2)].into();
        chosen["feature_dimensions"] = settings[3].into();
    }
    manifest.units[0].bytes = tree.len() as u64;
    Some((manifest.to_bytes(), tree))
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((manifest, tree)) = decode(bytes) else { return };
    let fixture = &*FIXTURE;
    let written = fs::write(fixture.folder.join("manifest.json"), manifest)
        .and_then(|()| fs::write(fixture.folder.join(&fixture.manifest.units[0].file), tree));
    written.expect("the folder for temporary files can be written");
    let options = Options { load: Load::Copy, verify: false };
    let Ok(model) = Model::open(&fixture.folder, options, &RUN) else { return };
    drop((model.learned().figures(), model.learned().tables()));
    check_predictions(&model, &fixture.rows);
});
