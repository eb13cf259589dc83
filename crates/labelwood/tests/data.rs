//! Data files from outside: what is legal, what is refused and with which words, and the way back.

use labelwood::data::{self, Dataset, Format, LabelIndex, ReadError, ReadOptions, Splits};
use labelwood::run::{Pool, Task};
use labelwood::sparse::Csr;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn run() -> Task {
    Pool::new(2).unwrap().task()
}

fn read(text: impl AsRef<[u8]>, name: &str) -> Result<data::Read, ReadError> {
    data::read_bytes(text.as_ref(), name, &ReadOptions::default(), &run())
}

fn lenient(text: &str, name: &str) -> data::Read {
    let options = ReadOptions { lenient: true, ..ReadOptions::default() };
    data::read_bytes(text.as_bytes(), name, &options, &run()).unwrap()
}

/// Labels and features of each row.
type Plain = Vec<(Vec<u32>, Vec<(u32, f32)>)>;

fn plain(dataset: &Dataset) -> Plain {
    let rows = dataset.labels.rows().zip(dataset.features.rows());
    rows.map(|(labels, features)| (labels.indices.to_vec(), features.iter().collect())).collect()
}

fn dataset(rows: &Plain, features: usize, labels: usize) -> Dataset {
    let mut made = Dataset {
        features: Csr::new(features),
        labels: Csr::new(labels),
        label_names: None,
        named: None,
    };
    for (row_labels, row_features) in rows {
        let (indices, values): (Vec<_>, Vec<_>) = row_features.iter().copied().unzip();
        made.features.push_row(&indices, &values).unwrap();
        made.labels.push_row(row_labels, &vec![(); row_labels.len()]).unwrap();
    }
    made
}

#[test]
fn both_formats_read_the_same_rows() {
    let rows =
        vec![(vec![0, 2], vec![(0, 0.5), (3, 1.0)]), (vec![], vec![(1, 2.0)]), (vec![1], vec![])];
    let xc = read("3 4 3\n0,2 0:0.5 3:1\n 1:2\n1\n", "a.txt").unwrap();
    let libsvm = read("0,2 1:0.5 4:1\n 2:2\n1\n", "a.libsvm").unwrap();
    assert_eq!((xc.format, libsvm.format), (Format::Xc, Format::Libsvm));
    assert_eq!(xc.dataset, dataset(&rows, 4, 3));
    assert_eq!(libsvm.dataset, xc.dataset);
    assert_eq!(libsvm.dataset.digest(), xc.dataset.digest());
}

#[test]
fn untidy_files_are_read() {
    let expected = vec![(vec![1, 2], vec![(0, 1.0), (3, 3.0)]), (vec![], vec![(2, 1.0)])];
    for text in [
        "2 4 3\n1,2 0:1 3:3\n 2:1\n",
        "\u{feff}00002 00004 00003\n1,2 0:1 3:3\n 2:1",
        "2 4 3\r\n2,1 3:3 0:1\r\n\t2:1\t \r\n",
        "2\t4  3 \n2,1,2 3:1 0:1 3:2\n2:1\n",
        "2 4 3\n1,2 0:1 1:0 2:0.0 3:3\n 1:1 2:1 1:-1\n\n\r\n",
        " 2 4 3\n001,02 0:1.0 003:30e-1\n 2:+1.\n",
    ] {
        assert_eq!(plain(&read(text, "a.txt").unwrap().dataset), expected, "{text:?}");
    }
}

#[test]
fn empty_lines_are_rows_except_at_the_end() {
    let rows = |text: &str, name: &str| read(text, name).unwrap().dataset.len();
    assert_eq!(rows("3 2 2\n0 0:1\n\n1 1:1\n", "a.txt"), 3);
    assert_eq!(rows("3 2 2\n0 0:1\n\n\n", "a.txt"), 3, "the header counts them");
    assert_eq!(rows("1 2 2\n0 0:1\n\n\n", "a.txt"), 1);
    assert_eq!(rows("0 2 2\n", "a.txt"), 0);
    assert_eq!(rows("0 1:1\n\n1 2:1\n\n\r\n", "a.svm"), 3);
    assert_eq!(rows("0 1:1\n \n", "a.svm"), 2, "a space is a row");
    let error = read("1 2 2\n0 0:1\n \n", "a.txt").unwrap_err().to_string();
    assert!(error.starts_with("a.txt:1:1: the header declares 1 row, but there are 2:"), "{error}");
}

