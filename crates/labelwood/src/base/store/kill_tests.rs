//! The model folder under real kills: a child process saves model after model, and dies.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Begin, Manifest, Options, Staging, Start, StoreError, Stored, Training};
use crate::base::run::Pool;

/// Tells the child where to save.
const TARGET: &str = "LABELWOOD_TEST_TARGET";

fn save(target: &Path, seed: u32) {
    let settings = serde_json::json!({ "seed": seed });
    let training = Training {
        algorithm: "none".into(),
        settings,
        data: String::new(),
        text: None,
        calibrate: false,
        threshold: false,
        favour: Default::default(),
        shrunk: None,
        keep_rows: false,
        updates: Vec::new(),
    };
    let start = Start { resume: false, overwrite: true };
    let Begin::Work(staging) = Staging::begin(target, &training, start).unwrap() else {
        panic!("nothing was to be resumed");
    };
    let numbers = vec![seed; 20_000];
    let write = |tree: u32| {
        let name = format!("tree-{tree:04}");
        staging.write_unit(&name, &[("numbers", numbers.as_slice().into())]).unwrap()
    };
    let units = (0..4).map(write).collect();
    let manifest = Manifest { training, instances: 1, features: 1, labels: 1, units };
    staging.commit(&manifest).unwrap();
}

/// The seed of the model in the folder, which must be whole.
fn seed_in(target: &Path) -> Option<u64> {
    let stored = match Stored::open(target, Options::default(), &Pool::new(1).unwrap().task()) {
        Err(StoreError::NoModel { .. }) => return None,
        other => other.unwrap(),
    };
    let seed = stored.manifest().training.settings["seed"].as_u64().unwrap();
    assert_eq!(stored.units().len(), 4);
    for unit in stored.units() {
        let numbers = unit.array::<u32>("numbers").unwrap();
        assert!(numbers.iter().all(|&number| u64::from(number) == seed));
    }
    Some(seed)
}

/// Not a test of its own: what the child process runs until it is killed.
#[test]
#[ignore = "runs until it is killed; started by the test below"]
fn child() {
    if let Some(target) = std::env::var_os(TARGET) {
        for seed in 1.. {
            save(&PathBuf::from(&target), seed);
        }
    }
}

#[test]
fn a_killed_process_leaves_one_whole_model() {
    let (folder, target) = killed("model", 25);
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 5);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_killed_process_leaves_one_whole_file() {
    let (folder, target) = killed("model.labelwood", 12);
    assert!(target.is_file());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Kills the child in many rounds, and saves a last model where it did.
fn killed(name: &str, rounds: u64) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join(name);
    let mut models = 0;
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "base::store::kill_tests::child"])
            .env(TARGET, &target)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 + 13 * (round % 9)));
        child.kill().unwrap();
        child.wait().unwrap();
        models += usize::from(seed_in(&target).is_some());
    }
    println!("{models} of {rounds} kills left a model");
    save(&target, 0);
    assert_eq!(seed_in(&target), Some(0));
    (folder, target)
}
