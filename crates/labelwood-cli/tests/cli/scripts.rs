//! Text in several scripts and languages, and text in which nothing is known.

use crate::harness::Folder;

/// Chinese titles about one of five subjects, each of five words of two characters without spaces.
fn titles_without_spaces(rows: u32) -> Vec<String> {
    let character = |at: u32| char::from_u32(0x4e00 + at).expect("a Chinese character");
    let line = |row: u32| {
        let subject = row % 5;
        let word = |place: u32| 40 * subject + 2 * (row / 5 * (place + 1) % 20);
        let words = (0..5).map(word).flat_map(|at| [character(at), character(at + 1)]);
        format!("{}\ts{subject}\n", words.collect::<String>())
    };
    (0..rows).map(line).collect()
}

#[test]
fn text_without_spaces_between_words_is_read_in_pieces_and_training_says_so() {
    let folder = Folder::new();
    let titles = titles_without_spaces(30);
    // The first title is there twice, so that there is a term to keep if whole runs are words.
    folder.write("a.tsv", titles.concat() + &titles[0]);
    let notes = folder.run("train a.tsv --model pieces --trees 2").stderr();
    let script = "script: Han (no spaces between words): terms of 1 to 2 characters (--tokens word \
                  takes whole runs)\n";
    assert!(notes.contains(script) && !notes.contains("warning"), "{notes}");
    let inside = folder.run("inspect pieces").succeeds();
    assert!(inside.lines().any(|line| line.split_whitespace().eq(["tokens", "auto"])), "{inside}");
    let notes = folder.run("convert a.tsv a.txt --word-ngrams 1,2").stderr();
    assert!(notes.contains("terms of 1 to 3 characters"), "{notes}");

    let notes = folder.run("train a.tsv --model words --trees 2 --tokens word").stderr();
    let warning = "warning: 29 of 31 documents have no term that another document has, so the model \
                   can learn little from them: try --tokens auto, since no spaces separate their words\n";
    assert!(notes.contains(warning) && !notes.contains("script:"), "{notes}");
    folder.write("b.tsv", titles[1..].concat());
    let error = folder.run("train b.tsv --model none --tokens word").fails(1);
    let expected = "error: no term of the 29 documents is kept: Han has no spaces between words, and so \
                    whole runs of it are words here: add --tokens auto\n";
    assert_eq!(error, expected);
}

#[test]
fn several_scripts_in_one_file_are_named_together() {
    let folder = Folder::new();
    let texts = [
        "日本のとり",
        "日本のとり",
        "ประเทศไทย",
        "ประเทศไทย",
        "대한민국에서 대한민국",
        "대한민국에서",
    ];
    folder.write("a.tsv", texts.map(|text| format!("{text}\tx\n")).concat());
    let notes = folder.run("train a.tsv --model model --algorithm label-tree").stderr();
    let script = "script: Hiragana, Han (no spaces between words): terms of 1 to 2 characters; Thai (no \
                  spaces between words): terms of 2 to 4 characters; Hangul: words, and terms of 2 \
                  syllables in them (--tokens word takes whole runs)\n";
    assert!(notes.contains(script), "{notes}");
}

#[test]
fn a_language_that_joins_words_has_pieces_of_them_and_training_says_so() {
    let folder = Folder::new();
    let titles = [
        "Das Schulbuch und die Geschichte der alten Schule\tschule\n",
        "Die neue Schulordnung und wie sie entstanden ist\tschule\n",
        "Wanderwege durch den Wald und über die Berge\twald\n",
        "Das Waldsterben und die Tiere des Waldes\twald\n",
    ];
    folder.write("a.tsv", titles.concat().repeat(3));
    let notes = |flags: &str| {
        let done = folder.run(&format!("train a.tsv --model model --overwrite {flags}"));
        assert_eq!(done.code(), 0, "{}", done.stderr());
        done.stderr()
    };
    let pieces = "; it joins words, so pieces of 4 characters are terms, too (--tokens word takes words \
                  alone)\n";
    let guessed =
        "language: german (guessed, to find names of labels in texts; --stem takes another)";
    let found = notes("");
    assert!(found.contains(&(guessed.to_owned() + pieces)), "{found}");
    let inside = folder.run("inspect model").succeeds();
    let is_shown = |line: &str| line.split_whitespace().eq(["char-ngrams", "4,4"]);
    assert!(inside.lines().any(is_shown), "{inside}");
    let found = notes("--stem german");
    assert!(found.contains(&("language: german".to_owned() + pieces)), "{found}");
    let found = notes("--tokens word");
    assert!(found.contains(&(guessed.to_owned() + "\n")), "{found}");
    let found = notes("--char-ngrams 3,3");
    assert!(found.contains(&(guessed.to_owned() + "\n")), "{found}");
}

