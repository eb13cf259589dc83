//! Some documents, in one piece of memory.

use super::separator;

/// Some documents of a file, in order.
///
/// All strings lie in one text, so that a batch costs a handful of allocations however many
/// documents it has.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    arena: String,
    texts: Vec<Span>,
    /// An empty one where a document has no id.
    ids: Vec<Span>,
    /// The labels of all documents, and where those of each document end.
    labels: Vec<Span>,
    label_ends: Vec<usize>,
    /// All fields of the documents, the same number of each, if they are kept.
    fields: Vec<Span>,
}

/// A piece of the arena.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    fn of(self, arena: &str) -> &str {
        &arena[self.start..self.end]
    }

    fn moved(self, by: usize) -> Self {
        Span { start: self.start + by, end: self.end + by }
    }
}

impl Batch {
    /// The number of documents.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The text of each document.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.texts.iter().map(|span| span.of(&self.arena))
    }

    /// The id of a document, if it has one.
    ///
    /// # Panics
    ///
    /// If there is no such document in the batch, as does [`labels`](Self::labels).
    pub fn id(&self, row: usize) -> Option<&str> {
        Some(self.ids[row].of(&self.arena)).filter(|id| !id.is_empty())
    }

    /// The labels of a document as they are written, without blanks and angle brackets around them.
    pub fn labels(&self, row: usize) -> impl ExactSizeIterator<Item = &str> + Clone {
        let start = row.checked_sub(1).map_or(0, |before| self.label_ends[before]);
        self.labels[start..self.label_ends[row]].iter().map(|span| span.of(&self.arena))
    }

    /// All fields of a document, if they are kept: those of a CSV file in the order of its columns, else
    /// the line as a whole.
    pub fn fields(&self, row: usize) -> impl ExactSizeIterator<Item = &str> + Clone {
        let width = self.fields.len() / self.len();
        let fields = &self.fields[row * width..(row + 1) * width];
        fields.iter().map(|span| span.of(&self.arena))
    }

    /// The memory that the documents take.
    pub(super) fn bytes(&self) -> usize {
        let spans = self.texts.len() + self.ids.len() + self.labels.len() + self.fields.len();
        self.arena.len() + spans * size_of::<Span>() + self.label_ends.len() * size_of::<usize>()
    }

    /// Documents of texts alone.
    pub(crate) fn of_texts(texts: &[String]) -> Self {
        let mut batch = Batch::default();
        for text in texts {
            let text = batch.store([text.as_str()], "");
            batch.push(text, Span::default(), None);
        }
        batch
    }

    /// An empty batch over a text, parts of which are to become documents.
    pub(super) fn over(arena: String) -> Self {
        Batch { arena, ..Batch::default() }
    }

    /// The arena with everything that was appended so far.
    pub(super) fn arena(&self) -> &str {
        &self.arena
    }

    /// Appends strings to the arena with `between` between them.
    pub(super) fn store<'s>(
        &mut self,
        strings: impl IntoIterator<Item = &'s str>,
        between: &str,
    ) -> Span {
        let start = self.arena.len();
        for (at, string) in strings.into_iter().enumerate() {
            if at > 0 {
                self.arena.push_str(between);
            }
            self.arena.push_str(string);
        }
        Span { start, end: self.arena.len() }
    }

    /// Adds a document; its labels are whole fields until they are split.
    pub(super) fn push(
        &mut self,
        text: Span,
        id: Span,
        label_fields: impl IntoIterator<Item = Span>,
    ) {
        self.texts.push(text);
        self.ids.push(id);
        self.labels.extend(label_fields);
        self.label_ends.push(self.labels.len());
    }

    /// Keeps a field of the document that was added last.
    pub(super) fn keep(&mut self, field: Span) {
        self.fields.push(field);
    }

    /// Those of the documents that are `wanted`.
    pub(super) fn only(&self, wanted: impl Fn(usize) -> bool) -> Batch {
        let mut some = Batch::over(self.arena.clone());
        let (width, mut start) = (self.fields.len() / self.len(), 0);
        for (row, &end) in self.label_ends.iter().enumerate() {
            let labels = self.labels[start..end].iter().copied();
            start = end;
            if wanted(row) {
                some.push(self.texts[row], self.ids[row], labels);
                some.fields.extend_from_slice(&self.fields[row * width..(row + 1) * width]);
            }
        }
        some
    }

    /// The label fields of all documents before they are split.
    pub(super) fn raw_labels(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().map(|span| span.of(&self.arena))
    }

    /// Splits the label fields at the separator, if there is one, and tidies them.
    pub(super) fn split_labels(&mut self, separator: Option<&str>) {
        let fields = std::mem::take(&mut self.labels);
        let mut start = 0;
        for end in &mut self.label_ends {
            for field in &fields[start..*end] {
                let labels = &mut self.labels;
                separator::split(field.of(&self.arena), separator, |start, end| {
                    labels.push(Span { start, end }.moved(field.start));
                });
            }
            start = std::mem::replace(end, self.labels.len());
        }
    }

    /// Takes over the documents of another batch.
    pub(super) fn append(&mut self, other: &Batch) {
        let offset = self.arena.len();
        self.arena.push_str(&other.arena);
        let moved = |span: &Span| span.moved(offset);
        let labels = self.labels.len();
        self.texts.extend(other.texts.iter().map(moved));
        self.ids.extend(other.ids.iter().map(moved));
        self.labels.extend(other.labels.iter().map(moved));
        self.label_ends.extend(other.label_ends.iter().map(|end| labels + end));
        self.fields.extend(other.fields.iter().map(moved));
    }
}
