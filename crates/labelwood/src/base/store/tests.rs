//! A model folder's life: written, resumed, interrupted, replaced, damaged.

use super::staging::STEPS;
use super::*;
use crate::base::run::Pool;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;

pub(super) const FRESH: Start = Start { resume: false, overwrite: false };
const RESUME: Start = Start { resume: true, overwrite: false };
pub(super) const OVERWRITE: Start = Start { resume: false, overwrite: true };
const RESUME_OVERWRITE: Start = Start { resume: true, overwrite: true };

pub(super) fn run() -> Task {
    Pool::new(2).unwrap().task()
}

pub(super) fn training(seed: u32) -> Training {
    let settings = json!({"seed": seed, "trees": 2});
    Training {
        algorithm: "craftml".into(),
        settings,
        data: "d".into(),
        text: None,
        calibrate: false,
        threshold: false,
        favour: Default::default(),
        shrunk: None,
        keep_rows: false,
        updates: Vec::new(),
    }
}

fn work(target: &Path, seed: u32, start: Start) -> Staging {
    match Staging::begin(target, &training(seed), start).unwrap() {
        Begin::Work(staging) => staging,
        Begin::Finished(_) => panic!("finished"),
    }
}

/// Trains the trees that are not finished yet, and says how many those were.
fn train(staging: &Staging, seed: u32) -> (Manifest, usize) {
    let mut units = staging.finished_units(&run()).unwrap();
    let finished = units.len();
    for tree in 0..2 {
        let name = format!("tree-{tree:04}");
        if units.iter().all(|unit| unit.name() != name) {
            units.push(write_tree(staging, tree, seed));
        }
    }
    units.sort_by(|left, right| left.file.cmp(&right.file));
    let manifest =
        Manifest { training: training(seed), instances: 3, features: 4, labels: 5, units };
    (manifest, 2 - finished)
}

/// The first tree is the same for every seed, as an unlucky replacement would have it.
fn write_tree(staging: &Staging, tree: u32, seed: u32) -> UnitFile {
    let numbers = [tree, tree * seed];
    staging.write_unit(&format!("tree-{tree:04}"), &[("numbers", numbers[..].into())]).unwrap()
}

pub(super) fn save(target: &Path, seed: u32, start: Start) -> Manifest {
    let staging = work(target, seed, start);
    let (manifest, _) = train(&staging, seed);
    staging.commit(&manifest).unwrap();
    manifest
}

pub(super) fn seed_in(target: &Path) -> Option<u32> {
    match Stored::open(target, Options::default(), &run()) {
        Ok(stored) => {
            let seed = stored.unit("tree-0001").unwrap().array::<u32>("numbers").unwrap()[1];
            assert_eq!(stored.manifest().training, training(seed));
            Some(seed)
        }
        Err(StoreError::NoModel { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

pub(super) fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = files::names_in(folder).unwrap().unwrap_or_default();
    names.into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect()
}

/// A folder with the model of `seed`, and the path of the model in it.
fn with_model(seed: u32) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    save(&target, seed, FRESH);
    (folder, target)
}

#[test]
fn the_same_training_gives_the_same_bytes() {
    let (folder, first) = with_model(1);
    let second = folder.path().join("second");
    save(&second, 1, FRESH);
    assert_eq!(content(&first), content(&second));
    assert_eq!(content(&first).len(), 3);
    assert_eq!(files::names_in(folder.path()).unwrap().unwrap(), ["model", "second"]);
}

#[test]
fn a_model_opens_mapped_and_copied_verified_or_not() {
    let (_folder, target) = with_model(7);
    for load in [Load::Map, Load::Copy] {
        for verify in [false, true] {
            let stored = Stored::open(&target, Options { load, verify }, &run()).unwrap();
            assert_eq!(*stored.units()[1].array::<u32>("numbers").unwrap(), [1, 7]);
            assert_eq!(
                stored.manifest().bytes(),
                content(&target).values().map(|file| file.len() as u64).sum::<u64>()
                    - content(&target)["manifest.json"].len() as u64
            );
            assert!(
                stored.unit("tree-0002").unwrap_err().to_string().contains("no unit `tree-0002`")
            );
        }
    }
}

#[test]
fn every_flipped_byte_of_a_unit_is_refused() {
    let (_folder, target) = with_model(1);
    let name = Manifest::read(&target).unwrap().units[1].file.clone();
    let path = target.join(name);
    let good = fs::read(&path).unwrap();
    let task = run();
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        for load in [Load::Map, Load::Copy] {
            let error = Stored::open(&target, Options { load, verify: true }, &task).unwrap_err();
            assert!(matches!(error, StoreError::Format(_)), "byte {at}: {error}");
        }
    }
    fs::write(&path, &good).unwrap();
    assert_eq!(seed_in(&target), Some(1));
}

#[test]
fn a_unit_cut_short_grown_or_missing_is_refused_even_unverified() {
    let (_folder, target) = with_model(1);
    let name = Manifest::read(&target).unwrap().units[0].file.clone();
    let path = target.join(name);
    let good = fs::read(&path).unwrap();
    let options = Options { verify: false, ..Options::default() };
    let task = run();
    let refused = || match Stored::open(&target, options, &task).unwrap_err() {
        StoreError::Format(error) => error,
        error => panic!("{error}"),
    };
    for len in 0..good.len() {
        fs::write(&path, &good[..len]).unwrap();
        assert!(refused().reason.starts_with(&format!("{len} bytes, but the manifest says")));
    }
    fs::write(&path, [&good[..], b" "].concat()).unwrap();
    assert!(refused().advice.contains("cut short or changed"));
    fs::remove_file(&path).unwrap();
    assert!(refused().reason.contains("missing"));
}

#[test]
fn a_folder_without_a_model_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("none")] {
        let error = Stored::open(&path, Options::default(), &run()).unwrap_err();
        assert!(matches!(error, StoreError::NoModel { .. }), "{error}");
        assert!(!matches!(error, StoreError::Io { .. }));
    }
}

