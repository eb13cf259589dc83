use super::*;
use crate::base::run::Pool;
use crate::data::binary::write_binary;
use crate::data::{Dataset, ReadOptions};
use oxrdf::{Literal, NamedNode, Triple};
use oxrdfxml::RdfXmlSerializer;
use oxttl::TurtleSerializer;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

const SKOS: &str = "http://www.w3.org/2004/02/skos/core#";

fn read(file: &str, name: &str, language: Option<&str>) -> Result<Vocabulary, ReadError> {
    Vocabulary::from_bytes(file.as_bytes(), name, language)
}

/// The labels of some Turtle with the usual prefixes.
fn turtle(text: &str, language: Option<&str>) -> Result<Vocabulary, ReadError> {
    read(&format!("@prefix skos: <{SKOS}> .\n@prefix : <x:> .\n{text}"), "v.ttl", language)
}

fn lines(labels: &LabelIndex) -> Vec<&str> {
    labels.lines().collect()
}

fn message(read: Result<Vocabulary, ReadError>) -> String {
    read.unwrap_err().to_string()
}

#[test]
fn concepts_get_their_names_languages_and_broader_concepts() {
    let text = r#"
        :b a skos:Concept ; skos:prefLabel "birds"@en, "linnut"@fi, "Vögel"@de ;
            skos:altLabel "fowl"@en, "Federvieh"@de ; skos:notation "598" .
        :a skos:prefLabel "animals"@en, "eläimet"@fi ; skos:narrower :b .
        :c skos:prefLabel "cats"@en-GB ; skos:broader :a, :nowhere, :c ; skos:hiddenLabel "catz"@en .
        :d a skos:Concept ; skos:altLabel "dogs"@en ; skos:prefLabel "koirat"@fi ."#;
    let Vocabulary { labels, warnings } = turtle(text, None).unwrap();
    let expected = ["x:a\tanimals", "x:b\tbirds\tfowl\t598", "x:c\tcats\tcatz", "x:d\t\tdogs"];
    // Most preferred names are Finnish, as `en-gb` counts apart.
    let english = turtle(text, Some("EN")).unwrap();
    assert_eq!(lines(&english.labels), expected);
    assert_eq!(
        english.warnings,
        ["v.ttl: 1 of 4 concepts have no preferred name in the language `en`"]
    );
    assert_eq!((labels.language(), labels.display(2)), (Some("fi"), "cats"));
    assert_eq!(warnings.len(), 1);
    let labels = english.labels;
    assert_eq!(labels.languages().collect::<Vec<_>>(), ["en", "de", "fi"]);
    assert_eq!(labels.names_in("de", 1).collect::<Vec<_>>(), ["Vögel", "Federvieh"]);
    assert_eq!([0, 1, 2, 3].map(|id| labels.broader(id)), [&[][..], &[0], &[0], &[]]);
    let finnish = labels.in_language("fi").unwrap();
    let shown: Vec<&str> = (0..4).map(|id| finnish.display(id)).collect();
    assert_eq!(shown, ["eläimet", "linnut", "cats", "koirat"]);
    assert!(labels.in_language("sv").is_none());
    assert_eq!(
        (labels.find("fowl"), labels.find("598"), labels.find("linnut")),
        (Some(1), Some(1), Some(1))
    );
    assert_eq!(labels.broader_pairs(), 2);
}

#[test]
fn a_language_means_its_regions_but_a_region_does_not_mean_the_language() {
    let text = r#":a skos:prefLabel "colour"@en-GB, "color"@en-US, "Farbe"@de .
        :b skos:prefLabel "lift"@en-GB, "elevator"@en ."#;
    let labels = turtle(text, Some("en")).unwrap().labels;
    assert_eq!(lines(&labels), ["x:a\tcolour\tcolor", "x:b\televator\tlift"]);
    assert_eq!(labels.languages().collect::<Vec<_>>(), ["en", "de"]);
    let labels = turtle(text, Some("en-GB")).unwrap().labels;
    assert_eq!(lines(&labels), ["x:a\tcolour", "x:b\tlift"]);
    assert_eq!(labels.languages().collect::<Vec<_>>(), ["en-gb", "de", "en", "en-us"]);
    let all = |id| labels.names_in("en", id).collect::<Vec<_>>();
    assert_eq!([all(0), all(1)], [vec!["colour", "color"], vec!["lift", "elevator"]]);
}

