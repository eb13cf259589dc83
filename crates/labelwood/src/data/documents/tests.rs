//! What is legal in each format, what is refused and with which words, and the way back.

use super::*;
use crate::base::run::Pool;
use proptest::prelude::*;
use std::io::Write;

/// Text, id and labels of a document.
type Plain = (String, Option<String>, Vec<String>);

fn with_size(
    bytes: &[u8],
    format: Format,
    options: &Options,
    labels: Labels,
    size: usize,
) -> Result<(Vec<Plain>, Option<Separator>), String> {
    let task = Pool::new(2).unwrap().task();
    let documents = Documents::with_size(bytes, "f", format, options, labels, size, &task);
    let mut documents = documents.map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    while let Some(batch) = documents.next_batch().map_err(|error| error.to_string())? {
        found.extend(batch.texts().enumerate().map(|(row, text)| {
            let labels = batch.labels(row).map(str::to_owned).collect();
            (text.to_owned(), batch.id(row).map(str::to_owned), labels)
        }));
        assert_eq!(documents.rows(), found.len() as u64);
    }
    Ok((found, documents.separator().cloned()))
}

fn read(text: impl AsRef<[u8]>, format: Format, options: &Options) -> Result<Vec<Plain>, String> {
    Ok(with_size(text.as_ref(), format, options, Labels::Required, BATCH)?.0)
}

fn tsv(text: impl AsRef<[u8]>) -> Result<Vec<Plain>, String> {
    read(text, Format::Tsv, &Options::default())
}

fn csv(text: &str) -> Result<Vec<Plain>, String> {
    read(text, Format::Csv, &Options::default())
}

fn jsonl(text: &str) -> Result<Vec<Plain>, String> {
    read(text, Format::Jsonl, &Options::default())
}

fn without_labels(text: &str, format: Format) -> Result<Vec<Plain>, String> {
    let options = Options::default();
    Ok(with_size(text.as_bytes(), format, &options, Labels::Optional, BATCH)?.0)
}

fn plain(text: &str, id: &str, labels: &[&str]) -> Plain {
    let id = Some(id.to_owned()).filter(|id| !id.is_empty());
    (text.to_owned(), id, labels.iter().map(|&label| label.to_owned()).collect())
}

fn fields(text: &[&str], labels: &str, id: Option<&str>) -> Options {
    let text = text.iter().map(|&name| name.to_owned()).collect();
    let id = id.map(str::to_owned);
    Options { text, labels: vec![labels.to_owned()], id, ..Options::default() }
}

/// The place and the beginning of a message.
fn start<T: std::fmt::Debug>(result: Result<T, String>) -> String {
    result.unwrap_err().split(": ").take(2).collect::<Vec<_>>().join(": ")
}

#[test]
fn the_three_formats_hold_the_same_documents() {
    let expected = [plain("Birds, north", "", &["a b", "c"]), plain("Cats", "", &[])];
    assert_eq!(tsv("Birds, north\ta b; c\nCats\t\n").unwrap(), expected);
    assert_eq!(csv("labels,text\na b; c,\"Birds, north\"\n,Cats\n").unwrap(), expected);
    let lines =
        "{\"text\":\"Birds, north\",\"labels\":[\"a b\",\"c\"]}\n{\"labels\":[],\"text\":\"Cats\"}";
    assert_eq!(jsonl(lines).unwrap(), expected);
}

