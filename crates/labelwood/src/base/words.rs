//! Counts with their nouns, as people write them.

use std::fmt::Display;

/// A count with its noun: one of several is in the plural.
///
/// ```
/// use labelwood::words::plural;
/// assert_eq!(plural(1, "row"), "1 row");
/// assert_eq!(plural(0, "row"), "0 rows");
/// assert_eq!(plural(2usize, "index"), "2 indexes");
/// assert_eq!(plural(3u64, "query"), "3 queries");
/// ```
pub fn plural<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return format!("{count} {noun}");
    }
    let ends = |ending: &[&str]| ending.iter().any(|ending| noun.ends_with(ending));
    match noun.strip_suffix('y') {
        Some(stem) if !ends(&["ay", "ey", "oy"]) => format!("{count} {stem}ies"),
        _ if ends(&["s", "x", "ch", "sh"]) => format!("{count} {noun}es"),
        _ => format!("{count} {noun}s"),
    }
}

/// The same for a noun that is in the plural, as those of what is counted in progress.
///
/// ```
/// use labelwood::words::counted;
/// assert_eq!(counted(1, "trees"), "1 tree");
/// assert_eq!(counted(1, "indexes"), "1 index");
/// assert_eq!(counted(30, "trees"), "30 trees");
/// ```
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, nouns: &str) -> String {
    if count != N::from(1) {
        return format!("{count} {nouns}");
    }
    let is_long = nouns.ends_with("xes") || nouns.ends_with("sses") || nouns.ends_with("ches");
    let noun = match nouns.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => nouns[..nouns.len() - if is_long { 2 } else { usize::from(nouns.ends_with('s')) }]
            .to_owned(),
    };
    format!("{count} {noun}")
}
