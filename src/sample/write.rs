//! Writes the JSON of sample cases: members, lists, numbers and dates.

use super::draws::Draws;

/// The number of seconds in a day.
pub(super) const DAY_S: u64 = 86_400;

/// A JSON writer for strings that contain no character to escape.
pub(super) struct Json<'o> {
    pub(super) out: &'o mut Vec<u8>,
}

impl Json<'_> {
    pub(super) fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    pub(super) fn quoted(&mut self, text: &str) {
        self.raw("\"");
        self.raw(text);
        self.raw("\"");
    }

    /// Writes the key of a member that is not the first in its object.
    pub(super) fn key(&mut self, key: &str) {
        self.raw(",\"");
        self.raw(key);
        self.raw("\":");
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        self.quoted(value);
    }

    /// Writes a string that consists of `word` and a number with at least `digits` digits.
    pub(super) fn numbered(&mut self, word: &str, number: u64, digits: usize) {
        self.raw("\"");
        self.raw(word);
        self.padded(number, digits);
        self.raw("\"");
    }

    pub(super) fn list(&mut self, key: &str, count: u64, mut element: impl FnMut(&mut Self)) {
        self.key(key);
        self.raw("[");
        for i in 0..count {
            if i > 0 {
                self.raw(",");
            }
            element(self);
        }
        self.raw("]");
    }

    /// Writes an array of at most `count` different elements, but never more than 8. Each is a skewed draw below `bound`.
    pub(super) fn distinct(
        &mut self,
        key: &str,
        count: u64,
        bound: u64,
        draws: &mut Draws,
        write: impl Fn(&mut Self, u64),
    ) {
        let mut before = [u64::MAX; 8];
        self.key(key);
        self.raw("[");
        for (i, slot) in (0..count).zip(0..before.len()) {
            let drawn = draws.skewed(bound);
            if before.contains(&drawn) {
                continue;
            }
            if let Some(slot) = before.get_mut(slot) {
                *slot = drawn;
            }
            if i > 0 {
                self.raw(",");
            }
            write(self, drawn);
        }
        self.raw("]");
    }

    pub(super) fn decimal(&mut self, number: u64) {
        self.padded(number, 1);
    }

    pub(super) fn padded(&mut self, number: u64, digits: usize) {
        // 20 digits are enough for every 64-bit number.
        let mut text = [b'0'; 20];
        let mut rest = number;
        let mut length = 0;
        for slot in text.iter_mut().rev() {
            if rest == 0 && length >= digits {
                break;
            }
            *slot = b'0' + (rest % 10) as u8;
            rest /= 10;
            length += 1;
        }
        self.out.extend(text.iter().skip(20 - length));
    }

    /// Writes the lowest `digits` hexadecimal digits of a number.
    pub(super) fn hex(&mut self, number: u64, digits: u32) {
        for place in (0..digits).rev() {
            let digit = (number >> (4 * place)) & 15;
            self.out.push(if digit < 10 { b'0' + digit as u8 } else { b'a' - 10 + digit as u8 });
        }
    }

    /// Writes an amount of money with one or two decimals, such as `12.5`.
    pub(super) fn cents(&mut self, cents: u64) {
        self.decimal(cents / 100);
        self.raw(".");
        if cents.is_multiple_of(10) { self.decimal(cents % 100 / 10) } else { self.padded(cents % 100, 2) }
    }

    /// Writes seconds since 1970 as `"yyyy-MM-dd HH:mm:ss+0000"`.
    ///
    /// The algorithm is `civil_from_days` by H. Hinnant, <https://howardhinnant.github.io/date_algorithms.html>.
    pub(super) fn timestamp(&mut self, unix_s: u64) {
        let days = unix_s / DAY_S + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + 400 * era + u64::from(month <= 2);
        self.raw("\"");
        self.padded(year, 4);
        for (mark, part) in [
            ("-", month),
            ("-", day),
            (" ", unix_s / 3_600 % 24),
            (":", unix_s / 60 % 60),
            (":", unix_s % 60),
        ] {
            self.raw(mark);
            self.padded(part, 2);
        }
        self.raw("+0000\"");
    }
}
