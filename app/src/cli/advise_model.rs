//! `headroom advise DIR`: the conversions that make a model cheaper, from an analysis of it, as commands.

use std::path::Path;

use headroom_engine::{
    advise::{Advice, Adviser, ConversionStep},
    analysis::{Analysis, Measure, NOT_YET},
    checkpoint::read_plan,
    config::{Modality, counted},
    store::{AnalysisSummary, Store},
    text::escaped_line,
};
use serde_json::{Value as Json, json};

use super::{
    advise_words,
    args::AdviseArgs,
    error::{CliError, CliResult},
    hint, open, plain, print,
};
use crate::{findings, format};

/// Where no text is known.
const A_TEXT: &str = "TEXT";

/// Advises.
pub(super) fn run(store: Option<&Path>, args: &AdviseArgs, directory: &Path) -> CliResult {
    refuse_what_is_for_runs(args, directory)?;
    let plan = read_plan(directory).map_err(|error| CliError::at("run", error.to_string()))?;
    if !plan.is_analysable() {
        return Err(CliError::at("run", NOT_YET));
    }
    let model = Model { store, directory, name: name(&args.run, directory) };
    let reading = open::reading(store)?;
    let known = match &reading {
        Some(reading) => analyses_of(reading, directory)?,
        None => Vec::new(),
    };
    let (id, analysis, other) = model.analyses(reading.as_ref(), &known, args)?;
    let of_errors = other.as_ref().unwrap_or(&analysis);
    let errors = findings::held_out_errors(of_errors);
    let adviser = Adviser::of_model(&plan, &analysis, errors).map_err(|why| CliError::at("run", why))?;
    let advice = adviser.advise(advise_words::wishes(args));
    let sources = findings::sources_words(&analysis, errors.map(|_| of_errors), None);
    let courses = model.source(&analysis).course(&advice, &analysis, analysis.tokens);
    if args.json {
        return print::json(&as_json(&model, (&id, &analysis), &sources, &adviser, &advice, &courses));
    }
    model.tell((&analysis, &sources), &adviser, &advice, &courses)
}

/// Refuses what has no meaning for a model directory.
fn refuse_what_is_for_runs(args: &AdviseArgs, directory: &Path) -> CliResult {
    let named = hint::quoted(&directory.display().to_string());
    let refused = |option: &'static str, why: String| Err(CliError::at(option, format!("{option}: {why}")));
    if args.train {
        return refused(
            "--train",
            format!(
                "how this model was trained is not known, so that it is converted instead. Leave out --train, and run the commands \
                 that are printed. What comes out is trained further by a config whose model.initial names it; `headroom show \
                 {named} --further` prints one for the model as it is."
            ),
        );
    }
    if args.outcome {
        return refused(
            "--outcome",
            "it compares a run that was advised with its prediction. `headroom convert` says itself what a conversion came to."
                .to_owned(),
        );
    }
    if args.step.is_some() {
        return refused(
            "--step",
            "it names an analysis while a run trained, and a model directory has none. Name one that was asked for with \
             --analysis; `headroom analyses` lists them."
                .to_owned(),
        );
    }
    Ok(())
}

/// What a model is called in the names of what is made of it.
fn name(given: &str, directory: &Path) -> String {
    let last = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let real = || directory.canonicalize().ok().as_deref().and_then(last);
    last(Path::new(given)).or_else(real).unwrap_or_else(|| "model".to_owned())
}

/// The analyses of a directory, the newest first. Those of earlier versions may name it by another way to it.
fn analyses_of(reading: &Store, directory: &Path) -> CliResult<Vec<AnalysisSummary>> {
    let real = directory.canonicalize();
    let is_it = |target: &str| {
        let other = Path::new(target);
        other == directory || matches!((&real, other.canonicalize()), (Ok(real), Ok(other)) if *real == other)
    };
    let all = reading.analyses()?;
    Ok(all.into_iter().filter(|found| found.run.is_none() && is_it(&found.target)).collect())
}

/// The model that is advised.
struct Model<'a> {
    store: Option<&'a Path>,
    directory: &'a Path,
    name: String,
}

/// The model that conversions begin with, as their commands name it.
pub(super) struct ConversionSource<'a> {
    /// The store of the commands.
    pub store: Option<&'a Path>,
    /// The model itself.
    pub model: String,
    /// Name of the model; those of the converted models begin with it.
    pub name: String,
    /// The options that name the text; empty where the model knows its own.
    pub text: String,
}

/// A conversion with the directory that it makes and the command that does it.
pub(super) struct Course<'a> {
    step: &'a ConversionStep,
    to: String,
    command: String,
}

