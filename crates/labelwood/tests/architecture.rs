//! ARCHITECTURE.md tells the truth: the files and functions that it names are there.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The words in code marks outside code blocks.
fn marked(page: &str) -> Vec<&str> {
    let mut is_block = false;
    let mut found = Vec::new();
    for line in page.lines() {
        is_block ^= line.starts_with("```");
        if !is_block {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

#[test]
fn the_page_names_files_and_functions_that_are_there() {
    let path = root().join("ARCHITECTURE.md");
    let Ok(page) = fs::read_to_string(&path) else {
        eprintln!("skipped: ARCHITECTURE.md is not part of this copy");
        return;
    };
    let sources = ["crates/labelwood/src", "crates/labelwood-cli/src"].map(|src| root().join(src));
    let named = marked(&page).into_iter().filter_map(|word| word.split_once(".rs:"));
    let mut count = 0;
    for (file, function) in named {
        let texts = sources.iter().map(|source| source.join(format!("{file}.rs")));
        let text = texts.filter_map(|path| fs::read_to_string(path).ok()).next();
        let text = text.unwrap_or_else(|| panic!("{file}.rs is not there"));
        let is_defined = |end: &str| text.contains(&format!("fn {function}{end}"));
        assert!(is_defined("(") || is_defined("<"), "{file}.rs has no function {function}");
        count += 1;
    }
    assert!(count > 20, "the page lists the way of a training and of a prediction");
}