#[test]
fn names_without_a_tag_count_for_every_language_after_those_with_one() {
    let text =
        r#":a skos:prefLabel "Rattus", "rats"@en ; skos:altLabel "R." . :b skos:prefLabel "Mus" ."#;
    let labels = turtle(text, Some("en")).unwrap().labels;
    assert_eq!(lines(&labels), ["x:a\trats\tRattus\tR.", "x:b\tMus"]);
    let untagged = turtle(":a skos:prefLabel 'Mus' .", None).unwrap().labels;
    assert_eq!((untagged.language(), untagged.display(0)), (None, "Mus"));
    let told = turtle(":a skos:prefLabel 'Mus' .", Some("la")).unwrap().labels;
    assert_eq!(told.languages().collect::<Vec<_>>(), ["la"]);
}

#[test]
fn deprecated_and_nameless_things_are_left_out_and_counted() {
    let text = r#"@prefix owl: <http://www.w3.org/2002/07/owl#> .
        :a skos:prefLabel "a"@en, "a"@en, "  a\tb "@en, ""@en .
        :old skos:prefLabel "old"@en ; owl:deprecated true ; skos:broader :a .
        :kept skos:prefLabel "kept"@en ; owl:deprecated false ; skos:broader :old .
        [] skos:prefLabel "blank"@en . [ a skos:Concept ] skos:altLabel "x" .
        :scheme a skos:ConceptScheme ; skos:hasTopConcept :a . :other skos:altLabel "no concept"@en ."#;
    let Vocabulary { labels, warnings } = turtle(text, None).unwrap();
    assert_eq!(lines(&labels), ["x:a\ta\ta b", "x:kept\tkept"]);
    let expected = [
        "v.ttl: 1 deprecated concepts are left out",
        "v.ttl: 1 preferred names are left out, because what they name has no URI",
    ];
    assert_eq!(warnings, expected);
    assert_eq!(labels.broader_pairs(), 0);
}

#[test]
fn odd_files_are_refused_with_the_remedy() {
    for name in ["v.ttl", "v.nt"] {
        assert!(message(read("", name, None)).contains("there is no concept"), "{name}");
    }
    assert!(message(read("", "v.rdf", None)).starts_with("v.rdf"));
    assert!(message(turtle(":a :b :c .", None)).contains("there is no concept"));
    let error = message(turtle(":a skos:prefLabel 'a'@en, 'b'@fi .", Some("sv")));
    assert_eq!(error, "v.ttl: there are no names in the language `sv`, only in `en`, `fi`");
    assert!(message(turtle("", Some("e n"))).starts_with("v.ttl: `e n` is no tag of a language"));
    let error = message(turtle(":a skos:prefLabel 'a'@en .\n:b skos:prefLabel .", None));
    assert!(error.starts_with("v.ttl:4:19: this is not valid Turtle ("), "{error}");
    let error = message(Vocabulary::from_bytes(b"<x:a> <x:b> \"\xff\" .", "v.nt", None));
    assert!(error.starts_with("v.nt:1:"), "{error}");
    let error = message(read("<rdf:RDF>\n\n<a></b>", "v.xml", None));
    assert!(
        error.starts_with("v.xml:1:1: this is not valid RDF/XML (")
            || error.starts_with("v.xml:3:1"),
        "{error}"
    );
    let error = message(read("x", "v.json", None));
    assert!(error.starts_with("v.json: the ending does not tell the format"), "{error}");
}