impl ConversionSource<'_> {
    /// The commands that do what is advised on examples of `tokens` tokens, one after the other. Each makes a new directory below
    /// the current one.
    pub(super) fn course<'a>(&self, advice: &'a Advice, analysis: &Analysis, tokens: usize) -> Vec<Course<'a>> {
        let (mut from, mut name) = (self.model.clone(), self.name.clone());
        let mut courses = Vec::new();
        for step in advice.steps() {
            let options = step.conversion.options(analysis.examples);
            name.push_str(&step.conversion.suffix());
            let to = free(&name);
            let (source, made) = (hint::quoted(&from), hint::quoted(&to));
            let text = if self.text.is_empty() { String::new() } else { format!(" {}", self.text) };
            let command = format!("convert {source} --to {made} {options}{text} --tokens {tokens}");
            let command = hint::command(&command, self.store);
            from.clone_from(&to);
            courses.push(Course { step, to, command });
        }
        courses
    }
}

/// Prints what conversions save, what is left out with the command that measures what is missing, and their commands.
pub(super) fn tell_conversions(
    adviser: &Adviser,
    advice: &Advice,
    courses: &[Course<'_>],
    measure: Option<&str>,
) -> CliResult {
    if let Ok(prediction) = &advice.prediction {
        let rows = findings::conversion_rows(prediction, adviser.tokens());
        advise_words::tell_saving(prediction, ["", "model", "converted", "difference"], rows)?;
    }
    for why in advice.left_out() {
        print::line(format!("Left out: {}", plain::ascii(why)))?;
    }
    if let Some(measure) = measure {
        print::line(format!("  {measure}"))?;
    }
    print::line(if courses.len() == 1 { "As a conversion:" } else { "As conversions, one after the other:" })?;
    for Course { step, command, .. } in courses {
        let costs = &step.costs;
        let tokens = counted(adviser.tokens() as u64, "token");
        let flops = plain::ascii(&format::flops(costs.forward_flops_per_example as f64));
        let parameters = counted(costs.parameters, "parameter");
        print::line(format!("\n  {command}\n    {parameters}, {flops} for {tokens}"))?;
    }
    if courses.len() > 1 {
        let words = "Similarity, energy and error were measured on the model as it is: what one conversion changes is not in \
                     those of the next. Each says itself what it changed.";
        print::line(format!("\n{words}"))?;
    }
    Ok(())
}

/// The conversions for scripts.
pub(super) fn conversions_json(courses: &[Course<'_>]) -> Vec<Json> {
    let one = |Course { step, to, command }: &Course<'_>| json!({ "conversion": step.conversion, "to": to, "command": command, "costs": step.costs });
    courses.iter().map(one).collect()
}

impl Model<'_> {
    /// The id of what is advised from, it, and another analysis of the same text that says how scores are reconstructed where
    /// the first does not.
    fn analyses(
        &self,
        reading: Option<&Store>,
        known: &[AnalysisSummary],
        args: &AdviseArgs,
    ) -> CliResult<(String, Analysis, Option<Analysis>)> {
        let Some(reading) = reading else { return Err(self.not_analysed(None, args)) };
        if let Some(id) = &args.analysis {
            let Some(found) = known.iter().find(|found| found.id.as_str() == id) else {
                let own: Vec<&str> = known.iter().map(|found| found.id.as_str()).collect();
                let own =
                    if own.is_empty() { "It has none.".to_owned() } else { format!("It has {}.", own.join(", ")) };
                let message = format!("The model {} has no analysis {id}. {own}", self.directory.display());
                return Err(CliError::at("--analysis", message));
            };
            if found.shuffled == Some(true) {
                let message = format!(
                    "The analysis {id} is of the words of its text in random order, which no conversion reads. Name one of the text \
                     itself."
                );
                return Err(CliError::at("--analysis", message));
            }
            return Ok((id.clone(), reading.analysis(&found.id)?, None));
        }
        let mut compared_otherwise = None;
        let of_text = || known.iter().filter(|found| found.shuffled != Some(true));
        for summary in of_text() {
            let found = reading.analysis(&summary.id)?;
            if found.similarity(Measure::TotalVariation).is_some() {
                let other = match findings::held_out_errors(&found) {
                    Some(_) => None,
                    None => with_errors(reading, of_text(), &found)?,
                };
                return Ok((summary.id.to_string(), found, other));
            }
            compared_otherwise = compared_otherwise.or(Some(found));
        }
        Err(self.not_analysed(compared_otherwise.as_ref(), args))
    }

    /// Says how to get something to advise from.
    fn not_analysed(&self, other: Option<&Analysis>, args: &AdviseArgs) -> CliError {
        let said = match other {
            None => "was not analysed",
            Some(_) => "was analysed, but without comparing its heads by total variation",
        };
        CliError::at(
            "run",
            format!(
                "The attention of the model {} {said}, so that there is nothing to advise from. Analyse it first with: {}",
                self.directory.display(),
                self.analyse(other, args.error.is_some())
            ),
        )
    }

    /// The command that analyses it, on the text of another analysis where there is one.
    fn analyse(&self, other: Option<&Analysis>, reconstructs: bool) -> String {
        let parts = if reconstructs { " --similarity --captured --reconstruction" } else { "" };
        let (directory, text) = (hint::quoted(&self.directory.display().to_string()), text(other));
        hint::command(&format!("analyse {directory} {text}{parts}"), self.store)
    }

    /// Start of its conversions, on the text of its analysis.
    fn source(&self, analysis: &Analysis) -> ConversionSource<'_> {
        let (model, name) = (self.directory.display().to_string(), self.name.clone());
        ConversionSource { store: self.store, model, name, text: text(Some(analysis)) }
    }

    fn tell(
        &self,
        (analysis, sources): (&Analysis, &[String]),
        adviser: &Adviser,
        advice: &Advice,
        courses: &[Course<'_>],
    ) -> CliResult {
        let directory = self.directory.display().to_string();
        let directory = escaped_line(&directory);
        let from = plain::ascii(&findings::analysis_words(analysis));
        print::line(format!("Advice for {directory}, from {from}"))?;
        for sentence in sources {
            print::line(plain::ascii(sentence))?;
        }
        advise_words::tell_found(adviser, advice)?;
        if let Some(why) = advise_words::missing_pairs(adviser, advice)
            && advice.wishes.error.is_none()
        {
            print::line(format!("Pairs: {}", plain::ascii(&why)))?;
            self.tell_how_to_measure(adviser, analysis)?;
        }
        advise_words::tell_borrowed(advice)?;
        if let Some(why) = advice.why_not() {
            print::line(format!("Nothing to convert: {}", plain::ascii(&why)))?;
            return if advice.wishes.error.is_some() { self.tell_how_to_measure(adviser, analysis) } else { Ok(()) };
        }
        let is_missing = advice.wishes.error.is_some() && adviser.errors().is_err();
        let measure = is_missing.then(|| self.analyse(Some(analysis), true));
        tell_conversions(adviser, advice, courses, measure.as_deref())?;
        if analysis.text.is_none() {
            let data = escaped_line(&analysis.data);
            print::line(format!("\nWrite where the text is in place of {A_TEXT}; the analysis was of {data}."))?;
        }
        Ok(())
    }

    /// The command that measures errors over pairs, where they are missing.
    fn tell_how_to_measure(&self, adviser: &Adviser, analysis: &Analysis) -> CliResult {
        if adviser.errors().is_ok() {
            return Ok(());
        }
        print::line(format!("  {}", self.analyse(Some(analysis), true)))
    }
}

/// The newest other analysis of the same examples that says how scores are reconstructed.
fn with_errors<'a>(
    reading: &Store,
    known: impl Iterator<Item = &'a AnalysisSummary>,
    of: &Analysis,
) -> CliResult<Option<Analysis>> {
    for summary in known.filter(|found| found.reconstructs && found.tokens == of.tokens as u64 && found.data == of.data)
    {
        let found = reading.analysis(&summary.id)?;
        if findings::held_out_errors(&found).is_some() && found.text == of.text {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The text of an analysis, as an option of a command.
fn text(of: Option<&Analysis>) -> String {
    let known = of.and_then(|of| of.text.as_ref()).map(|text| &text.source);
    let plain = known.filter(|source| source.facts().modality == Modality::Text);
    let file = plain.and_then(|source| Some((source, source.training_files().into_iter().next()?)));
    let Some((source, path)) = file else { return format!("--data {A_TEXT}") };
    let mut words = format!("--data {}", hint::quoted(&path.display().to_string()));
    let place = source.settings().text_place();
    for (option, value) in [("--field", place.field), ("--column", place.column)] {
        if let Some(value) = value {
            words.extend([" ", option, " ", &hint::quoted(&value)]);
        }
    }
    words
}

/// A name that nothing has in the current folder.
fn free(name: &str) -> String {
    // A leading dash would be read as an option.
    let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !Path::new(name).exists()).unwrap_or(name)
}

fn as_json(
    model: &Model<'_>,
    (id, analysis): (&str, &Analysis),
    sources: &[String],
    adviser: &Adviser,
    advice: &Advice,
    courses: &[Course<'_>],
) -> Json {
    let Analysis { examples, tokens, data, .. } = analysis;
    json!({
        "event": "advised",
        "directory": model.directory,
        "analysis": { "id": id, "examples": examples, "tokens": tokens, "data": data },
        "sources": sources,
        "wishes": advice.wishes,
        "heads": advise_words::part(advice.heads.as_ref()),
        "dimensions": advise_words::part(advice.dimensions.as_ref()),
        "pairs": advise_words::part(advice.pairs.as_ref()),
        "present": adviser.present(),
        "proposed": advice.prediction.as_ref().ok().map(|prediction| prediction.proposed),
        "why_not": advice.why_not(),
        "left_out": advice.left_out(),
        "conversions": conversions_json(courses),
    })
}
