//! Parses numbers, with a fast path for short ones.

/// A position in a text. Beyond the end, every byte reads as a line feed.
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
    pub(super) fn new(text: &'a [u8]) -> Self {
        Cursor { text, at: 0 }
    }

    #[inline]
    pub(super) fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b'\n')
    }

    /// Whether a blank or a line end comes next.
    #[inline]
    pub(super) fn ends_field(&self) -> bool {
        is_blank(self.peek()) || self.peek() == b'\n'
    }

    #[inline]
    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while is_blank(self.peek()) {
            self.at += 1;
        }
    }

    /// The bytes from `start` to the next blank or line end.
    #[cold]
    pub(super) fn field_from(&self, start: usize) -> &'a [u8] {
        let rest = self.text.get(start..).unwrap_or_default();
        &rest[..rest.iter().position(|&byte| is_blank(byte) || byte == b'\n').unwrap_or(rest.len())]
    }

    /// A run of digits as a number, `u64::MAX` when it is larger; nothing if there is no digit.
    #[inline]
    pub(super) fn integer(&mut self) -> Option<u64> {
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
    pub(super) fn value(&mut self) -> Option<f32> {
        let start = self.at;
        let is_negative = self.peek() == b'-';
        if is_negative || self.peek() == b'+' {
            self.at += 1;
        }
        let first = self.at;
        let mut number = self.few_digits(0);
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
    ///
    /// Eight bytes at a time: how many digits a number has is hard to foretell, and a branch for
    /// each would cost more than the arithmetic.
    #[inline]
    fn digits(&mut self, mut number: u64) -> u64 {
        while let Some(&word) = self.text.get(self.at..).and_then(|rest| rest.first_chunk()) {
            let (count, leading) = leading_digits(word);
            number = number.wrapping_mul(TENS[count]).wrapping_add(leading);
            self.at += count;
            if count < 8 {
                return number;
            }
        }
        self.few_digits(number)
    }

    /// As [`digits`](Self::digits), one by one.
    #[inline]
    fn few_digits(&mut self, mut number: u64) -> u64 {
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

/// How many of eight bytes are digits before the first that is not, and the number they form.
#[inline]
fn leading_digits(word: [u8; 8]) -> (usize, u64) {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    // Digits become 0 to 9. Adding 0x76 sets the top bit of all that is larger, up to the first
    // byte whose sum carries over, which is no digit either.
    let values = u64::from_le_bytes(word) ^ (0x30 * EACH);
    let others = (values.wrapping_add(0x76 * EACH) | values) & (0x80 * EACH);
    let count = others.trailing_zeros() / 8;
    // Zeros move in front of the digits; then pairs, fours and all eight are joined.
    let eight = values.checked_shl(64 - 8 * count).unwrap_or(0);
    let pairs = eight.wrapping_mul(10).wrapping_add(eight >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    (count as usize, low.wrapping_add(high) >> 32)
}

/// What up to eight more digits multiply a number by.
const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
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
        fn leading_digits_equal_a_plain_loop(bytes: [u8; 8], digits in "[0-9]{0,8}") {
            let mut word = bytes;
            word[..digits.len()].copy_from_slice(digits.as_bytes());
            let count = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
            prop_assert_eq!(leading_digits(word), (count, saturating_number(&word[..count])));
        }

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
