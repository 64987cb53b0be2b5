//! What can be checked without looking at the disk, the device or the data.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    AttentionConfig, DeviceChoice, FORMAT, ModelConfig, ModelPart, Precision, Problem, RunConfig, Sentence, Source,
    SpecialTokens, Tokenizer, field::place_of, field_check::outside_of, model::WIDEST,
};

impl RunConfig {
    /// Every problem at once, in the order of the form; empty when the config can be resolved.
    pub fn validate(&self) -> Vec<Problem> {
        let mut check = Check(Vec::new());
        self.check(&mut check);
        check.outside(self);
        check.0.sort_by_key(|problem| place_of(&problem.field));
        check.0
    }

    fn check(&self, check: &mut Check) {
        if self.format != FORMAT {
            check.add("format", format!("expected {FORMAT}, found {}", self.format));
        }
        if self.name.trim().is_empty() {
            check.add("name", "a run needs a name");
        }
        check.extend(self.threads_problem());
        if self.device != DeviceChoice::Cpu && self.precision == Precision::F64 {
            check.add("precision", "f64 is for the CPU; use f32 on a GPU");
        }
        if self.device == DeviceChoice::Cpu && self.precision == Precision::F16 {
            check.add("precision", "f16 is for GPUs: a processor does not multiply it; use bf16 or f32");
        }
        if !matches!(self.device, DeviceChoice::Cuda(_)) && self.precision == Precision::Tf32 {
            check.add("precision", "tf32 is for NVIDIA GPUs, whose tensor units multiply it; use f32 or bf16");
        }
        self.check_data(check);
        self.model.check(&self.attention, self.data.sequence_length, check);
        self.check_train(check);
        if self.model.initial.as_ref().is_some_and(|initial| initial.trim().is_empty()) {
            check.add("model.initial", "name a run, a model directory or a fetched model, or leave the field out");
        }
        if self.model.initial.is_some() && self.attention.match_parameters.is_some() {
            check.add(
                "attention.match_parameters",
                "a model that training begins with has its layers, so that none can be added; leave it out",
            );
        }
    }

    fn check_data(&self, check: &mut Check) {
        let data = &self.data;
        let shortest = self.objective().shortest_example();
        // Of images it follows from other fields.
        if !data.source.has_images() {
            check.extend(Problem::of_whole("data.sequence_length", data.sequence_length, (shortest, 1_048_576), ""));
        }
        check.extend(data.source.settings().problems());
        check.extend(self.problems_of_images());
        check.extend(self.problems_of_task());
        match (data.source.has_pairs(), self.model.kind.has_encoder()) {
            // Told with the task.
            _ if data.source.has_labels() || self.answers_examples() => {}
            (true, true) | (false, false) => {}
            (true, false) => check.add(
                "data.kind",
                "pairs of texts are for a model that translates; set {model.kind} to {model.kind=encoder_decoder}, or choose plain \
                 text",
            ),
            (false, true) => check.add(
                "data.kind",
                "an encoder-decoder learns from pairs of texts; choose {data.kind=number_words} or {data.kind=pairs}, or another \
                 {model.kind}",
            ),
        }
        match &data.tokenizer {
            _ if data.source.has_own_tokens() => {}
            Tokenizer::Words(_) => {
                if self.objective().special_tokens() != SpecialTokens::BERT {
                    check.add("data.tokenizer.kind", "words need a token for unknown ones, which encoders alone have; choose another");
                }
            }
            Tokenizer::File(file) => {
                if file.path.as_os_str().is_empty() {
                    check.add("data.tokenizer.path", "name a tokenizer.json");
                }
            }
            Tokenizer::Initial(_) if self.model.initial.is_none() => check.add(
                "data.tokenizer.kind",
                "{data.tokenizer.kind=initial} is the tokenizer of the model that training begins with; name that in {model.initial}, or choose \
                 another tokenizer",
            ),
            Tokenizer::Bpe(_) | Tokenizer::Bytes(_) | Tokenizer::Initial(_) | Tokenizer::WordPiece(_) => {}
        }
    }

