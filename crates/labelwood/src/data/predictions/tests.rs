use super::*;
use crate::base::run::Pool;
use crate::data::LabelIndex;
use crate::data::documents::{Documents, Format, Labels, Options};
use PredictionFormat::{Csv, Jsonl, Npz, Tsv, Xc};
use proptest::prelude::*;

const NAMES: [&str; 4] = ["maps", "web design", "a:b", "2012"];

fn name(label: u32) -> Option<&'static str> {
    NAMES.get(label as usize).copied()
}

fn id(wanted: &str) -> Option<u32> {
    NAMES.iter().position(|name| *name == wanted).map(|at| at as u32)
}

fn parse(text: &str, format: PredictionFormat) -> Result<Predictions, ReadError> {
    read(text.as_bytes(), "file", format, 8, id)
}

fn refused(text: &str, format: PredictionFormat) -> String {
    parse(text, format).unwrap_err().to_string()
}

fn row(predictions: &Predictions, row: usize) -> Vec<(u32, f32)> {
    predictions.row(row).iter().map(|scored| (scored.id, scored.score)).collect()
}

#[test]
fn tsv_takes_ids_and_names_in_any_order() {
    let read = parse("\u{feff}3 0.25\tweb design 0.5\t\r\n\r\n7 1e-3", Tsv).unwrap();
    assert_eq!(read.len(), 3);
    assert_eq!(row(&read, 0), [(1, 0.5), (3, 0.25)]);
    assert_eq!(row(&read, 1), []);
    assert_eq!(row(&read, 2), [(7, 0.001)]);
}

#[test]
fn ids_of_documents_may_stand_before_the_labels() {
    let read = parse("a-1\tmaps 0.5\t3 0.25\n17\n\tmaps 1\n\n\"x 2\"\t0 2\n", Tsv).unwrap();
    assert_eq!(row(&read, 0), [(0, 0.5), (3, 0.25)]);
    assert_eq!((row(&read, 1), row(&read, 2), row(&read, 3)), (vec![], vec![(0, 1.0)], vec![]));
    assert_eq!(row(&read, 4), [(0, 2.0)]);
    let error = refused("a-1\tmaps 0.5\nmaps 0.5\n", Tsv);
    assert!(error.starts_with("file:2:1: expected the id of a document"), "{error}");
    let error = refused("maps 0.5\na-1\tmaps 0.5\n", Tsv);
    assert_eq!(error, "file:2:1: expected `label score` but found `a-1`");
    let error = refused("a-1\tmaps 0.5\tjars 0.4\n", Tsv);
    assert!(error.starts_with("file:1:14: `jars` is neither"), "{error}");
    // What is not tsv at all does not pass for ids.
    assert!(refused("3:0.5 4:0.2\n1:0.5\n", Tsv).contains("no row has a `label score`"));
}

#[test]
fn batches_make_the_file_that_all_rows_make() {
    let all = parse("3 0.25\t1 0.5\n\n7 0.001\n0 1\t2 0.5\n", Tsv).unwrap();
    for format in [Tsv, Jsonl, Xc, Npz] {
        let mut expected = Vec::new();
        write(&mut expected, &all, format, 8, name).unwrap();
        for rows in [None, Some(4)] {
            let mut found = Vec::new();
            let mut writer = Writer::new(&mut found, format, rows, 8, false, name).unwrap();
            for range in [0..1, 1..1, 1..4] {
                let mut batch = Predictions::default();
                range.for_each(|row| batch.push_row(all.row(row)));
                writer.push(&batch).unwrap();
            }
            writer.finish().unwrap();
            assert_eq!(found, expected, "{format:?}, {rows:?}");
        }
    }
}

#[test]
fn equal_scores_rank_by_the_lower_id() {
    let read = parse("5 0.123\t2 0.123\t6 0.2", Tsv).unwrap();
    assert_eq!(row(&read, 0).iter().map(|entry| entry.0).collect::<Vec<_>>(), [6, 2, 5]);
}

