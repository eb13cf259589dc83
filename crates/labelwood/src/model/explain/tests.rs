//! What people see of explanations, on texts small enough to judge.

use super::*;
use crate::algorithms::Settings;
use crate::base::run::Pool;
use crate::base::sparse::LabelRows;
use crate::data::documents::Options;
use crate::data::{Dataset, LabelIndex};
use crate::model::TrainOptions;
use crate::text::{Frequency, Params, TextReader, learn};
use serde_json::json;

const TEXTS: [(&str, &[u32]); 8] = [
    ("owls and herons of the north", &[0]),
    ("the owls of the old forest", &[0]),
    ("herons and finches", &[0]),
    ("an old atlas of the north", &[1]),
    ("an atlas of maps", &[1]),
    ("the maps of the old world", &[1]),
    ("地図の本", &[1]),
    ("地図", &[1]),
];

fn rows(task: &Task) -> (TextReader, Dataset) {
    let mut labels = LabelRows::new(4);
    TEXTS.iter().for_each(|(_, own)| labels.push_row(own, &vec![(); own.len()]).unwrap());
    let names = LabelIndex::from_lines(["b\tbirds", "m\tmaps", "n\tnobody", "h\told herons"]);
    let params = Params { min_df: Frequency::Count(1), ..Params::default() };
    let texts = TEXTS.map(|(text, _)| text);
    learn(&texts, labels, names, Options::default(), params, task).unwrap()
}

fn model(settings: &str, options: TrainOptions<'_>, task: &Task) -> Model {
    let (reader, rows) = rows(task);
    let options = TrainOptions { text: Some(&reader), ..options };
    let settings = Settings::named(settings).unwrap();
    Model::train(rows.view(), options, &settings, task).unwrap()
}

fn task() -> Task {
    Pool::new(2).unwrap().task()
}

#[test]
fn the_words_of_a_label_speak_for_it_and_those_of_another_against_it() {
    let task = task();
    for settings in ["one-vs-rest", "label-tree", "neighbours"] {
        let model = model(settings, TrainOptions::default(), &task);
        let text = "Herons in an Atlas";
        let options = ExplainOptions { labels: &[0, 1], ..ExplainOptions::default() };
        let why = model.explain(text, &options, &task).unwrap();
        let of = |label: usize, word: &str| {
            let marks = why.labels[label].marks.iter();
            marks.filter(|mark| mark.term == word).map(|mark| mark.weight).sum::<f32>()
        };
        assert!(of(0, "herons") > 0.0 && of(1, "atlas") > 0.0, "{settings}: {why:?}");
        assert!(of(0, "herons") > of(0, "atlas"), "{settings}: {why:?}");
        assert!(of(1, "atlas") > of(1, "herons"), "{settings}: {why:?}");
        let first = why.labels[0].marks.iter().find(|mark| mark.term == "herons").unwrap();
        assert_eq!((first.start, first.end), (0, 6));
        assert_eq!(why.unknown.iter().map(|it| &*it.term).collect::<Vec<_>>(), ["in"]);
        let label = &why.labels[0].label;
        assert_eq!((label.id, &*label.code, &*label.name), (0, "b", "birds"));
        let known = |term: &Contribution| term.term.is_some();
        assert!(why.labels[0].parts.iter().all(|part| part.terms.iter().all(known)), "{why:?}");
    }
}

#[test]
fn a_frequent_word_counts_for_less_than_a_rare_one() {
    let task = task();
    let (reader, _) = rows(&task);
    let source = Source::of_text("the owls of old, and the herons of", &reader);
    let term = |word: &str| reader.vectoriser().id(word).unwrap();
    let all = ["the", "owls", "of", "old", "and", "herons"];
    // Every word means as much to the only part; the name of the label is in none of them.
    let terms = all.map(|word| Contribution::new(term(word), 1.0)).to_vec();
    let part = Reasons { terms, ..Reasons::new("toy", 0.5, Evidence::None) };
    let marks = Weights::of(std::slice::from_ref(&part)).marks(&source, &[part]);
    let weight = |word: &str| {
        let own: Vec<f32> =
            marks.iter().filter(|mark| mark.term == word).map(|mark| mark.weight).collect();
        own.first().copied().filter(|weight| own.iter().all(|other| other == weight))
    };
    let rarity = reader.vectoriser().rarity();
    for word in all {
        assert_eq!(weight(word), Some(rarity(term(word)) as f32), "{word}");
    }
    assert!(weight("of") < weight("old") && weight("old") < weight("owls"));
    assert_eq!(marks.iter().filter(|mark| mark.term == "of").count(), 2);
}

