use crate::model::{NameRow, NameTable};

/// How the files of a plan's family call its tensors.
pub(in crate::checkpoint) struct FileNames {
    /// The first one that knows a name counts.
    pub tables: Vec<&'static [NameRow]>,
    /// What the base model's names begin with, which files of the base model alone leave out.
    pub base: &'static str,
    /// Whether files of this plan do.
    pub is_base: bool,
    /// Beginning of all names in files of a model that was put into another one.
    pub wrapper: Option<&'static str>,
    /// What else names begin with.
    pub others: &'static [&'static str],
    /// Beginnings of tensors that the model has no use for: tied copies of the word table, heads of other objectives.
    pub unused: Vec<&'static str>,
    /// The ends of such: masks that old files keep as tensors.
    pub unused_ends: &'static [&'static str],
}

/// Beginnings of names of the two halves of a model without a base of its own (T5).
const HALVES: [&str; 3] = ["encoder.", "decoder.", "shared."];

impl FileNames {
    /// The whole name of a tensor as today's files have it: with the base model, and without BERT's old names of norms.
    pub fn whole(&self, name: &str) -> String {
        let name = match name.rsplit_once('.') {
            Some((module, "gamma")) => format!("{module}.weight"),
            Some((module, "beta")) => format!("{module}.bias"),
            _ => name.to_owned(),
        };
        let name = match self.wrapper.and_then(|wrapper| name.strip_prefix(wrapper)) {
            Some(inner) => inner.to_owned(),
            None => name,
        };
        let is_whole = name.starts_with(self.base) || self.others.iter().any(|other| name.starts_with(other));
        if is_whole { name } else { format!("{}{name}", self.base) }
    }

    /// True if a tensor belongs to the base model, by its name in files of which one has the whole name of such a tensor or not.
    pub fn is_of_base(&self, found: &str, has_whole_names: bool) -> bool {
        if self.base.is_empty() {
            let whole = self.whole(found);
            return HALVES.iter().any(|half| whole.starts_with(half));
        }
        !has_whole_names || self.begins_whole(found)
    }

    /// True if a name begins as those of the base model, or of the base model in another one.
    pub fn begins_whole(&self, found: &str) -> bool {
        let starts = [Some(self.base).filter(|base| !base.is_empty()), self.wrapper];
        starts.into_iter().flatten().any(|start| found.starts_with(start))
    }

    /// Whether the model has no use for the tensor with this whole name.
    pub fn is_unused(&self, whole: &str) -> bool {
        self.unused.iter().any(|start| whole.starts_with(start))
            || self.unused_ends.iter().any(|end| whole.ends_with(end))
    }

    /// Our name of the tensor with this whole name.
    pub fn ours(&self, whole: &str) -> Option<String> {
        NameTable(&self.tables).ours(whole)
    }

    /// The name of a parameter in files; our own where theirs have none.
    pub fn file_name(&self, name: &str) -> String {
        let whole = NameTable(&self.tables).theirs(name).unwrap_or_else(|| name.to_owned());
        whole.strip_prefix(self.base).filter(|_| self.is_base).map(str::to_owned).unwrap_or(whole)
    }
}