#[test]
fn xc_is_read_with_and_without_a_header() {
    let with = parse("2 8\n1:0.5 4:0.75\n\n", Xc).unwrap();
    let without = parse("4:0.75 1:0.5 \n\n", Xc).unwrap();
    assert_eq!(with, without);
    assert_eq!(row(&with, 0), [(4, 0.75), (1, 0.5)]);
    assert_eq!(row(&parse("a:b:0.5", Xc).unwrap(), 0), [(2, 0.5)]);
}

#[test]
fn a_name_goes_before_an_id() {
    assert_eq!(row(&parse("2012 0.5\t0 0.25", Tsv).unwrap(), 0), [(3, 0.5), (0, 0.25)]);
    assert!(refused("2012:0.5", Xc).contains("label 2012 is out of range"));
    assert!(refused("2013 0.5", Tsv).contains("label 2013 is out of range"));
    let coded = r#"{"labels":[{"label":7,"code":"maps","score":1},{"label":6,"code":"x","name":"a:b","score":2}]}"#;
    assert_eq!(row(&parse(coded, Jsonl).unwrap(), 0), [(2, 2.0), (0, 1.0)]);
    let unknown = r#"{"labels":[{"label":6,"code":"x","score":2}]}"#;
    assert!(refused(unknown, Jsonl).contains("`x` is neither a label id nor a known label name"));
    let named = r#"{"labels":[{"name":"maps","score":1},{"label":"a:b","score":2}]}"#;
    assert_eq!(row(&parse(named, Jsonl).unwrap(), 0), [(2, 2.0), (0, 1.0)]);
}

#[test]
fn errors_name_line_and_column() {
    assert_eq!(
        refused("1 0.5\n1 0.5\tjars 0.4", Tsv),
        "file:2:7: `jars` is neither a label id nor a known label name: use ids from 0, or give the label names"
    );
    assert_eq!(
        refused("1 0.5\t8 0.1", Tsv),
        "file:1:7: label 8 is out of range: there are 8 labels, and ids count from 0"
    );
    assert_eq!(refused("1 0.5\t2 x", Tsv), "file:1:9: the score `x` is not a number");
    assert_eq!(refused("1 NaN", Tsv), "file:1:3: the score `NaN` is not a finite 32-bit number");
    assert_eq!(
        refused("3 0.5\t17 0.5\n3 0.5\t17", Tsv),
        "file:1:7: label 17 is out of range: there are 8 labels, and ids count from 0"
    );
    assert_eq!(
        refused("3 0.5\t1 0.5\n3 0.5\t7", Tsv),
        "file:2:7: expected `label score` but found `7`"
    );
    assert_eq!(
        refused("{\"labels\":[{\"label\":1,\"score\":1},7]}", Jsonl),
        "file:1:1: label 7 has no score, but those before have one: give all or none scores"
    );
    assert_eq!(
        refused("1:2 3:4 1:9", Xc),
        "file:1:9: label 1 stands twice in this row: keep one of them"
    );
    assert_eq!(
        refused("3 8\n1:2\n", Xc),
        "file:1:1: the header declares 3 rows, but there is 1: is the file whole?"
    );
    assert!(refused("1 2\n3:1", Xc).starts_with("file:2:1: label 3 is out of range"));
    assert!(refused("99999999999999999999 1", Tsv).contains("out of range"));
    assert!(
        refused("{\"row\":1,\"labels\":[]}", Jsonl).starts_with("file:1:1: \"row\" is 1 where 0")
    );
    assert!(refused("{\"labels\":[}", Jsonl).starts_with("file:1:12: "));
    assert!(refused("{\"labels\":[{\"label\":1,\"score\":1e60}]}", Jsonl).contains("not a finite"));
    let binary = read(&b"1 0.5\n\xff\xfe"[..], "file", Tsv, 8, id).unwrap_err();
    assert!(binary.to_string().starts_with("file:2:1: the byte `\\xff` is not UTF-8 text"));
}

#[test]
fn jsonl_carries_names() {
    let predictions = parse("1 0.5\t7 0.25", Tsv).unwrap();
    let mut file = Vec::new();
    write(&mut file, &predictions, Jsonl, 8, name).unwrap();
    assert_eq!(
        String::from_utf8(file).unwrap(),
        "{\"row\":0,\"labels\":[{\"label\":1,\"name\":\"web design\",\"score\":0.5},{\"label\":7,\"score\":0.25}]}\n"
    );
}

