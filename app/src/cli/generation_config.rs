//! Settings of a search: those of the command line before those that a model comes with.

use headroom_engine::{
    checkpoint::read_generation_config,
    generate::{EarlyStopping, Search, SearchSettings},
    protocol::Which,
};

use super::{
    error::{CliError, CliResult},
    print,
    target::{Named, directory_of},
};

/// A search, with the keys of a model's `generation_config.json` that have no effect on it.
pub(super) struct ResolvedSearch {
    pub search: Search,
    pub unused: Vec<String>,
}

impl ResolvedSearch {
    /// The search of `user`, of the model `found`, and `usual` where neither says anything. Settings of a model that cannot be read are
    /// told where it is opened.
    ///
    /// # Errors
    /// If an option has no meaning.
    pub(super) fn of(found: &Named, which: Which, user: &SearchSettings, usual: &Search) -> CliResult<Self> {
        let model = directory_of(found, which).and_then(|directory| read_generation_config(&directory).ok());
        let model = model.unwrap_or_default();
        let (search, without_say) = user.resolve(&model.search, usual);
        search.check().map_err(|error| CliError::at("search", error.to_string()))?;
        let mut unused = model.unused;
        unused.extend(without_say.into_iter().map(str::to_owned));
        unused.sort();
        unused.dedup();
        Ok(Self { search, unused })
    }

    /// Names the keys that have no effect on standard error.
    pub(super) fn print_unused(&self) {
        if !self.unused.is_empty() {
            let named = SearchSettings::unused_words(&self.unused, &self.search);
            print::aside(format!("Not used from the model's generation_config.json: {named}."));
        }
    }
}

/// When beams stop, as an option says it.
pub(super) fn early_stopping(word: &str) -> CliResult<EarlyStopping> {
    let known = EarlyStopping::ALL.into_iter().find(|(name, _)| *name == word);
    known.map(|(_, stopping)| stopping).ok_or_else(|| {
        CliError::at("--early-stopping", format!("\"{word}\" is no way to stop. Use true, false or never."))
    })
}
