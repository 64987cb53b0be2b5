use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use headroom_engine::{
    attention::ModelFacts,
    config::{Problem, RunConfig, Tokenizer, presets},
    data::DataPreview,
    protocol::{Command, commands},
};

use super::{estimate::Estimate, form::Unreadable, heads::Heads, history::History};
use crate::{file_dialogs::current_folder, state::State};

/// Rest after a change before the engine is asked about it.
const REST: Duration = Duration::from_millis(300);
/// The engine's silence that is taken for consent.
const SILENCE: Duration = Duration::from_secs(5);
/// Questions whose config is remembered: while a run trains, several wait for their answers.
const REMEMBERED: usize = 32;

/// What a step goes back to: the config, where its relative paths start, and its [`Draft::origin`].
type Step = (RunConfig, PathBuf, u64);

/// The config that is being made, and what is known of it.
pub struct Draft {
    /// The config.
    pub config: RunConfig,
    /// Relative paths in it start here.
    pub base_dir: PathBuf,
    /// Fields whose text is no value.
    pub unreadable: Unreadable,
    /// What it costs; while that cannot be said, what it cost before.
    pub estimate: Option<Estimate>,
    /// Whether the costs are those of before.
    pub is_estimate_old: bool,
    /// What it cost before the edit that goes on: a number that is half typed costs something too, which nobody asked for.
    before_edit: Option<Estimate>,
    /// The field that has the keyboard.
    attended: Option<&'static str>,
    /// Whether the text of some field was no value when costs were counted.
    is_half_typed: bool,
    /// Its heads, also while it is not.
    pub heads: Heads,
    /// Which of the configs that were put here as a whole it goes back to: Undo leads to that of before.
    pub origin: u64,
    /// How many were.
    loads: u64,
    history: History<Step>,
    judged: Vec<Problem>,
    /// Counts changes; the question to the engine about the newest one bears this number.
    revision: u64,
    /// Counts replacements of the whole config: text that was being typed into fields goes with each.
    pub edition: u64,
    changed: Instant,
    asked: Option<(u64, Instant)>,
    /// The configs that the newest questions were about, and where their relative paths start, by the number of the question.
    questions: BTreeMap<u64, (RunConfig, PathBuf)>,
    /// The answer of the engine that was taken over last.
    noticed: Option<u64>,
    /// Facts about the model that the engine has found out, with the config that they are about.
    found: Option<(RunConfig, ModelFacts)>,
}

impl Default for Draft {
    fn default() -> Self {
        let config = presets().first().and_then(|preset| preset.config().ok()).unwrap_or_default();
        let mut draft = Self {
            config,
            base_dir: current_folder(),
            unreadable: Unreadable::default(),
            estimate: None,
            is_estimate_old: false,
            before_edit: None,
            attended: None,
            is_half_typed: false,
            heads: Heads::default(),
            origin: 0,
            loads: 0,
            history: History::default(),
            judged: Vec::new(),
            revision: 0,
            edition: 0,
            changed: Instant::now(),
            asked: None,
            questions: BTreeMap::new(),
            noticed: None,
            found: None,
        };
        draft.judge();
        draft
    }
}

impl Draft {
    /// Counts the changes: stands still while nothing changes.
    pub fn version(&self) -> u64 {
        self.revision
    }

    /// Takes over what an earlier window was left with: nothing to undo.
    pub fn restore(&mut self, config: RunConfig, base_dir: PathBuf) {
        (self.config, self.base_dir) = (config.with_evaluation_size(), base_dir);
        self.edition += 1;
        self.judge();
    }

    /// Replaces the whole config; Undo brings the one before back.
    pub fn load(&mut self, config: RunConfig, base_dir: PathBuf) {
        // Another batch is to be evaluated on the same examples.
        let before = std::mem::replace(&mut self.config, config.with_evaluation_size());
        let folder = std::mem::replace(&mut self.base_dir, base_dir);
        self.unreadable.forget("");
        self.edition += 1;
        if (&before, &folder) != (&self.config, &self.base_dir) {
            self.history.replace((before, folder, self.origin), Instant::now());
        }
        self.loads += 1;
        self.origin = self.loads;
        self.end_edit();
        self.judge();
    }

