//! Concepts of SKOS from the statements of Turtle, N-Triples or RDF/XML.

use super::super::error::{ReadError, first_of};
use super::super::label_index::{LineCollector, on_one_line};
use super::super::source::{MemoryMeter, Source};
use super::Vocabulary;
use super::guard::{Guard, Progress, Syntax, unbounded};
use super::thesaurus::{Thesaurus, belongs, is_tag};
use crate::base::run::Task;
use oxrdf::{NamedOrBlankNode, Term, Triple};
use oxrdfxml::{RdfXmlParseError, RdfXmlParser};
use oxttl::{NTriplesParser, TurtleParseError, TurtleParser};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

/// In how many languages there may be names.
const LANGUAGES: usize = 1000;
/// How often it is looked whether the task was stopped, in statements.
const CHECK: u64 = 1 << 14;
/// The memory of a concept besides its address: a slot of a hash table that may be half empty, and its
/// place in lists.
const CONCEPT: usize = 96;

const SKOS: &str = "http://www.w3.org/2004/02/skos/core#";
const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const DEPRECATED: &str = "http://www.w3.org/2002/07/owl#deprecated";

/// Reads SKOS. Names are those in `language`, by default the one with the most preferred names.
pub(super) fn read(
    source: Source<'_>,
    syntax: Syntax,
    language: Option<&str>,
    task: Option<&Task>,
) -> Result<Vocabulary, ReadError> {
    let path = source.name.clone();
    let mut concepts = Concepts::new(source.meter());
    let (guard, progress) = Guard::new(source, syntax);
    let mut reading = Reading { path: &path, syntax, progress, task, statements: 0 };
    match syntax {
        Syntax::Turtle => {
            for triple in TurtleParser::new().lenient().for_reader(guard) {
                reading.take(triple, &mut concepts)?;
            }
        }
        Syntax::NTriples => {
            for triple in NTriplesParser::new().lenient().for_reader(guard) {
                reading.take(triple, &mut concepts)?;
            }
        }
        Syntax::Xml => {
            for triple in RdfXmlParser::new().lenient().for_reader(guard) {
                reading.take(triple, &mut concepts)?;
            }
        }
    }
    concepts.finish(&path, language)
}

/// Where the reading is.
struct Reading<'a> {
    path: &'a str,
    syntax: Syntax,
    progress: Rc<Progress>,
    task: Option<&'a Task>,
    statements: u64,
}

/// Why there is no next statement.
enum Failure {
    Io(io::Error),
    /// What the parser says, and at which line and column, counted from 1, if it knows.
    Syntax(String, Option<(u64, u64)>),
}

impl From<TurtleParseError> for Failure {
    fn from(error: TurtleParseError) -> Self {
        match error {
            TurtleParseError::Io(error) => Failure::Io(error),
            TurtleParseError::Syntax(error) => {
                let start = error.location().start;
                let place = (start.line + 1, start.column + 1);
                Failure::Syntax(error.message().to_owned(), Some(place))
            }
        }
    }
}

impl From<RdfXmlParseError> for Failure {
    fn from(error: RdfXmlParseError) -> Self {
        match error {
            RdfXmlParseError::Io(error) => Failure::Io(error),
            RdfXmlParseError::Syntax(error) => Failure::Syntax(error.to_string(), None),
        }
    }
}

impl Reading<'_> {
    fn take(
        &mut self,
        triple: Result<Triple, impl Into<Failure>>,
        concepts: &mut Concepts,
    ) -> Result<(), ReadError> {
        let triple = triple.map_err(|error| self.explain(error.into()))?;
        self.progress.statement();
        self.statements += 1;
        if self.statements.is_multiple_of(CHECK)
            && let Some(task) = self.task
        {
            task.check()?;
        }
        match concepts.add(&triple)? {
            true => Ok(()),
            false => {
                let problem = unbounded("names in more than 1000 languages");
                Err(ReadError::content(self.path, (self.progress.line(), 1), problem))
            }
        }
    }

    fn explain(&self, failure: Failure) -> ReadError {
        let (reason, place) = match failure {
            Failure::Io(error) => match error.downcast::<ReadError>() {
                Ok(error) => return error,
                // The parser's own limit of what it keeps of a file.
                Err(error) if error.raw_os_error().is_none() => (error.to_string(), None),
                Err(source) => return ReadError::Io { path: self.path.to_owned(), source },
            },
            Failure::Syntax(reason, place) => (reason, place),
        };
        // Messages may quote the file at length, over several lines.
        let mut reason = reason.replace(char::is_control, " ");
        if let Some((end, _)) = reason.char_indices().nth(200) {
            reason.truncate(end);
            reason.push('…');
        }
        let place = place.unwrap_or((self.progress.line(), 1));
        let syntax = self.syntax.name();
        let problem = format!(
            "this is not valid {syntax} ({reason}): mend it here, or let an RDF tool such as riot \
             write the file anew"
        );
        ReadError::content(self.path, place, problem)
    }
}

