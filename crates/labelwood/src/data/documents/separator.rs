//! The separator of labels in one field.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The separator of labels in one field. It is written as the text itself, or `none`.
///
/// ```
/// use labelwood::data::documents::Separator;
/// assert_eq!(";".parse(), Ok(Separator::Text(";".to_owned())));
/// assert_eq!("none".parse(), Ok(Separator::None));
/// assert!("".parse::<Separator>().is_err());
/// assert_eq!(Separator::None.to_string(), "none");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Separator {
    /// Nothing: a field is one label.
    None,
    /// This text, which is not empty; blanks around it do not count.
    Text(String),
}

impl Separator {
    /// The text to split fields at, if they are split.
    pub fn text(&self) -> Option<&str> {
        match self {
            Separator::None => None,
            Separator::Text(text) => Some(text),
        }
    }
}

impl fmt::Display for Separator {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.text().unwrap_or("none"))
    }
}

impl FromStr for Separator {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "" => Err("expected what stands between two labels, such as `;`, or `none`"),
            "none" => Ok(Separator::None),
            other => Ok(Separator::Text(other.to_owned())),
        }
    }
}

impl TryFrom<String> for Separator {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Separator> for String {
    fn from(separator: Separator) -> Self {
        separator.to_string()
    }
}

/// Separators that a field may have, in the order in which they are looked for.
const CANDIDATES: [&str; 3] = ["|", ";", ","];

/// Decides on a separator by some label fields; nothing if all are empty.
///
/// It is the first of `|`, `;` and `,` that at least one field in twenty has, else `fallback`. Where
/// most fields start with an angle bracket they are URIs, which blanks separate, since URIs may hold
/// the others.
pub(super) fn decide<'a>(
    fields: impl Iterator<Item = &'a str>,
    fallback: Separator,
) -> Option<Separator> {
    let (mut total, mut uris, mut having) = (0u64, 0u64, [0u64; 3]);
    for field in fields.map(str::trim_ascii).filter(|field| !field.is_empty()) {
        total += 1;
        uris += u64::from(field.starts_with('<') && is_bracketed(field));
        for (count, candidate) in having.iter_mut().zip(CANDIDATES) {
            *count += u64::from(field.contains(candidate));
        }
    }
    if total == 0 {
        return None;
    }
    if 2 * uris > total {
        return Some(Separator::Text(" ".to_owned()));
    }
    let is_common = |&(count, _): &(u64, &str)| 20 * count >= total;
    let common = having.into_iter().zip(CANDIDATES).find(is_common);
    Some(common.map_or(fallback, |(_, candidate)| Separator::Text(candidate.to_owned())))
}

/// Whether every word of the field is in angle brackets.
fn is_bracketed(field: &str) -> bool {
    field.split_ascii_whitespace().all(|word| word.starts_with('<') && word.ends_with('>'))
}

/// Calls `take` with the start and end of each label of a field, without blanks and angle brackets
/// around it. Empty labels are left out. Without a separator a field is one label.
pub(super) fn split(field: &str, separator: Option<&str>, mut take: impl FnMut(usize, usize)) {
    let mut take_trimmed = |from: usize, piece: &str| {
        let start = from + piece.len() - piece.trim_start().len();
        let label = piece.trim();
        let inner = label.strip_prefix('<').and_then(|label| label.strip_suffix('>'));
        let (start, label) = inner.map_or((start, label), |inner| (start + 1, inner));
        if !label.is_empty() {
            take(start, start + label.len());
        }
    };
    let Some(separator) = separator else { return take_trimmed(0, field) };
    let mut from = 0;
    if let [byte] = separator.as_bytes() {
        for at in memchr::memchr_iter(*byte, field.as_bytes()) {
            take_trimmed(from, &field[from..at]);
            from = at + 1;
        }
    } else {
        for (at, found) in field.match_indices(separator) {
            take_trimmed(from, &field[from..at]);
            from = at + found.len();
        }
    }
    take_trimmed(from, &field[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels<'a>(field: &'a str, separator: Option<&str>) -> Vec<&'a str> {
        let mut found = Vec::new();
        split(field, separator, |from, to| found.push(&field[from..to]));
        found
    }

    #[test]
    fn labels_lose_blanks_and_brackets_but_not_what_is_within() {
        assert_eq!(labels(" a b ; c;;d ", Some(";")), ["a b", "c", "d"]);
        assert_eq!(labels("<http://x/a,b>  <y> <>", Some(" ")), ["http://x/a,b", "y"]);
        assert_eq!(labels("a < b|<c", Some("|")), ["a < b", "<c"]);
        assert_eq!(labels("a -- b -- c", Some(" -- ")), ["a", "b", "c"]);
        assert_eq!(labels(" a b ", None), ["a b"]);
        assert_eq!(labels("", Some(" ")), [""; 0]);
        assert_eq!(labels("é·è", Some("·")), ["é", "è"]);
    }

    #[test]
    fn the_labels_tell_the_separator() {
        let decided = |fields: &[&str]| {
            let or = |fallback| decide(fields.iter().copied(), fallback).map(String::from);
            let (space, none) = (or(Separator::Text(" ".to_owned())), or(Separator::None));
            if space != none {
                assert_eq!((space.as_deref(), none.as_deref()), (Some(" "), Some("none")));
                return Some("the fallback".to_owned());
            }
            space
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(decided(&["p1 p2", "p3"]), some("the fallback"));
        assert_eq!(decided(&["machine learning, cats", "cats"]), some(","));
        assert_eq!(decided(&["Smith, John; Doe, Jane", "Poe, Edgar"]), some(";"));
        assert_eq!(decided(&["a|b;c,d"]), some("|"));
        assert_eq!(decided(&["<http://x/a,b> <http://x/c>", "<http://x/d;e>"]), some(" "));
        assert_eq!(decided(&["<http://x/a>, <http://x/c>"]), some(","));
        assert_eq!(decided(&["", " "]), None);
        let mut rare = vec!["p1 p2"; 21];
        rare[3] = "p1,x p2";
        assert_eq!(decided(&rare), some("the fallback"), "one field in 21 is an accident");
        rare.truncate(20);
        assert_eq!(decided(&rare), some(","));
    }
}
