//! Any bytes as `plan.json` give a plan, whose state can be told, or an error.
//!
//! Bytes that start with the number of an algorithm change some bytes of a good plan of it: what its
//! `plan_id` does not cover, such as the shards, then gets behind that check.

#![no_main]

use labelwood::Settings;
use labelwood::data::{self, ReadOptions};
use labelwood::model::TrainOptions;
use labelwood::shard::{Options, Plan};
use labelwood_fuzz::{RUN, patched};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

/// A plan of each algorithm: its folder, and `plan.json`.
static PLANS: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let text = b"3 4 3\n0,2 0:0.5 3:1\n 1:2\n1\n";
    let read = data::read_bytes(text, "a.txt", &ReadOptions::default(), &RUN).expect("it is right");
    let plan = |settings: Settings| {
        let folder = format!("labelwood-fuzz-plan-{}-{}", settings.name(), std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let options = Options { shards: 2, overwrite: true, ..Options::default() };
        let (rows, training) = (read.dataset.view(), TrainOptions::default());
        Plan::make(&folder, rows, training, &settings, &options, &RUN).expect("it can be planned");
        let good = fs::read(folder.join("plan.json")).expect("it was just written");
        (folder, good)
    };
    Settings::all().map(plan).collect()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let number = bytes.first().map(|&first| usize::from(first));
    let (folder, plan) = match number.and_then(|number| PLANS.get(number)) {
        Some((folder, good)) => (folder, patched(good, &bytes[1..], 2)),
        None => (&PLANS[0].0, bytes.to_vec()),
    };
    fs::write(folder.join("plan.json"), plan).expect("temporary files can be written");
    let Ok(plan) = Plan::open(folder) else { return };
    let _ = (plan.shards(), plan.stages(), plan.status(&[], &RUN));
});
