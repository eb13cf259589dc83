use super::*;
use crate::base::run::Pool;
use crate::base::store::Start;
use crate::data::generate::{Generator, Profile};
use crate::data::{Dataset, LabelIndex, ReadOptions, read};
use crate::learn::favour::Favour;
use crate::model::{TrainError, Trained, train_with};
use std::collections::BTreeMap;
use tempfile::TempDir;

fn dataset(task: &Task) -> Dataset {
    let profile = Profile { instances: 250, ..Profile::named("eurlex-4k").unwrap() };
    let (features, labels) = Generator::new(profile, 1).unwrap().rows(0..250, task).unwrap();
    Dataset { features, labels, label_names: None, named: None }
}

fn algorithm(name: &str, changes: &[(&str, i64)]) -> Settings {
    let set =
        |settings: Settings, &(setting, value): &(&str, i64)| settings.set(setting, value).unwrap();
    changes.iter().fold(Settings::named(name).unwrap(), set)
}

fn tree() -> Settings {
    algorithm("label-tree", &[("trees", 2), ("branches", 6), ("leaf", 30)])
}

/// All files of a folder by name; inner folders are left out.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(path).unwrap())
        })
        .collect()
}

/// A plan of these rows in a folder of its own.
struct Planned {
    folder: TempDir,
    dataset: Dataset,
    task: Task,
    plan: Plan,
}

impl Planned {
    fn new(algorithm: &Settings, calibrate: bool, shards: usize) -> Self {
        let (folder, task) = (tempfile::tempdir().unwrap(), Pool::new(2).unwrap().task());
        let dataset = dataset(&task);
        let extras = Self::extras(calibrate);
        let options = Options { shards, ..Options::default() };
        let path = folder.path().join("plan");
        let plan = Plan::make(&path, dataset.view(), extras, algorithm, &options, &task).unwrap();
        assert_eq!(Plan::open(&path).unwrap(), plan);
        Planned { folder, dataset, task, plan }
    }

    /// Rare labels weigh more, so that every worker has to know of all labels.
    fn extras(calibrate: bool) -> TrainOptions<'static> {
        TrainOptions { calibrate, favour: Favour::Tail, ..TrainOptions::default() }
    }

    fn train(&self, shard: usize, stage: usize) -> (usize, usize) {
        let work = Work { stage: Some(stage), ..Work::default() };
        self.plan.train(self.dataset.view(), &[shard], work, &self.task).unwrap()
    }

    fn train_all(&self) {
        for stage in 1..=self.plan.stages() {
            for shard in (0..self.plan.shards().len()).rev() {
                self.train(shard, stage);
            }
        }
    }

    fn merge(&self) -> Result<Trained, ShardError> {
        self.plan.merge(&[], &self.folder.path().join("merged"), false, &self.task)
    }

    /// Compares the merged model with one that was trained in one go.
    fn is_as_trained(&self, algorithm: &Settings, calibrate: bool) {
        let target = self.folder.path().join("trained");
        let extras = Self::extras(calibrate);
        let start = Start::default();
        train_with(&self.dataset, extras, algorithm, &target, start, &self.task).unwrap();
        assert!(files(&target) == files(&self.folder.path().join("merged")));
    }
}

/// Three trees, and the means of labels.
fn pfastrexml() -> Settings {
    Settings::preset("fastxml", "pfastrexml").unwrap().set("trees", 3).unwrap()
}

#[test]
fn every_algorithm_gives_the_bytes_of_one_training() {
    let cases = [
        (algorithm("craftml", &[("trees", 5)]), true),
        (tree(), true),
        (algorithm("one-vs-rest", &[]), false),
        (algorithm("label-forest", &[("submodels", 4)]), false),
        (algorithm("neighbours", &[]), true),
        (algorithm("fastxml", &[("trees", 3)]), false),
        (pfastrexml(), true),
        (algorithm("grove", &[("trees", 4), ("label_trees", 2), ("branches", 6)]), false),
    ];
    for (algorithm, calibrate) in cases {
        let planned = Planned::new(&algorithm, calibrate, 3);
        planned.train_all();
        assert!(matches!(planned.merge().unwrap(), Trained::Written(_)));
        planned.is_as_trained(&algorithm, calibrate);
        assert!(matches!(planned.merge().unwrap(), Trained::AlreadyThere(_)));
    }
}

#[test]
fn the_plans_own_rows_are_those_it_was_made_for() {
    let planned = Planned::new(&tree(), false, 2);
    let read = read(&planned.plan.data(), &ReadOptions::default(), &planned.task).unwrap();
    assert_eq!(read.dataset, planned.dataset);
    let other = planned.dataset.select(&[0, 1, 2]);
    let error = planned.plan.train(other.view(), &[0], Work::default(), &planned.task).unwrap_err();
    assert!(error.to_string().contains("give the data that were planned with"), "{error}");
}