/// What is known of the concepts so far.
struct Concepts {
    /// Numbers in the order in which addresses are first met.
    numbers: HashMap<Box<str>, u32>,
    marks: Vec<Marks>,
    names: Vec<Name>,
    /// The text of all names.
    text: String,
    /// Tags of languages; the first is that of names without one.
    tags: Vec<String>,
    tag_numbers: HashMap<String, u32>,
    broader: Vec<(u32, u32)>,
    /// The length of all addresses.
    addresses: usize,
    /// Named things that have no address.
    blank: u64,
    /// The last subject, which mostly is the next one, too.
    last: Option<(String, u32)>,
    meter: MemoryMeter,
}

#[derive(Clone, Copy, Default)]
struct Marks {
    is_concept: bool,
    is_deprecated: bool,
}

#[derive(Clone, Copy)]
struct Name {
    start: usize,
    len: u32,
    concept: u32,
    tag: u32,
    kind: Kind,
}

/// What a name is to its concept; the first is preferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Preferred,
    Alternative,
    Hidden,
    Notation,
}

impl Concepts {
    fn new(meter: MemoryMeter) -> Self {
        Concepts {
            numbers: HashMap::new(),
            marks: Vec::new(),
            names: Vec::new(),
            text: String::new(),
            tags: vec![String::new()],
            tag_numbers: HashMap::from([(String::new(), 0)]),
            broader: Vec::new(),
            addresses: 0,
            blank: 0,
            last: None,
            meter,
        }
    }

    /// Adds a statement; false if there are too many languages.
    fn add(&mut self, triple: &Triple) -> Result<bool, ReadError> {
        let predicate = triple.predicate.as_str();
        let subject = match &triple.subject {
            NamedOrBlankNode::NamedNode(node) => Some(node.as_str()),
            NamedOrBlankNode::BlankNode(_) => None,
        };
        let object = match &triple.object {
            Term::NamedNode(node) => Some(node.as_str()),
            _ => None,
        };
        let literal = match &triple.object {
            Term::Literal(literal) => Some(literal),
            _ => None,
        };
        let kind = match predicate.strip_prefix(SKOS) {
            Some("prefLabel") => Kind::Preferred,
            Some("altLabel") => Kind::Alternative,
            Some("hiddenLabel") => Kind::Hidden,
            Some("notation") => Kind::Notation,
            Some(relation @ ("broader" | "narrower")) => {
                if let (Some(subject), Some(object)) = (subject, object) {
                    let pair = (self.number(subject), self.number(object));
                    let pair = if relation == "broader" { pair } else { (pair.1, pair.0) };
                    self.broader.push(pair);
                }
                return self.measure().map(|()| true);
            }
            Some(_) => return Ok(true),
            None => {
                let is_concept = predicate == TYPE
                    && object.and_then(|object| object.strip_prefix(SKOS)) == Some("Concept");
                let is_deprecated = predicate == DEPRECATED
                    && literal.is_some_and(|literal| ["true", "1"].contains(&literal.value()));
                if (is_concept || is_deprecated)
                    && let Some(subject) = subject
                {
                    let number = self.number(subject) as usize;
                    self.marks[number].is_concept |= is_concept;
                    self.marks[number].is_deprecated |= is_deprecated;
                    self.measure()?;
                }
                return Ok(true);
            }
        };
        let Some(literal) = literal else { return Ok(true) };
        let Some(subject) = subject else {
            self.blank += u64::from(kind == Kind::Preferred);
            return Ok(true);
        };
        let text = on_one_line(literal.value().trim());
        let concept = self.number(subject);
        self.marks[concept as usize].is_concept |= kind == Kind::Preferred;
        if !text.is_empty() {
            let tag = literal.language().unwrap_or_default().to_ascii_lowercase();
            // What is no tag of a language is as good as none.
            let tag = if is_tag(&tag) { tag } else { String::new() };
            let Some(tag) = self.tag(tag) else { return Ok(false) };
            let name = Name { start: self.text.len(), len: text.len() as u32, concept, tag, kind };
            self.names.push(name);
            self.text.push_str(&text);
        }
        self.measure().map(|()| true)
    }

