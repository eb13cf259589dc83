//! What is odd about data, and what to do about it: looked at before anything is learned.

use super::alike::{row_key, text_key};
use super::error::InputError;
use crate::base::run::Task;
use crate::base::sparse::CsrView;
use crate::data::documents::Documents;
use crate::data::{Dataset, LabelIndex, letters};
use crate::text::{Fitting, Language, Params, Script, TextError};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many rows or labels a finding names.
const SHOWN: usize = 5;
/// Labels that this many rows have are looked at for others that go with them,
const OFTEN: u32 = 5;
/// in rows of at most so many labels,
const MOST_LABELS: usize = 64;
/// as long as there are not more pairs.
const MOST_PAIRS: usize = 4_000_000;
/// In this share of the rows of either, both must be there.
const NEARLY_ALWAYS: f64 = 0.95;

/// What data look like before anything is learned from them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// How many rows there are.
    pub rows: usize,
    /// How many labels rows have.
    pub labels: usize,
    /// How many labels a row has, in the mean.
    pub labels_per_row: f64,
    /// The language of texts, if it is sure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// The scripts of texts, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<&'static str>,
    /// What is odd, what harms most first.
    pub findings: Vec<Finding>,
}

/// Something odd about data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What it is, in a word or two for programs.
    pub name: &'static str,
    /// How many rows, labels or groups of labels it concerns.
    pub count: usize,
    /// The first of the rows, counted from 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<usize>,
    /// Some of the labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// What it is, for people: follows the number.
    #[serde(skip)]
    pub text: String,
    /// What to do about it.
    pub fix: &'static str,
}

/// Rows that have been looked at, so that others can be compared with them.
#[derive(Default)]
pub struct Checked {
    rows: usize,
    empty: Vec<usize>,
    unlabelled: Vec<usize>,
    /// Rows that are like one before.
    again: Vec<usize>,
    /// Those of them with other labels than that.
    otherwise: Vec<usize>,
    /// The first row with each key, and its labels, hashed.
    keys: HashMap<u64, (usize, u64)>,
    /// Rows without a word, or a feature, that another row has.
    unknown: Vec<usize>,
    language: Option<Language>,
    scripts: Vec<&'static str>,
    counts: Vec<u32>,
    /// What each label is called, if it is called something.
    names: Vec<String>,
    pairs: HashMap<(u32, u32), u32>,
}

