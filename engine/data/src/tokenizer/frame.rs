use super::TextTokenizer;
use crate::{DataError, PairFraming};

/// The special tokens around one or two texts of an example: `[CLS] a [SEP] b [SEP]` for a BERT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    before: Vec<u32>,
    /// Between two texts; none where there is one.
    between: Option<Vec<u32>>,
    after: Vec<u32>,
}

impl Frame {
    /// How many tokens it adds.
    pub fn tokens(&self) -> usize {
        self.before.len() + self.between.as_ref().map_or(0, Vec::len) + self.after.len()
    }

    /// Tokens before the second text, where the first has `first` tokens.
    pub fn before_second(&self, first: usize) -> usize {
        self.before.len() + first + self.between.as_ref().map_or(0, Vec::len)
    }

    /// How many texts it is for.
    pub fn texts(&self) -> usize {
        1 + usize::from(self.between.is_some())
    }

    /// The tokens of an example, each with the text that it belongs to: what stands between belongs to the first.
    pub fn around<'a>(&'a self, first: &'a [u32], second: &'a [u32]) -> impl Iterator<Item = (u32, u32)> + 'a {
        let own = u32::from(self.between.is_some());
        let between = self.between.as_deref().unwrap_or_default();
        let second = if self.between.is_some() { second } else { &[] };
        let text = |tokens: &'a [u32], text: u32| tokens.iter().map(move |id| (*id, text));
        text(&self.before, 0)
            .chain(text(first, 0))
            .chain(text(between, 0))
            .chain(text(second, own))
            .chain(text(&self.after, own))
    }
}

impl TextTokenizer {
    /// What stands around the texts of an example, as the tokenizer's template says; where it has none, as those that are
    /// trained here, as in a BERT.
    ///
    /// # Errors
    /// If the tokenizer fails, or has no token for the beginning of an example and the end of a text.
    pub fn frame(&self, texts: usize) -> Result<Frame, DataError> {
        const TEXT: &str = "a";
        let own = self.encode_plain(TEXT)?;
        let is_pair = texts > 1;
        let framed = if is_pair { self.encode_framed_pair(TEXT, TEXT)?.0 } else { self.encode_framed(TEXT)? };
        let specials: Vec<u32> = self.special_ids().collect();
        // Runs of special tokens around the texts; more than the texts alone, where there is a template.
        let runs: Vec<&[u32]> = framed.split(|id| !specials.contains(id)).filter(|run| !run.is_empty()).collect();
        let is_framed = framed.len() > own.len() * texts.max(1);
        match runs.as_slice() {
            [before, after] if !is_pair && is_framed => {
                return Ok(Frame { before: before.to_vec(), between: None, after: after.to_vec() });
            }
            [before, between, after] if is_pair && is_framed => {
                return Ok(Frame { before: before.to_vec(), between: Some(between.to_vec()), after: after.to_vec() });
            }
            _ => {}
        }
        let (Some(cls), Some(sep)) = (self.specials().cls, self.specials().sep) else {
            let why = "it has no tokens for the beginning of an example and the end of a text".to_owned();
            return Err(DataError::Tokenizer { why });
        };
        Ok(Frame { before: vec![cls], between: is_pair.then(|| vec![sep]), after: vec![sep] })
    }
}

impl TextTokenizer {
    /// The tokens before and after a text that an encoder reads, or that a decoder after one writes.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn pair_frame(&self, framing: PairFraming) -> Result<[Vec<u32>; 2], DataError> {
        const TEXT: &str = "a";
        let specials = self.specials();
        let end = [Vec::new(), vec![specials.end_of_text.unwrap_or(specials.pad)]];
        if framing == PairFraming::End {
            return Ok(end);
        }
        let (own, framed) = (self.encode_plain(TEXT)?, self.encode_framed(TEXT)?);
        if own.is_empty() || own == framed {
            return Ok(end);
        }
        let place = framed.windows(own.len()).position(|window| window == own);
        let sides = place.and_then(|place| Some([framed.get(..place)?, framed.get(place + own.len()..)?]));
        Ok(sides.map_or(end, |sides| sides.map(<[u32]>::to_vec)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden(name: &str) -> TextTokenizer {
        let path = format!("{}/../../tests/golden/hf/{name}/tokenizer.json", env!("CARGO_MANIFEST_DIR"));
        TextTokenizer::from_json(std::fs::read(path).unwrap()).unwrap()
    }

    /// BART's template has a token on both sides; a tokenizer without one has the end token after a text.
    #[test]
    fn sides_of_pairs_stand_between_the_tokens_of_the_template() {
        let bart = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/bart_frame/model/tokenizer.json");
        let tokenizer = TextTokenizer::from_json(std::fs::read(bart).unwrap()).unwrap();
        let [start, end] = ["<s>", "</s>"].map(|token| tokenizer.id(token).unwrap());
        assert_eq!(tokenizer.pair_frame(PairFraming::Template).unwrap(), [vec![start], vec![end]]);
        assert_eq!(tokenizer.pair_frame(PairFraming::End).unwrap(), [vec![], vec![end]]);
        let plain = crate::tokenizer::bytes(crate::objective::Objective::TRANSLATION.special_tokens()).unwrap();
        assert_eq!(plain.pair_frame(PairFraming::Template).unwrap(), plain.pair_frame(PairFraming::End).unwrap());
    }

    /// What the library puts around two texts by itself.
    #[test]
    fn frames_are_those_of_the_tokenizers_own_templates() {
        let tokenizer = golden("bert_mlm");
        let [first, second] = ["the small dog", "a very long house"];
        let (ids, types) = tokenizer.encode_framed_pair(first, second).unwrap();
        let [a, b] = [first, second].map(|text| tokenizer.encode_plain(text).unwrap());
        let framed: Vec<(u32, u32)> = tokenizer.frame(2).unwrap().around(&a, &b).collect();
        assert_eq!(framed, ids.into_iter().zip(types).collect::<Vec<_>>());
        let one: Vec<u32> = tokenizer.frame(1).unwrap().around(&a, &[]).map(|(id, _)| id).collect();
        assert_eq!(one, tokenizer.encode_framed(first).unwrap());
    }
}
