//! Any bytes as `plan.json` give a plan, whose state can be told, or an error.
//!
//! Bytes that start with 0 change some bytes of a good plan: what its `plan_id` does not cover, such as
//! the shards, then gets behind that check.

#![no_main]

use labelwood::data::{self, ReadOptions};
use labelwood::model::{TrainOptions};
use labelwood::run::{Pool, Task};
use labelwood::shard::{Options, Plan};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

static RUN: LazyLock<Task> = LazyLock::new(|| Pool::new(1).expect("one thread can be started").task());
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("labelwood-fuzz-plan-{}", std::process::id()))
});
static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let text = b"3 4 3\n0,2 0:0.5 3:1\n 1:2\n1\n";
    let read = data::read_bytes(text, "a.txt", &ReadOptions::default(), &RUN).expect("it is right");
    let algorithm = Settings::preset("label-tree", "default").expect("it is a preset");
    let options = Options { shards: 2, overwrite: true, ..Options::default() };
    let (rows, extras) = (read.dataset.view(), TrainOptions::default());
    Plan::make(&FOLDER, rows, extras, &algorithm, &options, &RUN).expect("it can be planned");
    fs::read(FOLDER.join("plan.json")).expect("it was just written")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut plan = GOOD.clone();
    match bytes.split_first() {
        Some((0, patches)) => {
            for patch in patches.chunks_exact(3) {
                let at = usize::from(u16::from_le_bytes([patch[0], patch[1]])) % plan.len();
                plan[at] ^= patch[2];
            }
        }
        _ => plan = bytes.to_vec(),
    }
    fs::write(FOLDER.join("plan.json"), plan).expect("temporary files can be written");
    let Ok(plan) = Plan::open(&FOLDER) else { return };
    let _ = (plan.shards(), plan.stages(), plan.status(&[], &RUN));
});