impl Checked {
    /// Looks at documents; words are told apart as `params` say.
    ///
    /// ```
    /// use labelwood::app::Checked;
    /// use labelwood::data::documents::{Documents, Format, Labels, Options};
    /// let (task, options) = (labelwood::run::Pool::new(1)?.task(), Options::default());
    /// let text = b"old maps\tMaps\nold maps\tmaps\nold owls\tbirds;owls\n\tbirds\n";
    /// let documents = Documents::from_bytes(text, "f", Format::Tsv, &options, Labels::Required, &task)?;
    /// let check = Checked::documents(documents, Default::default(), &task)?.check(None);
    /// assert_eq!((check.rows, check.labels), (4, 4));
    /// let names: Vec<&str> = check.findings.iter().map(|finding| finding.name).collect();
    /// assert_eq!(names, ["other labels", "empty", "similar labels", "single labels"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn documents(
        mut documents: Documents<'_>,
        params: Params,
        task: &Task,
    ) -> Result<Self, InputError> {
        let mut checked = Checked::default();
        let mut ids: HashMap<String, u32> = HashMap::new();
        let mut labels: Vec<Box<[u32]>> = Vec::new();
        let mut fitting = Fitting::new(params).map_err(TextError::from)?;
        let mut bytes = 0;
        while let Some(batch) = documents.next_batch()? {
            let texts: Vec<&str> = batch.texts().collect();
            if checked.rows == 0 {
                checked.language = Language::guess(&texts);
                checked.scripts = scripts(&texts);
            }
            fitting.add(&texts, task)?;
            for (row, text) in texts.iter().enumerate() {
                let mut own: Vec<u32> = Vec::new();
                for label in batch.labels(row) {
                    let next = ids.len() as u32;
                    own.push(*ids.entry(label.to_owned()).or_insert_with(|| {
                        bytes += 2 * label.len() + 128;
                        next
                    }));
                }
                own.sort_unstable();
                own.dedup();
                let is_empty = text.trim().is_empty();
                checked.add((!is_empty).then(|| text_key(text)), &own);
                bytes += 16 + 4 * own.len() + text.len();
                labels.push(own.into());
            }
            documents.keep(bytes)?;
        }
        let (_, rows) = fitting.finish(task).map_err(TextError::from)?;
        checked.find_unknown(rows.view());
        let mut names = vec![String::new(); ids.len()];
        ids.into_iter().for_each(|(name, id)| names[id as usize] = name);
        checked.names = names;
        checked.find_pairs(labels.iter().map(AsRef::as_ref));
        Ok(checked)
    }

    /// Looks at rows of vectors.
    pub fn rows(dataset: &Dataset) -> Self {
        let mut checked = Checked::default();
        for (features, labels) in dataset.features.rows().zip(dataset.labels.rows()) {
            let is_empty = features.indices.is_empty();
            checked.add((!is_empty).then(|| row_key(features)), labels.indices);
        }
        checked.find_unknown(dataset.features.view());
        let name = |names: &LabelIndex, label| names.display(label).to_owned();
        let known = dataset.label_names.iter();
        checked.names = known
            .flat_map(|names| (0..names.len() as u32).map(|label| name(names, label)))
            .collect();
        checked.find_pairs(dataset.labels.rows().map(|row| row.indices));
        checked
    }

    /// Adds a row with its key, if there is anything in it, and its labels.
    fn add(&mut self, key: Option<u64>, labels: &[u32]) {
        self.rows += 1;
        let row = self.rows;
        if labels.is_empty() {
            self.unlabelled.push(row);
        }
        for &label in labels {
            let label = label as usize;
            self.counts.resize(self.counts.len().max(label + 1), 0);
            self.counts[label] += 1;
        }
        let Some(key) = key else { return self.empty.push(row) };
        let mut hasher = DefaultHasher::new();
        labels.hash(&mut hasher);
        let labels = hasher.finish();
        match *self.keys.entry(key).or_insert((row, labels)) {
            (first, _) if first == row => {}
            (_, before) if before == labels => self.again.push(row),
            _ => self.otherwise.push(row),
        }
    }

    /// Notes the rows without anything that another row has; empty ones are known to be that.
    fn find_unknown(&mut self, rows: CsrView<'_>) {
        let counts = rows.column_counts();
        let is_known = |indices: &[u32]| indices.iter().any(|&column| counts[column as usize] > 1);
        let unknown = (1..).zip(rows.rows()).filter(|(_, row)| !is_known(row.indices));
        let empty: HashSet<usize> = self.empty.iter().copied().collect();
        self.unknown = unknown.map(|(row, _)| row).filter(|row| !empty.contains(row)).collect();
    }

    /// Counts labels that are in as many rows as another, and mostly in the same.
    fn find_pairs<'r>(&mut self, rows: impl Iterator<Item = &'r [u32]>) {
        let counts = &self.counts;
        let is_often = |label: &&u32| counts[**label as usize] >= OFTEN;
        let is_like = |one: u32, other: u32| {
            let (one, other) = (counts[one as usize], counts[other as usize]);
            f64::from(one.min(other)) >= NEARLY_ALWAYS * f64::from(one.max(other))
        };
        for row in rows.filter(|row| row.len() <= MOST_LABELS) {
            let often: Vec<u32> = row.iter().filter(is_often).copied().collect();
            for (at, &one) in often.iter().enumerate() {
                for &other in often[at + 1..].iter().filter(|&&other| is_like(one, other)) {
                    if self.pairs.len() < MOST_PAIRS {
                        *self.pairs.entry((one, other)).or_default() += 1;
                    }
                }
            }
        }
    }

    /// What a label is called, in one line.
    fn name(&self, label: usize) -> String {
        let name = self.names.get(label).map(|name| name.replace(char::is_control, " "));
        name.unwrap_or_else(|| label.to_string())
    }

    /// What was found, of these rows alone or of those of a `test` beside them.
    pub fn check(&self, test: Option<&Checked>) -> Check {
        let labels = self.counts.iter().filter(|&&count| count > 0).count();
        let sum: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let mut findings = Vec::new();
        let mut rows = |name, rows: &[usize], text: &str, fix| {
            if !rows.is_empty() {
                let (count, rows) = (rows.len(), rows.iter().copied().take(SHOWN).collect());
                let text = text.to_owned();
                findings.push(Finding { name, count, rows, examples: Vec::new(), text, fix });
            }
        };
        if let Some(test) = test {
            let known: Vec<usize> = test.seen_in(self);
            rows(
                "test rows in training",
                &known,
                "of the test are also rows to train on",
                "take them out of one file, or divide all rows anew: `labelwood split` keeps equal ones together",
            );
        }
        rows(
            "no labels",
            &self.unlabelled,
            "without labels",
            "give them labels, or leave them out if they only lack them",
        );
        rows(
            "other labels",
            &self.otherwise,
            "like one before, but with other labels",
            "join the labels of equal rows, or see why they differ",
        );
        rows(
            "duplicates",
            &self.again,
            "like one before, with the same labels",
            "keep one of each; `labelwood split` keeps equal rows on one side",
        );
        rows(
            "empty",
            &self.empty,
            "without any text or feature",
            "see that --text-column names the text, or leave them out",
        );
        rows(
            "no known word",
            &self.unknown,
            "without a word, or feature, that another row has",
            "give more rows, add --min-df 1, or try --stem auto or --char-ngrams 3,5",
        );
        let mut some = |name, count, examples, noun: &str, text: &str, fix| {
            if count > 0 {
                let end = if count == 1 { "" } else { "s" };
                let text = format!("{noun}{end}{text}");
                findings.push(Finding { name, count, rows: Vec::new(), examples, text, fix });
            }
        };
        let (count, examples) = self.similar_labels();
        some(
            "similar labels",
            count,
            examples,
            "group",
            " of labels that differ by case, blanks or punctuation only",
            "write each label in one way",
        );
        let single: Vec<String> = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count == 1)
            .map(|(label, _)| self.name(label))
            .collect();
        some(
            "single labels",
            single.len(),
            single.into_iter().take(SHOWN).collect(),
            "label",
            " with one row",
            "give more rows, or their names with --vocabulary: a single row teaches little",
        );
        let (count, examples) = self.labels_together();
        some(
            "labels together",
            count,
            examples,
            "pair",
            " of labels that nearly always occur together",
            "see whether one of both says enough",
        );
        if let Some(test) = test {
            let unseen = test.labels_beside(self);
            some(
                "test labels not in training",
                unseen.len(),
                unseen.into_iter().take(SHOWN).collect(),
                "label",
                " of the test that no row to train on has",
                "divide all rows anew, or give the names of labels with --vocabulary",
            );
        }
        let labels_per_row = if self.rows > 0 { sum as f64 / self.rows as f64 } else { 0.0 };
        let (language, scripts) = (self.language, self.scripts.clone());
        Check { rows: self.rows, labels, labels_per_row, language, scripts, findings }
    }

    /// The first of equal rows that are like one of `other`.
    fn seen_in(&self, other: &Checked) -> Vec<usize> {
        let own = self.keys.iter().filter(|(key, _)| other.keys.contains_key(key));
        let mut rows: Vec<usize> = own.map(|(_, &(row, _))| row).collect();
        rows.sort_unstable();
        rows
    }

    /// The labels that are called otherwise than any of `other`.
    fn labels_beside(&self, other: &Checked) -> Vec<String> {
        let known: HashSet<String> = (0..other.counts.len())
            .filter(|&label| other.counts[label] > 0)
            .map(|label| other.name(label))
            .collect();
        let own = (0..self.counts.len()).filter(|&label| self.counts[label] > 0);
        own.map(|label| self.name(label)).filter(|name| !known.contains(name)).collect()
    }

    /// How many groups of labels have the same letters and digits, and some of them.
    fn similar_labels(&self) -> (usize, Vec<String>) {
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for label in (0..self.names.len())
            .filter(|&label| self.counts.get(label).is_some_and(|&count| count > 0))
        {
            let plain = letters(&self.names[label]);
            if !plain.is_empty() {
                groups.entry(plain).or_default().push(label);
            }
        }
        let similar: Vec<Vec<usize>> =
            groups.into_values().filter(|group| group.len() > 1).collect();
        let shown = |group: &Vec<usize>| {
            let label = |&label: &usize| format!("`{}` ({})", self.name(label), self.counts[label]);
            group.iter().take(SHOWN).map(label).collect::<Vec<_>>().join(", ")
        };
        (similar.len(), similar.iter().take(SHOWN).map(shown).collect())
    }

    /// How many pairs of labels are nearly always together, and some of them.
    fn labels_together(&self) -> (usize, Vec<String>) {
        let count = |label: u32| self.counts[label as usize];
        let is_one = |(pair, both): &(&(u32, u32), &u32)| {
            f64::from(**both) >= NEARLY_ALWAYS * f64::from(count(pair.0).max(count(pair.1)))
        };
        let mut pairs: Vec<(u32, u32, u32)> =
            self.pairs.iter().filter(is_one).map(|(pair, &both)| (both, pair.0, pair.1)).collect();
        pairs.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.cmp(other)));
        let shown = |&(both, one, other): &(u32, u32, u32)| {
            format!("`{}` and `{}` ({both})", self.name(one as usize), self.name(other as usize))
        };
        (pairs.len(), pairs.iter().take(SHOWN).map(shown).collect())
    }
}

