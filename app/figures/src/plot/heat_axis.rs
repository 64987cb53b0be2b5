use std::sync::Arc;

/// How many letters of a name stand beside the map.
const LONGEST: usize = 14;
/// One of so many words is named at least, or none.
const THINNEST: usize = 4;

/// What the rows or columns of a map are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatAxis {
    /// What they are, in words: "Layer", "Query". May be empty.
    pub title: String,
    labels: Labels,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Labels {
    #[default]
    None,
    Numbered {
        prefix: &'static str,
        first: usize,
    },
    Names {
        names: Arc<[String]>,
        longest: usize,
    },
}

impl HeatAxis {
    /// Rows or columns that have no names.
    pub fn plain(title: impl Into<String>) -> Self {
        Self { title: title.into(), labels: Labels::None }
    }

    /// Numbered from 0 behind a prefix: `L0`, `L1`.
    pub fn numbered(title: impl Into<String>, prefix: &'static str) -> Self {
        Self::numbered_from(title, prefix, 0)
    }

    /// Numbered from `first` behind a prefix.
    pub fn numbered_from(title: impl Into<String>, prefix: &'static str, first: usize) -> Self {
        Self { title: title.into(), labels: Labels::Numbered { prefix, first } }
    }

    /// With a name each, such as tokens: they show where there is room for every one.
    pub fn names(title: impl Into<String>, names: impl Into<Arc<[String]>>) -> Self {
        let names = names.into();
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(LONGEST);
        Self { title: title.into(), labels: Labels::Names { names, longest } }
    }

    /// The whole name of one; its number where it has none.
    pub fn name(&self, index: usize) -> String {
        match &self.labels {
            Labels::None => index.to_string(),
            Labels::Numbered { prefix, first } => format!("{prefix}{}", first + index),
            Labels::Names { names, .. } => names.get(index).cloned().unwrap_or_default(),
        }
    }

    /// The name as it stands beside the map.
    pub fn short(&self, index: usize) -> String {
        match &self.labels {
            Labels::None => String::new(),
            Labels::Numbered { .. } => self.name(index),
            Labels::Names { names, .. } => names.get(index).map(|name| shortened(name)).unwrap_or_default(),
        }
    }

    /// What stands beside its names, of which one in `every` is drawn: the title, and that words between them have no name there.
    pub fn title_of(&self, every: Option<usize>) -> String {
        match (&self.labels, every) {
            (Labels::Names { .. }, Some(every)) if every > 1 => format!("{}, one in {every} named", self.title),
            _ => self.title.clone(),
        }
    }

    /// Whether any name stands beside the map.
    pub fn has_labels(&self) -> bool {
        self.labels != Labels::None
    }

    /// Letters of the longest that stands beside a map of so many.
    pub fn longest(&self, count: usize) -> usize {
        match &self.labels {
            Labels::None => 0,
            Labels::Numbered { .. } => self.name(count.saturating_sub(1)).len(),
            Labels::Names { longest, .. } => *longest,
        }
    }

    /// Of how many one is named, where each has `step` points and a name needs `needed`. Of words one in so few that those
    /// between are found, or none: words cannot be counted on.
    pub fn every(&self, step: f32, needed: f32) -> Option<usize> {
        match &self.labels {
            Labels::None => None,
            Labels::Names { .. } => {
                (step > 0.0).then(|| (needed / step).ceil().max(1.0) as usize).filter(|n| *n <= THINNEST)
            }
            Labels::Numbered { .. } if step <= 0.0 => None,
            Labels::Numbered { .. } => {
                let least = (needed / step).ceil().max(1.0) as usize;
                let rounds = [1, 2, 5].into_iter();
                (0..9)
                    .flat_map(|power| rounds.clone().map(move |round| round * 10_usize.pow(power)))
                    .find(|n| *n >= least)
            }
        }
    }
}

/// The beginning of a name with an ellipsis.
fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_thinned_out_and_words_a_little() {
        let layers = HeatAxis::numbered("Layer", "L");
        assert_eq!(
            (layers.every(40.0, 20.0), layers.every(9.0, 20.0), layers.every(0.05, 20.0)),
            (Some(1), Some(5), Some(500))
        );
        assert_eq!((layers.name(3), layers.longest(24)), ("L3".to_owned(), 3));
        let words = HeatAxis::names("Key", vec!["the".to_owned(), "a very long token indeed".to_owned()]);
        assert_eq!(
            [12.0, 9.0, 3.0, 2.0, 0.0].map(|step| words.every(step, 11.0)),
            [Some(1), Some(2), Some(4), None, None]
        );
        assert_eq!((words.short(1).chars().count(), words.name(1).len(), words.name(7)), (LONGEST, 24, String::new()));
        assert_eq!(HeatAxis::plain("x").every(100.0, 1.0), None);
        let titles = [Some(1), Some(3), None].map(|every| words.title_of(every));
        assert_eq!(titles, [words.title.clone(), format!("{}, one in 3 named", words.title), words.title.clone()]);
        assert_eq!(layers.title_of(Some(5)), layers.title, "numbers are counted on");
    }
}