    /// What does not fit the task, or does not fit without one.
    fn problems_of_task(&self) -> Vec<Problem> {
        let mut check = Check(Vec::new());
        let source = &self.data.source;
        match (&self.task, source.has_labels()) {
            (Some(task), true)
                if let Some(why) = task.mismatch(source).or_else(|| source.settings().refusal(task.kind())) =>
            {
                check.add("task.kind", why);
            }
            (Some(task), _) if !task.learns_from(source) => {
                let text = "{} learns from {}; set {data.kind} to {data.kind=}, or leave [task] out";
                let values = [task.kind(), task.info().data, task.data_kind()].map(str::to_owned);
                check.add("data.kind", Sentence::new(text, values));
            }
            (Some(_), _) | (None, false) => {}
            (None, true) => check.extend(source.facts().without_task.map(|why| Problem::new("task.kind", why))),
        }
        if self.model.kind.generates() && self.answers_examples() {
            check.add(
                "model.kind",
                "a task is learnt by an encoder, which reads in both directions; set {model.kind} to {model.kind=encoder}",
            );
        }
        check.0
    }

    fn check_train(&self, check: &mut Check) {
        let train = &self.train;
        if train.steps.is_some() && train.epochs.is_some() {
            check.add("train.epochs", "give {train.steps} or {train.epochs}, not both");
        }
        if train.label_smoothing > 0.0 && (!self.model.kind.has_encoder() || self.answers_examples()) {
            check.add("train.label_smoothing", "labels are smoothed where a translation is learnt alone; set it to 0");
        }
        if train.evaluate_examples.is_some() && train.evaluate_batches.is_some() {
            check.add(
                "train.evaluate_examples",
                "give {train.evaluate_examples} or {train.evaluate_batches}, not both; keep {train.evaluate_examples}, which means \
                 the same examples whatever the batch",
            );
        }
        self.check_parts(check);
        if train.stop_early.is_some() && train.evaluate_every == 0 {
            check.add(
                "train.evaluate_every",
                "a run that is to stop early is evaluated between its steps; set it above 0",
            );
        }
    }
}

impl RunConfig {
    /// What is wrong with the parts that are frozen, or learn more slowly.
    fn check_parts(&self, check: &mut Check) {
        let train = &self.train;
        if self.model.kind.has_encoder() {
            let why = "parts are those of a model of one stack, an encoder or a decoder; leave it out";
            if !train.freeze.is_empty() {
                check.add("train.freeze", why);
            }
            if train.layer_decay < 1.0 {
                check.add("train.layer_decay", why);
            }
            return;
        }
        let last = self.model.layers.saturating_sub(1);
        for part in &train.freeze {
            if let ModelPart::Layers { last: named, .. } = part
                && *named > last
            {
                check.add("train.freeze", format!("there is no layer {named}: layers are counted from 0 to {last}"));
            }
        }
        let is_layer_frozen = |layer| {
            let is_in = |part: &ModelPart| matches!(part, ModelPart::Layers { first, last } if (*first..=*last).contains(&layer));
            train.freeze.iter().any(is_in)
        };
        let others = [ModelPart::Embeddings, ModelPart::Head];
        if others.iter().all(|part| train.freeze.contains(part)) && (0..self.model.layers).all(is_layer_frozen) {
            check.add("train.freeze", "nothing is left to learn; leave out a part");
        }
    }
}

impl ModelConfig {
    /// What is wrong with these sizes, and with these answers about attention for them, of a model that reads `length`
    /// tokens.
    pub fn problems(&self, attention: &AttentionConfig, length: usize) -> Vec<Problem> {
        let mut check = Check(Vec::new());
        self.check(attention, length, &mut check);
        check.outside(&Sections { model: self });
        check.0
    }

