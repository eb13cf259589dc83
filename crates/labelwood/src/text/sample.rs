//! A bounded sample of documents, kept as they are: to read them in several ways.

use super::params::{Language, Params};
use super::reader::{TextError, for_each_batch};
use super::{TextReader, learn};
use crate::base::random::derive;
use crate::base::run::Task;
use crate::base::sparse::LabelRows;
use crate::data::documents::{Documents, Options};
use crate::data::{Dataset, LabelIndex, LabelIndexBuilder};

/// What the documents of a sample are drawn for.
const SAMPLING: u64 = 0x7465_7874;
/// Bytes of text that a sample has at most. Pieces of words take fifty times as much while they are tried.
const BYTES: usize = 8 << 20;

/// Some of the documents, each as likely as any other, in their order.
///
/// Which these are follows from the seed and their places, and whatever is asked for, a smaller sample
/// is a part of a larger one. Labels that none of them has are left out.
///
/// ```
/// use labelwood::data::LabelIndexBuilder;
/// use labelwood::text::TextSample;
/// let documents = (0..100).map(|at| (format!("text {at}"), [if at % 2 == 0 { "even" } else { "odd" }]));
/// let sample = TextSample::of(documents, LabelIndexBuilder::default(), 10, 42);
/// assert_eq!((sample.len(), sample.documents()), (10, 100));
/// ```
#[derive(Clone, Debug)]
pub struct TextSample {
    texts: Vec<String>,
    labels: LabelRows,
    names: LabelIndex,
    language: Option<Language>,
    documents: usize,
}

impl TextSample {
    /// At most so many documents that are at hand, each a text and its labels.
    pub fn of<T: AsRef<str>, L: AsRef<str>>(
        documents: impl IntoIterator<Item = (T, impl IntoIterator<Item = L>)>,
        names: LabelIndexBuilder,
        most: usize,
        seed: u64,
    ) -> Self {
        let mut drawing = Drawing::new(most, seed);
        for (text, labels) in documents {
            let labels: Vec<L> = labels.into_iter().collect();
            drawing.add(text.as_ref(), labels.iter().map(AsRef::as_ref));
        }
        drawing.finish(names)
    }

    /// At most so many documents of a file, which is read to its end.
    pub fn read(
        mut documents: Documents<'_>,
        names: LabelIndexBuilder,
        most: usize,
        seed: u64,
        task: &Task,
    ) -> Result<Self, TextError> {
        let mut drawing = Drawing::new(most, seed);
        let mut meter = documents.meter();
        for_each_batch(&mut documents, task, |batch| {
            for (row, text) in batch.texts().enumerate() {
                drawing.add(text, batch.labels(row));
            }
            Ok(meter.set(drawing.bytes)?)
        })?;
        Ok(drawing.finish(names))
    }

    /// How many documents are in the sample.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether no document is in the sample.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Of how many documents it is.
    pub fn documents(&self) -> usize {
        self.documents
    }

    /// How many labels its documents have.
    pub fn labels(&self) -> usize {
        self.labels.columns()
    }

    /// The language that its texts are written in, if that is sure.
    pub fn language(&self) -> Option<Language> {
        self.language
    }

    /// The rows of the sample, read with these settings.
    pub fn rows(&self, params: &Params, task: &Task) -> Result<Dataset, TextError> {
        let (labels, names) = (self.labels.clone(), self.names.clone());
        let read = learn(&self.texts, labels, names, Options::default(), params.clone(), task);
        read.map(|(_, dataset): (TextReader, Dataset)| dataset)
    }
}

/// A document that may be in the sample.
struct Drawn {
    /// Documents with the smallest keys are drawn.
    key: u64,
    row: usize,
    text: String,
    labels: Vec<String>,
}

/// Draws documents that come one by one.
struct Drawing {
    most: usize,
    place: u64,
    drawn: Vec<Drawn>,
    /// The bytes of those that are drawn, about.
    bytes: usize,
    documents: usize,
}

impl Drawing {
    fn new(most: usize, seed: u64) -> Self {
        let place = derive(seed, SAMPLING);
        Drawing { most, place, drawn: Vec::new(), bytes: 0, documents: 0 }
    }

