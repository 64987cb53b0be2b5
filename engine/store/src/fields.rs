use sqlx::sqlite::SqliteRow;
use sqlx::{Column, Row};

use super::RunId;

/// No count of steps, tokens or parameters is larger: sums and differences of such counts overflow nothing.
const MOST: i64 = 1 << 53;
/// The end of the year 9999 in unix milliseconds.
const LAST_MS: i64 = 253_402_300_799_999;

/// Reads the columns of a row as what they must be, by place. A store may come from anywhere: what does not fit is noted, and
/// the row is given up as a whole when all of it was read, so that everything that is wrong with it can be told at once.
pub(crate) struct Fields<'r> {
    row: &'r SqliteRow,
    problems: Vec<String>,
}

impl<'r> Fields<'r> {
    pub fn new(row: &'r SqliteRow) -> Self {
        Self { row, problems: Vec::new() }
    }

    /// What does not fit, each in words.
    pub fn problems(self) -> Vec<String> {
        self.problems
    }

    /// `read` if everything fitted.
    pub fn finish<T>(self, read: T) -> Result<T, Vec<String>> {
        if self.problems.is_empty() { Ok(read) } else { Err(self.problems) }
    }

    /// Notes that a column does not fit.
    pub fn wrong(&mut self, place: usize, what: &str) {
        let name = self.row.try_column(place).map_or("?", Column::name);
        self.problems.push(format!("`{name}` {what}"));
    }

    pub fn optional_bytes(&mut self, place: usize) -> Option<Vec<u8>> {
        self.row.try_get::<Option<Vec<u8>>, _>(place).unwrap_or_else(|_| {
            self.wrong(place, "is of another type");
            None
        })
    }

    pub fn optional_text(&mut self, place: usize) -> Option<String> {
        let text = String::from_utf8(self.optional_bytes(place)?);
        if text.is_err() {
            self.wrong(place, "is no UTF-8 text");
        }
        text.ok()
    }

    pub fn text(&mut self, place: usize) -> String {
        let before = self.problems.len();
        let text = self.optional_text(place);
        if text.is_none() && self.problems.len() == before {
            self.wrong(place, "is missing");
        }
        text.unwrap_or_default()
    }

    pub fn optional_whole(&mut self, place: usize) -> Option<i64> {
        self.row.try_get::<Option<i64>, _>(place).unwrap_or_else(|_| {
            self.wrong(place, "is no whole number");
            None
        })
    }

    pub fn whole(&mut self, place: usize) -> i64 {
        let before = self.problems.len();
        let number = self.optional_whole(place);
        if number.is_none() && self.problems.len() == before {
            self.wrong(place, "is missing");
        }
        number.unwrap_or_default()
    }

    /// Steps, tokens, bytes: never negative, never absurd.
    pub fn optional_count(&mut self, place: usize) -> Option<u64> {
        let number = self.optional_whole(place)?;
        self.within(place, number, MOST)
    }

    pub fn count(&mut self, place: usize) -> u64 {
        let number = self.whole(place);
        self.within(place, number, MOST).unwrap_or_default()
    }

    /// A count that may be as large as any whole number.
    pub fn optional_large(&mut self, place: usize) -> Option<u64> {
        let number = self.optional_whole(place)?;
        self.within(place, number, i64::MAX)
    }

    pub fn small(&mut self, place: usize) -> u32 {
        let number = self.whole(place);
        self.within(place, number, i64::from(u32::MAX)).unwrap_or_default() as u32
    }

    pub fn optional_small(&mut self, place: usize) -> Option<u32> {
        let number = self.optional_whole(place)?;
        self.within(place, number, i64::from(u32::MAX)).map(|number| number as u32)
    }

    /// Unix milliseconds.
    pub fn time(&mut self, place: usize) -> i64 {
        let number = self.whole(place);
        self.within(place, number, LAST_MS).unwrap_or_default() as i64
    }

    pub fn optional_time(&mut self, place: usize) -> Option<i64> {
        let number = self.optional_whole(place)?;
        self.within(place, number, LAST_MS).map(|number| number as i64)
    }

    pub fn flag(&mut self, place: usize) -> bool {
        self.whole(place) != 0
    }

    pub fn optional_real(&mut self, place: usize) -> Option<f64> {
        self.row.try_get::<Option<f64>, _>(place).unwrap_or_else(|_| {
            self.wrong(place, "is no number");
            None
        })
    }

    /// A length of time: finite, never negative.
    pub fn secs(&mut self, place: usize) -> f64 {
        match self.optional_real(place) {
            Some(secs) if secs.is_finite() && secs >= 0.0 => secs,
            Some(secs) => {
                self.wrong(place, &format!("is {secs}, which is no length of time"));
                0.0
            }
            None => 0.0,
        }
    }

    pub fn optional_id(&mut self, place: usize) -> Option<RunId> {
        let text = self.optional_text(place)?;
        match text.parse() {
            Ok(id) => Some(id),
            Err(error) => {
                self.problems.push(error.to_string());
                None
            }
        }
    }

    /// The id; none only where a problem was noted.
    pub fn id(&mut self, place: usize) -> Option<RunId> {
        let before = self.problems.len();
        let id = self.optional_id(place);
        if id.is_none() && self.problems.len() == before {
            self.wrong(place, "is missing");
        }
        id
    }

    fn within(&mut self, place: usize, number: i64, most: i64) -> Option<u64> {
        if number < 0 {
            self.wrong(place, &format!("is negative ({number})"));
            None
        } else if number > most {
            self.wrong(place, &format!("is too large ({number})"));
            None
        } else {
            Some(number as u64)
        }
    }
}