#[test]
fn line_ends_marks_and_compression_make_no_difference() {
    let text = "\u{feff}@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\r\n<x:a> skos:prefLabel \"a\"@en .\r\n";
    assert_eq!(lines(&read(text, "v.ttl", None).unwrap().labels), ["x:a\ta"]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let compressed = encoder.finish().unwrap();
    let found = Vocabulary::from_bytes(&compressed, "v.ttl.gz", None).unwrap();
    assert_eq!(lines(&found.labels), ["x:a\ta"]);
    let cut = Vocabulary::from_bytes(&compressed[..compressed.len() - 9], "v.ttl.gz", None);
    assert!(message(cut).contains("damaged or cut short"));
    let table = "\u{feff}URI\tname\r\n<x:a>\ta\tb\r\n\r\nx:b\t\t c\r\nx:c\r\n";
    let expected = ["x:a\ta\tb", "x:b\t\tc", "x:c"];
    assert_eq!(lines(&read(table, "v.tsv", None).unwrap().labels), expected);
}

#[test]
fn tables_have_a_header_only_if_it_looks_like_one() {
    let labels =
        |file: &str, name: &str| lines(&read(file, name, Some("en")).unwrap().labels).join("|");
    assert_eq!(labels("code;name;other\n1;\"a; b\";\"c\nd\"\n", "v.csv"), "1\ta; b\tc d");
    assert_eq!(labels("notation,x\n\"1\",\"say \"\"a\"\"\"\n", "v.csv.gz"), "1\tsay \"a\"");
    assert_eq!(labels("id\nother\n", "v.tsv"), "id|other", "a single column has no header");
    assert_eq!(labels("p1\ta\nid\tb\n", "v.tsv"), "p1\ta|id\tb", "only the first line is a header");
    assert_eq!(labels("subject\tb\n", "v.tsv"), "subject\tb");
    let english = read("p1\ta\n", "v.tsv", Some("en")).unwrap().labels;
    assert_eq!(english.languages().collect::<Vec<_>>(), ["en"]);
    let error = message(read("a,\"b\nc,d\n", "v.csv", None));
    assert!(error.starts_with("v.csv:1:3: the double quote that opens here"), "{error}");
}

#[test]
fn what_would_take_endless_memory_is_refused() {
    let deep = format!("<x:a> <x:b> {}", "(".repeat(2000));
    let limits = |file: &str, name: &str, what: &str| {
        let error = message(read(file, name, None));
        assert!(error.contains("which no vocabulary needs") && error.contains(what), "{error}");
    };
    limits(&deep, "v.ttl", "levels of brackets");
    limits(&"[<x:a>".repeat(2000), "v.ttl", "levels of brackets");
    let quoted =
        format!("<x:a> <x:b> \"{}\", '''\n'{}''', \"\\\"[\" .", "[".repeat(2000), "(".repeat(2000));
    assert!(message(read(&quoted, "v.ttl", None)).contains("there is no concept"));
    limits(&"#\n".repeat(10 << 20), "v.ttl", "a statement of more");
    limits(&"@prefix a: <x:> .".repeat(300_000), "v.ttl", "prefixes");
    let rdf = |inside: &str| {
        format!(
            "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:x=\"x:\">{inside}"
        )
    };
    limits(&rdf(&"<x:a><x:b>".repeat(2000)), "v.rdf", "levels of");
    let comments =
        rdf(&"<!-- <a><a> --><?p <a> ?><x:a><x:b><![CDATA[<a><b>]]></x:b></x:a>".repeat(2000))
            + "</rdf:RDF>";
    assert_eq!(
        message(read(&comments, "v.rdf", None)).split(':').nth(1),
        Some(" there is no concept")
    );
    limits(&format!("<a b=\"{}", "x ".repeat(70_000)), "v.rdf", "a tag of");
    let entities = "<!DOCTYPE a [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;\">]>";
    limits(entities, "v.rdf", "an entity within an entity");
    let entity = format!("<!DOCTYPE a [<!ENTITY a \"{}\">]>", "a".repeat(60_000));
    limits(&(entity + &rdf("<x:a><x:b>") + &"&a;".repeat(1000)), "v.rdf", "a statement of more");
    limits(&format!("<!DOCTYPE a [{}", " ".repeat(70_000)), "v.rdf", "a document type");
    let languages: String = (0..1100).map(|at| format!(", \"a\"@en-x-{at}")).collect();
    let many = format!("<x:a> <{SKOS}prefLabel> \"a\"{languages} .");
    limits(&many, "v.ttl", "languages");
}

#[test]
fn too_little_memory_is_an_error_that_names_the_file() {
    let text: String = (0..20_000)
        .map(|at| format!("<x:{at}> <{SKOS}prefLabel> \"a name of {at}\"@en .\n"))
        .collect();
    let memory = Memory::limited_to(Some(1 << 20));
    let format = Format::of_path("v.nt".as_ref()).unwrap();
    let source = Source::from_bytes("v.nt", text.as_bytes(), &memory).unwrap();
    let error = Vocabulary::from_source(source, format, None, false, None).unwrap_err();
    assert!(error.to_string().starts_with("v.nt: the 1.0 MiB of memory"), "{error}");
}

#[test]
fn binary_data_keep_all_of_a_vocabulary() {
    let text = r#":a skos:prefLabel "a"@en, "ä"@fi . :b skos:prefLabel "b"@en ; skos:broader :a ."#;
    let labels = turtle(text, Some("en")).unwrap().labels;
    let task = Pool::new(1).unwrap().task();
    let rows = crate::data::read_bytes(b"1 1 2\n0 0:1\n", "a.txt", &ReadOptions::default(), &task);
    let dataset = Dataset { label_names: Some(labels), ..rows.unwrap().dataset };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lwd");
    write_binary(&path, dataset.view()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(crate::data::read(&path, &ReadOptions::default(), &task).unwrap().dataset, dataset);
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        if let Ok(read) = crate::data::read_bytes(&flipped, "a.lwd", &ReadOptions::default(), &task)
        {
            assert_eq!(read.dataset, dataset, "byte {at}");
        }
    }
}

/// What a concept has, by predicate and tag; a plain model to compare with.
#[derive(Default)]
struct Concept {
    names: BTreeSet<(usize, String, String)>,
    broader: BTreeSet<String>,
    is_deprecated: bool,
    is_typed: bool,
}

const PREDICATES: [&str; 4] = ["prefLabel", "altLabel", "hiddenLabel", "notation"];

/// Random concepts, as a model and as statements in a random order.
fn random_concepts(random: &mut fastrand::Rng) -> (BTreeMap<String, Concept>, Vec<Triple>) {
    let mut concepts: BTreeMap<String, Concept> = BTreeMap::new();
    let mut statements = Vec::new();
    let node = |text: &str| NamedNode::new(text).unwrap();
    let words = ["a", "Ä \"b\"", "c\\d", "e<&>f", "g'''h", "日本", "x y"];
    let tags = ["", "en", "en-GB", "fi", "pt-BR"];
    let count = 1 + random.usize(..6);
    for _ in 0..random.usize(1..40) {
        let address = format!("http://x.org/{}#c", random.usize(..count));
        let concept = concepts.entry(address.clone()).or_default();
        let mut state = |predicate: &str, object: oxrdf::Term| {
            statements.push(Triple::new(node(&address), node(predicate), object));
        };
        match random.usize(..20) {
            0 => {
                let flag = random.bool();
                concept.is_deprecated |= flag;
                state("http://www.w3.org/2002/07/owl#deprecated", Literal::from(flag).into());
            }
            1 => {
                concept.is_typed = true;
                let kind = node(&format!("{SKOS}Concept"));
                state("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", kind.into());
            }
            2..5 => {
                let other = format!("http://x.org/{}#c", random.usize(..count));
                state(&format!("{SKOS}broader"), node(&other).into());
                concept.broader.insert(other);
            }
            _ => {
                let (kind, tag) = (random.usize(..4), *random.choice(&tags).unwrap());
                let text = *random.choice(&words).unwrap();
                let literal = match tag {
                    "" => Literal::new_simple_literal(text),
                    tag => Literal::new_language_tagged_literal(text, tag).unwrap(),
                };
                state(&format!("{SKOS}{}", PREDICATES[kind]), literal.into());
                concept.names.insert((kind, tag.to_lowercase(), text.to_owned()));
            }
        }
    }
    random.shuffle(&mut statements);
    (concepts, statements)
}

/// The lines of the labels in a language, by looking for each name.
fn expected_lines(concepts: &BTreeMap<String, Concept>, language: &str) -> Vec<String> {
    let is_of = |tag: &str| tag == language || tag.starts_with(&format!("{language}-"));
    let mut lines = Vec::new();
    for (address, concept) in concepts.iter().filter(|(_, concept)| is_label(concept)) {
        let mut names: Vec<(usize, bool, &str, &str)> = concept
            .names
            .iter()
            .filter(|(_, tag, _)| tag.is_empty() || is_of(tag))
            .map(|(kind, tag, text)| (*kind, tag.is_empty(), &**tag, &**text))
            .collect();
        names.sort();
        let mut line = address.clone();
        if let Some(&(kind, ..)) = names.first() {
            line += if kind == 0 { "\t" } else { "\t\t" };
        }
        let mut seen: Vec<&str> = Vec::new();
        for (.., text) in names {
            if !seen.contains(&text) {
                seen.push(text);
            }
        }
        lines.push(line + &seen.join("\t"));
    }
    lines
}

fn is_label(concept: &Concept) -> bool {
    let has_name = concept.names.iter().any(|(kind, ..)| *kind == 0);
    (has_name || concept.is_typed) && !concept.is_deprecated
}

#[test]
fn all_syntaxes_give_what_a_plain_model_of_the_concepts_gives() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut compared = 0;
    for _ in 0..300 {
        let (concepts, statements) = random_concepts(&mut random);
        let plain: String = statements.iter().map(|statement| format!("{statement} .\n")).collect();
        let mut turtle =
            TurtleSerializer::new().with_prefix("skos", SKOS).unwrap().for_writer(Vec::new());
        let mut xml = RdfXmlSerializer::new().for_writer(Vec::new());
        for statement in &statements {
            turtle.serialize_triple(statement).unwrap();
            xml.serialize_triple(statement).unwrap();
        }
        let files = [
            ("v.nt", plain.into_bytes()),
            ("v.ttl", turtle.finish().unwrap()),
            ("v.rdf", xml.finish().unwrap()),
        ];
        let read = files.map(|(name, file)| Vocabulary::from_bytes(&file, name, Some("en")));
        let labels: Vec<LabelIndex> = match read {
            [Ok(nt), Ok(ttl), Ok(rdf)] => vec![nt.labels, ttl.labels, rdf.labels],
            [Err(one), Err(other), Err(last)] => {
                let has_english = !expected_lines(&concepts, "en").is_empty();
                let is_language =
                    |error: &ReadError| error.to_string().contains("no names in the language");
                for error in [one, other, last] {
                    assert_eq!(has_english, is_language(&error), "{error}");
                }
                continue;
            }
            mixed => panic!("the syntaxes disagree: {mixed:?}"),
        };
        compared += 1;
        assert_eq!(labels[0], labels[1]);
        assert_eq!(labels[0], labels[2]);
        assert_eq!(lines(&labels[0]), expected_lines(&concepts, "en"));
        let kept: Vec<&String> = concepts
            .iter()
            .filter(|(_, concept)| is_label(concept))
            .map(|(name, _)| name)
            .collect();
        for (id, address) in (0..).zip(&kept) {
            let broader: Vec<&str> =
                labels[0].broader(id).iter().map(|&id| labels[0].code(id)).collect();
            let expected: Vec<&String> = concepts[*address]
                .broader
                .iter()
                .filter(|broad| kept.contains(broad) && broad != address)
                .collect();
            assert_eq!(broader, expected);
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn joined_vocabularies_keep_numbers_and_add_names_languages_and_broader_labels() {
    let labels = |text: &str| turtle(text, Some("en")).unwrap().labels;
    let known = ":b skos:prefLabel \"birds\"@en, \"linnut\"@fi . :c a skos:Concept ; skos:altLabel \"cats\"@en .";
    let more = ":a skos:prefLabel \"animals\"@en, \"elaimet\"@fi .
        :b skos:prefLabel \"fowl\"@en, \"Vogel\"@de ; skos:broader :a .";
    let joined = labels(known).joined(&labels(more));
    assert_eq!(lines(&joined), ["x:b\tfowl\tbirds", "x:c\t\tcats", "x:a\tanimals"]);
    assert_eq!(joined.languages().collect::<Vec<_>>(), ["en", "de", "fi"]);
    let names = |language, id| joined.names_in(language, id).collect::<Vec<_>>();
    assert_eq!([names("fi", 0), names("fi", 2)], [["linnut"], ["elaimet"]]);
    assert_eq!((names("de", 0), names("de", 2)), (vec!["Vogel"], vec![]));
    assert_eq!((joined.broader(0), joined.broader(2)), (&[2][..], &[][..]));
    assert_eq!(joined.joined(&joined), joined);
}
