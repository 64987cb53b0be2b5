use std::path::Path;

use candle_core::{DType, Device, Tensor};

use super::{
    context::JobContext,
    control::JobControl,
    error::JobError,
    job::{Job, Place},
    pace::Pace,
    predict_spans::{Answering, answer},
    refusal::Refusal,
    subject::{self, Subject},
};
use crate::{
    attention::OutputPlan,
    checkpoint::{LoadedModel, load_model_dir},
    config::{Source, counted},
    data::{
        DataError, Documents, ImageError, NumberedBatch, TextTokenizer, UnansweredImages, unanswered_batches,
        unanswered_images,
    },
    model::{ForwardOptions, Model},
    objective::Labels,
    ops::softmax,
    protocol::{JobLabel, Prediction, WorkKind, commands, events},
};

/// Texts that are answered about at the same time.
const AT_ONCE: usize = 32;

/// Images that are seen beside their answers.
const SHOWN: usize = 60;

impl Job for commands::Predict {
    type Output = Prediction;

    const NAME: &'static str = "predict";
    const PLACE: Place = Place::First;

    fn label(&self) -> JobLabel {
        JobLabel::of_target(WorkKind::Evaluate, Subject::name(&self.target))
    }

    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError> {
        predict(context, self)
    }

    fn failure(&self, context: &JobContext) -> String {
        format!("{} could not answer.", Subject::called(&context.store, &self.target))
    }

    #[cfg(test)]
    fn example(folder: &Path) -> Self {
        Self {
            target: crate::protocol::Target::Directory(folder.join("absent")),
            rows: vec![vec!["a".to_owned()]],
            images: None,
        }
    }
}

fn predict(context: &JobContext, job: &commands::Predict) -> Result<Prediction, JobError> {
    let control = &*context.control;
    let told = |error: &dyn std::fmt::Display| JobError::refusal(error.to_string());
    let (directory, stored) = subject::open(&context.store, &job.target).map_err(JobError::refusal)?;
    let loaded = load_model_dir(&directory, DType::F32, &Device::Cpu).map_err(|error| told(&error))?;
    context.send_notes(&loaded);
    let labels = labels(&loaded.plan.head, loaded.labels.clone())?;
    let images = match (&job.images, loaded.plan.image_shape()) {
        (Some(path), Some(_)) => Some(images_of(path, &loaded).map_err(JobError::refusal)?),
        (None, None) => None,
        (None, Some(_)) => {
            return Err(JobError::refusal(
                "The model reads images, and the input is text. Name a file of images, or a folder.",
            ));
        }
        (Some(path), None) => {
            let path = path.display();
            return Err(JobError::refusal(format!("The model reads text, and the input is no text file: {path}")));
        }
    };
    let mut pace = Pace::default();
    let mut tell = |done, count| {
        if pace.is_due() {
            context.outbox.send(events::Predicting { done, count });
        }
    };
    if let Some(UnansweredImages { batches, names, pictures }) = images {
        let outputs = outputs_of(&loaded, batches, &labels, control, &mut tell)?;
        let (target, names) = (Subject::name(&job.target), names.unwrap_or_default());
        return Ok(Prediction::Outputs(events::Predicted { target, labels, outputs, cut_rows: 0, names, pictures }));
    }
    let config = stored.map(|stored| stored.config).or(loaded.config.clone());
    let known = texts_known(&labels, config.as_ref().map(|config| &config.data.source));
    let texts = texts_of_a_row(&job.rows, known)?;
    let Some(tokenizer) = &loaded.tokenizer_json else {
        return Err(JobError::refusal("The model directory has no tokenizer.json, so text cannot be read."));
    };
    let tokenizer = TextTokenizer::from_json(tokenizer).map_err(|error| told(&error))?;
    for text in job.rows.iter().flatten() {
        let known =
            tokenizer.encode_plain(text.trim()).and_then(|ids| tokenizer.require_known(&ids, loaded.plan.vocabulary()));
        known.map_err(|error| told(&error))?;
    }
    // As long as the run's examples: positions behind them were never trained.
    let longest = loaded.plan.stack.longest();
    let sequence = config.as_ref().map_or(longest, |config| config.data.sequence_length.min(longest));
    if let Labels::Span { may_lack_answers } = labels {
        let model = Model::frozen(&loaded.plan, &loaded.parameters).map_err(|error| told(&error))?;
        let (model, tokenizer, config) = (&model, &tokenizer, config.as_ref());
        return answer(&Answering { model, tokenizer, config, sequence, may_lack_answers }, job, control);
    }
    let documents: Documents = job.rows.iter().flatten().map(|text| text.trim()).collect();
    let (batches, cut) =
        unanswered_batches(&documents, texts, &tokenizer, sequence, AT_ONCE).map_err(|error| told(&error))?;
    let outputs = outputs_of(&loaded, batches, &labels, control, &mut tell)?;
    let (target, names, pictures) = (Subject::name(&job.target), Vec::new(), Vec::new());
    Ok(Prediction::Outputs(events::Predicted { target, labels, outputs, cut_rows: cut, names, pictures }))
}

