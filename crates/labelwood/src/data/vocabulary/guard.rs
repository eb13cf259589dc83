//! Keeps hostile RDF from taking endless memory in its parsers.
//!
//! The parsers read a stream and hold no more than they need, but what they need follows from the
//! file: the open brackets or elements, the statement they are at, the prefixes and the entities.
//! [`Guard`] looks at the bytes before the parsers do, and fails where a file goes beyond what people
//! write.

use super::super::error::ReadError;
use super::super::source::{Source, damaged, is_of_system};
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// How deeply brackets or elements may be nested.
const DEPTH: usize = 1000;
/// How many bytes may follow a statement before the next one is complete, entities written out.
const STATEMENT: usize = 16 << 20;
/// How long a document type with its entities may be.
const DOCTYPE: usize = 64 << 10;
/// How long a tag may be: the parser compares each attribute with all others.
const TAG: usize = 64 << 10;
/// How many bytes the prefixes, base addresses and `rdf:ID`s of a file may take, as the parsers keep
/// them.
const REMEMBERED: usize = 64 << 20;
/// How much is read at a time.
const BUFFER: usize = 64 << 10;

/// Which bytes nest.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Syntax {
    Turtle,
    NTriples,
    Xml,
}

impl Syntax {
    pub(super) fn name(self) -> &'static str {
        match self {
            Syntax::Turtle => "Turtle",
            Syntax::NTriples => "N-Triples",
            Syntax::Xml => "RDF/XML",
        }
    }
}

/// What is wrong with a file that goes beyond what fits into memory whatever the file.
pub(super) fn unbounded(what: &str) -> String {
    format!(
        "there is {what}, which no vocabulary needs: let an RDF tool such as riot write the file anew \
         as N-Triples (.nt)"
    )
}

/// What the parser's side and the reader's side both know.
#[derive(Default)]
pub(super) struct Progress {
    /// Bytes since the last statement.
    pending: Cell<usize>,
    /// The line that was handed out last, counted from 1.
    line: Cell<u64>,
}

impl Progress {
    /// A statement is complete.
    pub(super) fn statement(&self) {
        self.pending.set(0);
    }

    /// The line that was handed out last, counted from 1.
    pub(super) fn line(&self) -> u64 {
        self.line.get().max(1)
    }
}

/// A reader that looks at the bytes that it hands out, at most a line at a time.
pub(super) struct Guard<'a> {
    input: Box<dyn Read + Send + 'a>,
    name: String,
    buffer: Vec<u8>,
    at: usize,
    is_start: bool,
    /// How many bytes of the line were handed out.
    column: usize,
    ends_line: bool,
    scanner: Scanner,
    progress: Rc<Progress>,
}

impl<'a> Guard<'a> {
    pub(super) fn new(source: Source<'a>, syntax: Syntax) -> (Self, Rc<Progress>) {
        let progress = Rc::new(Progress::default());
        let guard = Guard {
            name: source.name.clone(),
            input: Box::new(source.into_reader()),
            buffer: Vec::new(),
            at: 0,
            is_start: true,
            column: 0,
            ends_line: true,
            scanner: Scanner::new(syntax),
            progress: progress.clone(),
        };
        (guard, progress)
    }

    /// Reads the next bytes; none at the end.
    fn fill(&mut self) -> Result<(), ReadError> {
        (self.at, self.buffer) = (0, std::mem::take(&mut self.buffer));
        self.buffer.clear();
        let read = self.input.by_ref().take(BUFFER as u64).read_to_end(&mut self.buffer);
        if let Err(source) = read {
            if is_of_system(&source) {
                return Err(ReadError::Io { path: self.name.clone(), source });
            }
            return Err(self.fault(damaged(&source)));
        }
        if std::mem::take(&mut self.is_start) && self.buffer.starts_with(b"\xef\xbb\xbf") {
            self.at = 3;
        }
        Ok(())
    }

    /// An error at the next byte.
    fn fault(&self, problem: String) -> ReadError {
        let place = match self.ends_line {
            true => (self.progress.line.get() + 1, 1),
            false => (self.progress.line(), self.column as u64 + 1),
        };
        ReadError::content(&self.name, place, problem)
    }

