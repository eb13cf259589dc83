//! Where the name of a label stands in a text.

use super::characters::{Origins, start_of};
use super::matching::{distinct, names_of, variants};
use super::params::Language;
use super::stems::StemReader;
use crate::data::LabelIndex;
use std::cmp::Reverse;
use std::ops::Range;

/// The words of a text, in which names of labels are looked for as [`Matcher`](super::Matcher) does.
pub(crate) struct NamePlaces {
    language: Option<Language>,
    /// The stem of each word, and where the word stands, in characters.
    words: Vec<(u32, Range<usize>)>,
}

/// A name that is in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacedName {
    /// The name as the vocabulary has it.
    pub name: String,
    /// Where it stands or, if its words are apart, where these do.
    pub places: Vec<Range<usize>>,
}

impl NamePlaces {
    /// The words of a text in a language.
    pub(crate) fn new(text: &str, language: Option<Language>) -> Self {
        let (origins, mut words) = (Origins::new(text, true), Vec::new());
        StemReader::new(language).each_placed(text, |lower, word, stem| {
            let start = start_of(word, lower);
            words.extend(origins.of(start..start + word.len()).map(|place| (stem, place)));
        });
        NamePlaces { language, words }
    }

    /// The best of a label's names that is in the text: that of the most words, then one in one piece, then
    /// the one that stands first.
    pub(crate) fn of(&self, labels: &LabelIndex, label: u32) -> Option<PlacedName> {
        let mut reader = StemReader::new(self.language);
        let (mut best, mut best_rank) = (None, None);
        for name in names_of(labels, label) {
            for variant in variants(name) {
                let mut stems = Vec::new();
                let is_whole = reader.each(&variant, |stem| stems.push(stem));
                let Some((in_one_piece, places)) = self.find(&stems, is_whole) else { continue };
                let rank = (distinct(&stems).count(), in_one_piece, Reverse(places[0].start));
                if best_rank.is_none_or(|known| known < rank) {
                    best_rank = Some(rank);
                    best = Some(PlacedName { name: name.to_owned(), places });
                }
            }
        }
        best
    }

    /// The places of these stems, and whether they stand in one piece, if all are there.
    fn find(&self, stems: &[u32], is_whole: bool) -> Option<(bool, Vec<Range<usize>>)> {
        let has = |words: &[(u32, Range<usize>)]| {
            words.iter().map(|word| word.0).eq(stems.iter().copied())
        };
        let pieces = self.words.windows(stems.len().max(1)).filter(|words| has(words));
        let pieces = pieces.map(|words| words[0].1.start..words[words.len() - 1].1.end);
        let pieces: Vec<Range<usize>> = pieces.collect();
        if !pieces.is_empty() {
            return Some((true, pieces));
        }
        let is_there = |stem: &u32| self.words.iter().any(|word| word.0 == *stem);
        if is_whole || stems.is_empty() || !stems.iter().all(is_there) {
            return None;
        }
        let own = self.words.iter().filter(|word| stems.contains(&word.0));
        Some((false, own.map(|word| word.1.clone()).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::text::{Match, Matcher};
    use proptest::prelude::*;

    fn found(line: &str, text: &str) -> Option<(String, Vec<String>)> {
        let labels = LabelIndex::from_lines([line]);
        let characters: Vec<char> = text.chars().collect();
        let found = NamePlaces::new(text, Some(Language::English)).of(&labels, 0)?;
        let part = |place: Range<usize>| characters[place].iter().collect();
        Some((found.name, found.places.into_iter().map(part).collect()))
    }

    fn expected(name: &str, places: &[&str]) -> Option<(String, Vec<String>)> {
        Some((name.to_owned(), places.iter().map(|&place| place.to_owned()).collect()))
    }

    #[test]
    fn a_name_stands_where_its_words_do() {
        assert_eq!(
            found("a\told maps", "The Oldest Map; old   maps"),
            expected("old maps", &["old   maps"])
        );
        assert_eq!(found("a\told maps", "maps of old"), expected("old maps", &["maps", "old"]));
        assert_eq!(found("a\tbird\tsea birds", "A SEA-BIRD"), expected("sea birds", &["SEA-BIRD"]));
        assert_eq!(
            found("a\tMercury (planet)", "İ Mercury"),
            expected("Mercury (planet)", &["Mercury"])
        );
        assert_eq!(found("a\told maps", "an old atlas"), None);
        assert_eq!(found("a\t?", "what?"), None);
        assert_eq!(found("a\tmaps", ""), None);
    }

    #[test]
    fn a_name_without_spaces_stands_in_one_piece() {
        assert_eq!(found("a\t机器学习", "这是机器学习的书"), expected("机器学习", &["机器学习"]));
        assert_eq!(found("a\t机器学习", "学习机器"), None);
    }

    proptest! {
        #[test]
        fn what_a_matcher_finds_has_a_place(
            name in "(a1|b1|c1|日)( (a1|b1|c1|日)){0,2}", text in "((a1|b1|c1|日|x) ){0,8}",
        ) {
            let labels = LabelIndex::from_lines([&*format!("code\t{name}")]);
            let task = Pool::new(1).unwrap().task();
            let matched = Matcher::new(&labels, None).find(&[&text], &task).unwrap();
            let matched = matched.row(0).values.first().map(|&packed| Match::unpack(packed));
            let placed = NamePlaces::new(&text, None).of(&labels, 0);
            prop_assert_eq!(matched.is_some(), placed.is_some());
            if let Some((matched, placed)) = matched.zip(placed) {
                let before = text.chars().take(placed.places[0].start);
                prop_assert_eq!(matched.position as usize, before.filter(|&it| it == ' ').count());
            }
        }
    }
}
