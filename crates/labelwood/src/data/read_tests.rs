//! Reading must not depend on how the text is cut up, or on how many threads parse it.

use super::*;
use crate::base::run::Pool;
use proptest::prelude::*;

const FORMATS: [Format; 2] = [Format::Xc, Format::Libsvm];

/// What reading gives, as one comparable text.
fn outcome(text: &[u8], format: Format, sizes: BlockSizes, task: &Task) -> String {
    let source = Source::from_bytes("f", text, task.memory()).unwrap();
    match parse(source, Some(format), &ReadOptions::default(), sizes, task) {
        Ok(read) => format!("{:?}", read.dataset),
        Err(error) => error.to_string(),
    }
}

/// Lines that are right most of the time, so that errors come late.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "([0-9](,[0-9]){0,2})?( [1-9]:[0-9](\\.[0-9]{1,9})?){0,4}[ \r]?",
        1 => Just(String::new()),
        1 => Just(" 1:x".to_owned()),
    ]
}

#[test]
fn the_first_error_of_the_file_is_reported_with_its_line() {
    let task = Pool::new(2).unwrap().task();
    let mut lines = vec!["1 2:3"; 500];
    lines[400] = "1 2:nan";
    lines[450] = "x";
    let text = lines.join("\n");
    for chunk in [1, 10, 100, 1000, 100_000] {
        let sizes = BlockSizes { block: 3 * chunk, chunk };
        let found = outcome(text.as_bytes(), Format::Libsvm, sizes, &task);
        assert!(found.starts_with("f:401:5: `nan` is not a finite"), "{found}");
    }
}

#[test]
fn a_cancelled_run_reads_nothing() {
    let task = Pool::new(1).unwrap().task();
    task.canceller().cancel();
    let read = read_bytes(b"1 2:3", "a.svm", &ReadOptions::default(), &task);
    assert!(matches!(read, Err(ReadError::Stopped(_))));
}

#[test]
fn a_first_line_of_whole_numbers_is_a_header() {
    assert_eq!(format_of_first_line(b"00000042 7 9\n"), Format::Xc);
    assert_eq!(format_of_first_line(b"42 7\r\n"), Format::Xc);
    assert_eq!(format_of_first_line(b"42\n"), Format::Libsvm);
    assert_eq!(format_of_first_line(b"42 7:1\n"), Format::Libsvm);
    assert_eq!(format_of_first_line(b"\n1 2 3\n"), Format::Libsvm);
}

proptest! {
    #[test]
    fn any_layout_reads_the_same(
        lines in proptest::collection::vec(line(), 0..30),
        block in 1usize..200,
        chunk in 1usize..60,
    ) {
        let task = Pool::new(3).unwrap().task();
        let rows = format!("{} 10 10\n{}", lines.len(), lines.join("\n"));
        for (format, text) in FORMATS.iter().zip([rows, lines.join("\n")]) {
            let whole = BlockSizes { block: 1 << 20, chunk: 1 << 20 };
            let expected = outcome(text.as_bytes(), *format, whole, &task);
            let found = outcome(text.as_bytes(), *format, BlockSizes { block, chunk }, &task);
            prop_assert_eq!(found, expected);
        }
    }
}