#[test]
fn zeros_are_dropped_but_count_for_the_width() {
    let read = read("0 1:1 7:0\n", "a.svm").unwrap();
    assert_eq!(read.dataset.features.columns(), 7);
    assert_eq!(read.dataset.features.entries(), 1);
}

#[test]
fn widths_can_be_asked_for() {
    let options = ReadOptions { features: 9, labels: 8, ..ReadOptions::default() };
    for (text, name) in [("0 1:1\n", "a.svm"), ("1 2 2\n0 1:1\n", "a.txt")] {
        let read = data::read_bytes(text.as_bytes(), name, &options, &run()).unwrap().dataset;
        assert_eq!((read.features.columns(), read.labels.columns()), (9, 8));
    }
}

#[test]
fn repeated_features_add_up_in_every_order_alike() {
    let sum = |text: &str| read(text, "a.svm").unwrap().dataset.digest();
    assert_eq!(sum("0 1:1e8 1:1 1:-1e8"), sum("0 1:1 1:-1e8 1:1e8"));
}

#[test]
fn wrong_files_are_refused_with_place_and_reason() {
    for (text, expected) in [
        ("", "a.txt:1:1: the file is empty"),
        ("\u{feff}", "a.txt:1:1: the file is empty"),
        ("\n", "a.txt:1:1: expected a header of three whole numbers"),
        (
            "0,1 2:3\n",
            "a.txt:1:1: expected a header of three whole numbers, `rows features labels`, but found `0,1 2:3`",
        ),
        ("2 3\n0 1:1\n", "a.txt:1:4: expected a header of three whole numbers"),
        ("2 3 4 5\n", "a.txt:1:7: expected a header of three whole numbers"),
        ("-2 3 4\n", "a.txt:1:1: expected a header"),
        (
            "1 99999999999999999999999 4\n",
            "a.txt:1:3: the header declares 99999999999999999999999 features",
        ),
        ("3 2 2\n0 0:1\n", "a.txt:1:1: the header declares 3 rows, but there is 1"),
        ("1 2 2\n0 0:1\n1 1:1\n", "a.txt:1:1: the header declares 1 row, but there are 2"),
        (
            "1 2 983\n5,983 0:1\n",
            "a.txt:2:3: label 983 is out of range: the header declares 983 labels",
        ),
        (
            "1 2 2\n0 1:1 2:1\n",
            "a.txt:2:7: feature 2 is out of range: the header declares 2 features",
        ),
        ("1 2 2\n99999999999999999999 1:1\n", "a.txt:2:1: label 99999999999999999999 is too large"),
        ("1 2 2\n0 1:nan\n", "a.txt:2:5: `nan` is not a finite 32-bit number"),
        ("1 2 2\n0 1:-inf\n", "a.txt:2:5: `-inf` is not a finite"),
        ("1 2 2\n0 1:1e39\n", "a.txt:2:5: `1e39` is not a finite"),
        ("1 2 2\n0 1:3e38 1:3e38\n", "a.txt:2:1: the values of a repeated feature"),
        ("1 2 2\n0 1:x\n", "a.txt:2:5: `x` is not a number"),
        ("1 2 2\n0 1:\n", "a.txt:2:5: `` is not a number"),
        ("1 2 2\n0 1:1,5\n", "a.txt:2:5: `1,5` is not a number"),
        ("1 2 2\n0 1\n", "a.txt:2:3: expected feature:value but found `1`"),
        ("1 2 2\n0 :1\n", "a.txt:2:3: expected feature:value but found `:1`"),
        ("1 2 2\n0 1:1 -1:1\n", "a.txt:2:7: expected feature:value but found `-1:1`"),
        ("1 2 2\n0, 1:1\n", "a.txt:2:3: expected label ids separated by commas but found ``"),
        ("1 2 2\n0,1:1\n", "a.txt:2:3: expected label ids separated by commas but found `1:1`"),
        ("1 2 2\n-1 1:1\n", "a.txt:2:1: expected label ids"),
        ("1 2 2\ncats 1:1\n", "a.txt:2:1: expected label ids separated by commas but found `cats`"),
    ] {
        let error = read(text, "a.txt").unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn wrong_libsvm_files_are_refused_with_place_and_reason() {
    for (text, expected) in [
        ("", "a.svm:1:1: the file is empty"),
        ("0 1:1\n0 0:1\n", "a.svm:2:3: feature 0 in a LIBSVM file"),
        ("0 4294967296:1\n", "a.svm:1:3: feature 4294967296 is too large"),
        ("0 1:1\n4294967295 1:1\n", "a.svm:2:1: label 4294967295 is too large"),
        ("1 2 3\n", "a.svm:1:3: expected feature:value but found `2`"),
    ] {
        let error = read(text, "a.svm").unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn garbage_is_cut_short_in_messages() {
    let garbage: Vec<u8> = (0..100_000u32).map(|at| (at * 7 + 128) as u8).collect();
    for name in ["a.txt", "a.svm", "-"] {
        let error = read(&garbage, name).unwrap_err().to_string();
        assert!(error.len() < 400 && !error.contains(char::is_control), "{error}");
    }
}

#[test]
fn a_lying_header_reserves_nothing() {
    let error = read("4294967295 4294967295 4294967295\n0 0:1\n", "a.txt").unwrap_err();
    assert!(error.to_string().contains("declares 4294967295 rows, but there is 1"));
}

#[test]
fn lenient_reading_goes_by_the_rows_and_warns() {
    let read = lenient("5 2 2\n7 0:1\n1 8:1\n", "a.txt");
    let size = (read.dataset.len(), read.dataset.features.columns(), read.dataset.labels.columns());
    assert_eq!(size, (2, 9, 8));
    assert_eq!(
        read.warnings,
        [
            "a.txt:1: the header declares 5 rows, but there are 2",
            "a.txt:1: the header declares 2 features, but the ids need 9",
            "a.txt:1: the header declares 2 labels, but the ids need 8",
        ]
    );
    assert!(lenient("1 2 2\n0 0:1\n", "a.txt").warnings.is_empty());
}

#[test]
fn the_format_comes_from_the_name_or_the_first_line() {
    assert_eq!(read("1 2 2\n0 0:1\n", "-").unwrap().format, Format::Xc);
    assert_eq!(read("0 1:1\n", "-").unwrap().format, Format::Libsvm);
    assert_eq!(read("0 1:1\n", "A.SVM.GZ").unwrap().format, Format::Libsvm);
    let error = read("0 1:1\n", "a.docx.gz").unwrap_err();
    assert!(error.to_string().contains("the ending does not tell the format"));
    let options = ReadOptions { format: Some(Format::Libsvm), ..ReadOptions::default() };
    assert!(data::read_bytes(b"0 1:1\n", "a.docx", &options, &run()).is_ok());
    assert!(matches!(
        data::read(Path::new("no/such/file.txt"), &ReadOptions::default(), &run()),
        Err(ReadError::Io { .. })
    ));
}

#[test]
fn label_names_are_found_beside_the_data_or_where_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a.txt"), "1 2 2\n0 0:1\n").unwrap();
    std::fs::write(path("a.svm"), "0 1:1\n").unwrap();
    std::fs::write(path("short.txt"), "one\n").unwrap();
    LabelIndex::from_lines(["l0\tcats", "l1\tbirds", "l2"]).write(&path("labels.txt.zst")).unwrap();

    let open = |name: &str, label_names: Option<PathBuf>| {
        let options = ReadOptions { vocabulary: label_names, ..ReadOptions::default() };
        data::read(&path(name), &options, &run())
    };
    let xc = open("a.txt", None).unwrap();
    assert_eq!(xc.dataset.label_names.unwrap().display(1), "birds");
    let expected = "labels.txt.zst: 3 label names for 2 labels: the last names are not used";
    assert!(matches!(&xc.warnings[..], [warning] if warning.ends_with(expected)));
    assert_eq!(open("a.svm", None).unwrap().dataset.labels.columns(), 3, "the names tell");
    let error = open("a.txt", Some(path("short.txt"))).unwrap_err().to_string();
    assert!(error.contains("1 label name for 2 labels"), "{error}");
}

#[test]
fn compressed_files_cut_short_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Plain = (0..2000u32).map(|at| (vec![at % 7], vec![(at, at as f32 + 0.37)])).collect();
    let rows = rows.into_iter().map(|(labels, mut row)| {
        row.retain(|entry| entry.1 != 0.0);
        (labels, row)
    });
    let made = dataset(&rows.collect(), 2000, 7);
    for name in ["a.txt.gz", "a.txt.zst", "a.svm.gz", "a.svm.zst"] {
        let path = folder.path().join(name);
        data::write(&path, &made, None).unwrap();
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(read(&whole, name).unwrap().dataset, made);
        for length in [whole.len() - 1, whole.len() / 2, 20] {
            let error = read(&whole[..length], name).unwrap_err();
            let expected = "are damaged or cut short here";
            assert!(error.to_string().contains(expected), "{name} cut to {length}: {error}");
        }
    }
}

fn any_rows() -> impl Strategy<Value = Plain> {
    let value = any::<f32>().prop_filter("a value that is kept", |v| v.is_finite() && *v != 0.0);
    let labels = proptest::collection::btree_set(0u32..8, 0..4);
    let features = proptest::collection::btree_map(0u32..20, value, 0..6);
    let list = |(labels, features): (BTreeSet<u32>, BTreeMap<u32, f32>)| {
        (labels.into_iter().collect(), features.into_iter().collect())
    };
    proptest::collection::vec((labels, features).prop_map(list), 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_again(rows in any_rows()) {
        let made = dataset(&rows, 20, 8);
        let folder = tempfile::tempdir().unwrap();
        let options = ReadOptions { features: 20, labels: 8, ..ReadOptions::default() };
        for name in ["a.txt", "a.txt.gz", "a.svm", "a.libsvm.zst"] {
            let path = folder.path().join(name);
            data::write(&path, &made, None).unwrap();
            let read = data::read(&path, &options, &run()).unwrap();
            prop_assert_eq!(&read.dataset, &made);
            prop_assert_eq!(read.dataset.digest(), made.digest());
            prop_assert!(read.warnings.is_empty());
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes: Vec<u8>, text in "[0-9:,.e \t\r\n-]{0,80}") {
        let digits = format!("3 9 9\n{text}");
        for bytes in [&bytes[..], text.as_bytes(), digits.as_bytes()] {
            for name in ["a.txt", "a.svm", "-"] {
                let _ = read(bytes, name);
            }
            let _ = LabelIndex::from_bytes(bytes, "labels.txt");
            let _ = Splits::from_bytes(bytes, "split.txt", 5);
        }
    }

    #[test]
    fn selecting_rows_keeps_their_labels_and_features(rows in any_rows(), pick: Vec<prop::sample::Index>) {
        let made = dataset(&rows, 20, 8);
        let picked: Vec<usize> = pick.iter().map(|index| index.index(rows.len())).collect();
        let expected: Plain = picked.iter().map(|&row| rows[row].clone()).collect();
        prop_assert_eq!(plain(&made.select(&picked)), expected);
    }
}

/// Every set under `LABELWOOD_DATA` is read with the sizes its header declares.
#[test]
fn the_shared_sets_are_read() {
    let Some(folder) = std::env::var_os("LABELWOOD_DATA") else {
        return eprintln!("skipped: LABELWOOD_DATA is not set");
    };
    let mut sets = 0;
    for set in std::fs::read_dir(folder).unwrap() {
        let path = set.unwrap().path().join("train.txt.zst");
        if !path.is_file() {
            continue;
        }
        let read = data::read(&path, &ReadOptions::default(), &run()).unwrap();
        assert!(read.warnings.is_empty());
        let names = read.dataset.label_names.as_ref().map_or(0, LabelIndex::len);
        assert_eq!(names, read.dataset.labels.columns(), "{}", path.display());
        sets += 1;
    }
    assert!(sets > 0, "LABELWOOD_DATA should hold folders with a train.txt.zst");
}
