use std::ops::{Index, Range};

/// Texts in order, kept in one block of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documents {
    text: String,
    /// Where each document ends in `text`, in bytes.
    ends: Vec<usize>,
}

impl Documents {
    /// No documents.
    pub fn new() -> Self {
        Self::default()
    }

    /// The documents that stand in `text` at these places, which are in order and do not overlap; the rest of it goes.
    /// The text is not copied.
    pub(super) fn of_ranges(text: String, ranges: Vec<Range<usize>>) -> Self {
        let mut bytes = text.into_bytes();
        let mut end = 0;
        let mut ends = Vec::with_capacity(ranges.len());
        for range in ranges {
            let length = range.len();
            bytes.copy_within(range, end);
            end += length;
            ends.push(end);
        }
        bytes.truncate(end);
        bytes.shrink_to_fit();
        // Whole characters were moved, so that nothing is replaced.
        let text =
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Self { text, ends }
    }

    /// Adds a document at the end.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    /// Adds all documents of `other` at the end.
    pub fn append(&mut self, other: &Self) {
        let base = self.text.len();
        self.text.push_str(&other.text);
        self.ends.extend(other.ends.iter().map(|end| base + end));
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of text in all documents.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Document `index`, or `None` past the end.
    pub fn get(&self, index: usize) -> Option<&str> {
        (index < self.len()).then(|| &self[index])
    }

    /// The documents in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| &self[index])
    }
}

/// Document of a number below [`Documents::len`]; any other is a mistake of the caller's and panics.
impl Index<usize> for Documents {
    type Output = str;

    fn index(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }
}

impl<S: AsRef<str>> FromIterator<S> for Documents {
    fn from_iter<I: IntoIterator<Item = S>>(texts: I) -> Self {
        let mut documents = Self::new();
        for text in texts {
            documents.push(text.as_ref());
        }
        documents
    }
}

#[cfg(test)]
mod tests {
    use super::Documents;

    #[test]
    fn documents_come_back_in_order() {
        let mut documents: Documents = ["one", "", "zwei ä"].into_iter().collect();
        documents.append(&["four"].into_iter().collect());
        assert_eq!(documents.iter().collect::<Vec<_>>(), ["one", "", "zwei ä", "four"]);
        assert_eq!((documents.len(), documents.bytes(), documents.get(4)), (4, 14, None));
    }

    #[test]
    fn documents_are_cut_from_a_text_where_it_stands() {
        let documents = Documents::of_ranges("..one....zwei ä.".to_owned(), vec![2..5, 5..5, 9..16]);
        assert_eq!(documents.iter().collect::<Vec<_>>(), ["one", "", "zwei ä"]);
        assert_eq!(documents, ["one", "", "zwei ä"].into_iter().collect());
    }
}