/// The images of a path in batches.
fn images_of(path: &Path, loaded: &LoadedModel) -> Result<UnansweredImages, Refusal> {
    let (Some(shape), Some(normalisation)) = (loaded.plan.image_shape(), &loaded.normalisation) else {
        return Err(subject::NO_NORMALISATION.into());
    };
    let sequence = loaded.plan.stack.positions;
    unanswered_images(path, shape, normalisation, sequence, AT_ONCE, SHOWN).map_err(|error| match error {
        DataError::Image(ImageError::NotSquare { .. } | ImageError::MixedSizes { .. }) => {
            Refusal::ImageSize { size: shape.size, error: Box::new(error) }
        }
        _ => error.into(),
    })
}

/// Of each example, in their order, the probabilities of its classes, or its number. `tell` hears how many are done, of how many.
fn outputs_of(
    loaded: &LoadedModel,
    batches: Vec<NumberedBatch>,
    labels: &Labels,
    control: &JobControl,
    tell: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Vec<f64>>, JobError> {
    let told = |error: &dyn std::fmt::Display| JobError::refusal(error.to_string());
    let model = Model::frozen(&loaded.plan, &loaded.parameters).map_err(|error| told(&error))?;
    let mut outputs = vec![Vec::new(); batches.iter().map(|(rows, _)| rows.len()).sum()];
    let mut done = 0;
    for (rows, batch) in batches {
        tell(done, outputs.len());
        done += rows.len();
        if control.should_stop() {
            return Err(JobError::stopped("It was stopped."));
        }
        let input = batch.input(&model).map_err(|error| told(&error))?;
        let found = model.forward(&input, &ForwardOptions::default()).map_err(|error| told(&error))?;
        let answers = answers(&found.logits, labels).map_err(|error| JobError::failure(error.to_string()))?;
        for (row, answer) in rows.into_iter().zip(answers) {
            if answer.iter().any(|number| !number.is_finite()) {
                return Err(JobError::failure(
                    "Its outputs are no finite numbers: the model was damaged or its run diverged. Take an earlier checkpoint.",
                ));
            }
            if let Some(output) = outputs.get_mut(row) {
                *output = answer;
            }
        }
    }
    Ok(outputs)
}

/// What the model answers.
fn labels(head: &OutputPlan, labels: Option<Labels>) -> Result<Labels, JobError> {
    let ends_in = match (head, labels) {
        (OutputPlan::Classes { .. } | OutputPlan::Span, Some(labels)) => return Ok(labels),
        (OutputPlan::Classes { .. }, None) => "several classes at once",
        (OutputPlan::Vocabulary(_), _) => "tokens",
        (OutputPlan::Span, _) => "spans",
        (OutputPlan::Replaced, _) => "whether tokens were replaced",
        (OutputPlan::States { .. }, _) => "its hidden states",
    };
    Err(JobError::refusal(format!(
        "It ends in {ends_in}, and answers are those of a model that ends in one class, a number or a span. Train one on a table \
         (task.kind = \"classification\" or \"regression\"), on questions (\"span\") or on images (\"image_classification\"); \
         `headroom generate` writes text."
    )))
}

/// How many texts the rows of a model have, where that is known: those of its table, an expression, or a question and a paragraph.
fn texts_known(labels: &Labels, trained_on: Option<&Source>) -> Option<usize> {
    match (labels, trained_on) {
        (Labels::Span { .. }, _) => Some(2),
        (Labels::Classes(_) | Labels::Number, Some(source)) => source.settings().texts(),
        (Labels::Classes(_) | Labels::Number, None) => None,
    }
}

/// How many texts a row has: as many as is known, else those of the first row.
fn texts_of_a_row(rows: &[Vec<String>], known: Option<usize>) -> Result<usize, JobError> {
    let Some(first) = rows.first() else {
        return Err(JobError::refusal("There is no text to answer about. Give one a line."));
    };
    let texts = known.unwrap_or(first.len());
    if !(1..=2).contains(&texts) {
        return Err(JobError::refusal(format!(
            "Line 1 has {}, separated by tabs; a model reads one or two.",
            counted(texts as u64, "text")
        )));
    }
    for (line, row) in (1_usize..).zip(rows) {
        if row.len() != texts {
            return Err(JobError::refusal(format!(
                "Line {line} has {}, separated by tabs, and the model reads {}. Correct the line.",
                counted(row.len() as u64, "text"),
                if texts == 1 {
                    "one text a line".to_owned()
                } else {
                    format!("{texts} texts a line, with a tab between")
                }
            )));
        }
        if row.iter().any(|text| text.trim().is_empty()) {
            return Err(JobError::refusal(format!(
                "Line {line} has no text. Every line gets an answer: write it, or remove the line."
            )));
        }
    }
    Ok(texts)
}

/// Of each example the probabilities of its classes, or its number; not finite where an output is not.
pub(crate) fn answers(outputs: &Tensor, labels: &Labels) -> Result<Vec<Vec<f64>>, candle_core::Error> {
    let outputs = outputs.detach().to_dtype(DType::F64)?;
    let told = outputs.to_vec2::<f64>()?;
    let is_finite = told.iter().flatten().all(|output| output.is_finite());
    match labels {
        Labels::Classes(_) if is_finite => softmax(&outputs)?.to_vec2(),
        Labels::Classes(_) | Labels::Number | Labels::Span { .. } => Ok(told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_must_have_as_many_texts_as_the_model_reads() {
        let rows = |texts: &[&[&str]]| -> Vec<Vec<String>> {
            texts.iter().map(|row| row.iter().map(|text| (*text).to_owned()).collect()).collect()
        };
        let said = |texts: &[&[&str]], known: Option<usize>| {
            texts_of_a_row(&rows(texts), known).err().map(|error| format!("{error:?}")).unwrap_or_default()
        };
        let table = Source::Table(crate::config::TableSource::default());
        assert_eq!(texts_of_a_row(&rows(&[&["a"], &["b"]]), None).ok(), Some(1));
        assert_eq!(texts_of_a_row(&rows(&[&["a", "c"], &["b", "d"]]), None).ok(), Some(2));
        assert!(said(&[&["a"], &["b", "c"]], None).contains("Line 2 has 2 texts"));
        assert_eq!(texts_known(&Labels::Number, Some(&table)), Some(1));
        assert_eq!(texts_known(&Labels::Span { may_lack_answers: true }, None), Some(2));
        assert!(said(&[&["a", "b"]], Some(1)).contains("one text a line"));
        assert!(said(&[&["a"], &[" "]], None).contains("Line 2 has no text"));
        assert!(said(&[&["a", "b", "c"]], None).contains("Line 1 has 3 texts"));
        assert!(said(&[], None).contains("no text to answer about"));
    }

    #[test]
    fn probabilities_add_up_and_what_is_not_finite_stays_so() {
        let of = |outputs: &[f64; 3], labels: &Labels| {
            answers(&Tensor::new(&[*outputs], &Device::Cpu).unwrap(), labels).unwrap().swap_remove(0)
        };
        let classes = Labels::Classes(["a", "b", "c"].map(str::to_owned).to_vec());
        let found = of(&[1000.0, 1000.0, 990.0], &classes);
        assert!(
            (found.iter().sum::<f64>() - 1.0).abs() < 1e-12 && (found[0] - found[1]).abs() < 1e-15 && found[2] < 1e-4
        );
        assert_eq!(of(&[1.0, f64::NEG_INFINITY, 0.0], &classes)[1], f64::NEG_INFINITY);
        assert_eq!(of(&[1000.0, -2.0, 990.0], &Labels::Number), [1000.0, -2.0, 990.0]);
    }
}
