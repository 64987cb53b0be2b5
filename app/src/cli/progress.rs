use std::time::{Duration, Instant};

use headroom_engine::{
    config::counted,
    protocol::{Event, events},
    train::Health,
};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    error::{CliError, CliResult},
    plain, print,
};

/// How often a plain line tells the step.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// How a run's events are shown.
#[derive(Default)]
pub enum Progress {
    /// A bar, on a terminal.
    Bar {
        /// The bar.
        bar: ProgressBar,
        /// What the marks in samples mean was said.
        is_explained: bool,
    },
    /// A line each, where the output goes elsewhere.
    Lines {
        /// When a step was last told.
        told: Option<Instant>,
        /// What was last prepared.
        stage: String,
        /// What the marks in samples mean was said.
        is_explained: bool,
        /// They are what the command answers, on standard output; else they go to standard error, beside its answer.
        is_answer: bool,
    },
    /// A JSON object a line.
    Json,
    /// Nobody reads any more.
    #[default]
    Silent,
}

impl Progress {
    /// What suits the output of a command whose answer is the course of its run.
    pub fn new(json: bool) -> Self {
        if json { Self::Json } else { Self::for_people(true) }
    }

    /// What suits the output of a command that answers at the end; silent where scripts read that.
    pub fn beside_answer(json: bool) -> Self {
        if json { Self::Silent } else { Self::for_people(false) }
    }

    fn for_people(is_answer: bool) -> Self {
        if print::is_terminal() {
            Self::Bar { bar: ProgressBar::new(0), is_explained: false }
        } else {
            Self::Lines { told: None, stage: String::new(), is_explained: false, is_answer }
        }
    }

    /// Whether scripts read it.
    pub fn is_json(&self) -> bool {
        matches!(self, Self::Json)
    }

    /// Shows an event. A reader that left does not end a run.
    pub fn show(&mut self, event: &Event) -> CliResult {
        let outcome = match self {
            Self::Silent => Ok(()),
            Self::Json => print::json_line(event),
            Self::Bar { bar, is_explained } => {
                if let Some(text) = explained_once(event, is_explained) {
                    print::above(bar, text);
                }
                draw(bar, event);
                Ok(())
            }
            Self::Lines { told, stage, is_explained, is_answer } => {
                let lines = explained_once(event, is_explained).map(str::to_owned);
                let mut lines = lines.into_iter().chain(sentence_now(event, told, stage));
                if *is_answer {
                    lines.try_for_each(print::line)
                } else {
                    lines.for_each(print::aside);
                    Ok(())
                }
            }
        };
        match outcome {
            Err(CliError::ReaderLeft) => {
                *self = Self::Silent;
                Ok(())
            }
            other => other,
        }
    }

    /// Says something on a line of its own, where people read.
    pub fn say(&self, text: &str) -> CliResult {
        match self {
            Self::Silent | Self::Json => Ok(()),
            Self::Bar { bar, .. } => {
                print::above(bar, text);
                Ok(())
            }
            Self::Lines { is_answer: true, .. } => print::line(text),
            Self::Lines { .. } => {
                print::aside(text);
                Ok(())
            }
        }
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        if let Self::Bar { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}

/// What the marks in a sample mean.
pub fn sample_marks(text: &str) -> &'static str {
    if text.contains(" \u{bb} ") {
        "In samples, words of held-out text stand before the \u{bb}, and behind it how the model goes on."
    } else {
        "In samples, [word] is a hidden token that the model guessed, [word, not other] one that it guessed wrong."
    }
}

/// What the marks mean, with the first sample that has some.
fn explained_once(event: &Event, is_explained: &mut bool) -> Option<&'static str> {
    let Event::Sample(events::Sample { text, .. }) = event else { return None };
    let is_due = !text.is_empty() && !std::mem::replace(is_explained, true);
    is_due.then(|| sample_marks(text))
}