#[test]
fn a_cancelled_run_stops_verifying() {
    let (_folder, target) = with_model(1);
    let task = run();
    task.canceller().cancel();
    let error = Stored::open(&target, Options::default(), &task).unwrap_err();
    assert!(matches!(error, StoreError::Stopped(_)));
}

#[test]
fn a_killed_training_resumes_at_the_last_finished_unit() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    let staging = work(&target, 1, RESUME);
    write_tree(&staging, 0, 1);
    fs::write(staging.folder().join(".tree-0001-99.unfinished"), "half").unwrap();
    drop(staging);
    let staging = work(&target, 1, RESUME);
    let (manifest, trained) = train(&staging, 1);
    assert_eq!(trained, 1);
    staging.commit(&manifest).unwrap();
    let (_other, straight) = with_model(1);
    assert_eq!(content(&target), content(&straight));
    let again = Staging::begin(&target, &training(1), RESUME).unwrap();
    assert!(matches!(again, Begin::Finished(found) if found == manifest));
}

#[test]
fn a_damaged_finished_unit_is_trained_again() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    let staging = work(&target, 1, FRESH);
    let path = staging.folder().join(write_tree(&staging, 0, 1).file);
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(staging.finished_units(&run()).unwrap(), []);
    assert!(!path.exists());
}

#[test]
fn two_contents_of_one_unit_are_both_trained_again() {
    let folder = tempfile::tempdir().unwrap();
    let staging = work(&folder.path().join("model"), 1, FRESH);
    write_tree(&staging, 1, 1);
    write_tree(&staging, 1, 2);
    assert_eq!(staging.finished_units(&run()).unwrap(), []);
    assert_eq!(train(&staging, 1).1, 2);
}

#[test]
fn other_settings_or_data_are_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    drop(work(&target, 1, FRESH));
    let refused =
        |training: &Training| Staging::begin(&target, training, RESUME).unwrap_err().to_string();
    assert!(refused(&training(2)).contains("seed is 1 there but 2 here"));
    let other_data = Training { data: "e".into(), ..training(1) };
    assert!(refused(&other_data).contains("the digest of the data is d there but e here"));
}

#[test]
fn an_unfinished_training_is_not_dropped_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    write_tree(&work(&target, 1, FRESH), 0, 1);
    let error = Staging::begin(&target, &training(2), FRESH).unwrap_err();
    assert!(error.to_string().contains("an unfinished training is here"), "{error}");
    let staging = work(&target, 2, OVERWRITE);
    assert_eq!(staging.finished_units(&run()).unwrap(), []);
}

#[test]
fn an_unfinished_training_without_units_gives_way() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    drop(work(&target, 1, FRESH));
    drop(work(&target, 2, FRESH));
    work(&target, 2, RESUME);
}

#[test]
fn settings_that_are_damaged_or_of_another_format_are_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    let path = work(&target, 1, FRESH).folder().join("settings.json");
    let good = fs::read_to_string(&path).unwrap();
    let refused = || Staging::begin(&target, &training(1), RESUME).unwrap_err();
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    assert!(refused().to_string().contains("its settings.json cannot be read"));
    fs::write(&path, good.replace("\"format\": 1", "\"format\": 2")).unwrap();
    assert!(refused().to_string().contains("format is 2 there but 1 here"));
}

#[test]
fn two_trainings_at_once_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("model");
    let first = work(&target, 1, FRESH);
    let error = Staging::begin(&target, &training(1), RESUME).unwrap_err();
    let text = error.to_string();
    let expected = format!("another process ({}) is writing here", std::process::id());
    assert!(text.contains(&expected), "{text}");
    // Another process that has the lock, but has not written its number down yet.
    fs::write(first.folder().join(".lock"), "").unwrap();
    let text = Staging::begin(&target, &training(1), RESUME).unwrap_err().to_string();
    assert!(text.contains("another process is writing here"), "{text}");
    drop(first);
    work(&target, 1, RESUME);
}

