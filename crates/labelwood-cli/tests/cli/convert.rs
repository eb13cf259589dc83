//! `labelwood convert`.

use crate::harness::{Folder, LIBSVM, XC};

#[test]
fn rows_go_from_xc_to_libsvm_and_back() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    assert_eq!(folder.run("convert a.txt b.svm").succeeds(), "");
    assert_eq!(folder.read("b.svm"), LIBSVM);
    folder.run("convert b.svm c.txt").succeeds();
    // The last feature is not used, so LIBSVM does not know of it.
    assert_eq!(folder.read("c.txt"), XC.replace("4 5 3", "4 4 3"));
    assert_eq!(folder.names(), ["a.txt", "b.svm", "c.txt"]);
}

#[test]
fn compressed_files_are_written_and_read() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    for name in ["b.txt.gz", "b.txt.zst"] {
        folder.run(&format!("convert a.txt {name}")).succeeds();
        let bytes = std::fs::read(folder.path(name)).expect("the file is there");
        assert!(!bytes.starts_with(b"4 5 3"), "{name}");
        folder.run(&format!("convert {name} c.txt")).succeeds();
        assert_eq!(folder.read("c.txt"), XC, "{name}");
    }
}

#[test]
fn standard_input_and_output_are_a_dash() {
    let folder = Folder::new();
    let done = folder.run_with_input("convert - - --from xc --to libsvm", XC.as_bytes());
    assert_eq!(done.succeeds(), LIBSVM);
    let error = folder.run("convert - -").fails(1);
    assert!(error.contains("--to xc"), "{error}");
}

#[test]
fn flags_go_before_endings() {
    let folder = Folder::new();
    folder.write("a.data", LIBSVM);
    folder.run("convert a.data b.data --from libsvm --to xc").succeeds();
    assert_eq!(folder.read("b.data"), XC.replace("4 5 3", "4 4 3"));
    let error = folder.run("convert a.data b.txt").fails(1);
    assert!(error.starts_with("error: a.data: the ending"), "{error}");
    let error = folder.run("convert a.data b.data --from libsvm").fails(1);
    assert!(error.starts_with("error: b.data: the ending"), "{error}");
}

#[test]
fn a_wrong_header_is_refused_or_leniently_corrected() {
    let folder = Folder::new();
    folder.write("a.txt", XC.replace("4 5 3", "7 5 3"));
    let error = folder.run("convert a.txt b.txt").fails(1);
    assert!(error.starts_with("error: a.txt:1:"), "{error}");
    assert_eq!(folder.names(), ["a.txt"]);

    let done = folder.run("convert a.txt b.txt --lenient");
    assert_eq!((done.code(), folder.read("b.txt")), (0, XC.to_owned()));
    assert!(done.stderr().starts_with("warning: a.txt:1: "), "{}", done.stderr());
    assert_eq!(done.stderr().lines().count(), 1);
    folder.run("convert a.txt b.txt --lenient --quiet").succeeds();
}

#[test]
fn missing_files_and_folders_are_the_callers_fault() {
    let folder = Folder::new();
    let error = folder.run("convert nowhere.txt b.txt").fails(1);
    assert!(error.contains("nowhere.txt"), "{error}");
    folder.write("a.txt", XC);
    let error = folder.run("convert a.txt nowhere/b.txt").fails(1);
    assert!(error.contains("nowhere/b.txt"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_the_machines_fault() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    let error = folder.run("convert a.txt /dev/full --to xc").fails(3);
    assert!(error.contains("/dev/full"), "{error}");
}

#[test]
fn label_names_are_written_beside_the_output_and_replace_nothing() {
    let folder = Folder::new();
    folder.write("a.txt", XC);
    folder.write("names", "red\ngreen\tthe colour\nblue\n");
    std::fs::create_dir(folder.path("out")).expect("the folder is writable");
    folder.run("convert a.txt out/b.svm --label-names names").succeeds();
    assert_eq!(folder.read("out/labels.txt"), folder.read("names"));
    folder.run("convert a.txt out/b.svm --label-names out/labels.txt").succeeds();
    let error = folder.run("convert a.txt out/b.svm --label-names names").fails(1);
    assert!(error.contains("out/labels.txt is already there"), "{error}");
    let error = folder.run("convert a.txt - --to xc --label-names names").fails(1);
    assert!(error.contains("leave out --label-names"), "{error}");
}

#[test]
fn the_output_is_the_same_on_any_number_of_threads() {
    let folder = Folder::new();
    let rows: String =
        (0..20_000).map(|row| format!("{} {}:1 7:0.5\n", row % 3, row % 5)).collect();
    folder.write("a.txt", format!("20000 8 3\n{rows}"));
    let one = folder.run("convert a.txt - --to libsvm --threads 1").succeeds();
    assert_eq!(one.lines().count(), 20_000);
    for threads in [2, 7] {
        let many = folder.run(&format!("convert a.txt - --to libsvm --threads {threads}"));
        assert_eq!(many.succeeds(), one);
    }
}