#[test]
fn an_npz_file_that_lies_is_refused() {
    let mut file = Vec::new();
    write(&mut file, &parse("1 0.5\t7 0.25\n2 0.1", Tsv).unwrap(), Npz, 8, name).unwrap();
    let refused =
        |bytes: &[u8], labels| read(bytes, "p.npz", Npz, labels, id).unwrap_err().to_string();
    assert_eq!(
        refused(&file, 7),
        "p.npz: row 1: label 7 is out of range: there are 7 labels, and ids count from 0"
    );
    assert!(refused(b"", 8).starts_with("p.npz: not a zip file"));
    let csr = file.windows(3).position(|bytes| bytes == b"csr").unwrap();
    let mut flipped = file.clone();
    flipped[csr] = b'b';
    assert!(refused(&flipped, 8).contains("format.npy is damaged"));
}

fn any_predictions() -> impl Strategy<Value = Predictions> {
    let score = any::<f32>().prop_filter("finite", |score| score.is_finite());
    let row = proptest::collection::btree_map(0u32..40, score, 0..10);
    proptest::collection::vec(row, 0..8).prop_map(|rows| {
        let mut predictions = Predictions::default();
        for row in rows {
            let mut scored: Vec<Scored> =
                row.into_iter().map(|(id, score)| Scored { id, score }).collect();
            scored.sort_by(best_first);
            predictions.push_row(&scored);
        }
        predictions
    })
}

/// The labels of each row of a sheet with these columns for documents without a table.
fn sheet(predictions: &Predictions, labels_only: bool, width: Option<usize>) -> Vec<u8> {
    let mut file = Vec::new();
    let layout = Layout { labels_only, wide: width, ..Layout::default() };
    let mut writer = SheetWriter::new(&mut file, None, None, layout).unwrap();
    writer.push(None, predictions).unwrap();
    writer.finish().unwrap();
    file
}

fn order(predictions: &Predictions) -> Vec<Vec<u32>> {
    predictions.rows().map(|row| row.iter().map(|scored| scored.id).collect()).collect()
}

#[test]
fn labels_without_scores_keep_their_order() {
    let known = KnownLabels { count: 8, id: &id, separator: ";" };
    let source = |text: &'static str| {
        Source::new("f".to_owned(), text.as_bytes(), &Memory::of_machine()).unwrap()
    };
    let read = |text, format| {
        let ids = ["a", "7"].map(|id| Some(id.to_owned()));
        let rows = read_source(source(text), format, known, "id", &ids).unwrap();
        assert_eq!(rows.has_scores, Some(false), "{text}");
        order(&rows.in_order_of(&ids, "f").unwrap())
    };
    let expected = [vec![5, 0, 3], vec![1]];
    assert_eq!(read("a\t5\tmaps\t3\n7\tweb design\n", Tsv), expected);
    assert_eq!(read("7\t1\na\t5\tmaps\t2012\n", Tsv), expected, "in the order of the ids");
    assert_eq!(read("5\tmaps\t3\nweb design\n", Tsv), expected, "no ids");
    assert_eq!(read("2 8\n5 0 3\n1\n", Xc), expected);
    let jsonl =
        "{\"id\":7,\"labels\":[1]}\n{\"id\":\"a\",\"labels\":[5,\"maps\",{\"name\":\"2012\"}]}";
    assert_eq!(read(jsonl, Jsonl), expected);
    let table = "ID;text;Labels\n7;x;web design\na;\"y;z\";\"5;maps; 2012\"\n";
    assert_eq!(read(table, Csv), expected);
    assert_eq!(read("id,label_1,label_2,label_3\na,5,maps,3\n7,1,,\n", Csv), expected);
    let refused = |text| read_source(source(text), Csv, known, "id", &[]).unwrap_err().to_string();
    assert_eq!(
        refused("labels,scores\n1;2,0.5\n"),
        "f:2:1: 2 labels but 1 score: give each label one"
    );
    assert_eq!(
        refused("a,b\n1,2\n"),
        "f:1:1: there is no column `labels` or `label_1`: there are `a`, `b`"
    );
    assert_eq!(refused("a,labels\n1\n"), "f:2:1: expected 2 columns as in the header but found 1");
    assert!(refused("").starts_with("f:1:1: the file is empty"));
}