    fn next_piece(&mut self, most: usize) -> Result<usize, ReadError> {
        if self.at == self.buffer.len() {
            self.fill()?;
        }
        let rest = &self.buffer[self.at..];
        let rest = &rest[..rest.len().min(most)];
        // N-Triples and Turtle know their lines, so that they get as much as there is.
        let end = match self.scanner.syntax {
            Syntax::Xml => memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1),
            _ => rest.len(),
        };
        let piece = &rest[..end];
        if let Err((at, what)) = self.scanner.scan(piece) {
            let before = &piece[..at];
            let lines = memchr::memchr_iter(b'\n', before).count() as u64;
            let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
            let known = if lines == 0 && !self.ends_line { self.column } else { 0 };
            let line = self.progress.line.get() + u64::from(self.ends_line) + lines;
            let place = (line, (known + at - start) as u64 + 1);
            return Err(ReadError::content(&self.name, place, unbounded(what)));
        }
        let entities = self.scanner.doctype * std::mem::take(&mut self.scanner.references);
        let pending = self.progress.pending.get() + piece.len() + entities;
        self.progress.pending.set(pending);
        if pending > STATEMENT {
            return Err(self.fault(unbounded("a statement of more than 16 MiB")));
        }
        if let Some(&last) = piece.last() {
            let lines = memchr::memchr_iter(b'\n', piece).count() as u64;
            let begun = u64::from(self.ends_line) + lines - u64::from(last == b'\n');
            self.progress.line.set(self.progress.line.get() + begun);
            self.column = match memchr::memrchr(b'\n', piece) {
                Some(end) => piece.len() - end - 1,
                None => self.column + piece.len(),
            };
            self.ends_line = last == b'\n';
        }
        Ok(end)
    }
}