fn draw(bar: &ProgressBar, event: &Event) {
    match event {
        Event::Preparing(events::Preparing { stage, fraction, .. }) => {
            bar.set_style(style("{spinner} {msg} {wide_bar} {percent} %"));
            bar.set_length(1000);
            bar.set_position((fraction.clamp(0.0, 1.0) * 1000.0) as u64);
            print::beside(bar, stage);
        }
        Event::Started(events::Started { first_step, steps, .. }) => {
            print::above(bar, sentence(event).unwrap_or_default());
            bar.set_style(style("step {human_pos} of {human_len} {wide_bar} {msg}"));
            bar.set_length(*steps);
            bar.set_position(*first_step);
            print::beside(bar, "");
        }
        Event::Step(events::Step { step, loss, tokens_per_sec, eta_secs, .. }) => {
            bar.set_position(*step);
            let (loss, rate) = (plain::number(*loss), plain::count(tokens_per_sec.max(0.0) as u64));
            print::beside(bar, format!("loss {loss}  {rate} tokens/s  {} left", plain::duration(*eta_secs)));
        }
        Event::Paused(_) | Event::Resumed(_) | Event::Finished(_) => {}
        other => {
            if let Some(text) = sentence(other) {
                print::above(bar, text);
            }
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// The sentence of an event, unless the like was told a moment ago.
fn sentence_now(event: &Event, told: &mut Option<Instant>, stage: &mut String) -> Option<String> {
    match event {
        Event::Step(events::Step { step, steps, .. }) => {
            let is_due = told.is_none_or(|at| at.elapsed() >= LINE_EVERY);
            if !is_due && step != steps {
                return None;
            }
            *told = Some(Instant::now());
        }
        Event::Preparing(events::Preparing { stage: now, .. }) => {
            if now == stage {
                return None;
            }
            stage.clone_from(now);
        }
        _ => {}
    }
    sentence(event)
}

/// What an event says, in words; none for the end, which the follower tells.
fn sentence(event: &Event) -> Option<String> {
    let text = match event {
        Event::Queued(events::Queued { run, name, position, .. }) => match position {
            0 => format!("Run {run}: {name}"),
            before => format!("Run {run}: {name}, after {}", counted(*before, "other")),
        },
        Event::Preparing(events::Preparing { stage, .. }) => format!("Preparing: {stage}"),
        Event::Started(events::Started {
            parameters,
            first_step,
            steps,
            device,
            threads,
            vocabulary,
            train_tokens,
            validation_tokens,
            parameter_match,
            ..
        }) => {
            let from =
                if *first_step == 0 { String::new() } else { format!(", from step {}", plain::count(*first_step)) };
            // Squares of images are no words of a vocabulary.
            let (what, words) = match vocabulary {
                0 => ("images", String::new()),
                words => ("text", format!(", vocabulary {}", plain::count(*words as u64))),
            };
            format!(
                "Training {} for {}{from}, on {device} with {}; {} of {what}, {} held out{words}{}",
                counted(*parameters, "parameter"),
                counted(*steps, "step"),
                counted(*threads, "thread"),
                counted(*train_tokens, "token"),
                plain::count(*validation_tokens),
                parameter_match.as_ref().map(|text| format!("\n{text}.")).unwrap_or_default(),
            )
        }
        Event::Step(events::Step { step, steps, loss, learning_rate, tokens_per_sec, eta_secs, .. }) => format!(
            "Step {} of {}: loss {}, learning rate {learning_rate:.2e}, {} tokens/s, {} left",
            plain::count(*step),
            plain::count(*steps),
            plain::number(*loss),
            plain::count(tokens_per_sec.max(0.0) as u64),
            plain::duration(*eta_secs),
        ),
        Event::Evaluated(events::Evaluated { step, loss, metrics, best, .. }) => {
            let found = metrics
                .iter()
                .map(|found| format!(", {}", found.metric.sentence(&plain::metric(found.metric, found.value, 1))));
            format!(
                "Evaluated at step {}: validation loss {}{}{}",
                plain::count(*step),
                plain::number(*loss),
                found.collect::<String>(),
                if *best { ", the best so far" } else { "" }
            )
        }
        Event::Sample(events::Sample { step, text, .. }) => {
            let examples: Vec<&str> = text.lines().collect();
            format!("Sample at step {}:\n  {}", plain::count(*step), examples.join("\n  "))
        }
        Event::BegunWith(events::BegunWith { model, taken, fresh, left_out, .. }) => {
            let named = |what: &str, names: &[String]| match names {
                [] => String::new(),
                names => format!("; {what}: {}", names.join(", ")),
            };
            format!(
                "Begins with {model}: {} taken{}{}",
                counted(*taken, "tensor"),
                named("fresh", fresh),
                named("not used", left_out)
            )
        }
        Event::PairsChosen(events::PairsChosen { step, k, score_error, .. }) => format!(
            "From step {} on, {} of each row {} scored; {:.2} % of the scores' mean square is lost",
            plain::count(*step + 1),
            counted(*k, "pair"),
            if *k == 1 { "is" } else { "are" },
            100.0 * score_error,
        ),
        Event::Checkpointed(events::Checkpointed { step, path, bytes, .. }) => {
            format!("Checkpoint at step {}: {} ({})", plain::count(*step), path.display(), plain::bytes(*bytes))
        }
        Event::Health(events::Health { step, health: Health::Sound, .. }) => {
            format!("At step {}, sound again", plain::count(*step))
        }
        Event::Health(events::Health { step, health, message, .. }) => {
            format!("At step {}, {}: {message}", plain::count(*step), health.word())
        }
        Event::Paused(events::Paused { step, .. }) => format!("Paused at step {}", plain::count(*step)),
        Event::Resumed(events::Resumed { step, .. }) => format!("Resumed at step {}", plain::count(*step)),
        _ => return None,
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: u64) -> Event {
        Event::Step(events::Step {
            run: "000000000r".parse().unwrap(),
            step,
            steps: 3,
            loss: 2.5,
            learning_rate: 1e-3,
            grad_norm: 1.0,
            tokens_per_sec: 1234.5,
            tokens: 10,
            eta_secs: 61.0,
        })
    }

    #[test]
    fn plain_lines_tell_the_first_and_last_step_of_a_quick_run() {
        let (mut told, mut stage) = (None, String::new());
        let lines: Vec<_> = (1..=3).filter_map(|n| sentence_now(&step(n), &mut told, &mut stage)).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0], "Step 1 of 3: loss 2.500, learning rate 1.00e-3, 1,234 tokens/s, 1:01 left");
    }

    #[test]
    fn samples_stand_on_lines_of_their_own_and_their_marks_are_explained_once() {
        let event = |text: &str| {
            Event::Sample(events::Sample { run: "000000000r".parse().unwrap(), step: 50, text: text.to_owned() })
        };
        let decoder = event("a fox \u{bb} sees\nthe owl \u{bb} sleeps");
        assert_eq!(sentence(&decoder).unwrap(), "Sample at step 50:\n  a fox \u{bb} sees\n  the owl \u{bb} sleeps");
        let mut is_explained = false;
        assert!(explained_once(&decoder, &mut is_explained).unwrap().contains("before the \u{bb}"));
        assert_eq!(explained_once(&decoder, &mut is_explained), None);
        assert!(explained_once(&event("a [fox] sees"), &mut false).unwrap().contains("hidden token"));
        assert_eq!(explained_once(&event(""), &mut false), None);
    }

    #[test]
    fn a_stage_is_told_once() {
        let (mut told, mut stage) = (None, String::new());
        let event = |fraction| {
            Event::Preparing(events::Preparing {
                run: "000000000r".parse().unwrap(),
                stage: "reading text".into(),
                fraction,
            })
        };
        let lines: Vec<_> =
            [0.0, 0.5, 1.0].into_iter().filter_map(|f| sentence_now(&event(f), &mut told, &mut stage)).collect();
        assert_eq!(lines, ["Preparing: reading text"]);
    }
}