    fn check(&self, attention: &AttentionConfig, length: usize, check: &mut Check) {
        let model = self;
        if model.heads > 0 && !model.width.is_multiple_of(model.heads) {
            let (below, above) =
                (model.width / model.heads * model.heads, (model.width / model.heads + 1) * model.heads);
            let nearest: Vec<String> = [below, above]
                .into_iter()
                .filter(|width| (1..=WIDEST).contains(width))
                .map(|w| w.to_string())
                .collect();
            let hint = if nearest.is_empty() {
                "choose fewer heads".to_owned()
            } else {
                format!("a width of {} is, or choose other heads", nearest.join(" or "))
            };
            check.add("model.width", format!("{} is not divisible by {} heads; {hint}", model.width, model.heads));
        }
        if let Some(positions) = model.positions.filter(|positions| *positions < length) {
            let values = [length, positions].map(|number| number.to_string());
            let text = "{} tokens do not fit {} positions; shorten the sequence or raise {model.positions}";
            check.add("data.sequence_length", Sentence::new(text, values));
        }
        check.extend(attention.reuse.problems(model.layers, model.heads));
        check.extend(attention.compatibility.problems(model));
        check.extend(self.problems_of_others(attention));
        check.extend(attention.coverage.problems(length));
    }
}

impl ModelConfig {
    /// What is wrong with the answers of an encoder-decoder's encoder and of its cross-attention.
    fn problems_of_others(&self, attention: &AttentionConfig) -> Vec<Problem> {
        let Some(encoder_layers) = self.encoder_depth() else {
            let others = [
                ("model.encoder_layers", self.encoder_layers.is_some()),
                ("attention.encoder", attention.encoder.is_some()),
                ("attention.cross", attention.cross.is_some()),
            ];
            let message =
                "only an encoder-decoder has it; leave it out, or set {model.kind} to {model.kind=encoder_decoder}";
            return others
                .into_iter()
                .filter(|(_, is_there)| *is_there)
                .map(|(field, _)| Problem::new(field, message))
                .collect();
        };
        let mut found = Vec::new();
        let cases = [
            ("encoder", &attention.encoder, attention.of_encoder(), encoder_layers),
            ("cross", &attention.cross, attention.of_cross(), self.layers),
        ];
        for (name, others, answers, layers) in cases {
            let has_reuse = others.as_ref().is_some_and(|others| others.reuse.is_some());
            // What is taken over from a stack of the same depth was judged there.
            if has_reuse || layers != self.layers {
                found
                    .extend(answers.reuse.problems(layers, self.heads).into_iter().map(|problem| problem.within(name)));
            }
            if others.as_ref().is_some_and(|others| others.compatibility.is_some()) {
                found.extend(answers.compatibility.problems(self).into_iter().map(|problem| problem.within(name)));
            }
        }
        found
    }
}

impl Source {
    /// Returns true if examples can be made by it at all, whatever the rest of a config says.
    pub fn is_sound(&self) -> bool {
        self.settings().problems().is_empty() && outside_of(&BTreeMap::from([("data", self)])).is_empty()
    }
}

/// A model alone, in its section of a config.
#[derive(Serialize)]
struct Sections<'a> {
    model: &'a ModelConfig,
}

/// Collects problems.
struct Check(Vec<Problem>);

impl Check {
    fn add(&mut self, field: &str, sentence: impl Into<Sentence>) {
        self.0.push(Problem::new(field, sentence.into()));
    }

    fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        self.0.extend(problems);
    }

    /// Adds the numbers outside of what their fields take, but for those whose range is known more closely.
    fn outside(&mut self, config: &impl Serialize) {
        let is_known = |found: &Problem| {
            let is_same = |known: &Problem| known.field == found.field && known.is_out_of_range();
            self.0.iter().any(is_same)
        };
        let found: Vec<Problem> = outside_of(config).into_iter().filter(|found| !is_known(found)).collect();
        self.0.extend(found);
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{DeviceChoice, FileSource, Precision, RunConfig, Source};

    fn fields(change: impl FnOnce(&mut RunConfig)) -> Vec<String> {
        let mut config = RunConfig::default();
        change(&mut config);
        config.validate().into_iter().map(|problem| problem.field).collect()
    }

    #[test]
    fn the_default_is_valid() {
        assert_eq!(RunConfig::default().validate(), vec![]);
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let found = fields(|config| {
            config.model.width = 130;
            config.model.dropout = 1.0;
            config.train.learning_rate = f64::NAN;
            config.train.steps = Some(0);
            config.name = " ".to_owned();
            config.data.source = Source::File(FileSource::default());
        });
        for field in ["name", "data.path", "model.width", "model.dropout", "train.learning_rate", "train.steps"] {
            assert!(found.contains(&field.to_owned()), "{field} not in {found:?}");
        }
    }

    #[test]
    fn number_formats_are_for_the_devices_that_multiply_them() {
        let refused = |precision, device| fields(|config| (config.precision, config.device) = (precision, device));
        let (cpu, gpu) = (DeviceChoice::Cpu, DeviceChoice::Cuda(0));
        for precision in Precision::ALL {
            let expected = [matches!(precision, Precision::F16 | Precision::Tf32), precision == Precision::F64];
            assert_eq!([cpu, gpu].map(|device| refused(precision, device) == ["precision"]), expected, "{precision:?}");
        }
    }

    #[test]
    fn a_width_that_heads_do_not_divide_names_widths_that_do() {
        let mut config = RunConfig::default();
        config.model.width = 130;
        let problems = config.validate();
        assert!(problems[0].message().contains("128 or 132"), "{problems:?}");
    }

    #[test]
    fn no_evaluation_between_is_a_choice_and_ranges_are_told_in_words() {
        assert_eq!(fields(|config| config.train.evaluate_every = 0), Vec::<String>::new());
        let mut config = RunConfig::default();
        config.train.learning_rate = -1.0;
        config.model.layers = 10_000;
        let told: Vec<String> = config.validate().iter().map(ToString::to_string).collect();
        assert!(told.contains(&"model.layers: 10000 is too large; it must be from 1 to 256".to_owned()), "{told:?}");
        let rate = "train.learning_rate: -1 is too small; it must be more than 0 and at most 100";
        assert!(told.contains(&rate.to_owned()), "{told:?}");
    }

    #[test]
    fn advice_is_legal_itself() {
        let mut config = RunConfig::default();
        (config.model.width, config.model.heads) = (65_535, 1024);
        let told = config.validate()[0].message();
        assert!(told.contains("64512 or 65536"), "{told}");
        (config.model.width, config.model.heads) = (65_536, 1000);
        let told = config.validate()[0].message();
        assert!(told.contains("a width of 65000 is") && !told.contains("66000"), "{told}");
    }

    #[test]
    fn sequences_must_fit_the_positions() {
        assert_eq!(fields(|c| c.model.positions = Some(8)), ["data.sequence_length"]);
        assert_eq!(
            fields(|c| c.train = crate::config::TrainConfig { steps: Some(1), epochs: Some(1.0), ..c.train.clone() }),
            ["train.epochs"]
        );
        assert_eq!(
            fields(|config| (config.train.evaluate_examples, config.train.evaluate_batches) = (Some(32), Some(2))),
            ["train.evaluate_examples"]
        );
    }

    #[test]
    fn not_a_number_is_never_valid() {
        for (field, set) in [
            ("train.weight_decay", (|c: &mut RunConfig| c.train.weight_decay = f64::NAN) as fn(&mut RunConfig)),
            ("train.epsilon", |c| c.train.epsilon = f64::NAN),
            ("train.beta1", |c| c.train.beta1 = f64::NAN),
            ("data.validation_fraction", |c| c.data.validation_fraction = f64::NAN),
            ("train.mask_fraction", |c| c.train.mask_fraction = f64::INFINITY),
        ] {
            assert_eq!(fields(set), [field]);
        }
    }
}