#[test]
fn an_error_about_terms_names_only_what_helps() {
    let folder = Folder::new();
    folder.write("short.tsv", "a b\tx\nb c\tx\n");
    let error = folder.run("train short.tsv --model none --min-df 1").fails(1);
    let expected = "error: no term of the 2 documents is kept: settings leave out every word, such as \
                    `a`: add --min-token 1\n";
    assert_eq!(error, expected);
    folder.run("train short.tsv --model short --min-df 1 --min-token 1 --trees 2 -q").succeeds();
    folder.write("blank.csv", "text,labels\n,x\n ,x\n");
    let error = folder.run("train blank.csv --model none").fails(1);
    assert_eq!(error, "error: no term of the 2 documents is kept: all of them are empty\n");
    folder.write("signs.tsv", "?!\tx\n?!\tx\n");
    let error = folder.run("train signs.tsv --model none").fails(1);
    assert!(error.ends_with("no letter or digit in them: add --char-ngrams 1,3\n"), "{error}");
    folder.run("train signs.tsv --model signs --char-ngrams 1,3 --trees 2 -q").succeeds();
}

#[test]
fn a_text_in_which_no_word_is_known_gets_no_labels() {
    let folder = Folder::new();
    let titles = "old owls\tbirds\ngrey owls\tbirds\nold atlas\tmaps\ngrey atlas\tmaps\n";
    folder.write("a.tsv", titles.repeat(5));
    folder.run("train a.tsv --model model -q").succeeds();
    folder.write("new.tsv", "an owl\nzyzzy\nowls\n\nthe birds\n");
    let done = folder.run("predict model new.tsv --labels-only --top-k 1");
    let output = done.stdout();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[..4], ["", "", "birds", ""]);
    assert!(!lines[4].is_empty(), "a name is known as well as a word");
    let warning = "warning: 3 of 5 texts: no word that the model knows; they get no labels (--fill \
                   names the most frequent)\n";
    assert_eq!(done.stderr(), warning);
    let done = folder.run("predict model new.tsv --labels-only --top-k 1 --fill");
    assert_eq!(done.stdout().lines().filter(|line| line.is_empty()).count(), 0);
    assert!(done.stderr().contains("3 of 5 texts"), "{}", done.stderr());
    let table = folder.run("predict model new.tsv --format table --top-k 1 -q").succeeds();
    assert_eq!(table.lines().filter(|line| line.ends_with('-')).count(), 3, "{table}");

    // All answer alike: shares of the model, and what evaluates it.
    folder.run("predict model new.tsv --top-k 2 --output whole.tsv -q").succeeds();
    folder
        .run("predict model new.tsv --top-k 2 --shares 2 --output shares --index 0 --workers 1 -q")
        .succeeds();
    let joined = folder.run("predict model new.tsv --top-k 2 --join shares --output joined.tsv");
    assert!(joined.stderr().contains("3 of 5 texts"), "{}", joined.stderr());
    assert_eq!(folder.read("joined.tsv"), folder.read("whole.tsv"));
    folder.write("truth.tsv", "zyzzy\tbirds\nowls\tbirds\n");
    let table = folder.run("evaluate model truth.tsv --at 1 -q").succeeds();
    assert!(table.contains("P              50.00"), "{table}");
}