#[test]
fn what_means_less_than_a_fifth_of_the_strongest_is_not_marked() {
    let task = task();
    let (reader, _) = rows(&task);
    let source = Source::of_text("owls herons finches", &reader);
    let term = |word: &str| reader.vectoriser().id(word).unwrap();
    let terms = [("owls", 1.0), ("herons", -0.4), ("finches", 0.1)]
        .map(|(word, adds)| Contribution::new(term(word), adds))
        .to_vec();
    let part = Reasons { terms, ..Reasons::new("toy", 0.5, Evidence::None) };
    let marks = Weights::of(std::slice::from_ref(&part)).marks(&source, &[part]);
    let marked: Vec<&str> = marks.iter().map(|mark| &*mark.term).collect();
    assert_eq!(marked, ["owls", "herons"]);
    assert!(marks[0].weight > 0.0 && marks[1].weight < 0.0);
}

#[test]
fn scores_and_ranks_are_those_of_the_prediction() {
    let task = task();
    let extras = TrainOptions { favour: crate::learn::favour::Favour::Tail, ..Default::default() };
    let calibrated = TrainOptions { calibrate: true, ..Default::default() };
    for (settings, extras) in
        [("label-tree", extras), ("one-vs-rest", calibrated), ("grove", TrainOptions::default())]
    {
        let model = model(settings, extras, &task);
        let text = "old maps of birds and owls";
        let why = model.explain(text, &ExplainOptions::default(), &task).unwrap();
        let predicted = model.predict_texts(&[text], Query::top(5), &task).unwrap();
        let expected: Vec<_> = predicted
            .row(0)
            .iter()
            .enumerate()
            .map(|(at, best)| (best.id, best.score, Some(at + 1)))
            .collect();
        let found: Vec<_> = why.labels.iter().map(|it| (it.label.id, it.score, it.rank)).collect();
        assert_eq!(found, expected, "{settings}");
        assert!(why.labels.iter().all(|it| it.note.is_none() && !it.how.is_empty()));
        assert!(why.labels.iter().all(|it| it.is_probability == model.gives_probabilities()));
    }
}

#[test]
fn places_of_words_without_spaces_are_those_of_their_characters() {
    let task = task();
    let model = model("one-vs-rest", TrainOptions::default(), &task);
    let why = model
        .explain("é、日本の地図!", &ExplainOptions { k: 1, ..Default::default() }, &task)
        .unwrap();
    assert_eq!(why.labels[0].label.name, "maps");
    let marks: Vec<_> = why.labels[0].marks.iter().map(|mark| (&*mark.term, mark.start)).collect();
    assert!(marks.contains(&("地", 5)) && marks.contains(&("図", 6)), "{marks:?}");
}