    fn add<'t>(&mut self, text: &str, labels: impl Iterator<Item = &'t str>) {
        let row = self.documents;
        self.documents += 1;
        let labels: Vec<String> = labels.map(str::to_owned).collect();
        let drawn =
            Drawn { key: derive(self.place, row as u64), row, text: text.to_owned(), labels };
        self.bytes += drawn.bytes();
        self.drawn.push(drawn);
        // Drawing now and then keeps the time for it small.
        if self.drawn.len() >= 2 * self.most || self.bytes >= 2 * BYTES {
            self.draw();
        }
    }

    /// Leaves out what is too much.
    fn draw(&mut self) {
        self.drawn.sort_unstable_by_key(|drawn| (drawn.key, drawn.row));
        self.drawn.truncate(self.most);
        let mut bytes = 0;
        let fits = |drawn: &&Drawn| {
            bytes += drawn.bytes();
            bytes <= BYTES
        };
        let fitting = self.drawn.iter().take_while(fits).count();
        self.drawn.truncate(fitting);
        self.bytes = self.drawn.iter().map(Drawn::bytes).sum();
    }

    fn finish(mut self, mut names: LabelIndexBuilder) -> TextSample {
        self.draw();
        self.drawn.sort_unstable_by_key(|drawn| drawn.row);
        let ids: Vec<Vec<u32>> = self
            .drawn
            .iter()
            .map(|drawn| drawn.labels.iter().map(|label| names.id(label)).collect())
            .collect();
        let names = names.finish();
        let mut known: Vec<u32> = ids.iter().flatten().copied().collect();
        known.sort_unstable();
        known.dedup();
        let lines: Vec<&str> = names.lines().collect();
        let names = LabelIndex::from_lines(known.iter().map(|&id| lines[id as usize]));
        let mut labels = LabelRows::new(known.len());
        for ids in &ids {
            let mut row: Vec<u32> =
                ids.iter().map(|id| known.partition_point(|known| known < id) as u32).collect();
            row.sort_unstable();
            row.dedup();
            labels
                .push_row(&row, &vec![(); row.len()])
                .expect("labels are sorted, single and known");
        }
        let texts: Vec<String> = self.drawn.into_iter().map(|drawn| drawn.text).collect();
        let language = Language::guess(&texts);
        TextSample { texts, labels, names, language, documents: self.documents }
    }
}

impl Drawn {
    fn bytes(&self) -> usize {
        let labels = self.labels.iter().map(|label| label.len() + size_of::<String>());
        size_of::<Drawn>() + self.text.len() + labels.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::run::Pool;
    use crate::data::documents::{Format, Labels};

    /// The numbers of all documents of a sample.
    fn drawn(documents: usize, most: usize) -> Vec<usize> {
        let texts = (0..documents).map(|at| (at.to_string(), [at.to_string()]));
        let sample = TextSample::of(texts, LabelIndexBuilder::default(), most, 42);
        assert_eq!(sample.texts.len(), sample.labels());
        sample.texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_documents_with_the_smallest_keys_are_drawn_in_order() {
        assert_eq!(drawn(9, 10), (0..9).collect::<Vec<_>>());
        let place = derive(42, SAMPLING);
        let mut plain: Vec<usize> = (0..1000).collect();
        plain.sort_by_key(|&row| derive(place, row as u64));
        plain.truncate(100);
        plain.sort_unstable();
        assert_eq!(drawn(1000, 100), plain);
        assert!(drawn(1000, 10).iter().all(|row| plain.contains(row)));
    }

    #[test]
    fn long_texts_are_fewer() {
        let long = "x".repeat(BYTES / 10);
        let texts = (0..50).map(|_| (&long, [""; 0]));
        let sample = TextSample::of(texts, LabelIndexBuilder::default(), 100, 42);
        assert_eq!((sample.len(), sample.documents()), (9, 50));
    }

    #[test]
    fn a_file_is_drawn_from_like_texts_at_hand_and_labels_keep_their_names() {
        let task = Pool::new(1).unwrap().task();
        let known = LabelIndex::from_lines(["p0\tcats", "p1\tbirds", "p2\tmaps"]);
        let text = "a bird\tmaps,p1\na map\tp2\nthe bird\tnew,birds\n";
        let options = Options::default();
        let documents = Documents::from_bytes(
            text.as_bytes(),
            "f",
            Format::Tsv,
            &options,
            Labels::Required,
            &task,
        );
        let names = || LabelIndexBuilder::new(&known);
        let sample = TextSample::read(documents.unwrap(), names(), 10, 42, &task).unwrap();
        assert_eq!(sample.names, LabelIndex::from_lines(["p1\tbirds", "p2\tmaps", "new"]));
        let rows: Vec<&[u32]> = sample.labels.rows().map(|row| row.indices).collect();
        assert_eq!(rows, [&[0, 1][..], &[1], &[0, 2]]);
        let texts =
            [("a bird", &["maps", "p1"][..]), ("a map", &["p2"]), ("the bird", &["new", "birds"])];
        let at_hand = TextSample::of(texts, names(), 10, 42);
        let of = |sample: &TextSample| sample.rows(&Params::default(), &task).unwrap();
        assert_eq!(of(&at_hand).digest(), of(&sample).digest());
        assert!(of(&sample).named.is_some());
    }
}
