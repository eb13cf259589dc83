//! Each folder of the library uses only itself and the folders before it.
//!
//! The test reads the sources: every path that starts with `crate::` outside comments and tests. A
//! path must name a folder, not one of the short names that `lib.rs` gives to users.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders in their order: the first uses none but itself. `lib.rs` lists them in the same order.
const ORDER: [&str; 11] = [
    "base",
    "data",
    "text",
    "learn",
    "metrics",
    "algorithms",
    "model",
    "search",
    "shard",
    "report",
    "app",
];

/// The sources without comments and without modules for tests. A line that is left out stays as an
/// empty one, so that lines keep their numbers.
fn code(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut is_test = false;
    let mut rest = text.lines().peekable();
    while let Some(line) = rest.next() {
        if line == "#[cfg(test)]" && rest.peek().is_some_and(|next| next.ends_with('{')) {
            is_test = true;
        }
        let is_comment = line.trim_start().starts_with("//");
        lines.push(if is_test || is_comment { "" } else { line });
        is_test &= line != "}";
    }
    lines
}

/// The names that follow `crate::` in a line.
fn named(line: &str) -> Vec<&str> {
    let name = |text: &'_ str| text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let first = |text| &text[..name(text).unwrap_or(text.len())];
    let paths = line.match_indices("crate::").map(|(at, found)| &line[at + found.len()..]);
    paths.map(first).collect()
}

/// The lines of a file in the folder `own` that name a folder after it, or no folder at all.
fn breaks(own: &str, text: &str) -> Vec<(usize, String)> {
    let place = |folder: &str| ORDER.iter().position(|known| *known == folder);
    let is_wrong = |name: &&str| place(name).is_none_or(|found| Some(found) > place(own));
    let lines = (1..).zip(code(text));
    lines
        .flat_map(|(number, line)| {
            let wrong = named(line).into_iter().filter(is_wrong);
            wrong.map(move |name| (number, name.to_owned())).collect::<Vec<_>>()
        })
        .collect()
}

/// The modules of a file that are compiled for tests only, as files and as folders.
fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
    let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod") => file.with_file_name(""),
        _ => file.with_extension(""),
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let pairs = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
    let name = |pair: &[&str]| Some(pair[1].strip_suffix(';')?.split_once("mod ")?.1.to_owned());
    let names = pairs.filter_map(name);
    names.flat_map(|name| [folder.join(format!("{name}.rs")), folder.join(name)]).collect()
}

/// All sources in a folder, with their texts.
fn sources(folder: &Path, into: &mut Vec<(PathBuf, String)>) {
    let entries = fs::read_dir(folder).expect("the sources are here");
    for path in entries.map(|entry| entry.expect("the folder can be listed").path()) {
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("a source is text");
            into.push((path, text));
        }
    }
}

#[test]
fn each_folder_uses_only_itself_and_those_before_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut broken = Vec::new();
    for own in ORDER {
        let mut files = Vec::new();
        sources(&root.join(own), &mut files);
        assert!(!files.is_empty(), "{own} has no sources");
        let for_tests: Vec<PathBuf> =
            files.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
        let is_test = |path: &Path| for_tests.iter().any(|test| path.starts_with(test));
        for (path, text) in files.iter().filter(|(path, _)| !is_test(path)) {
            let shown = path.strip_prefix(&root).unwrap_or(path).display();
            let lines = breaks(own, text).into_iter();
            broken.extend(lines.map(|(line, name)| format!("{shown}:{line} uses {name}")));
        }
    }
    let order = ORDER.join(", ");
    assert!(broken.is_empty(), "the order is {order}, but:\n{}", broken.join("\n"));
}

#[test]
fn the_facade_lists_the_folders_in_their_order() {
    let text = include_str!("../src/lib.rs");
    let folders: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            line.strip_prefix("mod ")?.strip_suffix(';')
        })
        .collect();
    assert_eq!(folders, ORDER);
}

#[test]
fn a_line_that_uses_a_later_folder_is_found_outside_comments_and_tests() {
    let text = "\
//! Like [`model`](crate::model).
use crate::base::run::Task;
use crate::model::Model;
fn path() -> crate::shard::Plan {
}
use crate::run::Pool;
#[cfg(test)]
mod tests {
    use crate::app::Fault;
}
use crate::report::Report;
";
    let found: Vec<(usize, String)> = [(3, "model"), (4, "shard"), (6, "run"), (11, "report")]
        .map(|(line, name)| (line, name.to_owned()))
        .into();
    assert_eq!(breaks("learn", text), found);
    assert_eq!(breaks("app", text), [(6, "run".to_owned())]);
}

#[test]
fn modules_for_tests_are_known_by_their_attribute() {
    let text = "mod plain;\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod inline {\n}\n";
    let found = test_modules(Path::new("src/data/mod.rs"), text);
    assert_eq!(found, [Path::new("src/data/tests.rs"), Path::new("src/data/tests")]);
    let found = test_modules(Path::new("src/data/read.rs"), text);
    assert_eq!(found, [Path::new("src/data/read/tests.rs"), Path::new("src/data/read/tests")]);
}
