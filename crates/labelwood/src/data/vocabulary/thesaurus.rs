//! What a vocabulary adds to the names of labels: other languages, and which label is broader.

use crate::base::array::Array;
use crate::base::store::{ArrayRef, FormatError, Unit};
use crate::base::words::plural;
use crate::data::LabelIndex;
use crate::data::label_index::LineCollector;
use std::collections::BTreeSet;
use xxhash_rust::xxh3::Xxh3;

/// The arrays of a language are called `names-fi` and `names_start-fi`.
const NAMES: &str = "names-";
const STARTS: &str = "names_start-";

/// What a vocabulary adds to a [`LabelIndex`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Thesaurus {
    /// The language of the index, if it is known.
    pub language: Option<String>,
    /// Further languages in the order of their tags. An index has a line for each of the first labels:
    /// a TAB, the preferred name, and each further name after another TAB. The codes are not repeated.
    pub languages: Vec<(String, LabelIndex)>,
    /// Labels with a broader one, in increasing order, and the broader ones.
    pub narrower: Array<u32>,
    pub broader: Array<u32>,
}

/// Whether text may name a language: letters, digits and inner hyphens, as in `en` and `pt-br`.
pub(super) fn is_tag(text: &str) -> bool {
    text.len() <= 64
        && text.split('-').all(|part| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}

/// Whether names with this tag belong to a language: `en-gb` belongs to `en`.
pub(super) fn belongs(tag: &str, language: &str) -> bool {
    tag.strip_prefix(language).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

impl Thesaurus {
    /// What concerns the first labels.
    pub(crate) fn first(&self, labels: usize) -> Self {
        let cut = |index: &LabelIndex| match index.len() <= labels {
            true => index.clone(),
            false => LabelIndex::from_lines(index.lines().take(labels)),
        };
        let pairs = self.narrower.iter().copied().zip(self.broader.iter().copied());
        let (narrower, broader): (Vec<u32>, Vec<u32>) =
            pairs.filter(|&(narrow, broad)| narrow.max(broad) < labels as u32).unzip();
        Thesaurus {
            language: self.language.clone(),
            languages: self
                .languages
                .iter()
                .map(|(tag, index)| (tag.clone(), cut(index)))
                .collect(),
            narrower: narrower.into(),
            broader: broader.into(),
        }
    }

    /// The preferred name of a label in the first language that has one.
    pub(crate) fn preferred_name(&self, id: u32) -> Option<&str> {
        let known = self.languages.iter().filter(|(_, index)| (id as usize) < index.len());
        known.map(|(_, index)| index).find_map(|index| index.name(id))
    }

    /// The first name of a label in the first language that has one.
    pub(crate) fn first_name(&self, id: u32) -> Option<&str> {
        self.languages.iter().find_map(|(_, index)| names_of(index, id).next())
    }

    /// The label with this name in the first language that has one.
    pub(crate) fn find_name(&self, name: &str) -> Option<u32> {
        self.languages.iter().find_map(|(_, index)| index.find_name(name))
    }
}

fn names_of(index: &LabelIndex, id: u32) -> impl Iterator<Item = &str> + Clone {
    let known = (id as usize) < index.len();
    known.then(|| index.names(id)).into_iter().flatten()
}

/// The line of a label of one index, before whose names come those of labels of another, each once.
fn joined_line(code: &str, own: (&LabelIndex, u32), newer: (&LabelIndex, &[u32])) -> String {
    let labels = newer.1.iter().map(|&id| (newer.0, id)).chain([own]);
    let labels = labels.filter(|(index, id)| (*id as usize) < index.len());
    // Without a preferred name, too, a TAB ends the code.
    let preferred = labels.clone().find_map(|(index, id)| index.name(id)).unwrap_or_default();
    let mut known = BTreeSet::from([preferred]);
    let further = labels.flat_map(|(index, id)| index.names(id));
    let further: Vec<&str> = further.filter(|name| known.insert(name)).collect();
    [&[code, preferred][..], &further].concat().join("\t")
}

/// Labels in several languages.
impl LabelIndex {
    /// The language of [`name`](Self::name), if it is known.
    pub fn language(&self) -> Option<&str> {
        self.thesaurus()?.language.as_deref()
    }

    /// The tags of all languages in which there are names, that of [`name`](Self::name) first; none if
    /// it is not known.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        let others = self.thesaurus().into_iter().flat_map(|more| &more.languages);
        self.language().into_iter().chain(others.map(|(tag, _)| &**tag))
    }

    /// The names of a label in a language, those with the very tag before those of its regions:
    /// `en` means `en-gb`, too. Tags may be in upper or lower case.
    ///
    /// # Panics
    ///
    /// If there is no such label.
    pub fn names_in(&self, language: &str, id: u32) -> impl Iterator<Item = &str> {
        let wanted = language.to_ascii_lowercase();
        let own = self.language().filter(|own| belongs(own, &wanted)).map(|_| self.names(id));
        let others = self.thesaurus().into_iter().flat_map(|more| &more.languages);
        let others = others.filter(move |(tag, _)| belongs(tag, &wanted));
        own.into_iter().flatten().chain(others.flat_map(move |(_, index)| names_of(index, id)))
    }

    /// The labels with their names in another language, where they have some, else with those that
    /// they have here; nothing if no label has a name in that language.
    ///
    /// ```
    /// use labelwood::data::Vocabulary;
    /// let file = "<x:1> <http://www.w3.org/2004/02/skos/core#prefLabel> \"birds\"@en, \"linnut\"@fi .";
    /// let labels = Vocabulary::from_bytes(file.as_bytes(), "birds.ttl", Some("en"))?.labels;
    /// let finnish = labels.in_language("fi").expect("there are names");
    /// assert_eq!((labels.display(0), finnish.display(0)), ("birds", "linnut"));
    /// # Ok::<(), labelwood::data::ReadError>(())
    /// ```
    pub fn in_language(&self, language: &str) -> Option<LabelIndex> {
        let wanted = language.to_ascii_lowercase();
        self.languages().find(|tag| belongs(tag, &wanted))?;
        if self.language() == Some(&*wanted) {
            return Some(self.clone());
        }
        let mut lines = LineCollector::default();
        let mut line = String::new();
        for (id, own) in (0..).zip(self.lines()) {
            line.clear();
            line.push_str(self.code(id));
            let code = line.len();
            for name in self.names_in(&wanted, id) {
                line.extend(["\t", name]);
            }
            lines.push(if line.len() > code { &line } else { own });
        }
        Some(lines.finish())
    }

    /// These labels with what a newer vocabulary says: its names come before those that labels have
    /// here, and labels that are not here come after them.
    ///
    /// Labels are the same if they have the same code. One that has no name but its code here is
    /// also the one that is called so there.
    ///
    /// ```
    /// use labelwood::data::LabelIndex;
    /// let known = LabelIndex::from_lines(["x:1\tbirds", "maps"]);
    /// let more = LabelIndex::from_lines(["x:1\tfowl", "x:2\tmaps\tcharts", "x:3\tships"]);
    /// let joined = known.joined(&more);
    /// let lines: Vec<&str> = joined.lines().collect();
    /// assert_eq!(lines, ["x:1\tfowl\tbirds", "maps\tmaps\tcharts", "x:3\tships"]);
    /// ```
    pub fn joined(&self, more: &LabelIndex) -> LabelIndex {
        let mut ids: Vec<Vec<u32>> = vec![Vec::new(); self.len()];
        let mut places = Vec::with_capacity(more.len());
        for id in 0..more.len() as u32 {
            let by_name =
                |name: &str| self.find_code(name).filter(|&id| self.names(id).next().is_none());
            let place = self.find_code(more.code(id)).or_else(|| by_name(more.name(id)?));
            let place = place.map_or(ids.len(), |place| place as usize);
            ids.resize_with(ids.len().max(place + 1), Vec::new);
            ids[place].push(id);
            places.push(place as u32);
        }
        let mut lines = LineCollector::default();
        for (place, ids) in (0..).zip(&ids) {
            let is_known = (place as usize) < self.len();
            let code = if is_known { self.code(place) } else { more.code(ids[0]) };
            lines.push(&joined_line(code, (self, place), (more, ids)));
        }
        let labels = lines.finish();
        let none = Thesaurus::default();
        let [own, other] = [self, more].map(|index| index.thesaurus().unwrap_or(&none));
        let tags = own.languages.iter().chain(&other.languages).map(|(tag, _)| tag);
        let tags: BTreeSet<&String> = tags.collect();
        let empty = LabelIndex::default();
        let language = |tag: &&String| {
            let [own, other] = [own, other].map(|all| {
                let found = all.languages.iter().find(|(found, _)| found == *tag);
                found.map_or(&empty, |(_, index)| index)
            });
            let mut lines = LineCollector::default();
            for (place, ids) in (0..).zip(&ids) {
                lines.push(&joined_line("", (own, place), (other, ids)));
            }
            ((*tag).clone(), lines.finish())
        };
        let placed = |&label: &u32| places[label as usize];
        let newer = other.narrower.iter().map(placed).zip(other.broader.iter().map(placed));
        let known = own.narrower.iter().copied().zip(own.broader.iter().copied());
        let pairs: BTreeSet<(u32, u32)> = known.chain(newer).collect();
        let (narrower, broader): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        labels.with_thesaurus(Thesaurus {
            language: own.language.clone().or_else(|| other.language.clone()),
            languages: tags.iter().map(language).collect(),
            narrower: narrower.into(),
            broader: broader.into(),
        })
    }

    /// The broader labels of a label, as a vocabulary gives them, in increasing order.
    pub fn broader(&self, id: u32) -> &[u32] {
        let Some(more) = self.thesaurus() else { return &[] };
        let start = more.narrower.partition_point(|&narrow| narrow < id);
        let end = more.narrower.partition_point(|&narrow| narrow <= id);
        more.broader.get(start..end).unwrap_or_default()
    }

    /// How many pairs of a label and a broader one there are.
    pub fn broader_pairs(&self) -> usize {
        self.thesaurus().map_or(0, |more| more.narrower.len())
    }

    /// All arrays of the index, by the names that [`from_unit`](Self::from_unit) takes.
    pub(crate) fn to_arrays(&self) -> Vec<(String, ArrayRef<'_>)> {
        let (text, starts) = self.arrays();
        let mut arrays =
            vec![("names".to_owned(), text.into()), ("names_start".to_owned(), starts.into())];
        let Some(more) = self.thesaurus() else { return arrays };
        if let Some(language) = &more.language {
            arrays.push(("language".to_owned(), language.as_bytes().into()));
        }
        for (tag, index) in &more.languages {
            let (text, starts) = index.arrays();
            arrays.extend([
                (format!("{NAMES}{tag}"), text.into()),
                (format!("{STARTS}{tag}"), starts.into()),
            ]);
        }
        if !more.narrower.is_empty() {
            arrays.push(("narrower".to_owned(), more.narrower[..].into()));
            arrays.push(("broader".to_owned(), more.broader[..].into()));
        }
        arrays
    }

    /// A fingerprint of all that the index holds.
    pub(crate) fn digest(&self) -> u128 {
        let mut hasher = Xxh3::new();
        self.hash(&mut hasher);
        hasher.digest128()
    }

    /// Hashes all that the index holds.
    pub(crate) fn hash(&self, hasher: &mut Xxh3) {
        let mut hash = |index: &LabelIndex| {
            let (text, starts) = index.arrays();
            starts.iter().for_each(|start| hasher.update(&start.to_le_bytes()));
            hasher.update(text);
        };
        hash(self);
        let Some(more) = self.thesaurus() else { return };
        more.languages.iter().for_each(|(_, index)| hash(index));
        for text in self.languages() {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        for label in more.narrower.iter().chain(more.broader.iter()) {
            hasher.update(&label.to_le_bytes());
        }
    }

    /// The index whose arrays are in a unit, if there are some. What was stored is checked as far as
    /// nothing panics and no label is beyond the index: in a damaged file, lines outside of the text
    /// and lines that are not UTF-8 are empty.
    pub(crate) fn from_unit(unit: &Unit) -> Result<Option<Self>, FormatError> {
        let arrays = unit.names();
        let has = |wanted: &str| arrays.iter().any(|name| name == wanted);
        if !has("names") {
            return Ok(None);
        }
        let labels = LabelIndex::from_arrays(unit.array("names")?, unit.array("names_start")?);
        let refused = |reason: String| Err(unit.refused(reason));
        let mut more = Thesaurus::default();
        if has("language") {
            let tag: Array<u8> = unit.array("language")?;
            match std::str::from_utf8(&tag) {
                Ok(tag) if is_tag(tag) => more.language = Some(tag.to_owned()),
                _ => return refused("the language of the names is no tag".to_owned()),
            }
        }
        for tag in arrays.iter().filter_map(|name| name.strip_prefix(NAMES)) {
            let (text, starts) =
                (unit.array(&format!("{NAMES}{tag}"))?, unit.array(&format!("{STARTS}{tag}"))?);
            let index = LabelIndex::from_arrays(text, starts);
            if !is_tag(tag) || index.len() > labels.len() {
                let (names, count) = (index.len(), labels.len());
                return refused(format!(
                    "{} in the language `{tag}` for {}",
                    plural(names, "name"),
                    plural(count, "label")
                ));
            }
            more.languages.push((tag.to_owned(), index));
        }
        if has("narrower") {
            // Copied, so that what is checked here holds even if a mapped file changes.
            let copy = |name: &str| Ok::<_, FormatError>(unit.array::<u32>(name)?.to_vec().into());
            (more.narrower, more.broader) = (copy("narrower")?, copy("broader")?);
            let pairs = || more.narrower.iter().zip(more.broader.iter());
            let is_known = |&label: &u32| (label as usize) < labels.len();
            if more.narrower.len() != more.broader.len()
                || !pairs().is_sorted_by(|one, next| one < next)
                || !pairs().all(|(narrow, broad)| is_known(narrow) && is_known(broad))
            {
                return refused("its broader labels are no sorted pairs of labels".to_owned());
            }
        }
        Ok(Some(labels.with_thesaurus(more)))
    }
}
