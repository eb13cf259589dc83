//! The whole way from text to rows: by hand, against a plain reference, and with hostile input.

use super::*;
use crate::base::array::{Array, FileBytes};
use crate::base::run::Pool;
use crate::base::sparse::Csr;
use crate::data::LabelIndex;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn fit<T: AsRef<str> + Sync>(params: Params, texts: &[T], threads: usize) -> (Vectoriser, Csr) {
    let task = Pool::new(threads).unwrap().task();
    let mut fitting = Fitting::new(params).unwrap();
    fitting.add(texts, &task).unwrap();
    fitting.finish(&task).unwrap()
}

fn terms(vectoriser: &Vectoriser) -> Vec<&str> {
    vectoriser.terms().collect()
}

#[test]
fn a_tiny_corpus_gives_the_rows_that_paper_and_pencil_give() {
    let texts = ["red sea", "Sea sea bird", "", "bird, red bird; unknown"];
    let (vectoriser, rows) = fit(Params::default(), &texts, 1);
    assert_eq!(terms(&vectoriser), ["bird", "red", "sea"]);
    let idf = 1.0 + (5f64 / 3.0).ln();
    assert!(vectoriser.arrays().idf.iter().all(|&weight| (f64::from(weight) - idf).abs() < 1e-6));
    assert_eq!((rows.len(), rows.columns()), (4, 3));
    assert_eq!(rows.row(0).indices, [1, 2]);
    assert_eq!(rows.row(0).values, [0.5f32.sqrt(); 2]);
    let twice = 1.0 + 2f64.ln();
    let length = (1.0 + twice * twice).sqrt();
    assert_eq!(rows.row(1).indices, [0, 2]);
    assert_eq!(rows.row(1).values, [(1.0 / length) as f32, (twice / length) as f32]);
    assert!(rows.row(2).is_empty());
    assert_eq!(rows.row(3).values, [(twice / length) as f32, (1.0 / length) as f32]);
    let task = Pool::new(1).unwrap().task();
    assert_eq!(vectoriser.transform(&texts, &task).unwrap(), rows);
}