#[test]
fn a_shard_that_is_finished_trains_nothing_again_and_a_damaged_unit_is_made_again() {
    let planned = Planned::new(&algorithm("craftml", &[("trees", 4)]), false, 2);
    assert_eq!(planned.train(0, 1), (2, 2));
    assert_eq!(planned.train(0, 1), (0, 2));
    let units = planned.plan.units_folder();
    let (name, bytes) = files(&units).pop_first().unwrap();
    fs::write(units.join(&name), &bytes[..bytes.len() / 2]).unwrap();
    let status = planned.plan.status(&[], &planned.task).unwrap();
    assert_eq!((status.done.len(), status.missing.len(), status.broken.len()), (1, 3, 1));
    assert_eq!(status.shards, [(1, 2), (0, 2)]);
    let error = planned.merge().unwrap_err().to_string();
    let damaged = format!("{} is damaged; run shards 0, 1", units.join(&name).display());
    assert!(error.ends_with(&format!("tree-0001, tree-0003 are missing and {damaged}")), "{error}");
    assert_eq!(planned.train(0, 1), (1, 2));
    assert_eq!(files(&units)[&name], bytes);
}

#[test]
fn the_second_stage_asks_for_the_first() {
    let planned = Planned::new(&tree(), false, 2);
    assert_eq!(planned.plan.stages(), 2);
    let train = |wait| {
        let work = Work { wait, ..Work::default() };
        planned.plan.train(planned.dataset.view(), &[0], work, &planned.task)
    };
    let error = train(false).unwrap_err().to_string();
    assert!(error.contains("tree-0001-root is missing; run this again when it is"), "{error}");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| train(true).unwrap());
        planned.train(1, 1);
        assert!(waiting.join().unwrap().0 > 0);
    });
}

#[test]
fn units_may_lie_in_several_folders_but_not_of_several_plans() {
    let planned = Planned::new(&algorithm("craftml", &[("trees", 4)]), false, 2);
    planned.train(0, 1);
    let (here, there) = (planned.plan.units_folder(), planned.folder.path().join("there"));
    fs::rename(&here, &there).unwrap();
    planned.train(1, 1);
    let target = planned.folder.path().join("merged");
    let more = [there.clone()];
    planned.plan.merge(&more, &target, false, &planned.task).unwrap();
    planned.is_as_trained(&algorithm("craftml", &[("trees", 4)]), false);

    let other = Planned::new(&algorithm("craftml", &[("trees", 4), ("seed", 7)]), false, 2);
    other.train(0, 1);
    let foreign = [other.plan.folder().to_owned()];
    let error = planned.plan.merge(&foreign, &target, true, &planned.task).unwrap_err();
    assert!(error.to_string().contains("this unit is of another plan"), "{error}");

    // The same name over other bytes: what two different machines might make.
    let (name, _) = files(&there).pop_first().unwrap();
    let stem = name.rsplit_once('-').unwrap().0;
    crate::base::store::write_unit(&here, stem, &[("leaves", [1u32].as_slice().into())]).unwrap();
    let error = planned.plan.merge(&more, &target, true, &planned.task).unwrap_err();
    assert!(error.to_string().contains("differ, but are the same unit"), "{error}");
}