    /// After an edit: remembers the config of before, judges the new one.
    pub fn edited(&mut self, before: RunConfig, field: &'static str) {
        let is_attended = self.attended == Some(field);
        if before != self.config && self.history.record(self.step_of(before), field, Instant::now()) && !is_attended {
            self.before_edit.clone_from(&self.estimate);
        }
        self.judge();
    }

    /// After an edit that is a step of its own, however soon another follows.
    pub fn stepped(&mut self, before: RunConfig) {
        if before != self.config {
            self.history.replace(self.step_of(before), Instant::now());
        }
        self.end_edit();
        self.judge();
    }

    /// The form was drawn, and this field of it has the keyboard. However long somebody types there, it is one edit: the costs
    /// of before it are those of before the field got the keyboard.
    pub fn attend(&mut self, field: Option<&'static str>) {
        if self.attended != field {
            self.attended = field;
            if field.is_some() && !self.is_half_typed {
                self.before_edit.clone_from(&self.estimate);
            }
        }
        if self.is_half_typed == self.unreadable.is_empty() {
            // Text became no value, or a value again, without a change of the config.
            self.count();
        }
    }

    fn end_edit(&mut self) {
        (self.before_edit, self.attended) = (None, None);
    }

    fn step_of(&self, config: RunConfig) -> Step {
        (config, self.base_dir.clone(), self.origin)
    }

    /// A step back; false if there is none.
    pub fn undo(&mut self) -> bool {
        match self.history.undo(&self.step_of(self.config.clone())) {
            Some(step) => self.step_to(step),
            None => false,
        }
    }

    /// A step forth; false if there is none.
    pub fn redo(&mut self) -> bool {
        match self.history.redo(&self.step_of(self.config.clone())) {
            Some(step) => self.step_to(step),
            None => false,
        }
    }

    fn step_to(&mut self, step: Step) -> bool {
        (self.config, self.base_dir, self.origin) = step;
        self.end_edit();
        self.unreadable.forget("");
        self.edition += 1;
        self.judge();
        true
    }

    /// Whether there is a step back, and one forth.
    pub fn can_step(&self) -> (bool, bool) {
        (self.history.can_undo(), self.history.can_redo())
    }

    /// Takes over what the engine has found out about the model: costs are counted by it.
    pub fn notice(&mut self, state: &State) {
        let Some(check) = state.check.as_ref().filter(|check| self.noticed != Some(check.revision)) else { return };
        if Some(check.revision) != self.asked.map(|asked| asked.0) {
            return;
        }
        self.noticed = Some(check.revision);
        let Some((asked, _)) = self.questions.get(&check.revision) else { return };
        let known = (asked.clone(), check.facts.clone());
        if self.found.as_ref() != Some(&known) {
            self.found = Some(known);
            self.count();
        }
    }

    /// Facts about the model of the config as it is now.
    pub fn facts(&self) -> ModelFacts {
        self.found.as_ref().map_or_else(ModelFacts::default, |(asked, facts)| facts.kept_for(asked, &self.config))
    }

