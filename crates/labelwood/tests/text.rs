//! Text read by labelwood and by scikit-learn, side by side.
//!
//! `text/scikit_learn.json` was written by scikit-learn; `text/scikit_learn.py` tells how.

use labelwood::data::{ReadOptions, read};
use labelwood::run::Pool;
use labelwood::sparse::Csr;
use labelwood::text::{Fitting, Frequency, Params, Tokens};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fs::File;
use std::path::Path;

#[derive(Deserialize)]
struct Fixture {
    documents: Vec<String>,
    word: Vec<(u32, u32)>,
    space: Vec<(u32, u32)>,
    unknown: Vec<(u32, u32)>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    /// What differs from the default.
    settings: Map<String, Value>,
    terms: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    columns: Vec<u32>,
    values: Vec<f64>,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("text/scikit_learn.json")).unwrap()
}

/// Whether a code point lies in one of the ranges, which are in order.
fn is_in(ranges: &[(u32, u32)], code: u32) -> bool {
    let at = ranges.partition_point(|range| range.1 < code);
    ranges.get(at).is_some_and(|range| range.0 <= code)
}

#[test]
fn vectors_are_those_of_scikit_learn() {
    let fixture = fixture();
    let task = Pool::new(2).unwrap().task();
    for case in &fixture.cases {
        let name = Value::from(case.settings.clone()).to_string();
        let plain = Params { tokens: Tokens::Word, ..Params::default() };
        let mut settings = serde_json::to_value(plain).unwrap();
        settings.as_object_mut().unwrap().extend(case.settings.clone());
        let mut fitting = Fitting::new(serde_json::from_value(settings).unwrap()).unwrap();
        fitting.add(&fixture.documents, &task).unwrap();
        let (vectoriser, rows) = fitting.finish(&task).unwrap();
        assert_eq!(vectoriser.terms().collect::<Vec<_>>(), case.terms, "{name}");
        assert_eq!(rows.len(), case.rows.len());
        for (at, (row, expected)) in rows.rows().zip(&case.rows).enumerate() {
            assert_eq!(row.indices, expected.columns, "{name}: document {at}");
            for (&value, expected) in row.values.iter().zip(&expected.values) {
                assert!((f64::from(value) - expected).abs() < 1e-6, "{name}: document {at}");
            }
        }
        assert_eq!(vectoriser.transform(&fixture.documents, &task).unwrap(), rows, "{name}");
    }
}

#[test]
fn word_characters_and_white_space_are_those_of_python() {
    let fixture = fixture();
    let task = Pool::new(2).unwrap().task();
    // Every character between two letters, all in one text: a word character joins them, white
    // space makes terms of characters begin and end there.
    let known: Vec<char> = (0..=char::MAX as u32)
        .filter(|&code| !is_in(&fixture.unknown, code))
        .filter_map(char::from_u32)
        .collect();
    let texts: Vec<String> = known.iter().map(|character| format!("xx{character}yy")).collect();
    let base = Params {
        tokens: Tokens::Word,
        lowercase: false,
        min_df: Frequency::Count(1),
        ..Params::default()
    };
    let rows = |params| {
        let mut fitting = Fitting::new(params).unwrap();
        fitting.add(&texts, &task).unwrap();
        fitting.finish(&task).unwrap().1
    };
    let words = rows(base.clone());
    let characters = rows(Params { word_ngrams: None, char_ngrams: Some((7, 7)), ..base });
    for (at, &character) in known.iter().enumerate() {
        let code = character as u32;
        let is_word = words.row(at).len() == 1;
        assert_eq!(is_word, is_in(&fixture.word, code), "word character U+{code:04X}");
        let is_space = characters.row(at).len() == 2;
        assert_eq!(is_space, is_in(&fixture.space, code), "white space U+{code:04X}");
    }
}

/// The texts of a compressed file of text, TAB, labels.
fn texts(path: &Path) -> Vec<String> {
    let file = zstd::decode_all(File::open(path).unwrap()).unwrap();
    let file = String::from_utf8(file).unwrap();
    let lines = file.split_terminator('\n');
    lines.map(|line| line.split_once('\t').map_or(line, |(text, _)| text).to_owned()).collect()
}

/// The vectors are written with a few decimals only.
fn assert_near(found: &Csr, expected: &Csr, name: &str) {
    assert_eq!(found.len(), expected.len(), "{name}");
    assert!(found.columns() >= expected.columns(), "{name}");
    for (at, (found, expected)) in found.rows().zip(expected.rows()).enumerate() {
        assert_eq!(found.indices, expected.indices, "{name}: row {at}");
        for (found, expected) in found.values.iter().zip(expected.values) {
            assert!((found - expected).abs() < 1e-5, "{name}: row {at}: {found} {expected}");
        }
    }
}

#[test]
fn texts_of_the_real_sets_give_the_vectors_that_come_with_them() {
    let Some(folder) = std::env::var_os("LABELWOOD_DATA") else {
        println!("skipped: LABELWOOD_DATA does not name the folder of the data sets");
        return;
    };
    let task = Pool::new(2).unwrap().task();
    for set in ["cve-libraries", "debian-debtags", "wordnet-hyper3", "yso-finna-en-3plus"] {
        let file = |name: &str| Path::new(&folder).join(set).join(name);
        let vectors = |name: &str| {
            read(&file(name), &ReadOptions::default(), &task).unwrap().dataset.features
        };
        let plain = Params { tokens: Tokens::Word, ..Params::default() };
        let mut fitting = Fitting::new(plain).unwrap();
        for batch in texts(&file("train.tsv.zst")).chunks(10_000) {
            fitting.add(batch, &task).unwrap();
        }
        let (vectoriser, rows) = fitting.finish(&task).unwrap();
        assert_near(&rows, &vectors("train.txt.zst"), set);
        let rows = vectoriser.transform(&texts(&file("test.tsv.zst")), &task).unwrap();
        assert_near(&rows, &vectors("test.txt.zst"), set);
    }
}
