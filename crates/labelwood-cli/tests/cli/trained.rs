//! A folder with data and a model, for the tests of what uses models.

use labelwood::Settings;
use labelwood::algorithms::craftml::Params;
use labelwood::data::{self, ReadOptions};
use labelwood::model::train;
use labelwood::run::Pool;
use labelwood::store::Start;

use crate::harness::Folder;

/// A folder with `train.txt`, `test.txt`, and `model`, a small forest trained on the first. The
/// labels have no names.
pub fn trained() -> Folder {
    let folder = Folder::new();
    let rows = "--instances 400 --test-instances 120 --entries-per-row 8 --labels-per-row 3";
    let outputs = "--output train.txt --test-output test.txt";
    folder.run(&format!("generate {rows} --features 60 --labels 40 {outputs}")).succeeds();
    train_model(&folder, "train.txt", 5);
    folder
}

/// Three rows of one feature each that stand for one label each, as often as `copies` says, the
/// names `red`, `dark green` and `blue`, and a `model` that knows them.
pub fn named() -> Folder {
    let folder = Folder::new();
    let copies = [30, 20, 12];
    let rows: String =
        (0..3).map(|at| format!("{at} {at}:1\n").repeat(copies[at])).collect::<String>();
    folder.write("train.txt", format!("62 3 3\n{rows}"));
    folder.write("three.txt", "3 3 3\n0 0:1\n1 1:1\n2 2:1\n");
    folder.write("labels.txt", "r\tred\ng\tdark green\nb\tblue\n");
    train_model(&folder, "train.txt", 3);
    folder
}

/// Trains `model` in the folder from a file in it.
pub fn train_model(folder: &Folder, data: &str, trees: usize) {
    let run = Pool::new(2).expect("threads can be started").task();
    let read = data::read(&folder.path(data), &ReadOptions::default(), &run);
    let dataset = read.expect("the data can be read").dataset;
    let algorithm = Settings::from(Params { trees, ..Params::default() });
    train(&dataset, &algorithm, &folder.path("model"), Start::default(), &run)
        .expect("the model can be trained");
}
