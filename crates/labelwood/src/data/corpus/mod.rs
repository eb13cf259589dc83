//! Questions to a public library's reference desk, with their subjects: something real to learn
//! from that needs no file.
//!
//! Each question has one to five subject tags out of about 120. A few tags are on dozens of
//! questions and most on a handful, as in any catalogue, so that a model which only knows the
//! frequent tags does poorly. The part to learn from and the part to measure on are fixed. The
//! questions were written for this crate; the folder's `README.md` says how.
//!
//! [`train`] and [`test()`] give the questions; [`TRAIN`] and [`TEST`] are the files they stand in,
//! in the form in which one's own texts are read: text, TAB, tags separated by `;`.

/// The part to learn from, as a TSV file.
pub const TRAIN: &str = include_str!("train.tsv");

/// The part to measure on, as a TSV file.
pub const TEST: &str = include_str!("test.tsv");

/// The questions to learn from, each with its tags.
///
/// ```
/// use labelwood::data::corpus;
/// let about_canning = |(_, tags): &(&str, Vec<&str>)| tags.contains(&"preserving food");
/// for (text, tags) in corpus::train().filter(about_canning) {
///     println!("{text} [{}]", tags.join(", "));
/// }
/// assert!(corpus::train().any(|question| about_canning(&question)));
/// ```
pub fn train() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    questions(TRAIN)
}

/// The questions to measure on, each with its tags; none of them is in [`train`].
///
/// ```
/// use labelwood::data::corpus;
/// assert!(corpus::test().count() * 3 < corpus::train().count());
/// ```
pub fn test() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    questions(TEST)
}

fn questions(file: &'static str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    file.lines().map(|line| {
        let (text, tags) = line.split_once('\t').expect("every line of the corpus has a TAB");
        (text, tags.split(';').collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn all() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
        train().chain(test())
    }

    /// On how many questions each tag is.
    fn counts(
        questions: impl Iterator<Item = (&'static str, Vec<&'static str>)>,
    ) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for tag in questions.flat_map(|(_, tags)| tags) {
            *counts.entry(tag).or_default() += 1;
        }
        counts
    }

    #[test]
    fn the_parts_are_of_the_promised_sizes() {
        assert_eq!((train().count(), test().count()), (436, 104));
        assert_eq!(counts(all()).len(), 124);
    }

    #[test]
    fn no_question_occurs_twice() {
        let different: BTreeSet<String> = all().map(|(text, _)| text.to_lowercase()).collect();
        assert_eq!(different.len(), all().count());
    }

    #[test]
    fn every_question_is_short_and_has_one_to_five_different_tags() {
        for (text, tags) in all() {
            let words = text.split_whitespace().count();
            assert!((5..=45).contains(&words), "{words} words: {text}");
            let different: BTreeSet<&str> = tags.iter().copied().collect();
            assert!((1..=5).contains(&tags.len()) && different.len() == tags.len(), "{text}");
        }
    }

    #[test]
    fn texts_and_tags_are_clean() {
        for (text, tags) in all() {
            assert!(text == text.trim() && !text.contains(['\t', '\r']), "{text}");
            for tag in tags {
                let is_plain = |c: char| c.is_ascii_lowercase() || matches!(c, ' ' | '\'');
                assert!(tag == tag.trim() && !tag.is_empty() && tag.chars().all(is_plain), "{tag}");
            }
        }
    }

    #[test]
    fn every_tag_can_be_learned() {
        let learned = counts(train());
        assert!(learned.values().all(|&count| count >= 2));
        let unseen: Vec<_> =
            counts(test()).into_keys().filter(|tag| !learned.contains_key(tag)).collect();
        assert!(unseen.is_empty(), "only in the test part: {unseen:?}");
    }

    #[test]
    fn a_few_tags_are_frequent_and_most_are_rare() {
        let counts = counts(all());
        let between = |low, high| counts.values().filter(|&&n| (low..=high).contains(&n)).count();
        assert_eq!(between(81, usize::MAX), 0);
        assert!((5..=10).contains(&between(40, 80)), "{}", between(40, 80));
        assert!(between(3, 8) * 2 > counts.len(), "{}", between(3, 8));
        assert_eq!(between(0, 2), 0);
    }

    #[test]
    fn no_tag_is_just_spelled_out_in_its_questions() {
        let spelled = |(text, tags): (&str, Vec<&str>)| {
            let text = text.to_lowercase();
            tags.into_iter().map(|tag| usize::from(text.contains(tag))).sum::<usize>()
        };
        let (spelled, tags) = (all().map(spelled).sum::<usize>(), counts(all()).values().sum());
        assert!(spelled * 3 < tags, "{spelled} of {tags}");
    }
}