#[test]
fn a_target_that_is_not_ours_to_replace_is_refused() {
    let (folder, target) = with_model(1);
    let refused = |target: &Path, start| Staging::begin(target, &training(2), start).unwrap_err();
    assert!(matches!(refused(&target, FRESH), StoreError::Exists { .. }));
    let error = refused(&target, RESUME).to_string();
    assert!(error.contains("is finished and differs: seed is 1 there but 2 here"), "{error}");
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.tex"), "years").unwrap();
    for start in [FRESH, OVERWRITE] {
        let error = refused(&other, start);
        assert!(error.to_string().contains("holds `thesis.tex`"), "{error}");
        let error = refused(&other.join("thesis.tex"), start);
        assert!(error.to_string().contains("this is not a model but holds"), "{error}");
    }
    let beside = folder.path().join("new.partial");
    fs::create_dir(&beside).unwrap();
    fs::write(beside.join("notes"), "mine").unwrap();
    let error = refused(&folder.path().join("new"), OVERWRITE).to_string();
    assert!(error.contains("this is not a model but holds `notes`"), "{error}");
    fs::create_dir(folder.path().join("empty")).unwrap();
    save(&folder.path().join("empty"), 1, FRESH);
}

#[test]
fn replacing_a_model_removes_its_units_and_nothing_else() {
    let (_folder, target) = with_model(1);
    fs::write(target.join("README"), "about this model").unwrap();
    let manifest = save(&target, 2, OVERWRITE);
    let mut expected: Vec<String> = manifest.units.into_iter().map(|unit| unit.file).collect();
    expected.extend(["README".to_owned(), "manifest.json".to_owned()]);
    expected.sort();
    assert_eq!(files::names_in(&target).unwrap().unwrap(), expected);
    assert_eq!(seed_in(&target), Some(2));
}

#[test]
fn a_mapped_model_survives_its_replacement() {
    let (_folder, target) = with_model(1);
    let old = Stored::open(&target, Options::default(), &run()).unwrap();
    save(&target, 2, OVERWRITE);
    assert_eq!(*old.unit("tree-0001").unwrap().array::<u32>("numbers").unwrap(), [1, 1]);
}

#[test]
fn a_commit_killed_between_any_steps_leaves_one_whole_model_and_resumes() {
    let places = ["model", "model.labelwood"];
    for (old, place) in [None, Some(1)].into_iter().flat_map(|old| places.map(|name| (old, name))) {
        for steps in 0..=STEPS.len() {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join(place);
            if let Some(seed) = old {
                save(&target, seed, FRESH);
            }
            let staging = work(&target, 2, OVERWRITE);
            let (manifest, _) = train(&staging, 2);
            STEPS[..steps].iter().for_each(|step| step(&staging, &manifest).unwrap());
            drop(staging);
            let expected = if steps >= 2 { Some(2) } else { old };
            assert_eq!(seed_in(&target), expected, "{steps} steps over {old:?}");
            resume_to_the_end(&target);
        }
    }
}

#[test]
fn a_commit_killed_within_a_step_leaves_one_whole_model_and_resumes() {
    for old in [None, Some(1)] {
        // One unit placed and another half copied; then one of two old units removed.
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("model");
        if let Some(seed) = old {
            save(&target, seed, FRESH);
        }
        let staging = work(&target, 2, OVERWRITE);
        let (manifest, _) = train(&staging, 2);
        fs::create_dir_all(&target).unwrap();
        let file = &manifest.units[1].file;
        files::link_or_copy(&staging.folder().join(file), &target, file).unwrap();
        fs::write(target.join(format!(".{}.unfinished", manifest.units[0].file)), "half").unwrap();
        fs::write(target.join(".manifest.json-9.unfinished"), "{").unwrap();
        drop(staging);
        assert_eq!(seed_in(&target), old);
        resume_to_the_end(&target);

        let (_folder, target) = with_model(1);
        let staging = work(&target, 2, OVERWRITE);
        let (manifest, _) = train(&staging, 2);
        STEPS[..2].iter().for_each(|step| step(&staging, &manifest).unwrap());
        fs::remove_file(staging.folder().join(&manifest.units[0].file)).unwrap();
        fs::remove_file(staging.folder().join("settings.json")).unwrap();
        drop(staging);
        assert_eq!(seed_in(&target), Some(2));
        resume_to_the_end(&target);
    }
}

/// Resumes the training of seed 2 and checks that the folder is as if nothing had happened.
fn resume_to_the_end(target: &Path) {
    if let Begin::Work(staging) = Staging::begin(target, &training(2), RESUME_OVERWRITE).unwrap() {
        let (manifest, _) = train(&staging, 2);
        staging.commit(&manifest).unwrap();
    }
    let (other, straight) = with_model(2);
    match target.is_file() {
        true => {
            let straight = other.path().join("straight.labelwood");
            save(&straight, 2, FRESH);
            assert_eq!(fs::read(target).unwrap(), fs::read(straight).unwrap());
        }
        false => assert_eq!(content(target), content(&straight)),
    }
    assert!(!files::staging_folder(target).unwrap().exists());
}