    fn tag(&mut self, tag: String) -> Option<u32> {
        if let Some(&known) = self.tag_numbers.get(&tag) {
            return Some(known);
        }
        let number = self.tags.len() as u32;
        self.tags.push(tag.clone());
        self.tag_numbers.insert(tag, number);
        (self.tags.len() <= LANGUAGES + 1).then_some(number)
    }

    fn number(&mut self, address: &str) -> u32 {
        match &self.last {
            Some((last, number)) if last == address => return *number,
            _ => {}
        }
        let number = match self.numbers.get(address) {
            Some(&known) => known,
            None => {
                let new = self.marks.len() as u32;
                self.marks.push(Marks::default());
                self.numbers.insert(address.into(), new);
                self.addresses += address.len();
                new
            }
        };
        self.last = Some((address.to_owned(), number));
        number
    }

    /// How much memory everything takes; lists may have twice the place that they need.
    fn bytes(&self) -> usize {
        let lists = self.names.capacity() * size_of::<Name>() + self.broader.capacity() * 8;
        lists + self.text.capacity() + self.addresses + CONCEPT * self.marks.len()
    }

    fn measure(&mut self) -> Result<(), ReadError> {
        let bytes = self.bytes();
        self.meter.set(bytes)
    }

    /// Gives concepts their ids, in the order of their addresses, and sorts their names.
    fn finish(mut self, path: &str, language: Option<&str>) -> Result<Vocabulary, ReadError> {
        let known = self.bytes();
        let mut kept: Vec<(Box<str>, u32)> = Vec::new();
        let mut deprecated = 0;
        for (address, number) in std::mem::take(&mut self.numbers) {
            let marks = self.marks[number as usize];
            if marks.is_concept && !marks.is_deprecated {
                kept.push((address, number));
            }
            deprecated += u64::from(marks.is_concept && marks.is_deprecated);
        }
        if kept.is_empty() {
            let problem = "there is no concept: a vocabulary in SKOS has subjects with skos:prefLabel \
                           that are not deprecated";
            return Err(ReadError::file(path, problem));
        }
        kept.sort_unstable();
        let mut ids = vec![u32::MAX; self.marks.len()];
        for (id, &(_, number)) in (0..).zip(&kept) {
            ids[number as usize] = id;
        }
        self.names.retain_mut(|name| {
            name.concept = ids[name.concept as usize];
            name.concept != u32::MAX
        });
        let language = self.choose(path, language)?;
        let places = self.places(language.as_deref());
        let languages = places.iter().map(|place| place.0).max().unwrap_or_default() as usize;
        // An index takes at most as much as the text, and the places of its lines.
        let indices = self.text.len() + (languages + 1) * 9 * kept.len();
        self.meter.set(known + self.addresses + indices)?;

        let (names, text) = (&mut self.names, &self.text);
        let text_of = |name: &Name| &text[name.start..name.start + name.len as usize];
        let sorting = |name: &Name| {
            let (index, place) = places[name.tag as usize];
            (index, name.concept, name.kind, place)
        };
        names.sort_unstable_by(|one, other| {
            let texts = || text_of(one).cmp(text_of(other));
            sorting(one).cmp(&sorting(other)).then_with(texts)
        });
        let mut indices = Vec::with_capacity(languages + 1);
        let mut rest = &names[..];
        let mut nameless = 0;
        for index in 0..=languages as u32 {
            let mut lines = LineCollector::default();
            let mut line = String::new();
            for (id, (address, _)) in (0..).zip(&kept) {
                let count = rest
                    .iter()
                    .take_while(|name| name.concept == id && places[name.tag as usize].0 == index)
                    .count();
                let (own, others) = rest.split_at(count);
                rest = others;
                line.clear();
                if index == 0 {
                    line.push_str(address);
                }
                if !own.is_empty() || index > 0 {
                    line.push('\t');
                }
                let has_name = own.first().is_some_and(|name| name.kind == Kind::Preferred);
                if !has_name && !own.is_empty() {
                    line.push('\t');
                }
                nameless += usize::from(index == 0 && !has_name);
                let mut seen: Vec<&str> = Vec::with_capacity(own.len());
                for name in own.iter().map(text_of) {
                    // Few names are compared one by one, many with the last one only.
                    if !seen.iter().rev().take(64).any(|&other| other == name) {
                        if !seen.is_empty() {
                            line.push('\t');
                        }
                        line.push_str(name);
                        seen.push(name);
                    }
                }
                lines.push(&line);
            }
            indices.push(lines.finish());
        }
        let mut indices = indices.into_iter();
        let labels = indices.next().unwrap_or_default();
        let mut tags: Vec<(u32, &String)> =
            places.iter().map(|place| place.0).zip(&self.tags).collect();
        tags.sort_unstable();
        let tags = tags.into_iter().filter(|&(index, _)| index > 0).map(|(_, tag)| tag.clone());
        let languages: Vec<_> = tags.zip(indices).collect();

        let known_pair = |&(narrow, broad): &(u32, u32)| {
            let pair = (ids[narrow as usize], ids[broad as usize]);
            (pair.0.max(pair.1) < u32::MAX && pair.0 != pair.1).then_some(pair)
        };
        let mut pairs: Vec<(u32, u32)> = self.broader.iter().filter_map(known_pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let (narrower, broader): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();

        let mut warnings = Vec::new();
        if deprecated > 0 {
            warnings.push(format!("{path}: {deprecated} deprecated concepts are left out"));
        }
        if self.blank > 0 {
            let blank = self.blank;
            warnings.push(format!(
                "{path}: {blank} preferred names are left out, because what they name has no URI"
            ));
        }
        if nameless > 0 {
            let concepts = labels.len();
            let language = language.iter().map(|tag| format!(" in the language `{tag}`"));
            let language: String = language.collect();
            warnings.push(format!(
                "{path}: {nameless} of {concepts} concepts have no preferred name{language}"
            ));
        }
        let thesaurus =
            Thesaurus { language, languages, narrower: narrower.into(), broader: broader.into() };
        self.meter.set(known + self.addresses)?;
        self.meter.keep();
        Ok(Vocabulary { labels: labels.with_thesaurus(thesaurus), warnings })
    }

    /// The language of the names: the one asked for, else the one with the most preferred names.
    fn choose(&self, path: &str, asked: Option<&str>) -> Result<Option<String>, ReadError> {
        let mut counts = vec![0_u64; self.tags.len()];
        let mut is_used = vec![false; self.tags.len()];
        for name in &self.names {
            is_used[name.tag as usize] = true;
            counts[name.tag as usize] += u64::from(name.kind == Kind::Preferred);
        }
        let used = || (1..self.tags.len()).filter(|&tag| is_used[tag]);
        let Some(asked) = asked.map(str::to_ascii_lowercase) else {
            let most = used().max_by_key(|&tag| (counts[tag], std::cmp::Reverse(&self.tags[tag])));
            return Ok(most.map(|tag| self.tags[tag].clone()));
        };
        if used().next().is_some() && !used().any(|tag| belongs(&self.tags[tag], &asked)) {
            let mut known: Vec<&str> = used().map(|tag| &*self.tags[tag]).collect();
            known.sort_unstable();
            let known = first_of(known.into_iter());
            let problem = format!("there are no names in the language `{asked}`, only in {known}");
            return Err(ReadError::file(path, problem));
        }
        Ok(Some(asked))
    }

    /// For each tag, in which index its names are, of which 0 is that of `language`, and its place
    /// within: names without a tag come last.
    fn places(&self, language: Option<&str>) -> Vec<(u32, u32)> {
        let mut is_used = vec![false; self.tags.len()];
        self.names.iter().for_each(|name| is_used[name.tag as usize] = true);
        let mut order: Vec<usize> = (0..self.tags.len()).collect();
        order.sort_unstable_by_key(|&tag| &self.tags[tag]);
        let mut places = vec![(0, u32::MAX); self.tags.len()];
        let mut next = 1;
        for (rank, tag) in (0..).zip(order) {
            let text = &self.tags[tag];
            if tag == 0 || !is_used[tag] {
                continue;
            }
            if language.is_some_and(|language| belongs(text, language)) {
                places[tag] = (0, rank);
            } else {
                places[tag] = (next, 0);
                next += 1;
            }
        }
        places
    }
}
