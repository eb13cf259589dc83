//! Checks that every quote of a table is closed.
//!
//! The `csv` crate reads on when a quote is never closed, or when the next row's opening quote closes
//! it: then rows run together. This check finds the first such quote and reports where it opens.

use super::super::error::Place;
use super::super::source::LONGEST_LINE;

const OPEN: &str = "the double quote that opens here is never closed: close it, or write it twice and \
    the field within double quotes if it is part of the text";
const STRAY: &str = "the double quote that opens here is not closed before the next one opens, or \
    something follows the closing one: close it at the end of the field, and write double quotes that are \
    part of the text twice";

/// Follows the quotes of a table through its blocks.
pub(super) struct Quotes {
    /// The separator of columns.
    pub delimiter: u8,
    /// The place where a quote opened that is not closed yet, and how many bytes follow it.
    open: Option<(Place, usize)>,
}

impl Quotes {
    pub(super) fn new(delimiter: u8) -> Self {
        Quotes { delimiter, open: None }
    }

    /// Looks at the next whole lines.
    pub(super) fn check(
        &mut self,
        text: &str,
        first_line: u64,
    ) -> Result<(), (Place, &'static str)> {
        let bytes = text.as_bytes();
        let (mut line, mut line_start) = (first_line, 0);
        let mut at = 0;
        let mut opened_at = 0;
        while let Some(quote) = memchr::memchr(b'"', &bytes[at..]).map(|found| at + found) {
            at = quote + 1;
            let follows = bytes.get(at).copied().unwrap_or(b'\n');
            match self.open {
                Some(_) if follows == b'"' => at += 1,
                Some((place, _)) => {
                    if follows != self.delimiter && !matches!(follows, b'\r' | b'\n') {
                        return Err((place, STRAY));
                    }
                    self.open = None;
                }
                None if quote == 0 || [self.delimiter, b'\n'].contains(&bytes[quote - 1]) => {
                    let between = &bytes[line_start..quote];
                    line += memchr::memchr_iter(b'\n', between).count() as u64;
                    line_start += memchr::memrchr(b'\n', between).map_or(0, |end| end + 1);
                    self.open = Some(((line, (quote - line_start) as u64 + 1), 0));
                    opened_at = quote;
                }
                None => {}
            }
        }
        if let Some((place, length)) = &mut self.open {
            *length += bytes.len() - opened_at;
            if *length > LONGEST_LINE {
                return Err((*place, OPEN));
            }
        }
        Ok(())
    }

    /// The line of a quote that is open, and how many bytes of its field are known.
    pub(super) fn open(&self) -> Option<(u64, usize)> {
        self.open.map(|((line, _), length)| (line, length))
    }

    /// At the end of the table no quote may be open.
    pub(super) fn finish(&self) -> Result<(), (Place, &'static str)> {
        self.open.map_or(Ok(()), |(place, _)| Err((place, OPEN)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the first wrong quote is.
    fn fault(blocks: &[&str]) -> Option<(Place, &'static str)> {
        let mut quotes = Quotes::new(b',');
        let mut line = 1;
        for block in blocks {
            if let Err(fault) = quotes.check(block, line) {
                return Some(fault);
            }
            line += block.matches('\n').count() as u64;
        }
        quotes.finish().err()
    }

    #[test]
    fn quotes_within_unquoted_fields_and_doubled_ones_are_sound() {
        assert_eq!(
            fault(&["a,5\" disk\n", "\"x \"\"y\"\"\",\"\"\r\n", "\"two\n", "lines\",b\n"]),
            None
        );
        assert_eq!(fault(&["\"\"\"\",a\n"]), None);
    }

    #[test]
    fn a_quote_that_goes_wrong_is_named_where_it_opens() {
        assert_eq!(fault(&["a,b\n\nc,\"d\n", "e,f\n"]), Some(((3, 3), OPEN)));
        assert_eq!(fault(&["a\n", "\"b,c\n\"d\",e\n"]), Some(((2, 1), STRAY)));
        assert_eq!(fault(&["\"a\",\"b\" ,c\n"]), Some(((1, 5), STRAY)));
    }
}