    /// What the engine found in the data when it answered last, as long as these are of the same kind and in the same files.
    pub fn preview<'a>(&self, state: &'a State) -> Option<&'a DataPreview> {
        let check = state.check.as_ref()?;
        let (asked, base_dir) = self.questions.get(&check.revision)?;
        let (asked, now) = (&asked.data.source, &self.config.data.source);
        let is_same = asked.facts().kind == now.facts().kind
            && asked.training_files() == now.training_files()
            && *base_dir == self.base_dir;
        check.preview.as_ref().filter(|_| is_same)
    }

    /// Whether costs are those of a vocabulary that was assumed: of a tokenizer that has one and was not read yet.
    pub fn assumes_vocabulary(&self) -> bool {
        let is_given = matches!(self.config.data.tokenizer, Tokenizer::File(_) | Tokenizer::Initial(_));
        is_given && !self.config.data.source.has_own_tokens() && self.facts().vocabulary.is_none()
    }

    /// Whether costs are those of images of an assumed size.
    pub fn assumes_images(&self) -> bool {
        let source = &self.config.data.source;
        source.has_images() && source.image_shape().is_none() && self.facts().image.is_none()
    }

    /// What can be said without the engine.
    fn judge(&mut self) {
        self.count();
        self.revision += 1;
        self.changed = Instant::now();
    }

    fn count(&mut self) {
        let counted;
        (counted, self.judged) = Estimate::judged(&self.config, &self.facts());
        // Of text that is no value yet the config has what was read of it on the way, such as the 1 of a 128 that is deleted.
        self.is_half_typed = !self.unreadable.is_empty();
        let counted = counted.filter(|_| !self.is_half_typed || self.before_edit.is_none());
        self.is_estimate_old = counted.is_none();
        if counted.is_some() {
            self.estimate = counted;
        } else if self.before_edit.is_some() {
            self.estimate.clone_from(&self.before_edit);
        }
        // A model without layers or heads, as while another number is typed, leaves the map where it is.
        let heads = Heads::of(&self.config);
        if heads.grid.layers() > 0 {
            self.heads = heads;
        }
    }

    /// Everything that is wrong: text that is no value, the config's own problems, and what the engine said last.
    pub fn problems(&self, state: &State) -> Vec<Problem> {
        let mut all: Vec<Problem> = self.unreadable.problems().collect();
        let check = state.check.as_ref().and_then(|check| Some((check, self.questions.get(&check.revision)?)));
        let answers = check.into_iter().flat_map(|(check, asked)| check.problems.iter().map(move |said| (said, asked)));
        let answers = answers.filter(|(said, asked)| self.is_as_asked(&said.field, asked)).map(|(said, _)| said);
        for problem in self.judged.iter().chain(answers) {
            // A field whose text is no value has its own problem; the value behind it is the old one.
            if !self.unreadable.has(&problem.field) && !all.contains(problem) {
                all.push(problem.clone());
            }
        }
        all
    }

    /// Whether a field holds what it held when the engine was asked this, about the same data: else its answer says nothing of the
    /// field.
    fn is_as_asked(&self, field: &str, (asked, base_dir): &(RunConfig, PathBuf)) -> bool {
        let value = |config: &RunConfig| {
            let config = serde_json::to_value(config).unwrap_or_default();
            config.pointer(&format!("/{}", field.replace('.', "/"))).cloned()
        };
        let (data, of) = (&self.config.data, &asked.data);
        let is_of_tokens = ["data.tokenizer", "data.sequence_length"].iter().any(|start| field.starts_with(start));
        *base_dir == self.base_dir
            && data.source == of.source
            && (!is_of_tokens || data.tokenizer == of.tokenizer)
            && value(asked) == value(&self.config)
    }

    /// Whether the config is sound as far as can be said without the engine.
    pub fn is_sound(&self) -> bool {
        self.judged.is_empty() && self.unreadable.problems().next().is_none()
    }

    /// The question to the engine that is due now; and else the time until one is.
    pub fn question(&mut self, at_once: bool) -> Result<Command, Option<Duration>> {
        if self.asked.is_some_and(|(revision, _)| revision == self.revision) {
            return Err(None);
        }
        let rest = REST.saturating_sub(self.changed.elapsed());
        if !at_once && !rest.is_zero() {
            return Err(Some(rest));
        }
        self.asked = Some((self.revision, Instant::now()));
        self.questions.insert(self.revision, (self.config.clone(), self.base_dir.clone()));
        if self.questions.len() > REMEMBERED {
            self.questions.pop_first();
        }
        Ok(commands::Check {
            config: Box::new(self.config.clone()),
            base_dir: self.base_dir.clone(),
            revision: self.revision,
        }
        .into())
    }

    /// Whether the engine has answered about the config as it is now, or was silent for too long to wait for.
    pub fn is_answered(&self, state: &State) -> bool {
        let answered = state.check.as_ref().is_some_and(|check| check.revision == self.revision);
        answered || self.asked.is_some_and(|(revision, at)| revision == self.revision && at.elapsed() >= SILENCE)
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::{
        config::{FileSource, InitialTokenizer, Source, Tokenizer},
        data::ExamplesPreview,
        protocol::{Event, events},
    };

    use super::*;

    fn answer(revision: u64, problems: Vec<Problem>) -> State {
        let mut state = State::default();
        state.apply(Event::Checked(events::Checked {
            revision,
            problems,
            free_bytes: None,
            facts: Box::default(),
            preview: None,
        }));
        state
    }

    #[test]
    fn a_loaded_config_is_one_step_that_can_be_undone() {
        let mut draft = Draft::default();
        let before = draft.config.clone();
        draft.load(RunConfig { name: "other".to_owned(), ..RunConfig::default() }, PathBuf::new());
        assert_ne!(draft.config, before);
        let loaded = draft.origin;
        assert!(draft.undo());
        assert_eq!(draft.config, before);
        assert_ne!(draft.origin, loaded, "it does not go back to what was loaded");
        assert!(!draft.undo());
        assert!(draft.redo());
        assert_eq!((draft.config.name.as_str(), draft.origin), ("other", loaded));
    }

    #[test]
    fn a_step_past_the_opening_of_a_file_leads_to_the_folder_of_before() {
        let mut draft = Draft::default();
        let (own, config) = (draft.base_dir.clone(), draft.config.clone());
        let other = RunConfig { name: "other".to_owned(), ..RunConfig::default() };
        draft.load(other, PathBuf::from("/elsewhere"));
        let before = draft.config.clone();
        draft.config.train.batch += 1;
        draft.edited(before, "train.batch");
        assert!(draft.undo());
        assert_eq!(draft.base_dir, PathBuf::from("/elsewhere"), "it is still that of the file");
        assert!(draft.undo());
        assert_eq!((&draft.config, &draft.base_dir), (&config, &own));
        assert!(draft.redo());
        assert_eq!(draft.base_dir, PathBuf::from("/elsewhere"));
        // The same config in another folder has other files.
        let same = draft.config.clone();
        draft.load(same, PathBuf::from("/third"));
        assert!(draft.undo());
        assert_eq!(draft.base_dir, PathBuf::from("/elsewhere"));
    }

    #[test]
    fn a_bad_value_is_a_problem_at_its_field_and_leaves_the_numbers_of_before() {
        let mut draft = Draft::default();
        assert!(draft.is_sound() && draft.estimate.is_some() && !draft.is_estimate_old);
        let known = draft.estimate.clone();
        let before = draft.config.clone();
        draft.config.model.width = 130;
        draft.edited(before, "model.width");
        let problems = draft.problems(&State::default());
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].field, "model.width");
        assert!(!draft.is_sound() && draft.is_estimate_old);
        assert_eq!(draft.estimate, known);
        assert!(draft.undo());
        assert_eq!(draft.problems(&State::default()), []);
        assert!(!draft.is_estimate_old);
        let before = draft.config.clone();
        draft.config.train.batch += 1;
        draft.config.train.learning_rate = -1.0;
        draft.edited(before, "train.learning_rate");
        assert!(!draft.is_sound() && !draft.is_estimate_old, "the learning rate costs nothing");
        assert_ne!(draft.estimate, known);
    }

    #[test]
    fn the_numbers_of_before_are_not_those_of_a_number_that_is_half_typed() {
        let mut draft = Draft::default();
        let known = draft.estimate.clone();
        // A width that heads divide, on the way to one that they do not.
        for width in [4, 130] {
            let before = draft.config.clone();
            draft.config.model.width = width;
            draft.edited(before, "model.width");
        }
        assert!(draft.is_estimate_old);
        assert_eq!(draft.estimate, known);
        // What the user leaves valid counts, also for a mistake in another field.
        let before = draft.config.clone();
        draft.config.model.width = 64;
        draft.edited(before, "model.width");
        let narrow = draft.estimate.clone();
        assert!(!draft.is_estimate_old && narrow != known);
        let before = draft.config.clone();
        draft.config.model.heads = 5;
        draft.edited(before, "model.heads");
        assert!(draft.is_estimate_old);
        assert_eq!(draft.estimate, narrow);
    }

    #[test]
    fn a_number_is_half_typed_as_long_as_its_field_has_the_keyboard() {
        let mut draft = Draft::default();
        let known = draft.estimate.clone();
        let batch = |draft: &mut Draft, batch: usize| {
            let before = draft.config.clone();
            draft.config.train.batch = batch;
            draft.attend(Some("train.batch"));
            draft.edited(before, "train.batch");
        };
        // 128 is deleted letter by letter; that takes longer than typing that is one step of Undo.
        draft.attend(Some("train.batch"));
        for left in [128, 12, 1] {
            batch(&mut draft, left);
            draft.history = History::default();
        }
        assert!(!draft.is_estimate_old && draft.estimate != known);
        draft.unreadable.insert("train.batch", "Enter a whole number.".to_owned());
        draft.attend(Some("train.batch"));
        assert!(draft.is_estimate_old);
        assert_eq!(draft.estimate, known, "not those of a batch of 1");
        // The same when it is left like that, and another field gets the keyboard.
        draft.attend(None);
        draft.attend(Some("model.width"));
        assert_eq!(draft.estimate, known);
        draft.attend(Some("train.batch"));
        draft.unreadable.forget("train.batch");
        batch(&mut draft, 64);
        assert!(!draft.is_estimate_old && draft.estimate != known);
        // What is valid when the field is left counts from then on.
        let left = draft.estimate.clone();
        draft.attend(None);
        draft.attend(Some("model.heads"));
        let before = draft.config.clone();
        draft.config.model.heads = 5;
        draft.edited(before, "model.heads");
        assert!(draft.is_estimate_old);
        assert_eq!(draft.estimate, left);
    }

    #[test]
    fn costs_are_of_the_vocabulary_that_the_engine_found_as_long_as_it_is_that_of_the_config() {
        let mut draft = Draft::default();
        let mut config = draft.config.clone();
        config.data.source = Source::File(FileSource { path: "there.txt".into(), ..FileSource::default() });
        config.data.tokenizer = Tokenizer::Initial(InitialTokenizer {});
        config.model.initial = Some("minilm".to_owned());
        draft.load(config, PathBuf::new());
        assert!(draft.assumes_vocabulary());
        let parameters = |draft: &Draft| draft.estimate.as_ref().map(|estimate| estimate.cost.parameters).unwrap();
        let assumed = parameters(&draft);
        let Ok(Command::Check(commands::Check { revision, .. })) = draft.question(true) else { panic!("no question") };
        let mut state = answer(revision, Vec::new());
        state.check.as_mut().unwrap().facts.vocabulary = Some(1000);
        draft.notice(&state);
        assert!(!draft.assumes_vocabulary());
        assert_eq!(draft.estimate.as_ref().map(|estimate| estimate.vocabulary), Some(1000));
        assert!(parameters(&draft) < assumed);
        // Another batch costs by the same vocabulary; another model has one of its own.
        let before = draft.config.clone();
        draft.config.train.batch += 1;
        draft.edited(before, "train.batch");
        assert!(!draft.assumes_vocabulary());
        let before = draft.config.clone();
        draft.config.model.initial = Some("another".to_owned());
        draft.edited(before, "model.initial");
        assert!(draft.assumes_vocabulary());
        assert_eq!(parameters(&draft), assumed);
    }

    #[test]
    fn the_engine_is_asked_once_for_each_change_and_only_after_a_rest() {
        let mut draft = Draft::default();
        assert!(draft.question(false).is_err_and(|rest| rest.is_some_and(|rest| rest <= REST)));
        let Ok(Command::Check(commands::Check { revision, .. })) = draft.question(true) else { panic!("no question") };
        assert!(draft.question(true).is_err_and(|rest| rest.is_none()), "asked already");
        assert!(!draft.is_answered(&State::default()) && !draft.is_answered(&answer(revision - 1, Vec::new())));
        assert!(draft.is_answered(&answer(revision, Vec::new())));
        let missing = Problem::new("data.path", "there is no such file");
        let state = answer(revision, vec![missing.clone()]);
        assert_eq!(draft.problems(&state), std::slice::from_ref(&missing));
        let mut before = draft.config.clone();
        draft.config.train.batch += 1;
        draft.edited(before, "train.batch");
        assert_eq!(draft.problems(&state), [missing], "it is still missing");
        before = draft.config.clone();
        draft.config.data.source = Source::File(FileSource { path: "there.txt".into(), ..FileSource::default() });
        draft.edited(before, "data.path");
        assert_eq!(draft.problems(&state), [], "what was corrected bears no mark");
    }

    fn read(draft: &mut Draft, path: &str) {
        let before = draft.config.clone();
        draft.config.data.source = Source::File(FileSource { path: path.into(), ..FileSource::default() });
        draft.edited(before, "data.path");
    }

    #[test]
    fn what_was_found_in_other_data_is_not_said_of_these() {
        let mut draft = Draft::default();
        read(&mut draft, "tiny.txt");
        let Ok(Command::Check(commands::Check { revision, .. })) = draft.question(true) else { panic!("no question") };
        let few = Problem::new("data.tokenizer.vocabulary", "the training text yields only 534 different tokens");
        let short = Problem::new("train.batch", "the text is shorter than a batch");
        let state = answer(revision, vec![few.clone(), short.clone()]);
        assert_eq!(draft.problems(&state), [few.clone(), short.clone()]);
        read(&mut draft, "wiki.txt");
        assert_eq!(draft.problems(&state), []);
        // It is asked, and the answer is still that about the other file.
        assert!(draft.question(true).is_ok());
        assert_eq!(draft.problems(&state), []);
        read(&mut draft, "tiny.txt");
        assert_eq!(draft.problems(&state), [few.clone(), short]);
        let before = draft.config.clone();
        draft.config.data.tokenizer = Tokenizer::Initial(InitialTokenizer {});
        draft.edited(before, "data.tokenizer");
        assert!(!draft.problems(&state).contains(&few), "of another tokenizer");
        // The same path in another folder is another file; nor is anything of it said once it is taken back.
        let config = RunConfig { name: "other".to_owned(), ..draft.config.clone() };
        draft.load(config, PathBuf::from("/elsewhere"));
        assert!(!draft.problems(&state).iter().any(|problem| problem.field == "train.batch"));
        while draft.undo() {}
        assert_eq!(draft.problems(&state), []);
    }

    #[test]
    fn what_was_found_in_a_file_is_not_shown_under_another_path() {
        let mut draft = Draft::default();
        read(&mut draft, "tiny.txt");
        let Ok(Command::Check(commands::Check { revision, .. })) = draft.question(true) else { panic!("no question") };
        let mut state = answer(revision, Vec::new());
        state.check.as_mut().unwrap().preview =
            Some(DataPreview::Examples(ExamplesPreview { about: "One pair.".to_owned(), examples: Vec::new() }));
        assert!(draft.preview(&state).is_some());
        read(&mut draft, "wiki.txt");
        assert!(draft.preview(&state).is_none() && draft.question(true).is_ok());
        assert!(draft.preview(&state).is_none(), "it was asked about, and not answered");
        read(&mut draft, "tiny.txt");
        assert!(draft.preview(&state).is_some());
    }
}
