//! Numbers from bytes, fast where they are short.

/// A place in a text that ends, as far as the parser can see, with line feeds for ever.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    pub at: usize,
}

/// Whether a byte separates the fields of a line; a carriage return is part of the line end.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Cursor { text, at: 0 }
    }

    #[inline]
    pub fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b'\n')
    }

    /// Whether a blank or a line end comes next.
    #[inline]
    pub fn ends_field(&self) -> bool {
        is_blank(self.peek()) || self.peek() == b'\n'
    }

    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    #[inline]
    pub fn skip_blanks(&mut self) {
        while is_blank(self.peek()) {
            self.at += 1;
        }
    }

    /// The bytes from `start` to the next blank or line end.
    #[cold]
    pub fn field_from(&self, start: usize) -> &'a [u8] {
        let rest = self.text.get(start..).unwrap_or_default();
        &rest[..rest.iter().position(|&byte| is_blank(byte) || byte == b'\n').unwrap_or(rest.len())]
    }

    /// A run of digits as a number, `u64::MAX` when it is larger; nothing if there is no digit.
    #[inline]
    pub fn integer(&mut self) -> Option<u64> {
        let start = self.at;
        let number = self.digits(0);
        match self.at - start {
            0 => None,
            1..=19 => Some(number),
            _ => Some(saturating_number(&self.text[start..self.at])),
        }
    }

    /// A decimal number up to the end of its field: `None` if it is none, infinite if it is too
    /// large.
    ///
    /// Up to 19 digits and 22 decimals, the digits as `f64` over a power of ten are within a few
    /// units in the last place of the true value, so the nearest `f32` is the right one unless the
    /// quotient lies next to the middle between two; that one in millions takes the slow way.
    #[inline]
    pub fn value(&mut self) -> Option<f32> {
        let start = self.at;
        let is_negative = self.peek() == b'-';
        if is_negative || self.peek() == b'+' {
            self.at += 1;
        }
        let first = self.at;
        let mut number = self.digits(0);
        let mut digits = self.at - first;
        let mut decimals = 0;
        if self.peek() == b'.' {
            self.at += 1;
            let point = self.at;
            number = self.digits(number);
            decimals = self.at - point;
            digits += decimals;
        }
        if self.ends_field() && (1..=19).contains(&digits) {
            // 19 digits behind the point at most, so the power is in the table.
            let quotient = number as f64 / POWERS[decimals];
            let below = quotient.to_bits() & LOW_BITS;
            if below.abs_diff(HALF) > 4 {
                let value = quotient as f32;
                return Some(if is_negative { -value } else { value });
            }
        }
        self.value_slowly(start)
    }

    #[cold]
    fn value_slowly(&mut self, start: usize) -> Option<f32> {
        let field = self.field_from(start);
        self.at = start + field.len();
        fast_float2::parse(field).ok()
    }

    /// Takes all digits that follow, appending them to `number`; 20 and more of them wrap around.
    #[inline]
    fn digits(&mut self, mut number: u64) -> u64 {
        loop {
            let digit = self.peek().wrapping_sub(b'0');
            if digit > 9 {
                return number;
            }
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
    }
}

/// The bits of an `f64` that an `f32` has no room for.
const LOW_BITS: u64 = (1 << 29) - 1;
/// Those bits half-way between two neighbouring `f32`.
const HALF: u64 = 1 << 28;
/// Powers of ten, all exact.
const POWERS: [f64; 20] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19,
];

#[cold]
fn saturating_number(digits: &[u8]) -> u64 {
    digits.iter().fold(0u64, |number, &digit| {
        number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Option<f32> {
        let mut cursor = Cursor::new(text.as_bytes());
        let value = cursor.value();
        assert!(value.is_none() || cursor.is_at_end());
        value
    }

    #[test]
    fn integers_keep_leading_zeros_and_saturate() {
        let integer = |text: &str| Cursor::new(text.as_bytes()).integer();
        assert_eq!(integer("00000042 7"), Some(42));
        assert_eq!(integer("000000000000000000000000000042"), Some(42));
        assert_eq!(integer("18446744073709551616"), Some(u64::MAX));
        assert_eq!(integer("x"), None);
        assert_eq!(integer(""), None);
    }

    #[test]
    fn values_of_every_spelling_are_read() {
        assert_eq!(value("0.445677"), Some(0.445677));
        assert_eq!(value("-1"), Some(-1.0));
        assert_eq!(value("+.5"), Some(0.5));
        assert_eq!(value("2."), Some(2.0));
        assert_eq!(value("1e-3"), Some(0.001));
        assert_eq!(value("1e40"), Some(f32::INFINITY));
        assert!(value("nan").unwrap().is_nan());
        assert_eq!(["", ".", "-", "1x", "0x10", "1,5", "--1"].map(value), [None; 7]);
    }

    #[test]
    fn a_value_next_to_the_middle_of_two_is_rounded_right() {
        // 2^24 + 1 lies exactly between two f32; one more digit tips it upwards.
        for text in ["16777217", "16777217.0000000001", "16777216.9999999999"] {
            assert_eq!(value(text), text.parse().ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn decimals_equal_the_standard_parser(whole in "[0-9]{0,12}", decimals in "[0-9]{1,12}") {
            let text = format!("{whole}.{decimals}");
            prop_assert_eq!(value(&text), text.parse().ok());
        }

        #[test]
        fn printed_floats_come_back(bits: u32) {
            let number = f32::from_bits(bits);
            prop_assume!(number.is_finite());
            prop_assert_eq!(value(&number.to_string()).map(f32::to_bits), Some(bits));
            prop_assert_eq!(value(&f64::from(number).to_string()).map(f32::to_bits), Some(bits));
        }
    }
}