#[test]
fn a_file_of_one_line_is_read() {
    for text in ["Cats\tpets", "Cats\tpets\n", "\u{feff}Cats\tpets\r\n\r\n\n"] {
        assert_eq!(tsv(text).unwrap(), [plain("Cats", "", &["pets"])]);
    }
    let expected = [plain("Cats", "7", &["pets"])];
    assert_eq!(
        jsonl("\u{feff}{\"id\":7,\"text\":\"Cats\",\"labels\":\"pets\"}").unwrap(),
        expected
    );
    let error = csv("text,labels\n").unwrap_err();
    let empty = "f:1:1: the file is empty: expected a line that names the columns, and rows";
    assert_eq!(error, empty);
    assert_eq!(csv("").unwrap_err(), empty);
    assert_eq!(start(tsv("\n\n")), "f:1:1: the file is empty");
    assert_eq!(start(jsonl("\n")), "f:1:1: the file is empty");
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_accepted() {
    let expected =
        [plain("Cats", "1", &["pets"]), plain("Dogs\r\nand more", "2", &["pets", "zoo"])];
    let text =
        "\u{feff}id,text,labels\r\n1,Cats,pets\r\n\r\n2,\"Dogs\r\nand more\",\"pets;zoo\"\r\n";
    assert_eq!(csv(text).unwrap(), expected);
    let expected = [plain("a", "", &["x"]), plain("", "", &[]), plain("b", "", &["y"])];
    assert_eq!(tsv("\u{feff}a\tx\r\n\r\nb\ty\r\n").unwrap(), expected);
}

#[test]
fn an_empty_label_field_is_a_document_without_labels() {
    assert_eq!(
        tsv("Cats\t\nDogs\t  \n").unwrap(),
        [plain("Cats", "", &[]), plain("Dogs", "", &[])]
    );
    assert_eq!(csv("text,labels\nCats,\n").unwrap(), [plain("Cats", "", &[])]);
    assert_eq!(csv("text,labels\nCats,\"\"\n").unwrap(), [plain("Cats", "", &[])]);
    for labels in ["[]", "null", "\"\"", "[null, \" \"]"] {
        let line = format!("{{\"text\":\"Cats\",\"labels\":{labels}}}");
        assert_eq!(jsonl(&line).unwrap(), [plain("Cats", "", &[])], "{labels}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_named_with_line_and_column() {
    let expected = "f:2:4: the byte `\\xe9` is not UTF-8 text";
    assert_eq!(start(tsv(b"a\tb\ncaf\xe9\tb\n")), expected);
    let options = Options::default();
    assert_eq!(start(read(b"text,labels\ncaf\xe9,b\n", Format::Csv, &options)), expected);
    assert_eq!(
        start(read(b"\n{\"t\xe9\n", Format::Jsonl, &options)),
        "f:2:4: the byte `\\xe9` is not UTF-8 text"
    );
}

#[test]
fn lines_with_too_few_or_too_many_tabs_are_refused() {
    let error = tsv("a\tb\nno labels here\n").unwrap_err();
    assert_eq!(
        error,
        "f:2:15: expected a text, a TAB and labels, but there is no TAB in this line: add the \
         labels, or only the TAB if there are none"
    );
    let error = tsv("7\ta\tb\tc\n").unwrap_err();
    assert!(
        error.starts_with("f:1:4: expected a text, a TAB and labels, but found 4 fields"),
        "{error}"
    );
    assert!(error.contains("read the file as CSV"), "{error}");
}

#[test]
fn documents_to_predict_may_come_without_labels() {
    let expected = [plain("Cats", "", &[]), plain("Dogs", "", &["pets"])];
    assert_eq!(without_labels("Cats\nDogs\tpets\n", Format::Tsv).unwrap(), expected);
    assert_eq!(without_labels("text\nCats\n", Format::Csv).unwrap(), expected[..1]);
    let lines = "{\"text\":\"Cats\"}\n{\"text\":\"Dogs\",\"labels\":[\"pets\"]}\n";
    assert_eq!(without_labels(lines, Format::Jsonl).unwrap(), expected);
    assert!(csv("text\nCats\n").is_err());
    assert!(jsonl(lines).is_err());
}

#[test]
fn empty_lines_of_a_tsv_file_keep_the_rows_in_step_with_the_lines() {
    let expected =
        [plain("", "", &[]), plain("a", "", &["x"]), plain("", "", &[]), plain("b", "", &[])];
    for size in [1, 2, 3, 100] {
        let options = Options::default();
        let text = b"\na\tx\n\nb\t\n\n\n";
        let found = with_size(text, Format::Tsv, &options, Labels::Required, size);
        assert_eq!(found.unwrap().0, expected);
    }
}

#[test]
fn a_wrong_column_names_those_there_are() {
    let options = fields(&["titel"], "labels", None);
    let error = read("id;title;tags\n1;a;b\n", Format::Csv, &options).unwrap_err();
    let expected = "f:1:1: there is no column `titel`: there are `id`, `title`, `tags`; name the \
                    column to take";
    assert_eq!(error, expected);
    let options = fields(&["title"], "labels", None);
    let error = read("id;title;tags\n1;a;b\n", Format::Csv, &options);
    assert_eq!(start(error), "f:1:1: there is no column `labels`");
    let options = fields(&["title"], "tags", Some("nr"));
    assert_eq!(
        start(read("title,tags\na,b\n", Format::Csv, &options)),
        "f:1:1: there is no column `nr`"
    );
    let options = fields(&["titel"], "tags", None);
    let error = read("\n{\"title\":\"a\",\"tags\":[]}\n", Format::Jsonl, &options).unwrap_err();
    let expected =
        "f:2:1: there is no field `titel`: there are `tags`, `title`; name the field to take";
    assert_eq!(error, expected);
    let options = fields(&["title"], "tags", Some("nr"));
    let error = read("{\"title\":\"a\",\"tags\":[]}\n", Format::Jsonl, &options);
    assert_eq!(start(error), "f:1:1: there is no field `nr`");
    assert!(jsonl("{}").unwrap_err().contains("there are none"));
}

#[test]
fn columns_are_joined_and_ids_kept() {
    let options = fields(&["title", "abstract"], "subject", Some("isbn"));
    let text =
        "isbn,subject,abstract,title\n1-2,x;y,\"A \"\"bird\"\",\nand more\",Birds\n3,z,,Cats\n";
    let expected =
        [plain("Birds A \"bird\",\nand more", "1-2", &["x", "y"]), plain("Cats", "3", &["z"])];
    assert_eq!(read(text, Format::Csv, &options).unwrap(), expected);
    assert_eq!(read(text.replace(',', "\t"), Format::Csv, &options).unwrap()[1], expected[1]);
}

#[test]
fn an_unbalanced_quote_is_named_where_it_opens() {
    let error = csv("text,labels\nCats,pets\n\"Dogs,pets\nBirds,zoo\n").unwrap_err();
    assert!(
        error.starts_with("f:3:1: the double quote that opens here is never closed"),
        "{error}"
    );
    let error = csv("text,labels\n\"Dogs,pets\n\"Birds\",zoo\n").unwrap_err();
    assert!(error.starts_with("f:2:1: the double quote that opens here is not closed"), "{error}");
    assert_eq!(csv("text,labels\n5\" disk,pets\n").unwrap(), [plain("5\" disk", "", &["pets"])]);
}

#[test]
fn a_row_of_other_length_than_the_header_is_refused_with_its_line() {
    let error = csv("text,labels\n\"Cats\nand dogs\",pets\n\n\nBirds, north,zoo\n").unwrap_err();
    let expected = "f:6:1: expected 2 columns as in the header but found 3: put fields that hold \
                    the column separator into double quotes";
    assert_eq!(error, expected);
    assert_eq!(
        start(csv("text,labels\r\n\r\nCats\r\n")),
        "f:3:1: expected 2 columns as in the header but found 1"
    );
}

#[test]
fn paths_lead_into_objects_and_lists() {
    let options = fields(&["record.title", "notes[]"], "subjects[].uri", Some("record.dc.id"));
    let line = r#"{"record":{"title":"Birds","dc.id":"x7"},"notes":["a","","b"],
        "subjects":[{"uri":"<http://x/1>","label":"birds"},{"uri":"http://x/2"},{"uri":null}]}"#;
    let expected = [plain("Birds a b", "x7", &["http://x/1", "http://x/2"])];
    assert_eq!(read(line.replace('\n', ""), Format::Jsonl, &options).unwrap(), expected);
    let error = jsonl("{\"text\":\"a\",\"labels\":[{\"uri\":1}]}").unwrap_err();
    let expected = "f:1:1: the field `labels` holds objects: name the key within to take, as in \
                    `labels[].uri`";
    assert_eq!(error, expected);
}

#[test]
fn a_line_that_is_no_json_object_is_refused_with_its_place() {
    let error = jsonl("{\"text\":\"a\",\"labels\":[]}\n{\"text\": x}\n").unwrap_err();
    assert!(error.starts_with("f:2:10: this is no JSON object (expected value)"), "{error}");
    assert_eq!(start(jsonl("[1]")), "f:1:1: this is no JSON object (invalid type".to_owned());
    assert!(jsonl(&"[".repeat(100_000)).unwrap_err().contains("no JSON object"));
}

#[test]
fn the_separator_is_decided_once_or_stated() {
    let text = b"a\tx,y\nb\tu v\n";
    let options = Options::default();
    let (found, separator) = with_size(text, Format::Tsv, &options, Labels::Required, 3).unwrap();
    assert_eq!(separator, Some(Separator::Text(",".to_owned())));
    assert_eq!(found, [plain("a", "", &["x", "y"]), plain("b", "", &["u v"])]);
    let stated = |text: &str| Options { separator: text.parse().ok(), ..Options::default() };
    let expected = [plain("a", "", &["x,y"]), plain("b", "", &["u", "v"])];
    assert_eq!(read(text, Format::Tsv, &stated(" ")).unwrap(), expected);
    let expected = [plain("a", "", &["x,y"]), plain("b", "", &["u v"])];
    assert_eq!(read(text, Format::Tsv, &stated("none")).unwrap(), expected);
    let line = "{\"text\":\"a\",\"labels\":\"x y\"}";
    assert_eq!(jsonl(line).unwrap(), [plain("a", "", &["x y"])]);
    assert_eq!(read(line, Format::Jsonl, &stated(" ")).unwrap(), [plain("a", "", &["x", "y"])]);
    let (_, undecided) = with_size(b"a\t\n", Format::Tsv, &options, Labels::Required, 3).unwrap();
    assert_eq!(undecided, None);
}

#[test]
fn labels_of_several_words_are_split_at_spaces_in_tsv_only() {
    let (words, parts) = (["Home & Garden"], ["Home", "&", "Garden"]);
    assert_eq!(tsv("a\tHome & Garden\n").unwrap(), [plain("a", "", &parts)]);
    let table = b"text,labels\na,Home & Garden\n";
    let options = Options::default();
    let (found, separator) =
        with_size(table, Format::Csv, &options, Labels::Required, BATCH).unwrap();
    assert_eq!((found, separator), (vec![plain("a", "", &words)], Some(Separator::None)));
    let line = "{\"text\":\"a\",\"labels\":\"Home & Garden\"}";
    assert_eq!(jsonl(line).unwrap(), [plain("a", "", &words)]);
    let table = "text,labels\na,Home & Garden|Books\nb,Books\n";
    assert_eq!(csv(table).unwrap()[0], plain("a", "", &["Home & Garden", "Books"]));
    let uris = "text,labels\na,<http://x/1> <http://x/2>\n";
    assert_eq!(csv(uris).unwrap(), [plain("a", "", &["http://x/1", "http://x/2"])]);
}

#[test]
fn a_document_of_50_megabytes_is_read() {
    let long = "word ".repeat(10 << 20);
    let found = tsv(format!("a\tx\n{long}\ty\nb\tz\n")).unwrap();
    assert_eq!((found[1].0.len(), &found[2]), (long.len(), &plain("b", "", &["z"])));
    let found = csv(&format!("text,labels\n\"{long}\n{long}\",y\nb,z\n")).unwrap();
    assert_eq!((found[0].0.len(), &found[1]), (2 * long.len() + 1, &plain("b", "", &["z"])));
    let found = jsonl(&format!("{{\"text\":\"{long}\",\"labels\":[]}}\n")).unwrap();
    assert_eq!(found[0].0.len(), long.len());
}

#[test]
fn a_line_beyond_the_limit_is_refused() {
    let long = vec![b'a'; (257 << 20) + 1];
    assert_eq!(start(tsv(&long)), "f:1:1: the line is longer than 268435456 bytes");
    let mut quoted = long;
    quoted.fill(b'\n');
    quoted[..17].copy_from_slice(b"text,labels\nx,y\n\"");
    let error = start(read(&quoted, Format::Csv, &Options::default()));
    assert_eq!(error, "f:3:1: the double quote that opens here is never closed");
}

#[test]
fn compressed_files_are_read_and_endings_tell_the_format() {
    let task = Pool::new(1).unwrap().task();
    let folder = tempfile::tempdir().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    gzip.write_all(b"text,labels\nCats,pets\n").unwrap();
    let files = [
        ("a.csv.gz", gzip.finish().unwrap(), Format::Csv),
        ("a.TSV.zst", zstd::encode_all(&b"Cats\tpets\n"[..], 0).unwrap(), Format::Tsv),
        ("a.ndjson", b"{\"text\":\"Cats\",\"labels\":[\"pets\"]}".to_vec(), Format::Jsonl),
        ("plain", b"Cats\tpets\n".to_vec(), Format::Tsv),
    ];
    for (name, bytes, format) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let options = Options::default();
        let mut documents =
            Documents::open(&path, None, &options, Labels::Required, &task).unwrap();
        assert_eq!(documents.format(), format);
        let batch = documents.next_batch().unwrap().unwrap();
        assert_eq!(batch.texts().collect::<Vec<_>>(), ["Cats"], "{name}");
        assert_eq!(batch.labels(0).collect::<Vec<_>>(), ["pets"], "{name}");
    }
    let open = |name: &str, format| {
        let path = folder.path().join(name);
        Documents::open(&path, format, &Options::default(), Labels::Required, &task).err().unwrap()
    };
    assert!(open("a.txt", None).to_string().contains("the ending does not tell the format"));
    assert!(matches!(open("a.txt", Some(Format::Tsv)), ReadError::Io { .. }));
    for name in ["plain", "plain.txt"] {
        let path = folder.path().join(name);
        std::fs::write(&path, b"text,labels\nCats,pets\n").unwrap();
        let options = Options { format: Format::Csv, ..Options::default() };
        let documents = Documents::open(&path, None, &options, Labels::Required, &task).unwrap();
        assert_eq!(documents.format(), Format::Csv, "{name}");
        let tsv = Some(Format::Tsv);
        let documents = Documents::open(&path, tsv, &options, Labels::Required, &task).unwrap();
        assert_eq!(documents.format(), Format::Tsv, "{name}");
    }
}

#[test]
fn options_that_were_kept_before_there_was_a_format_are_read_as_tsv() {
    let before = r#"{"id":null,"labels":"labels","separator":null,"text":["text"]}"#;
    let options: Options = serde_json::from_str(before).unwrap();
    assert_eq!(options, Options::default());
    assert_eq!(serde_json::to_value(&options).unwrap().to_string(), before);
    let options = Options { format: Format::Jsonl, separator: Some(Separator::None), ..options };
    let json = serde_json::to_string(&options).unwrap();
    assert!(json.contains(r#""format":"jsonl""#) && json.contains(r#""separator":"none""#));
    assert_eq!(serde_json::from_str::<Options>(&json).unwrap(), options);
}

#[test]
fn a_cancelled_run_reads_nothing() {
    let task = Pool::new(1).unwrap().task();
    let options = Options::default();
    let mut documents =
        Documents::from_bytes(b"a\tb", "f", Format::Tsv, &options, Labels::Required, &task)
            .unwrap();
    task.canceller().cancel();
    assert!(matches!(documents.next_batch(), Err(ReadError::Stopped(_))));
}

/// Documents whose labels hold no semicolon and no blanks around them.
fn documents() -> impl Strategy<Value = Vec<Plain>> {
    let text = "[a-cé\",;|<>'\\\\ \n\r\t🐦]{0,12}";
    let id = proptest::option::of("[a-c\",\n ]{1,4}");
    let label = "[a-d](([a-c, |\"<é]{0,4})[a-d])?";
    let document = (text, id, proptest::collection::vec(label, 0..4));
    proptest::collection::vec(document, 1..20)
}

fn quoted(field: &str) -> String {
    format!("\"{}\"", field.replace('"', "\"\""))
}

proptest! {
    #[test]
    fn csv_gives_back_what_was_written(documents in documents(), size in 1usize..100) {
        let rows = documents.iter().map(|(text, id, labels)| {
            let id = id.as_deref().unwrap_or_default();
            format!("{},{},{}\n", quoted(&labels.join(";")), quoted(id), quoted(text))
        });
        let file = format!("labels,id,text\n{}", rows.collect::<String>());
        let options = Options { separator: ";".parse().ok(), ..Options::default() };
        let found = with_size(file.as_bytes(), Format::Csv, &options, Labels::Required, size);
        // A CR at the end of a row is taken for a part of its end.
        let expected: Vec<Plain> = documents
            .into_iter()
            .map(|(text, id, labels)| (text.strip_suffix('\r').unwrap_or(&text).to_owned(), id, labels))
            .collect();
        prop_assert_eq!(found.unwrap().0, expected);
    }

    #[test]
    fn jsonl_gives_back_what_was_written(documents in documents(), size in 1usize..100) {
        let lines = documents.iter().map(|(text, id, labels)| {
            format!("{}\n", serde_json::json!({ "text": text, "id": id, "labels": labels }))
        });
        let file: String = lines.collect();
        let options = Options::default();
        let found = with_size(file.as_bytes(), Format::Jsonl, &options, Labels::Required, size);
        prop_assert_eq!(found.unwrap().0, documents);
    }

    #[test]
    fn tsv_gives_back_what_was_written(documents in documents(), size in 1usize..100) {
        let expected: Vec<Plain> = documents
            .into_iter()
            .map(|(text, _, labels)| (text.replace(['\n', '\r', '\t'], " "), None, labels))
            .collect();
        let lines = expected.iter().map(|(text, _, labels)| format!("{text}\t{}\n", labels.join(";")));
        let file: String = lines.collect();
        let options = Options { separator: ";".parse().ok(), ..Options::default() };
        let found = with_size(file.as_bytes(), Format::Tsv, &options, Labels::Required, size);
        prop_assert_eq!(found.unwrap().0, expected);
    }

    #[test]
    fn any_size_of_batch_reads_the_same(text in "[ab\",;\t\n\r<>{}:é]{0,60}", size in 1usize..30) {
        let stated = Options { separator: ";".parse().ok(), ..Options::default() };
        let named = Options { text: vec!["a".to_owned()], ..stated.clone() };
        for format in [Format::Tsv, Format::Csv, Format::Jsonl] {
            for (text, options) in [(&text, &stated), (&format!("a,b\n{text}"), &named)] {
                let read = |size| with_size(text.as_bytes(), format, options, Labels::Optional, size);
                prop_assert_eq!(read(size).ok(), read(BATCH).ok());
            }
        }
    }

    #[test]
    fn documents_that_are_copied_stay_what_they_are(text in "[ab\",;\t\n\r<>{}:é]{0,60}") {
        let task = Pool::new(1).unwrap().task();
        for format in [Format::Tsv, Format::Csv, Format::Jsonl] {
            let text = if format == Format::Csv { format!("text,b\n{text}") } else { text.clone() };
            let options = Options { separator: ";".parse().ok(), ..Options::default() };
            let read = |bytes: &[u8]| with_size(bytes, format, &options, Labels::Optional, BATCH);
            let Ok(expected) = read(text.as_bytes()) else { continue };
            let documents = Documents::from_bytes(
                text.as_bytes(), "f", format, &options, Labels::Optional, &task,
            );
            let mut copy = Vec::new();
            documents.unwrap().keeping_fields().copy_to(&mut copy).unwrap();
            prop_assert_eq!(read(&copy).unwrap(), expected);
        }
    }
}
