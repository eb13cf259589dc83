//! Any bytes as a model that is one file give predictions or an error.
//!
//! The first byte says whether the others are the file, or changes of the fixture in `tests/compat` as one
//! file. Checksums are not verified: else nothing behind them would ever be reached.

#![no_main]

use labelwood::model::Model;
use labelwood::sparse::Csr;
use labelwood::store::{Load, Options, Stored};
use labelwood_fuzz::{RUN, check_predictions, patched};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static FIXTURE: LazyLock<(PathBuf, Vec<u8>)> = LazyLock::new(|| {
    let from = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/labelwood/tests/compat/v1/model");
    let file = std::env::temp_dir().join(format!("fuzz-{}.labelwood", std::process::id()));
    let stored = Stored::open(Path::new(from), Options::default(), &RUN);
    let saved = stored.and_then(|stored| stored.save(&file, true));
    saved.expect("the fixture is a model, and the folder for temporary files can be written");
    let good = fs::read(&file).expect("it was just written");
    (file, good)
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, rest)) = bytes.split_first() else { return };
    let (file, good) = &*FIXTURE;
    let content = if kind % 4 == 0 { rest.to_vec() } else { patched(good, rest, 3) };
    fs::write(file, content).expect("the folder for temporary files can be written");
    let load = if kind % 2 == 0 { Load::Copy } else { Load::Map };
    let Ok(model) = Model::open(file, Options { load, verify: false }, &RUN) else { return };
    drop((model.learned().figures(), model.learned().tables()));
    let mut rows = Csr::new(model.manifest().features.min(100) as usize);
    rows.push_row(&[], &[]).expect("a row may be empty");
    check_predictions(&model, &rows);
});