impl Read for Guard<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.next_piece(buffer.len()).map_err(io::Error::other)?;
        buffer[..count].copy_from_slice(&self.buffer[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// What is nested, and what the parser has to remember.
struct Scanner {
    syntax: Syntax,
    within: Within,
    depth: usize,
    remembered: usize,
    /// Whether only blanks follow a colon, so that an address makes it the end of a new prefix.
    is_after_colon: bool,
    /// Whether the address is that of a new prefix.
    is_of_prefix: bool,
    /// Bytes of the tag.
    tag: usize,
    /// The last bytes, the newest lowest.
    last: u32,
    /// Whether the tag is an end tag.
    is_end: bool,
    /// Bytes of all document types.
    doctype: usize,
    /// How many declarations of the document type are open.
    declarations: usize,
    /// Ampersands since they were last counted.
    references: usize,
}

/// What the next byte is part of.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    /// Statements, or text between tags.
    Plain,
    /// `<...>` of Turtle.
    Iri,
    /// Up to the end of the line.
    Comment,
    /// After a backslash.
    Escape,
    /// A string in Turtle, with its quote: one of them ends it, or three; `run` have just been seen.
    Text {
        quote: u8,
        is_long: bool,
        run: u8,
    },
    /// One or two quotes, which may begin a string of three.
    Quotes {
        quote: u8,
        run: u8,
    },
    EscapeIn {
        quote: u8,
        is_long: bool,
    },
    /// `<...>` of XML, perhaps within a quoted value.
    Tag {
        quote: u8,
    },
    XmlComment,
    Cdata,
    Instruction,
    Doctype,
}

/// Where the file goes too far, and how.
type Fault = (usize, &'static str);

impl Scanner {
    fn new(syntax: Syntax) -> Self {
        Scanner {
            syntax,
            within: Within::Plain,
            depth: 0,
            remembered: 0,
            is_after_colon: false,
            is_of_prefix: false,
            tag: 0,
            last: 0,
            is_end: false,
            doctype: 0,
            declarations: 0,
            references: 0,
        }
    }

    fn scan(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        match self.syntax {
            Syntax::Turtle => self.scan_turtle(bytes),
            Syntax::NTriples => Ok(()),
            Syntax::Xml => self.scan_xml(bytes),
        }
    }

    fn deeper(&mut self, at: usize) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err((at, "more than 1000 levels of brackets or elements"));
        }
        Ok(())
    }

    fn remember(&mut self, at: usize, bytes: usize) -> Result<(), Fault> {
        self.remembered += bytes;
        if self.remembered > REMEMBERED {
            return Err((at, "more than 64 MiB of prefixes or rdf:ID attributes"));
        }
        Ok(())
    }

    fn scan_turtle(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let mut at = 0;
        while at < bytes.len() {
            // Most bytes are inside of addresses and strings, where one byte matters.
            let skip = match self.within {
                Within::Iri => memchr::memchr2(b'>', b'\n', &bytes[at..]),
                Within::Comment => memchr::memchr(b'\n', &bytes[at..]),
                Within::Text { quote, run: 0, .. } => {
                    memchr::memchr3(quote, b'\\', b'\n', &bytes[at..])
                }
                _ => Some(0),
            };
            let skip = skip.unwrap_or(bytes.len() - at);
            if self.within == Within::Iri && self.is_of_prefix {
                self.remember(at, skip)?;
            }
            at += skip;
            if at == bytes.len() {
                break;
            }
            let byte = bytes[at];
            self.turtle_byte(at, byte)?;
            at += 1;
        }
        Ok(())
    }

    fn turtle_byte(&mut self, at: usize, byte: u8) -> Result<(), Fault> {
        use Within::*;
        self.within = match self.within {
            Quotes { quote, run: 1 } if byte == quote => Quotes { quote, run: 2 },
            Quotes { quote, run: 2 } if byte == quote => Text { quote, is_long: true, run: 0 },
            Quotes { quote, run: 1 } if byte == b'\\' => EscapeIn { quote, is_long: false },
            Quotes { quote, run: 1 } => Text { quote, is_long: false, run: 0 },
            Text { quote, is_long: false, .. } if byte == quote => Plain,
            Text { quote, is_long: true, run: 2 } if byte == quote => Plain,
            Text { quote, is_long: true, run } if byte == quote => {
                Text { quote, is_long: true, run: run + 1 }
            }
            Text { quote, is_long, .. } if byte == b'\\' => EscapeIn { quote, is_long },
            // The parser refuses such a line.
            Text { is_long: false, .. } if byte == b'\n' => Plain,
            Text { quote, is_long, .. } | EscapeIn { quote, is_long } => {
                Text { quote, is_long, run: 0 }
            }
            Iri if byte == b'>' || byte == b'\n' => Plain,
            Comment if byte == b'\n' => Plain,
            Iri => Iri,
            Comment => Comment,
            Escape => Plain,
            _ => match byte {
                b'<' => {
                    self.is_of_prefix = self.is_after_colon;
                    self.remember(at, if self.is_of_prefix { 256 } else { 0 })?;
                    Iri
                }
                b'#' => Comment,
                b'\\' => Escape,
                b'"' | b'\'' => Quotes { quote: byte, run: 1 },
                b'[' | b'(' => {
                    self.deeper(at)?;
                    Plain
                }
                b']' | b')' => {
                    self.depth = self.depth.saturating_sub(1);
                    Plain
                }
                _ => Plain,
            },
        };
        self.is_after_colon = byte == b':' || self.is_after_colon && byte.is_ascii_whitespace();
        Ok(())
    }

    fn scan_xml(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let mut at = 0;
        while at < bytes.len() {
            if self.within == Within::Plain {
                let rest = &bytes[at..];
                let end = memchr::memchr(b'<', rest).unwrap_or(rest.len());
                self.references += memchr::memchr_iter(b'&', &rest[..end]).count();
                at += end;
                if at == bytes.len() {
                    break;
                }
            }
            self.xml_byte(at, bytes[at])?;
            at += 1;
        }
        Ok(())
    }

    fn xml_byte(&mut self, at: usize, byte: u8) -> Result<(), Fault> {
        use Within::*;
        self.last = self.last << 8 | u32::from(byte);
        let ends = |text: &[u8; 3]| {
            self.last & 0xff_ffff == u32::from_be_bytes([0, text[0], text[1], text[2]])
        };
        match self.within {
            Plain => {
                (self.within, self.tag, self.last) = (Tag { quote: 0 }, 1, u32::from(byte));
                self.is_end = false;
            }
            Tag { quote } => {
                self.tag += 1;
                self.references += usize::from(byte == b'&');
                if self.tag > TAG {
                    return Err((at, "a tag of more than 64 KiB"));
                }
                match (self.tag, byte) {
                    (2, b'?') => self.within = Instruction,
                    (2, b'/') => self.is_end = true,
                    (3, b'D' | b'd') if self.last & 0xff00 == u32::from(b'!') << 8 => {
                        self.within = Doctype;
                    }
                    (3, b'[') if self.last & 0xff00 == u32::from(b'!') << 8 => self.within = Cdata,
                    (4, b'-') if self.last == u32::from_be_bytes(*b"<!--") => {
                        // `<!-->` is no comment, so that its hyphens must not end it.
                        (self.within, self.last) = (XmlComment, 0);
                    }
                    (_, b'"' | b'\'') if quote == 0 => {
                        if self.last >> 8 & 0xff_ffff == u32::from_be_bytes(*b"\0ID=") {
                            self.remember(at, 256)?;
                        }
                        self.within = Tag { quote: byte };
                    }
                    _ if quote != 0 && byte == quote => self.within = Tag { quote: 0 },
                    _ if quote != 0 => {}
                    (_, b'>') => {
                        self.within = Plain;
                        let is_empty = self.last >> 8 & 0xff == u32::from(b'/');
                        match (self.is_end, is_empty) {
                            (true, _) => self.depth = self.depth.saturating_sub(1),
                            (false, true) => {}
                            (false, false) => self.deeper(at)?,
                        }
                    }
                    _ => {}
                }
            }
            XmlComment if ends(b"-->") => self.within = Plain,
            Cdata if ends(b"]]>") => self.within = Plain,
            Instruction if self.last & 0xffff == u32::from_be_bytes([0, 0, b'?', b'>']) => {
                self.within = Plain;
            }
            Doctype => {
                self.doctype += 1;
                if self.doctype > DOCTYPE {
                    return Err((at, "a document type of more than 64 KiB"));
                }
                // Entities of entities may double their length with each line.
                if self.last & 0xff00 == u32::from(b'&') << 8 && byte != b'#' {
                    return Err((at, "an entity within an entity"));
                }
                match byte {
                    b'<' => self.declarations += 1,
                    b'>' if self.declarations == 0 => self.within = Plain,
                    b'>' => self.declarations -= 1,
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}
