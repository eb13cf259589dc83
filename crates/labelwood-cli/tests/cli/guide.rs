//! The pages tell the truth: their command lines run and their links lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::Folder;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the crate is here")
}

/// The pages at the top and those of the guide.
fn pages() -> Vec<PathBuf> {
    let in_folder = |folder: PathBuf| {
        let entries = fs::read_dir(folder).expect("the folder can be listed");
        entries.map(|entry| entry.expect("the folder can be listed").path())
    };
    let is_page = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
    let mut pages: Vec<PathBuf> =
        in_folder(root()).chain(in_folder(root().join("docs/src"))).filter(is_page).collect();
    pages.sort();
    pages
}

fn text(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The lines after `$ ` in the `console` blocks of a page.
fn command_lines(page: &str) -> Vec<&str> {
    let mut is_console = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            is_console = language == "console";
        } else if is_console {
            found.extend(line.strip_prefix("$ "));
        }
    }
    found
}

/// What the links `[text](target)` of a page point to, code blocks left out.
fn links(page: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in page.lines() {
        is_code ^= line.trim_start().starts_with("```");
        if !is_code {
            found.extend(line.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
        }
    }
    found
}

/// The anchors of a page's headings.
fn anchors(page: &str) -> BTreeSet<String> {
    let anchor = |line: &str| {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        heading.chars().filter(kept).collect::<String>().replace(' ', "-")
    };
    page.lines().filter(|line| line.starts_with('#')).map(anchor).collect()
}

#[cfg(unix)]
#[test]
fn the_command_lines_of_every_page_run_in_order() {
    let binary = Path::new(env!("CARGO_BIN_EXE_labelwood")).parent().expect("it is in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", binary.display());
    for page in pages() {
        let folder = Folder::new();
        for line in command_lines(&text(&page)) {
            let output = std::process::Command::new("sh")
                .args(["-c", line])
                .current_dir(folder.path(""))
                .env("PATH", &path)
                .output()
                .expect("there is a shell");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {line}\n{error}", page.display());
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in pages() {
        let text_of_page = text(&page);
        for link in links(&text_of_page).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.parent().expect("a page is in a folder").join(file)
            };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            let is_known = anchor.is_empty() || anchors(&text(&target)).contains(anchor);
            assert!(is_known, "{}: {link} has no such heading", page.display());
        }
    }
}

#[test]
fn the_summary_lists_every_chapter() {
    let summary = text(&root().join("docs/src/SUMMARY.md"));
    let listed: BTreeSet<&str> = links(&summary).into_iter().collect();
    for page in pages().iter().filter(|page| page.starts_with(root().join("docs"))) {
        let name = page.file_name().and_then(|name| name.to_str()).expect("names are plain");
        assert!(name == "SUMMARY.md" || listed.contains(name), "{name} is not in the summary");
    }
}