/// Which scripts at least one in so many letters is of.
const OF_LETTERS: usize = 20;
/// Of each text, so many characters are looked at.
const CHARACTERS: usize = 1000;

/// The scripts of texts, the most frequent first.
fn scripts(texts: &[&str]) -> Vec<&'static str> {
    let name = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Some("Latin"),
        '\u{370}'..='\u{3ff}' => Some("Greek"),
        '\u{400}'..='\u{52f}' => Some("Cyrillic"),
        '\u{590}'..='\u{5ff}' => Some("Hebrew"),
        '\u{600}'..='\u{6ff}' => Some("Arabic"),
        '\u{900}'..='\u{97f}' => Some("Devanagari"),
        other => Script::of(other).map(Script::name),
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for letter in texts.iter().flat_map(|text| text.chars().take(CHARACTERS)) {
        if let Some(name) = name(letter) {
            *counts.entry(name).or_default() += 1;
        }
    }
    let letters: usize = counts.values().sum();
    let mut found: Vec<_> =
        counts.into_iter().filter(|(_, count)| count * OF_LETTERS >= letters).collect();
    found.sort_by_key(|&(name, count)| (Reverse(count), name));
    found.into_iter().map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::data::documents::{Format, Labels, Options};

    fn checked(text: &str) -> Checked {
        let (task, options) = (Pool::new(1).unwrap().task(), Options::default());
        let documents = Documents::from_bytes(
            text.as_bytes(),
            "f",
            Format::Tsv,
            &options,
            Labels::Required,
            &task,
        );
        Checked::documents(documents.unwrap(), Params::default(), &task).unwrap()
    }

    fn finding<'c>(check: &'c Check, name: &str) -> Option<&'c Finding> {
        check.findings.iter().find(|finding| finding.name == name)
    }

    #[test]
    fn every_oddity_is_found_once_with_its_rows() {
        let mut text = String::new();
        for at in 0..8 {
            text.push_str(&format!("owls and herons {at}\tbirds;Birds;zoo\n"));
        }
        // Rows 9 to 14.
        text.push_str(
            "Old maps\tmaps\nold  MAPS\tmaps\nold maps\tatlas\n\tmaps\nowls\t\nxylophone\tmaps\n",
        );
        let check = checked(&text).check(None);
        assert_eq!((check.rows, check.labels), (14, 5));
        assert!((check.labels_per_row - 29.0 / 14.0).abs() < 1e-12);
        let rows =
            |name| finding(&check, name).map(|finding| (finding.count, finding.rows.clone()));
        assert_eq!(rows("duplicates"), Some((1, vec![10])));
        assert_eq!(rows("other labels"), Some((1, vec![11])));
        assert_eq!(rows("empty"), Some((1, vec![12])));
        assert_eq!(rows("no labels"), Some((1, vec![13])));
        assert_eq!(rows("no known word"), Some((1, vec![14])));
        let examples = |name| finding(&check, name).map(|finding| finding.examples.clone());
        assert_eq!(examples("similar labels"), Some(vec!["`birds` (8), `Birds` (8)".to_owned()]));
        assert_eq!(examples("single labels"), Some(vec!["atlas".to_owned()]));
        assert_eq!(finding(&check, "labels together").unwrap().count, 3);
        assert_eq!(examples("labels together").unwrap()[0], "`birds` and `Birds` (8)");
        assert!(checked("old maps\tmaps\nold owls\tmaps\n").check(None).findings.is_empty());
    }

    #[test]
    fn a_test_is_compared_with_what_is_trained_on() {
        let training = checked("old maps\tmaps\nold owls\tmaps\n");
        let test = checked("new owls\tmaps\nOld  maps\tmaps new\n");
        let check = training.check(Some(&test));
        assert_eq!(finding(&check, "test rows in training").unwrap().rows, [2]);
        assert_eq!(finding(&check, "test labels not in training").unwrap().examples, ["new"]);
    }

    #[test]
    fn vectors_are_checked_by_their_features() {
        let task = Pool::new(1).unwrap().task();
        let text = b"4 3 2\n0 0:1 1:1\n1 0:1 1:1\n1\n0 2:1\n";
        let rows = crate::data::read_bytes(text, "a.txt", &Default::default(), &task).unwrap();
        let check = Checked::rows(&rows.dataset).check(None);
        let rows = |name| finding(&check, name).map(|finding| finding.rows.clone());
        assert_eq!((rows("other labels"), rows("empty")), (Some(vec![2]), Some(vec![3])));
        assert_eq!((rows("no known word"), rows("duplicates")), (Some(vec![4]), None));
    }

    #[test]
    fn the_scripts_of_texts_are_told_apart() {
        assert_eq!(scripts(&["日本の地図", "old"]), ["Han", "Latin", "Hiragana"]);
        assert_eq!(scripts(&["старые карты и ещё десять слов", "x"]), ["Cyrillic"]);
        assert_eq!(scripts(&["7", ""]), [""; 0]);
    }

    #[test]
    fn long_rows_do_not_take_long() {
        let labels: Vec<String> = (0..20_000).map(|label| format!("l{label}")).collect();
        let row = format!("old maps\t{}\n", labels.join(";"));
        assert!(finding(&checked(&row.repeat(6)).check(None), "labels together").is_none());
    }
}
