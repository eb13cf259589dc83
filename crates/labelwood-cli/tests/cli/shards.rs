//! `labelwood plan`, `shard` and `merge`.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::harness::Folder;
use crate::linear::{files, generated};

const TREE: &str = "train.txt --algorithm label-tree --trees 2 --branches 20 -q";
const FOREST: &str = "train.txt --algorithm craftml --trees 6 -q";

/// The names of the units that are finished in a plan.
fn units(folder: &Folder, plan: &str) -> Vec<String> {
    let entries = fs::read_dir(folder.path(plan).join("units")).expect("the plan is there");
    let names = entries
        .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".safetensors")).collect()
}

#[test]
fn shards_of_text_make_the_model_that_train_makes() {
    let folder = Folder::new();
    folder.run("demo --write-corpus questions --format tsv -q").succeeds();
    let settings = "questions/train.tsv --algorithm craftml --trees 4 --calibrate --min-df 2 -q";
    folder.run(&format!("train {settings} --model trained")).succeeds();
    folder.run(&format!("plan {settings} --output plan --shards 3")).succeeds();
    for index in [2, 0, 1] {
        folder.run(&format!("shard --plan plan --index {index} -q")).succeeds();
    }
    folder.run("merge --plan plan --model merged -q").succeeds();
    assert!(files(&folder, "trained") == files(&folder, "merged"));
    let error = folder.run("shard --plan plan --index 0 --data questions/train.tsv").fails(1);
    assert!(error.contains("the plan is for text"), "{error}");
}