#[test]
fn a_folder_of_units_that_is_not_there_is_named() {
    let planned = Planned::new(&algorithm("craftml", &[("trees", 2)]), false, 1);
    planned.train(0, 1);
    let more = [planned.folder.path().join("mistyped")];
    let target = planned.folder.path().join("merged");
    let work = Work { units: &more, ..Work::default() };
    for error in [
        planned.plan.merge(&more, &target, false, &planned.task).unwrap_err(),
        planned.plan.train(planned.dataset.view(), &[0], work, &planned.task).unwrap_err(),
        planned.plan.status(&more, &planned.task).unwrap_err(),
    ] {
        let expected = format!("{}: there is no such folder", more[0].display());
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    // A plan without units is one of which nothing is trained yet.
    fs::create_dir(&more[0]).unwrap();
    fs::copy(planned.plan.folder().join(PLAN), more[0].join(PLAN)).unwrap();
    planned.plan.merge(&more, &target, false, &planned.task).unwrap();
}

#[cfg(unix)]
#[test]
fn a_model_does_not_depend_on_what_its_units_were_links_to() {
    let algorithm = algorithm("craftml", &[("trees", 2)]);
    let planned = Planned::new(&algorithm, false, 1);
    planned.train_all();
    let (units, originals) = (planned.plan.units_folder(), planned.folder.path().join("originals"));
    fs::rename(&units, &originals).unwrap();
    fs::create_dir(&units).unwrap();
    for name in files(&originals).keys() {
        std::os::unix::fs::symlink(originals.join(name), units.join(name)).unwrap();
    }
    planned.merge().unwrap();
    fs::remove_dir_all(&originals).unwrap();
    planned.is_as_trained(&algorithm, false);
}

#[cfg(unix)]
#[test]
fn what_has_the_name_of_a_unit_but_is_no_file_is_damaged() {
    use std::os::unix::fs::symlink;
    let planned = Planned::new(&algorithm("craftml", &[("trees", 2)]), false, 1);
    planned.train_all();
    let units = planned.plan.units_folder();
    let whole = files(&units);
    let [dangling, folder] =
        whole.keys().map(|name| units.join(name)).collect::<Vec<_>>().try_into().unwrap();
    for path in [&dangling, &folder] {
        fs::remove_file(path).unwrap();
    }
    symlink("nowhere", &dangling).unwrap();
    fs::create_dir(&folder).unwrap();
    let broken = [dangling, folder.clone()];
    assert_eq!(planned.plan.status(&[], &planned.task).unwrap().broken, broken);
    let error = planned.merge().unwrap_err().to_string();
    let [one, other] = broken.map(|path| path.display().to_string());
    assert!(error.contains(&format!("{one}, {other} are damaged")), "{error}");

    let rows = planned.dataset.view();
    let error = planned.plan.train(rows, &[0], Work::default(), &planned.task).unwrap_err();
    let expected = format!("{}: this is a folder", folder.display());
    assert!(error.to_string().starts_with(&expected), "{error}");
    // Elsewhere it is in nobody's way.
    let elsewhere = [planned.folder.path().join("elsewhere")];
    fs::create_dir(&elsewhere[0]).unwrap();
    fs::rename(&folder, elsewhere[0].join(folder.file_name().unwrap())).unwrap();
    let work = Work { units: &elsewhere, ..Work::default() };
    planned.plan.train(rows, &[0], work, &planned.task).unwrap();
    assert!(files(&units) == whole);
}

#[cfg(unix)]
#[test]
fn a_unit_that_only_another_may_read_is_not_taken_for_damaged() {
    use std::os::unix::fs::PermissionsExt;
    let planned = Planned::new(&algorithm("craftml", &[("trees", 2)]), false, 1);
    planned.train_all();
    let units = planned.plan.units_folder();
    let unreadable = units.join(files(&units).keys().next().unwrap());
    fs::set_permissions(&unreadable, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&unreadable).is_ok() {
        eprintln!("skipped: nothing keeps root from reading");
        return;
    }
    let expected = format!("could not read {}: ", unreadable.display());
    let rows = planned.dataset.view();
    for error in [
        planned.plan.status(&[], &planned.task).unwrap_err(),
        planned.merge().unwrap_err(),
        planned.plan.train(rows, &[0], Work::default(), &planned.task).unwrap_err(),
    ] {
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

#[test]
fn files_of_the_plan_itself_are_looked_for_and_made_again() {
    let forest = algorithm("craftml", &[("trees", 2)]);
    let mut planned = Planned::new(&forest, false, 1);
    let names: Vec<String> =
        (0..planned.dataset.labels.columns()).map(|at| format!("l{at}")).collect();
    planned.dataset.label_names = Some(LabelIndex::from_lines(names.iter().map(String::as_str)));
    let folder = planned.folder.path().join("named");
    let make = |planned: &Planned, overwrite| {
        let (rows, options) = (planned.dataset.view(), Options { overwrite, ..Options::default() });
        Plan::make(&folder, rows, Planned::extras(false), &forest, &options, &planned.task).unwrap()
    };
    planned.plan = make(&planned, false);
    planned.train_all();
    assert!(planned.plan.status(&[], &planned.task).unwrap().lost.is_empty());
    let name = files(&folder).into_keys().find(|name| name.starts_with("labels-")).unwrap();
    fs::write(folder.join(&name), "damaged").unwrap();
    assert_eq!(planned.plan.status(&[], &planned.task).unwrap().lost, std::slice::from_ref(&name));
    let error = planned.merge().unwrap_err().to_string();
    assert!(error.contains(&name) && error.contains("--overwrite"), "{error}");
    make(&planned, true);
    assert!(planned.plan.status(&[], &planned.task).unwrap().lost.is_empty());
    planned.merge().unwrap();
}

#[test]
fn a_model_is_not_written_over_the_units_of_a_plan() {
    let planned = Planned::new(&algorithm("craftml", &[("trees", 2)]), false, 1);
    planned.train_all();
    let units = planned.plan.units_folder();
    let before = files(&units);
    for overwrite in [false, true] {
        let error = planned.plan.merge(&[], &units, overwrite, &planned.task).unwrap_err();
        assert!(error.to_string().contains("this is not a model but holds"), "{error}");
    }
    assert!(files(&units) == before);
}

#[test]
fn a_plan_that_another_process_makes_is_left_alone() {
    let planned = Planned::new(&algorithm("craftml", &[("trees", 2)]), false, 1);
    let folder = planned.folder.path().join("other");
    let lock = crate::base::store::lock(&folder, |_| Ok(())).unwrap();
    let (rows, forest) = (planned.dataset.view(), algorithm("craftml", &[("trees", 1)]));
    let make = || {
        let options = Options::default();
        Plan::make(&folder, rows, TrainOptions::default(), &forest, &options, &planned.task)
    };
    let error = make().unwrap_err().to_string();
    assert!(error.contains("is writing here"), "{error}");
    drop(lock);
    make().unwrap();
    assert!(!folder.join(crate::base::store::LOCK).exists());
    assert!(make().unwrap_err().to_string().contains("a plan is already here"));
    // What cannot be planned leaves nothing.
    let (nowhere, none) = (planned.folder.path().join("nowhere"), planned.dataset.select(&[]));
    let (rows, options) = (none.view(), Options::default());
    Plan::make(&nowhere, rows, TrainOptions::default(), &forest, &options, &planned.task)
        .unwrap_err();
    assert!(!nowhere.exists());
}

#[test]
fn merging_removes_what_killed_workers_left_long_ago() {
    let planned = Planned::new(&algorithm("craftml", &[("trees", 2)]), false, 1);
    planned.train_all();
    let left = |name: &str, hours: u64| {
        let path = planned.plan.units_folder().join(name);
        let age = std::time::Duration::from_secs(hours * 60 * 60);
        let file = fs::File::create(&path).unwrap();
        file.set_modified(std::time::SystemTime::now() - age).unwrap();
        path
    };
    let (old, new) = (left(".tree-1-0.unfinished", 2), left(".tree-2-0.unfinished", 0));
    planned.merge().unwrap();
    assert!(!old.exists() && new.exists());
}

#[test]
fn another_number_of_shards_keeps_what_is_finished() {
    let planned = Planned::new(&algorithm("craftml", &[("trees", 4)]), false, 2);
    planned.train_all();
    let remake = |trees, shards, overwrite| {
        let options = Options { shards, overwrite, ..Options::default() };
        let algorithm = algorithm("craftml", &[("trees", trees)]);
        let (rows, extras) = (planned.dataset.view(), Planned::extras(false));
        Plan::make(planned.plan.folder(), rows, extras, &algorithm, &options, &planned.task)
    };
    let error = remake(4, 3, false).unwrap_err().to_string();
    assert!(error.contains("a plan is already here"), "{error}");
    let status = remake(4, 3, true).unwrap().status(&[], &planned.task).unwrap();
    assert_eq!((status.done.len(), status.shards.len()), (4, 3));
    let status = remake(5, 3, true).unwrap().status(&[], &planned.task).unwrap();
    assert_eq!((status.done.len(), status.missing.len(), status.foreign.len()), (0, 5, 0));
}

#[test]
fn a_cancelled_shard_keeps_its_finished_units() {
    let planned = Planned::new(&algorithm("craftml", &[("trees", 6)]), false, 1);
    let task = Pool::new(1).unwrap().task();
    let canceller = task.canceller();
    let task = task.on_progress(move |progress| {
        if progress.done == 2 {
            canceller.cancel();
        }
    });
    let stopped = planned.plan.train(planned.dataset.view(), &[0], Work::default(), &task);
    assert!(matches!(stopped, Err(ShardError::Train(TrainError::Stopped { .. }))));
    assert_eq!(planned.train(0, 1), (4, 6));
}

#[test]
fn plans_that_are_damaged_or_of_another_version_are_refused() {
    let planned = Planned::new(&algorithm("craftml", &[("trees", 2)]), false, 1);
    let path = planned.plan.folder().join(PLAN);
    let text = fs::read_to_string(&path).unwrap();
    let open = |text: &str| {
        fs::write(&path, text).unwrap();
        Plan::open(planned.plan.folder()).unwrap_err().to_string()
    };
    let version = format!("\"labelwood\": \"{}\"", env!("CARGO_PKG_VERSION"));
    let error = open(&text.replace(&version, "\"labelwood\": \"9.9.9\""));
    assert!(error.contains("was made by labelwood 9.9.9"), "{error}");
    let error = open(&text.replace("\"seed\": 42", "\"seed\": 43"));
    assert!(error.contains("does not give its plan_id"), "{error}");
    for (from, to, wrong) in [
        ("\"tree-0001\"", "\"bogus\"", "`bogus` is not a unit of the model"),
        ("\"tree-0001\"", "\"../../x\"", "`../../x` is not a unit of the model"),
        ("\"tree-0001\"", "\"tree-0000\"", "`tree-0000` is in two shards"),
        ("\"tree-0000\",", "", "`tree-0000` is in no shard"),
    ] {
        let edited = text.replace(from, to);
        assert_ne!(edited, text);
        let error = open(&edited);
        assert!(error.contains(wrong), "{error}");
    }
    for len in (0..text.len() - 1).step_by(97) {
        assert!(open(&text[..len]).contains("not a valid plan"), "{len} bytes");
    }
}

#[test]
fn more_shards_than_anybody_has_work_for_are_refused() {
    let planned = Planned::new(&algorithm("craftml", &[("trees", 2)]), false, MOST_SHARDS);
    assert_eq!(planned.plan.shards().len(), MOST_SHARDS);
    let error = Options { shards: MOST_SHARDS + 1, ..Options::default() }.check().unwrap_err();
    assert!(error.to_string().starts_with("10001 shards are too many"), "{error}");
}

#[test]
fn estimates_are_near_what_trainings_took() {
    let (folder, task) = (tempfile::tempdir().unwrap(), Pool::new(1).unwrap().task());
    let profile = Profile { instances: 1500, ..Profile::named("eurlex-4k").unwrap() };
    let (features, labels) = Generator::new(profile, 42).unwrap().rows(0..1500, &task).unwrap();
    let dataset = Dataset { features, labels, label_names: None, named: None };
    // Seconds of CPU and MiB at the peak of one thread on the machine that the figures are from.
    for (name, seconds, mebibytes) in
        [("one-vs-rest", 1.07, 24.0), ("label-tree", 1.23, 46.0), ("label-forest", 6.5, 23.0)]
    {
        let (path, algorithm) = (folder.path().join(name), algorithm(name, &[]));
        let options = Options { shards: 4, ..Options::default() };
        let (rows, extras) = (dataset.view(), TrainOptions::default());
        let plan = Plan::make(&path, rows, extras, &algorithm, &options, &task).unwrap();
        let shards = plan.shards();
        let estimated: f64 = shards.iter().map(|shard| shard.seconds).sum();
        let ratio = estimated / seconds;
        assert!((1.0 / 3.0..3.0).contains(&ratio), "{name}: {estimated} s of {seconds}");
        let memory = shards[0].memory as f64 / f64::from(1 << 20);
        assert!((0.75..1.5).contains(&(memory / mebibytes)), "{name}: {memory} of {mebibytes} MiB");
    }
}

#[test]
fn labels_without_rows_take_no_time() {
    let task = Pool::new(1).unwrap().task();
    let one_vs_rest = algorithm("one-vs-rest", &[]);
    let estimate = |dataset: &Dataset| {
        let first = known_units(&one_vs_rest, dataset.labels.columns());
        let shards = cost::PlanCosts::of(&one_vs_rest, first, dataset.view(), 1).shards(1);
        shards[0].seconds
    };
    let some = dataset(&task);
    let mut unknown = some.clone();
    unknown.labels.widen(1_000_000);
    assert_eq!(estimate(&some), estimate(&unknown));
}

#[test]
fn heavy_units_are_spread_and_every_unit_has_one_shard() {
    let weighed: Vec<(String, f64)> = [5.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        .iter()
        .enumerate()
        .map(|(at, &w)| (at.to_string(), w))
        .collect();
    assert_eq!(cost::share_out(weighed.clone(), 2), [vec!["0"], vec!["1", "2", "3", "4", "5"]]);
    let many = cost::share_out(weighed, 8);
    assert_eq!(many.iter().map(Vec::len).sum::<usize>(), 6);
    let planned = Planned::new(&algorithm("craftml", &[("trees", 5)]), true, 2);
    let mut all: Vec<String> =
        planned.plan.shards().iter().flat_map(|shard| shard.units.clone()).collect();
    all.sort_unstable();
    let mut expected = planned.plan.first_stage();
    expected.sort_unstable();
    assert_eq!(all, expected);
    assert!(planned.plan.shards().iter().all(|shard| shard.memory > 0 && shard.seconds > 0.0));
}
