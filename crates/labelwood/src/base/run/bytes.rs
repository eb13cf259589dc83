//! Sizes in bytes as people write them.

use std::fmt;
use std::str::FromStr;

const PREFIXES: [char; 4] = ['K', 'M', 'G', 'T'];

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
        let wrong =
            || format!("`{text}` is not a size; write bytes or a size such as 8G or 1.5GiB");
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..digits].parse().map_err(|_| wrong())?;
        let bytes = number * unit(text[digits..].trim()).ok_or_else(wrong)?;
        if bytes < u64::MAX as f64 { Ok(Bytes(bytes as u64)) } else { Err(wrong()) }
    }
}

/// Bytes in one unit: nothing or `B`, `K`, `KB`, `KiB` and so on, in any case.
fn unit(name: &str) -> Option<f64> {
    let name = name.to_ascii_uppercase();
    if name.is_empty() || name == "B" {
        return Some(1.0);
    }
    let mut rest = name.chars();
    let prefix = rest.next()?;
    let power = PREFIXES.iter().position(|&known| known == prefix)? as i32 + 1;
    match rest.as_str() {
        "" | "IB" => Some(1024f64.powi(power)),
        "B" => Some(1000f64.powi(power)),
        _ => None,
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        if self.0 < 1024 {
            return write!(formatter, "{} B", self.0);
        }
        let mut size = self.0 as f64 / 1024.0;
        let mut prefix = 0;
        // 1023.95 would be printed as 1024.0.
        while size >= 1023.95 && prefix + 1 < PREFIXES.len() {
            size /= 1024.0;
            prefix += 1;
        }
        write!(formatter, "{size:.1} {}iB", PREFIXES[prefix])
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
            ((1 << 20) - 1, "1.0 MiB"),
            (8 << 30, "8.0 GiB"),
            (5 << 50, "5120.0 TiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn a_printed_size_can_be_read_back() {
        assert_eq!(Bytes(3 << 29).to_string().parse(), Ok(Bytes(3 << 29)));
    }
}