#[test]
fn a_sheet_of_data_with_labels_has_columns_of_other_names() {
    let (task, options) = (Pool::new(1).unwrap().task(), Options::default());
    let table = b"Labels;text\nmaps;Old maps\n";
    let documents =
        Documents::from_bytes(table, "f", Format::Csv, &options, Labels::Required, &task);
    let mut documents = documents.unwrap().keeping_fields();
    let batch = documents.next_batch().unwrap().unwrap();
    let names = LabelIndex::from_lines(["x:1\tmaps; old", "x:2\tbirds"]);
    let predictions = parse("1 0.5\t0 0.25", Tsv).unwrap();
    let written = |width: Option<usize>| {
        let mut file = Vec::new();
        let layout = Layout { labels_only: width.is_some(), wide: width, ..Layout::default() };
        let mut writer =
            SheetWriter::new(&mut file, documents.header(), Some(&names), layout).unwrap();
        writer.push(Some(&batch), &predictions).unwrap();
        writer.finish().unwrap();
        String::from_utf8(file).unwrap()
    };
    assert_eq!(
        written(None),
        "Labels;text;predicted_labels;predicted_names;predicted_scores\n\
         maps;Old maps;x:2| x:1;birds| maps; old;0.5| 0.25\n"
            .replace("x:2| x:1;birds| maps; old", "x:2| x:1;\"birds| maps; old\"")
    );
    assert_eq!(
        written(Some(1)),
        "Labels;text;predicted_label_1;predicted_name_1\nmaps;Old maps;x:2;birds\n"
    );
}

proptest! {
    #[test]
    fn sheets_and_labels_alone_give_back_what_was_written(predictions in any_predictions()) {
        for width in [None, Some(10)] {
            let file = sheet(&predictions, false, width);
            prop_assert_eq!(&read(file.as_slice(), "file", Csv, 40, |_| None).unwrap(), &predictions);
            let file = sheet(&predictions, true, width);
            let back = read(file.as_slice(), "file", Csv, 40, |_| None).unwrap();
            prop_assert_eq!(order(&back), order(&predictions));
        }
        for format in [Tsv, Jsonl, Xc, Npz] {
            let mut file = Vec::new();
            let rows = Some(predictions.len() as u64);
            let mut writer = Writer::new(&mut file, format, rows, 40, true, |_| None).unwrap();
            writer.push(&predictions).unwrap();
            writer.finish().unwrap();
            let back = read(file.as_slice(), "file", format, 40, |_| None).unwrap();
            prop_assert_eq!(order(&back), order(&predictions), "{:?}", format);
        }
    }

    #[test]
    fn every_format_gives_back_what_was_written(predictions in any_predictions()) {
        for format in [Tsv, Jsonl, Xc, Npz] {
            let mut file = Vec::new();
            write(&mut file, &predictions, format, 40, name).unwrap();
            let back = read(file.as_slice(), "file", format, 40, id).unwrap();
            prop_assert_eq!(&back, &predictions, "{:?}", format);
        }
    }

    #[test]
    fn cut_or_changed_npz_files_never_panic(
        predictions in any_predictions(),
        cut in any::<proptest::sample::Index>(),
        change in any::<(proptest::sample::Index, u8)>(),
    ) {
        let mut file = Vec::new();
        write(&mut file, &predictions, Npz, 40, name).unwrap();
        let _ = read(&file[..cut.index(file.len())], "file", Npz, 40, id);
        let at = change.0.index(file.len());
        file[at] = change.1;
        let _ = read(file.as_slice(), "file", Npz, 40, id);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), text in "[0-9a:. \t\n{}\\[\\]\",-]{0,60}") {
        for format in [Tsv, Jsonl, Xc, Npz, Csv] {
            let _ = read(bytes.as_slice(), "file", format, 40, id);
            let _ = read(text.as_bytes(), "file", format, 40, id);
        }
    }
}
