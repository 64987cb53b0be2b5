//! Text from the built-in grammar.

use super::loader::{Content, DataSource, Examples, KnownModel, LoadContext, held_out};
use crate::config::GrammarSource;
use crate::progress::advance;
use crate::{DataError, Documents, Stage, generate_grammar, split};

impl DataSource for GrammarSource {
    fn split(&self, fraction: f64, context: LoadContext<'_>) -> Result<Examples, DataError> {
        Ok(Content::Text(split(&generate(self, context)?, fraction)).into())
    }

    fn all(&self, _: KnownModel<'_>, context: LoadContext<'_>) -> Result<Examples, DataError> {
        Ok(Content::Text(held_out(generate(self, context)?)).into())
    }
}

fn generate(source: &GrammarSource, LoadContext { progress, .. }: LoadContext<'_>) -> Result<Documents, DataError> {
    advance(progress, Stage::Generating, 0, 1)?;
    generate_grammar(source.words, source.text_seed, progress)
}