#[test]
fn frequencies_and_the_cap_choose_the_terms() {
    let texts = ["aa bb cc cc cc", "aa bb dd dd dd", "aa bb cc", "aa ee"];
    let chosen = |params: Params| {
        let (vectoriser, _) = fit(params, &texts, 2);
        vectoriser.terms().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = || Params { min_df: Frequency::Count(1), ..Params::default() };
    assert_eq!(chosen(all()), ["aa", "bb", "cc", "dd", "ee"]);
    assert_eq!(chosen(Params { min_df: Frequency::Share(0.5), ..all() }), ["aa", "bb", "cc"]);
    assert_eq!(chosen(Params { max_df: Frequency::Share(0.75), ..all() })[0], "bb");
    assert_eq!(chosen(Params { max_df: Frequency::Count(1), ..all() }), ["dd", "ee"]);
    let capped = |cap| chosen(Params { max_features: Some(cap), ..all() });
    assert_eq!(capped(2), ["aa", "cc"], "both occur four times");
    assert_eq!(capped(1), ["aa"], "the first in order of those that occur most often");
    assert_eq!(capped(3), ["aa", "bb", "cc"]);
    assert_eq!(capped(9).len(), 5);
    let (vectoriser, rows) = fit(Params { min_df: Frequency::Count(9), ..all() }, &texts, 1);
    assert_eq!((vectoriser.columns(), rows.len(), rows.entries()), (0, 4, 0));
}

#[test]
fn hashing_needs_no_terms() {
    let texts = ["red sea", "sea sea bird", "unseen"];
    let params = Params { hashing: Some(1 << 20), ..Params::default() };
    let (vectoriser, rows) = fit(params.clone(), &texts, 2);
    assert_eq!((vectoriser.columns(), vectoriser.terms().len()), (1 << 20, 0));
    assert_eq!((vectoriser.term(0), rows.row(2).len()), (None, 1));
    let sea = vectoriser.id("sea").unwrap();
    assert!(rows.row(0).indices.contains(&sea) && rows.row(1).indices.contains(&sea));
    let (named, _) = fit(Params { min_df: Frequency::Count(1), ..Params::default() }, &texts, 1);
    let idf = |vectoriser: &Vectoriser, term| {
        vectoriser.arrays().idf[vectoriser.id(term).unwrap() as usize]
    };
    assert_eq!(idf(&vectoriser, "sea"), idf(&named, "sea"));
    let task = Pool::new(1).unwrap().task();
    assert_eq!(vectoriser.transform(&texts, &task).unwrap(), rows);

    let (vectoriser, rows) = fit(Params { idf: false, hashing: Some(1), ..params }, &texts, 1);
    assert!(vectoriser.arrays().idf.is_empty());
    assert_eq!(rows.row(1).values, [1.0], "all terms meet in one column");
    Vectoriser::from_arrays(vectoriser.params().clone(), Arrays::default()).unwrap();
}

/// Many small pieces with many threads in a fixed disorder.
fn long_corpus() -> Vec<String> {
    let word = |number: usize| format!("w{} ", number * number % 7919 % 900);
    (0..3000).map(|row| (row..row + 60 + row % 90).map(word).collect()).collect()
}

#[test]
fn threads_and_batches_do_not_reach_the_bytes() {
    let texts = long_corpus();
    assert!(texts.iter().map(String::len).sum::<usize>() > 1_000_000, "there are several pieces");
    for hashing in [None, Some(500)] {
        let params = Params { hashing, word_ngrams: Some((1, 2)), ..Params::default() };
        let expected = fit(params.clone(), &texts, 1);
        for (threads, batch) in [(2, 3000), (7, 3000), (1, 700), (2, 1), (7, 2999)] {
            let task = Pool::new(threads).unwrap().task();
            let mut fitting = Fitting::new(params.clone()).unwrap();
            for batch in texts.chunks(batch) {
                fitting.add(batch, &task).unwrap();
            }
            assert_eq!(fitting.len(), texts.len());
            let found = fitting.finish(&task).unwrap();
            assert!(found == expected, "{threads} threads, batches of {batch}");
            assert!(found.0.transform(&texts, &task).unwrap() == expected.1);
        }
    }
}

#[test]
fn hostile_text_is_read_like_any_other() {
    let huge = "x".repeat(50_000_000);
    let texts = ["", " \0\0 \0", &huge, "e\u{301}\u{301} \u{301}\u{301}", "👩‍👩‍👧 🏳️‍🌈", "\u{feff}ok ok"];
    for tokens in [Tokens::Auto, Tokens::Word, Tokens::Unicode] {
        let params = Params { tokens, min_df: Frequency::Count(1), ..Params::default() };
        let (vectoriser, rows) = fit(params, &texts, 2);
        let task = Pool::new(2).unwrap().task();
        assert_eq!(vectoriser.transform(&texts, &task).unwrap(), rows);
        assert!(rows.row(0).is_empty() && rows.row(1).is_empty());
        assert_eq!(rows.row(2).indices, [vectoriser.id(&huge).unwrap()]);
        assert!(rows.row(4).is_empty());
        assert_eq!(vectoriser.term(rows.row(5).indices[0]), Some("ok"));
    }
    let (vectoriser, rows) = fit::<&str>(Params::default(), &[], 1);
    assert_eq!((vectoriser.columns(), rows.len()), (0, 0));
    assert_eq!(vectoriser.id("any"), None);
}

#[test]
fn long_runs_of_any_script_are_read_in_linear_time() {
    let texts =
        ["猫", "か\u{3099}", "ก", "한", "a\u{301}", "\u{301}", "ก\u{e34}", "日x", "\u{200d}"]
            .map(|text| text.repeat(1_000_000));
    let marks = ["日", "ก", "x", "한"].map(|letter| letter.to_owned() + &texts[5]);
    let params = Params { min_df: Frequency::Count(1), ..Params::default() };
    let texts = [&texts[..], &marks].concat();
    let (vectoriser, rows) = fit(params, &texts, 2);
    assert_eq!(rows.row(0).len(), 2, "a character and its pair");
    assert!(rows.row(5).is_empty() && rows.row(8).is_empty());
    let task = Pool::new(2).unwrap().task();
    assert_eq!(vectoriser.transform(&texts, &task).unwrap(), rows);
    let labels = LabelIndex::from_lines(["a\t猫猫猫猫", "b\tก"]);
    let matches = Matcher::new(&labels, None).find(&texts, &task).unwrap();
    assert_eq!((matches.row(0).indices, matches.row(2).indices), (&[0][..], &[1][..]));
}

#[test]
fn a_cancelled_run_stops_every_step() {
    let task = Pool::new(1).unwrap().task();
    let mut fitting = Fitting::new(Params::default()).unwrap();
    fitting.add(&["aa", "aa"], &task).unwrap();
    let (vectoriser, _) = fit(Params::default(), &["aa", "aa"], 1);
    task.canceller().cancel();
    assert!(matches!(fitting.add(&["aa"], &task), Err(TextError::Stopped(_))));
    assert!(fitting.finish(&task).is_err());
    assert!(vectoriser.transform(&["aa"], &task).is_err());
}

#[test]
fn arrays_in_a_file_read_text_like_those_in_memory() {
    let texts = long_corpus();
    let (vectoriser, rows) = fit(Params::default(), &texts, 2);
    let arrays = vectoriser.arrays();
    let in_file = Arrays {
        text: copied(&arrays.text),
        starts: copied(&arrays.starts),
        slots: copied(&arrays.slots),
        idf: copied(&arrays.idf),
    };
    let again = Vectoriser::from_arrays(vectoriser.params().clone(), in_file).unwrap();
    assert_eq!(again, vectoriser);
    assert!(again.transform(&texts, &Pool::new(2).unwrap().task()).unwrap() == rows);
    for (id, term) in vectoriser.terms().enumerate() {
        assert_eq!((again.id(term), again.term(id as u32)), (Some(id as u32), Some(term)));
    }
}

fn copied<T: crate::base::array::Element>(array: &Array<T>) -> Array<T> {
    let bytes = zerocopy::IntoBytes::as_bytes(&array[..]);
    Array::in_file(&FileBytes::copy(bytes, bytes.len()).unwrap(), 0..bytes.len()).unwrap()
}

#[test]
fn damaged_arrays_are_refused() {
    let (vectoriser, _) = fit(Params::default(), &["dès là", "dès là"], 1);
    let refused = |damage: &dyn Fn(&mut Params, &mut Arrays)| {
        let (mut params, mut arrays) = (vectoriser.params().clone(), vectoriser.arrays().clone());
        damage(&mut params, &mut arrays);
        Vectoriser::from_arrays(params, arrays).unwrap_err()
    };
    let starts = |starts: &[u64]| {
        let starts = starts.to_vec();
        refused(&move |_, arrays| arrays.starts = starts.clone().into())
    };
    assert_eq!(starts(&[]), "its terms do not start at 0");
    assert_eq!(starts(&[1, 4, 7]), "its terms do not start at 0");
    assert_eq!(starts(&[0, 9, 7]), "its terms do not lie one after the other");
    assert_eq!(starts(&[0, 4, u64::MAX]), "its terms do not lie one after the other");
    assert_eq!(starts(&[0, 2, 7]), "a term starts within a character");
    assert_eq!(starts(&[0, 7]), "2 weights do not fit 1 columns");
    let text = refused(&|_, arrays| arrays.text = vec![0xff; 7].into());
    assert!(text.starts_with("its terms are not UTF-8"));
    let slots = refused(&|_, arrays| arrays.slots = vec![0; 2].into());
    assert_eq!(slots, "2 slots are too few for 2 terms");
    for weight in [f32::NAN, f32::INFINITY, 0.0, -1.0] {
        let idf = refused(&|_, arrays| arrays.idf = vec![1.0, weight].into());
        assert_eq!(idf, "a weight of its columns is not a positive number");
    }
    assert!(refused(&|params, _| params.hashing = Some(2)).contains("hashed"));
    assert!(refused(&|params, _| params.min_token = 0).contains("min_token is 0"));
}

/// The terms of a text, made in the plainest way.
fn reference_terms(params: &Params, text: &str) -> Vec<String> {
    let text = if params.lowercase { text.to_lowercase() } else { text.to_owned() };
    let is_word = super::characters::is_word;
    let words: Vec<&str> = text
        .split(|character| !is_word(character))
        .filter(|word| word.chars().count() >= params.min_token)
        .filter(|word| !matches!(&params.stop_words, StopWords::Words(stop) if stop.iter().any(|stop| stop == word)))
        .collect();
    let mut terms = Vec::new();
    if let Some((least, most)) = params.word_ngrams {
        for length in least..=most {
            terms.extend(words.windows(length).map(|window| window.join(" ")));
        }
    }
    let mark = if params.word_ngrams.is_some() { "~" } else { "" };
    let Some((least, most)) = params.char_ngrams else { return terms };
    let mut add = |characters: &[char]| {
        terms.push(mark.chars().chain(characters.iter().copied()).collect());
    };
    for word in text.split_whitespace() {
        let characters: Vec<char> = format!(" {word} ").chars().collect();
        for length in least..=most {
            if length >= characters.len() {
                add(&characters);
                break;
            }
            characters.windows(length).for_each(&mut add);
        }
    }
    terms
}

/// The terms and the rows, made in the plainest way.
fn reference(params: &Params, texts: &[String]) -> (Vec<String>, Vec<BTreeMap<u32, f64>>) {
    let documents: Vec<Vec<String>> =
        texts.iter().map(|text| reference_terms(params, text)).collect();
    let count = |term: &str| {
        documents.iter().filter(|terms| terms.iter().any(|other| other == term)).count() as f64
    };
    let n = documents.len();
    let known: BTreeSet<String> = documents.iter().flatten().cloned().collect();
    let known_terms: Vec<String> = known
        .into_iter()
        .filter(|term| (params.min_df.of(n)..=params.max_df.of(n)).contains(&count(term)))
        .collect();
    let smooth = f64::from(u8::from(params.smooth_idf));
    let row = |terms: &Vec<String>| {
        let mut row = BTreeMap::new();
        for (column, term) in known_terms.iter().enumerate() {
            let times = terms.iter().filter(|other| *other == term).count() as f64;
            if times > 0.0 {
                let tf = if params.sublinear_tf { 1.0 + times.ln() } else { times };
                let idf = ((n as f64 + smooth) / (count(term) + smooth)).ln() + 1.0;
                row.insert(column as u32, if params.idf { tf * idf } else { tf });
            }
        }
        let length = row.values().map(|value| value * value).sum::<f64>().sqrt();
        row.values_mut().for_each(|value| *value /= length);
        row
    };
    let rows = documents.iter().map(row).collect();
    (known_terms, rows)
}

fn any_params() -> impl Strategy<Value = Params> {
    let range = (1usize..4, 0usize..3).prop_map(|(least, more)| (least, least + more));
    let flags = proptest::array::uniform4(any::<bool>());
    let ngrams = (proptest::option::of(range.clone()), proptest::option::of(range));
    (flags, ngrams, 1usize..4, 1u64..4, 0.3f64..1.0).prop_map(
        |(
            [lowercase, sublinear_tf, idf, smooth_idf],
            (words, chars),
            min_token,
            min_df,
            max_df,
        )| {
            Params {
                lowercase,
                sublinear_tf,
                idf,
                smooth_idf,
                min_token,
                stop_words: StopWords::Words(vec!["ab".to_owned(), "é".to_owned()]),
                word_ngrams: if chars.is_none() { words.or(Some((1, 1))) } else { words },
                char_ngrams: chars,
                min_df: Frequency::Count(min_df),
                max_df: Frequency::Share(max_df),
                tokens: Tokens::Word,
                ..Params::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_those_of_a_plain_reference(
        params in any_params(),
        texts in proptest::collection::vec("[abcB ,éÉΣİ_1\u{301}日😀\n]{0,25}", 0..12),
    ) {
        let (vectoriser, rows) = fit(params.clone(), &texts, 2);
        let (known_terms, expected) = reference(&params, &texts);
        prop_assert_eq!(terms(&vectoriser), known_terms);
        prop_assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.rows().zip(&expected) {
            prop_assert!(row.indices.iter().eq(expected.keys()));
            for (value, expected) in row.values.iter().zip(expected.values()) {
                prop_assert!((f64::from(*value) - expected).abs() < 1e-6);
            }
        }
        let task = Pool::new(1).unwrap().task();
        prop_assert_eq!(vectoriser.transform(&texts, &task).unwrap(), rows);
    }

    #[test]
    fn any_text_is_read_under_any_settings(
        params in any_params(),
        texts in proptest::collection::vec(".{0,40}", 0..6),
        tokens in prop::sample::select(vec![Tokens::Auto, Tokens::Word, Tokens::Unicode]),
        (whole, english) in any::<(bool, bool)>(),
    ) {
        let params = Params {
            tokens,
            char_ngrams_in: if whole { CharNgramsIn::Text } else { CharNgramsIn::Words },
            stem: english.then_some(Stem::Of(Language::English)),
            ..params
        };
        let (vectoriser, rows) = fit(params, &texts, 1);
        let task = Pool::new(2).unwrap().task();
        prop_assert_eq!(vectoriser.transform(&texts, &task).unwrap(), rows);
    }
}

#[test]
fn the_language_is_found_before_the_first_text_is_read() {
    let texts = [
        "Die Bücherei ist an jedem Samstag geöffnet",
        "Die Vögel ziehen im Herbst in den Süden",
        "Wie die Kinder in der Schule das Lesen lernen",
    ];
    let one = Frequency::Count(1);
    let params = |stem, stop_words| Params { stem, stop_words, min_df: one, ..Params::default() };
    let german = Language::German;
    // German joins words.
    let char_ngrams = Some((4, 4));
    let stated = Params { char_ngrams, ..params(Some(Stem::Of(german)), StopWords::Of(german)) };
    for auto in [
        params(Some(Stem::Auto), StopWords::Auto),
        // What is stated for one of them is taken for the other.
        params(Some(Stem::Auto), StopWords::Of(german)),
    ] {
        let (vectoriser, rows) = fit(auto, &texts, 2);
        assert_eq!(vectoriser.params(), &stated);
        assert_eq!((vectoriser, rows), fit(stated.clone(), &texts, 1));
    }
    let (unsure, _) = fit(params(Some(Stem::Auto), StopWords::Auto), &["L1957 L1984"], 1);
    assert_eq!(unsure.params(), &params(None, StopWords::None));
    let open = params(Some(Stem::Auto), StopWords::None);
    assert!(Vectoriser::from_arrays(open, unsure.arrays().clone()).is_err());
}