#[test]
fn a_name_is_marked_where_it_stands() {
    let task = task();
    let model = model("names", TrainOptions::default(), &task);
    let options = ExplainOptions { labels: &[3, 1], ..Default::default() };
    let why = model.explain("Old herons, old MAPS", &options, &task).unwrap();
    let named: Vec<_> = why.labels.iter().map(|it| it.parts[0].evidence.clone()).collect();
    let at = |name: &str, start, end| NameAt { name: name.into(), start, end };
    let found = |evidence: &Evidence| match evidence {
        Evidence::Names { names, .. } => names.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(found(&named[0]), [at("old herons", 0, 10)]);
    assert_eq!(found(&named[1]), [at("maps", 16, 20)]);
    assert_eq!(why.labels[1].words()[0].term.as_deref(), Some("maps"));
}

#[test]
fn what_cannot_be_explained_gets_a_clear_answer() {
    let task = task();
    let model = model("neighbours", TrainOptions::default(), &task);
    let why = model.explain("xyzzy", &ExplainOptions::default(), &task).unwrap();
    assert_eq!((why.labels.len(), why.unknown.len()), (0, 1));
    assert_eq!(
        why.note.as_deref(),
        Some("the model knows no word of the text, so it names no label")
    );
    let why =
        model.explain("", &ExplainOptions { labels: &[0], ..Default::default() }, &task).unwrap();
    assert!(why.note.is_some() && why.labels[0].marks.is_empty());
    let options = ExplainOptions { labels: &[2, 77], ..Default::default() };
    let why = model.explain("owls", &options, &task).unwrap();
    assert_eq!(why.labels.len(), 1, "77 is no label");
    assert_eq!((why.labels[0].rank, why.labels[0].score), (None, 0.0));
    let note = "no training row has the label, and its name was not found";
    assert_eq!(why.labels[0].note.as_deref(), Some(note));

    let rows = rows(&task).1;
    let vectors = Settings::named("one-vs-rest").unwrap();
    let model = Model::train(rows.view(), Default::default(), &vectors, &task).unwrap();
    let error = model.explain("owls", &ExplainOptions::default(), &task).unwrap_err();
    assert_eq!(error.to_string(), "the model was trained on vectors: give it rows, not text");
}

#[test]
fn features_of_rows_have_weights_of_their_own() {
    let task = task();
    let rows = rows(&task).1;
    let settings = Settings::named("one-vs-rest").unwrap();
    let model = Model::train(rows.view(), Default::default(), &settings, &task).unwrap();
    let row = rows.features.view().slice(4..5);
    let why = model
        .explain_row(row.view(), &ExplainOptions { k: 1, ..Default::default() }, &task)
        .unwrap();
    let best = &why.labels[0];
    assert_eq!((best.label.id, why.text.as_deref()), (1, None));
    assert!(best.features[0].contribution > 0.0 && best.marks.is_empty());
    assert!(row.row(0).indices.contains(&best.features[0].feature));
    let none = Csr::empty(1, row.columns());
    let why = model.explain_row(none.view(), &ExplainOptions::default(), &task).unwrap();
    assert_eq!(why.note.as_deref(), Some("the row has no features"));
}

#[test]
fn lists_are_cut_and_the_rest_is_summed_up() {
    let task = task();
    let model = model("one-vs-rest", TrainOptions::default(), &task);
    let explain = |most| {
        let options = ExplainOptions { labels: &[1], most, ..Default::default() };
        let why = model.explain("an old atlas of the maps of the north", &options, &task).unwrap();
        why.labels[0].parts[0].clone()
    };
    let (whole, short) = (explain(usize::MAX), explain(2));
    assert_eq!((short.terms.len(), whole.rest), (2, None));
    let sum = |terms: &[Contribution]| terms.iter().map(|term| term.contribution).sum::<f32>();
    let rest = short.rest.unwrap();
    assert_eq!(rest.count, whole.terms.len() - 2);
    assert!((sum(&short.terms) + rest.contribution - sum(&whole.terms)).abs() < 1e-5);
}

#[test]
fn rows_that_a_model_keeps_are_told_in_words() {
    let task = task();
    let words = |keep_rows| {
        let model = model("neighbours", TrainOptions { keep_rows, ..Default::default() }, &task);
        let options = ExplainOptions { labels: &[0], ..Default::default() };
        let why = model.explain("herons and finches", &options, &task).unwrap();
        match &why.labels[0].parts[0].evidence {
            Evidence::Neighbours { rows, .. } => (rows[0].row, rows[0].words.clone()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(words(false), (2, vec![]));
    let (row, mut kept) = words(true);
    kept.sort();
    assert_eq!((row, kept), (2, ["and", "finches", "herons"].map(str::to_owned).to_vec()));
}

#[test]
fn json_has_what_programs_read() {
    let task = task();
    let model = model("one-vs-rest", TrainOptions::default(), &task);
    let why = model.explain("owls", &ExplainOptions { k: 1, ..Default::default() }, &task).unwrap();
    let json = serde_json::to_value(&why).unwrap();
    let label = &json["labels"][0];
    assert_eq!(label["label"], json!({"id": 0, "code": "b", "name": "birds"}));
    assert_eq!(label["marks"][0]["start"], 0);
    assert_eq!(label["parts"][0]["kind"], "linear");
    assert!(label["how"][0]["what"].is_string() && label["rank"] == 1);
}
