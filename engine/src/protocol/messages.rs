//! Tables of all commands and events. A new one is a struct in the file of its topic and its name here.

use serde::{Deserialize, Serialize};

use super::{
    advice, analyse, checks, convert, evaluate, fetch, generate, inspect, job::Progress, maps, measure, models,
    predict, push, queue, reports, runs, snapshots, training, translate, verify,
};

/// Time that an event waits for a reader that sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Until it is taken: an answer, an ending, something that is told once.
    Always,
    /// Until a newer one of its kind waits, which says all that this one says; where somebody asked for it, until it is taken.
    UntilNewer,
    /// Until the queue is full: a reading that a newer one replaces soon.
    Reading,
}

/// Command that asks for one background job.
pub trait JobRequest: Into<Command> {
    /// Answer of the job, its last event.
    type Output: TryFrom<Event, Error = Box<Event>>;
}

macro_rules! commands {
    (
        // A dollar sign, for the macro that this one defines.
        ($dollar:tt)
        without_payload { $($(#[$doc:meta])* $unit:ident,)* }
        jobs { $($job_topic:ident { $job:ident -> $output:ident, $command_line:literal })* }
        others { $($topic:ident { $($name:ident),* })* }
    ) => {
        /// Everything that can be asked of the engine. The window and the command line use the same commands. Serialised with the
        /// variant's name in `command` and the fields of its payload.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "command", rename_all = "snake_case")]
        pub enum Command {
            $($(#[$doc])* $unit,)*
            $($(#[doc = concat!("[`commands::", stringify!($name), "`].")] $name($topic::$name),)*)*
            /// Work that takes its time.
            #[serde(untagged)]
            Job(JobCommand),
        }

        /// The commands that ask for a background job. Serialised as other commands are.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "command", rename_all = "snake_case")]
        pub enum JobCommand {
            $(#[doc = concat!("[`commands::", stringify!($job), "`].")] $job($job_topic::$job),)*
        }

        impl JobCommand {
            /// Each of them by name, with what is typed after `headroom` for it.
            pub const COMMAND_LINES: &[(&'static str, &'static str)] = &[$((stringify!($job), $command_line)),*];
        }

        #[cfg(test)]
        impl Command {
            /// One of each, made of chance.
            pub(super) fn made(maker: &mut super::wire_tests::made::Maker) -> Vec<Self> {
                vec![
                    $(Self::$unit,)*
                    $($(maker.make::<$topic::$name>().into(),)*)*
                    $(maker.make::<$job_topic::$job>().into(),)*
                ]
            }
        }

        /// Calls a macro with the names of all commands that ask for a job.
        macro_rules! for_each_job {
            ($dollar callback:ident) => { $dollar callback! { $($job),* } };
        }
        pub(crate) use for_each_job;

        /// Payloads of commands.
        pub mod commands {
            $(pub use super::$topic::{$($name),*};)*
            $(pub use super::$job_topic::$job;)*
        }

        $(impl JobRequest for $job_topic::$job {
            type Output = $job_topic::$output;
        })*

        $(impl From<$job_topic::$job> for Command {
            fn from(payload: $job_topic::$job) -> Self {
                Self::Job(JobCommand::$job(payload))
            }
        })*

        $($(impl From<$topic::$name> for Command {
            fn from(payload: $topic::$name) -> Self {
                Self::$name(payload)
            }
        })*)*
    };
}

macro_rules! events {
    (
        without_payload { $($(#[$doc:meta])* $unit:ident,)* }
        always { $($kept_topic:ident { $($kept:ident),* })* }
        until_newer { $($newest_topic:ident { $($newest:ident),* })* }
        readings { $($reading_topic:ident { $($reading:ident),* })* }
        progress { $($progress_topic:ident { $($progress:ident),* })* }
    ) => {
        events! {
            @enum { $($(#[$doc])* $unit,)* }
            $($kept_topic { $($kept),* })* $($newest_topic { $($newest),* })* $($reading_topic { $($reading),* })* $($progress_topic { $($progress),* })*
        }

        impl Event {
            /// Time that it waits for a reader that sleeps.
            pub fn retention(&self) -> Retention {
                match self {
                    $(Self::$unit => Retention::Always,)*
                    $($(Self::$kept(_) => Retention::Always,)*)*
                    $($(Self::$newest(_) => Retention::UntilNewer,)*)*
                    $($(Self::$reading(_) => Retention::Reading,)*)*
                    $($(Self::$progress(_) => Retention::Reading,)*)*
                }
            }

            /// Progress of a job, if the event tells it.
            pub fn progress(&self) -> Option<&dyn Progress> {
                match self {
                    $($(Self::$progress(payload) => Some(payload),)*)*
                    _ => None,
                }
            }
        }
    };
    (@enum { $($(#[$doc:meta])* $unit:ident,)* } $($topic:ident { $($name:ident),* })*) => {
        /// Everything that the engine tells. Serialised with the variant's name in `event` and the fields of its payload.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "event", rename_all = "snake_case")]
        pub enum Event {
            $($(#[$doc])* $unit,)*
            $($(#[doc = concat!("[`events::", stringify!($name), "`].")] $name($topic::$name),)*)*
        }

        #[cfg(test)]
        impl Event {
            /// One of each, made of chance.
            pub(super) fn made(maker: &mut super::wire_tests::made::Maker) -> Vec<Self> {
                vec![$(Self::$unit,)* $($(maker.make::<$topic::$name>().into(),)*)*]
            }
        }

        /// Payloads of events.
        pub mod events {
            $(pub use super::$topic::{$($name),*};)*
        }

        $($(impl From<$topic::$name> for Event {
            fn from(payload: $topic::$name) -> Self {
                Self::$name(payload)
            }
        }

        impl TryFrom<Event> for $topic::$name {
            /// Another event.
            type Error = Box<Event>;

            fn try_from(event: Event) -> Result<Self, Self::Error> {
                match event {
                    Event::$name(payload) => Ok(payload),
                    other => Err(Box::new(other)),
                }
            }
        })*)*
    };
}

commands! {
    ($)
    without_payload {
        /// Lists what computes and what waits; answered by [`super::Event::Queue`].
        ListQueue,
        /// Pauses the current run after the step it is in. This and the next three are answered by [`super::Event::Done`], or
        /// by [`super::Event::Refused`] where nothing computes.
        Pause,
        /// Goes on with the paused run.
        Resume,
        /// Stops the current run after the step it is in, with a checkpoint.
        Stop,
        /// Writes a checkpoint of the current run after the step it is in.
        Checkpoint,
        /// Looks where the hub is and which of its models are here already, without asking it; answered by
        /// [`super::Event::HubDescribed`].
        DescribeHub,
        /// Lists runs; answered by [`super::Event::Runs`].
        ListRuns,
        /// Lists devices; answered by [`super::Event::Devices`].
        Devices,
        /// Lists benchmarks; answered by [`super::Event::Benchmarks`].
        ListBenchmarks,
        /// Lists what was found out on demand; answered by [`super::Event::Analyses`].
        ListAnalyses,
        /// Lists the runs that were advised; answered by [`super::Event::Advice`].
        ListAdvice,
        /// Ends the engine; a run in progress is stopped with a checkpoint, and runs that wait are left as interrupted. The last event
        /// is [`super::Event::Ended`].
        Shutdown,
    }
    jobs {
        analyse { Analyse -> AnalyseEnded, "analyse" }
        convert { Convert -> Converted, "convert" }
        evaluate { Evaluate -> Evaluation, "eval" }
        fetch { Fetch -> Fetched, "fetch" }
        generate { Generate -> Generated, "generate" }
        inspect { Inspect -> Inspected, "fetch --info" }
        measure { Measure -> MeasureEnded, "bench sweep" }
        predict { Predict -> Prediction, "predict" }
        push { Push -> Pushed, "push" }
        translate { EvaluateTranslation -> TranslationEvaluated, "translate-eval" }
        verify { ProveCaches -> CachesProved, "generate --prove" }
    }
    others {
        advice { TrainAdvice }
        analyse { CompareDomains, LoadAnalysis, DeleteAnalysis }
        checks { Check, ReadFacts }
        convert { PreviewConversion }
        maps { LoadMaps, LoadMap, RebuildMap }
        measure { LoadBenchmark, DeleteBenchmark }
        models { DescribeModel, ReadPlan }
        push { PreviewPush }
        queue { Enqueue, EnqueueAll, ResumeRun, Cancel, Move }
        runs { Export, LoadRun, LoadSeries, LoadOutcomes, LoadSamples, Edit, ListDeleted, Purge }
        snapshots { LoadLiveAnalyses, LoadLiveAnalysis, LoadSnapshots, LoadSnapshot }
    }
}

events! {
    without_payload {
        /// The request was carried out; nothing else answers it.
        Done,
        /// The engine ended; nothing follows.
        Ended,
    }
    always {
        advice { Advice }
        analyse { AnalyseQueued, Analysed, AnalyseEnded, Analyses }
        checks { Checked, FactsRead, Devices }
        convert { ConversionPreviewed, Converted }
        evaluate { Evaluation }
        fetch { Fetched }
        generate { Generated }
        inspect { HubDescribed, Inspected }
        maps { Maps, Map, Rebuilt }
        measure { MeasureQueued, MeasuredPoint, MeasureEnded, Benchmarks, Benchmark }
        models { ModelDescribed, PlanRead }
        predict { Predicted, AnswersFound }
        push { Pushed, PushPreviewed }
        queue { Queued }
        reports { Failed, Refused, Warning }
        runs { Deleted, Purged, Run, Series, Outcomes, Samples, Exported }
        snapshots { LiveAnalyses, LiveAnalysis, Snapshots, SnapshotData }
        training { Started, Evaluated, Health, Sample, BegunWith, PairsChosen, Checkpointed, Paused, Resumed, Finished, Snapshot }
        translate { TranslationEvaluated }
        verify { CachesProved }
    }
    until_newer {
    queue { Queue }
    runs { Damaged, Runs }
    }
    readings {
        reports { System }
    }
    progress {
    analyse { Analysing }
    convert { Converting }
    fetch { Fetching }
    generate { Generating }
    measure { Measuring }
    predict { Predicting }
    push { Pushing }
    training { Preparing, Step }
    translate { Translating }
    verify { ProvingCaches }
    }
}