#[test]
fn workers_that_mpirun_numbers_share_the_shards_and_wait_for_the_first_stage() {
    let folder = generated();
    folder.run(&format!("train {TREE} --model trained")).succeeds();
    folder.run("convert train.txt train.lwd").succeeds();
    let settings = TREE.replace("train.txt", "train.lwd");
    let line = folder.run(&format!("plan {settings} --output plan --shards 5 --json")).succeeds();
    let line: Value = serde_json::from_str(&line).expect("it is JSON");
    assert_eq!(
        (line["stages"].as_u64(), line["shards"].as_array().map(Vec::len)),
        (Some(2), Some(5))
    );
    assert!(!folder.path("plan/data.lwd").exists(), "the plan refers to the rows");
    let worker = |rank: &str| {
        let mut command = folder.command("shard --plan plan --wait -q".split(' '));
        command.env("OMPI_COMM_WORLD_RANK", rank).env("OMPI_COMM_WORLD_SIZE", "2");
        command.stderr(Stdio::piped()).spawn().expect("the command can be started")
    };
    for worker in ["0", "1"].map(worker) {
        let output = worker.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    folder.run("merge --plan plan --model merged -q").succeeds();
    assert!(files(&folder, "trained") == files(&folder, "merged"));
    let done = folder.run("merge --plan plan --model merged");
    assert_eq!(
        (done.code(), done.stderr().as_str()),
        (0, "merged: already merged, nothing to do\n")
    );
}

#[test]
fn tasks_of_a_slurm_list_train_the_shards_that_merge_named() {
    let folder = generated();
    folder.run(&format!("plan {FOREST} --output plan --shards 4")).succeeds();
    for index in [0, 2] {
        folder.run(&format!("shard --plan plan --index {index} -q")).succeeds();
    }
    let error = folder.run("merge --plan plan --model merged").fails(1);
    assert!(error.ends_with("are missing; run shards 1, 3\n"), "{error}");
    let task = |task: &str, args: &str| {
        let mut command = folder.command(args.split(' '));
        command.env("SLURM_ARRAY_TASK_ID", task).env("SLURM_ARRAY_TASK_STEP", "1");
        command.env("SLURM_ARRAY_TASK_MIN", "1").env("SLURM_ARRAY_TASK_MAX", "3");
        let output = command.env("SLURM_ARRAY_TASK_COUNT", "2").output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for number in ["1", "3"] {
        let (code, error) = task(number, "shard --plan plan");
        assert!(code == Some(1) && error.contains("add --index"), "{error}");
        let (code, told) = task(number, &format!("shard --plan plan --index {number}"));
        assert_eq!(code, Some(0), "{told}");
        assert!(told.contains(&format!("plan: shard {number}: ")), "{told}");
    }
    folder.run("merge --plan plan --model merged -q").succeeds();
}

#[test]
fn rows_that_are_kept_are_merged() {
    let folder = generated();
    folder.run(&format!("train {FOREST} --keep-rows --model trained")).succeeds();
    folder.run(&format!("plan {FOREST} --keep-rows --output plan --shards 2")).succeeds();
    for index in 0..2 {
        folder.run(&format!("shard --plan plan --index {index} -q")).succeeds();
    }
    folder.run("merge --plan plan --model merged -q").succeeds();
    assert!(files(&folder, "trained") == files(&folder, "merged"));
    folder.run("update merged test.txt -q").succeeds();
}

#[test]
fn a_plan_is_for_what_auto_chooses() {
    let folder = generated();
    folder.run("train train.txt --algorithm auto --model trained -q").succeeds();
    let planned = folder.run("plan train.txt --algorithm auto --output plan --shards 2");
    assert!(planned.code() == 0 && planned.stderr().contains("auto: "), "{}", planned.stderr());
    for stage in 1..=2 {
        for index in 0..2 {
            folder.run(&format!("shard --plan plan --index {index} --stage {stage} -q")).succeeds();
        }
    }
    folder.run("merge --plan plan --model merged -q").succeeds();
    assert!(files(&folder, "trained") == files(&folder, "merged"));
    let error = folder.run("plan train.txt --budget 60s --output other --shards 2").fails(1);
    assert!(error.contains("--budget is for `train`") && error.lines().count() == 1, "{error}");
}

#[test]
fn no_shared_disk_is_needed() {
    let folder = generated();
    folder.run(&format!("train {FOREST} --model trained")).succeeds();
    folder.run(&format!("plan {FOREST} --output plan --shards 2")).succeeds();
    fs::create_dir(folder.path("copy")).expect("the folder is writable");
    fs::copy(folder.path("plan/plan.json"), folder.path("copy/plan.json")).expect("it is there");
    fs::rename(folder.path("plan/data.lwd"), folder.path("elsewhere.lwd")).expect("it is there");
    let error = folder.run("shard --plan plan --index 0").fails(1);
    assert!(error.contains("plan/data.lwd") && error.contains("--data"), "{error}");
    folder.run("shard --plan plan --index 0 --data train.txt -q").succeeds();
    folder.run("shard --plan copy --index 1 --data elsewhere.lwd -q").succeeds();
    let error = folder.run("shard --plan copy --index 1 --data test.txt").fails(1);
    assert!(error.contains("but the plan is for"), "{error}");
    folder.run("merge --plan plan --units copy --model merged -q").succeeds();
    assert!(files(&folder, "trained") == files(&folder, "merged"));
}

#[test]
fn what_is_missing_broken_or_of_another_plan_is_named() {
    let folder = generated();
    folder.run(&format!("plan {TREE} --output plan --shards 2")).succeeds();
    let error = folder.run("shard --plan plan --index 0").fails(1);
    assert!(
        error.contains("the first stage is not complete: tree-0001-root is missing"),
        "{error}"
    );
    let error = folder.run("merge --plan plan --model merged").fails(1);
    assert!(error.contains("the plan is not finished: tree-0000-subtree-00000"), "{error}");
    assert!(error.ends_with("are missing; run shards 0, 1\n"), "{error}");
    folder.run("shard --plan plan --index 1 --stage 1 -q").succeeds();
    let inside = folder.run("inspect plan").succeeds();
    assert!(inside.contains("units       2 done"), "{inside}");
    assert!(inside.contains("missing: tree-0000-subtree-00000"), "{inside}");
    for index in 0..2 {
        folder.run(&format!("shard --plan plan --index {index} -q")).succeeds();
    }
    let name = units(&folder, "plan").into_iter().max().expect("there are units");
    let path = folder.path("plan/units").join(&name);
    let bytes = fs::read(&path).expect("it is there");
    fs::write(&path, &bytes[..99]).expect("it is writable");
    let inside: Value =
        serde_json::from_str(&folder.run("inspect plan --json").succeeds()).expect("it is JSON");
    let broken = inside["broken"][0].as_str().expect("a name");
    assert!(broken.ends_with(&name), "{inside}");
    let error = folder.run("merge --plan plan --model merged").fails(1);
    assert!(error.contains(&format!("{name} is damaged; run shard")), "{error}");
    assert!(!folder.path("merged").exists() && !folder.path("merged.partial").exists());

    folder.run(&format!("plan {TREE} --seed 7 --output other --shards 2")).succeeds();
    folder.run("shard --plan other --index 0 --stage 1 -q").succeeds();
    let error = folder.run("merge --plan plan --units other --model merged").fails(1);
    assert!(error.contains("other/units/") && error.contains("of another plan"), "{error}");
    let error = folder.run("inspect plan --units othr").fails(1);
    assert!(error.contains("othr: there is no such folder"), "{error}");
    let inside = folder.run("inspect plan --units other").succeeds();
    assert!(inside.contains("of another plan: other/units/"), "{inside}");
    let error = folder.run("shard --plan train.txt --index 0").fails(1);
    assert!(error.contains("there is no plan here") || error.contains("train.txt"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_killed_shard_goes_on_to_the_same_bytes() {
    let folder = generated();
    let forest = FOREST.replace("--trees 6", "--trees 30");
    folder.run(&format!("train {forest} --model trained")).succeeds();
    folder.run(&format!("plan {forest} --output plan --shards 1")).succeeds();
    let mut killed = folder.start("shard --plan plan --index 0 --threads 1 -q");
    while units(&folder, "plan").is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    killed.kill().expect("it runs or has ended");
    killed.wait().expect("it was started here");
    folder.run("shard --plan plan --index 0 -q").succeeds();
    folder.run("merge --plan plan --model merged -q").succeeds();
    assert!(files(&folder, "trained") == files(&folder, "merged"));
}

#[test]
fn two_merges_at_once_leave_one_whole_model() {
    let folder = generated();
    folder.run(&format!("train {FOREST} --model trained")).succeeds();
    folder.run(&format!("plan {FOREST} --output plan --shards 2")).succeeds();
    for index in 0..2 {
        folder.run(&format!("shard --plan plan --index {index} -q")).succeeds();
    }
    let merges = [(); 3].map(|()| folder.start("merge --plan plan --model merged -q"));
    let mut merged = 0;
    for merge in merges {
        let output = merge.wait_with_output().expect("it ends");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        merged += usize::from(output.status.success());
        // One that comes late finds the model of another.
        let others = ["is writing here; wait for it", "a model is already here"];
        let is_refused = others.iter().any(|other| error.contains(other));
        assert!(output.status.success() || is_refused, "{error}");
    }
    assert!(merged > 0);
    assert!(files(&folder, "trained") == files(&folder, "merged"));
    assert!(!folder.path("merged.partial").exists());
}

#[test]
fn workers_predict_by_shares_what_one_machine_predicts() {
    let folder = generated();
    folder.run("train train.txt --algorithm grove --trees 4 -q --model model").succeeds();
    let expected = folder.run("predict model test.txt --top-k 7 --fill").succeeds();
    for index in [1, 0] {
        let shard = "predict model test.txt --top-k 7 --shares 3 --workers 2 --output shares -q";
        folder.run(&format!("{shard} --index {index}")).succeeds();
    }
    let joined = folder.run("predict model test.txt --top-k 7 --fill --join shares").succeeds();
    assert!(joined == expected);

    let error = folder.run("predict model test.txt --join shares").fails(1);
    assert!(error.contains("share 0 has the answer to another question"), "{error}");
    let error = folder.run("predict model train.txt --top-k 7 --join shares").fails(1);
    assert!(
        error.contains("share-00000-of-00003.scores: these are the scores of other"),
        "{error}"
    );
    let path = folder.path("shares/share-00001-of-00003.scores");
    let bytes = fs::read(&path).expect("it is there");
    fs::write(&path, &bytes[..bytes.len() - 1]).expect("it is writable");
    let error = folder.run("predict model test.txt --top-k 7 --join shares").fails(1);
    assert!(error.contains("share-00001-of-00003.scores: ") && error.contains("again"), "{error}");
    fs::remove_file(&path).expect("it is there");
    let error = folder.run("predict model test.txt --top-k 7 --join shares").fails(1);
    assert!(
        error.contains("share 1 is missing, of 3 shares counted from 0: predict it"),
        "{error}"
    );
    let error = folder.run("predict model test.txt --shares 2 --index 0").fails(1);
    assert!(error.contains("name their folder with --output"), "{error}");
    for (worker, named) in
        [("--index 0", "--shares"), ("--workers 2", "--shares"), ("--index 0 --join x", "--join")]
    {
        let done = folder.run(&format!("predict model test.txt {worker}"));
        assert!(done.code() == 2 && done.stderr().contains(named), "{}", done.stderr());
    }
}

#[test]
fn shares_of_a_text_model_predict_the_same_documents() {
    let folder = Folder::new();
    folder.run("demo --write-corpus questions --format tsv -q").succeeds();
    folder
        .run("train questions/train.tsv --algorithm label-tree --trees 3 --model model -q")
        .succeeds();
    let expected = folder.run("predict model questions/test.tsv --format jsonl").succeeds();
    for index in 0..2 {
        let shard = "predict model questions/test.tsv --shares 2 --output shares -q";
        folder.run(&format!("{shard} --index {index}")).succeeds();
    }
    let joined = folder.run("predict model questions/test.tsv --format jsonl --join shares");
    assert!(joined.succeeds() == expected);
}

/// Four ranks of Open MPI that run the command, or nothing if it is not installed.
#[cfg(unix)]
fn mpirun(folder: &Folder, args: &str) -> Option<std::process::Output> {
    let mut command = std::process::Command::new("mpirun");
    command.args(["-n", "4", "--oversubscribe", env!("CARGO_BIN_EXE_labelwood")]);
    command.args(args.split(' ')).current_dir(folder.path("")).stdin(Stdio::null());
    // It refuses to run as root, as which tests in containers run, unless both are set.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    match command.output() {
        Ok(output) => Some(output),
        Err(_) => {
            eprintln!("skipped: mpirun is not installed");
            None
        }
    }
}

#[cfg(unix)]
#[test]
fn mpirun_trains_and_predicts_what_one_process_does() {
    let folder = generated();
    folder.run(&format!("train {TREE} --model trained")).succeeds();
    folder.run(&format!("plan {TREE} --output plan --shards 4")).succeeds();
    let Some(output) = mpirun(&folder, "shard --plan plan --wait --threads 1 -q") else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.run("merge --plan plan --model merged -q").succeeds();
    assert!(files(&folder, "trained") == files(&folder, "merged"));
    let shard = "predict merged test.txt --shares 4 --output shares --threads 1 -q";
    let output = mpirun(&folder, shard).expect("mpirun was there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let joined = folder.run("predict merged test.txt --join shares").succeeds();
    assert!(joined == folder.run("predict trained test.txt").succeeds());
}

/// A disk of a megabyte at `full`; gone with the value.
#[cfg(target_os = "linux")]
struct SmallDisk(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    fn at(path: std::path::PathBuf) -> Option<Self> {
        fs::create_dir(&path).expect("the folder is writable");
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&path).stderr(Stdio::null());
        match mount.status() {
            Ok(status) if status.success() => Some(SmallDisk(path)),
            _ => {
                eprintln!("skipped: no small disk can be mounted here");
                None
            }
        }
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named_and_loses_nothing() {
    let folder = generated();
    let Some(_disk) = SmallDisk::at(folder.path("full")) else { return };
    folder.run("convert train.txt train.lwd").succeeds();
    let settings = FOREST.replace("train.txt", "train.lwd").replace("--trees 6", "--trees 40");
    folder.run(&format!("train {settings} --model trained")).succeeds();
    folder.run(&format!("plan {settings} --output full/plan --shards 2")).succeeds();
    for index in 0..2 {
        let error = folder.run(&format!("shard --plan full/plan --index {index} -q"));
        if error.code() != 0 {
            assert_eq!(error.code(), 3, "{}", error.stderr());
            assert!(error.stderr().contains("No space left"), "{}", error.stderr());
        }
    }
    let done = units(&folder, "full/plan").len();
    assert!(0 < done && done < 40, "{done} trees are finished");
    // What is finished is taken along to a disk with room, and only the rest is trained.
    folder.run(&format!("plan {settings} --output roomy --shards 1")).succeeds();
    let shard = folder.run("shard --plan roomy --index 0 --units full/plan");
    let (code, told) = (shard.code(), shard.stderr());
    assert_eq!(code, 0, "{told}");
    assert!(told.contains(&format!("{} units trained, {done} were there", 40 - done)), "{told}");
    folder.run("merge --plan roomy --units full/plan --model merged -q").succeeds();
    assert!(files(&folder, "trained") == files(&folder, "merged"));
    let error = folder.run("merge --plan roomy --units full/plan --model full/merged").fails(3);
    assert!(error.contains("No space left"), "{error}");
    assert!(!folder.path("full/merged").exists());
}
