//! Sizes in bytes as people write them.

use std::fmt;
use std::str::FromStr;

use bytesize::ByteSize;

/// A number of bytes: `8G`, `1.5GiB` and `200M` count in powers of 1024, `8GB` in powers of 1000.
///
/// Printed with one digit after the point, in powers of 1024: `1.5 GiB`.
///
/// ```
/// use labelwood::run::Bytes;
/// assert_eq!("1.5GiB".parse(), Ok(Bytes(3 << 29)));
/// assert_eq!(Bytes(300_000_000).to_string(), "286.1 MiB");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        // The crate takes `8G` for powers of 1000. Like GNU's tools, we take only `8GB` for those.
        let is_bare_prefix = trimmed.ends_with(|last: char| "KMGTPEkmgtpe".contains(last));
        let suffix = if is_bare_prefix { "iB" } else { "" };
        match format!("{trimmed}{suffix}").parse::<ByteSize>() {
            // The crate gives the highest number for all that are higher.
            Ok(ByteSize(bytes)) if bytes < u64::MAX => Ok(Bytes(bytes)),
            _ => Err(format!("`{text}` is not a size; write bytes or a size such as 8G or 1.5GiB")),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}", ByteSize(self.0).display().iec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_a_unit() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("512B", 512),
            ("2k", 2048),
            ("200M", 200 << 20),
            ("8G", 8 << 30),
            ("8 GiB", 8 << 30),
            ("1.5GiB", 3 << 29),
            ("8GB", 8_000_000_000),
            (" 8 gb ", 8_000_000_000),
            ("1T", 1 << 40),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_size_is_refused_with_an_example() {
        for text in ["", "G", "-1G", "8X", "8GiBs", "1.2.3", "nan", "1e3", "99999999T", "8Ⓖ"] {
            let error = text.parse::<Bytes>().unwrap_err();
            assert!(error.contains("such as 8G"), "{text}: {error}");
        }
    }

    #[test]
    fn sizes_are_printed_with_one_digit() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1024.0 KiB"),
            (8 << 30, "8.0 GiB"),
            (5 << 50, "5.0 PiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn a_printed_size_can_be_read_back() {
        assert_eq!(Bytes(3 << 29).to_string().parse(), Ok(Bytes(3 << 29)));
    }
}
