use std::{panic::catch_unwind, process::ExitCode};

use clap::Parser;
use headroom_engine::speed::MemoryProbe;

use super::{
    advise, analyse, analyses,
    args::{Cli, Task},
    bench_args::BenchTask,
    bench_batch, bench_forward, bench_generate, bench_memory, bench_show, bench_step, bench_sweep, chart, compare,
    completions, convert, cross, devices, domains, edit,
    error::CliResult,
    estimate, eval, export, fetch, generate, maps, mixing, open, panics, predict, presets, preview, print, purge, push,
    queue, race, refused, repeat, resume, runs, show, signals, sweep, train, translate_eval,
};

/// The program: reads the arguments, does what they say, answers with the exit code. With `--json` every end of it is told
/// on standard output, here and nowhere else.
pub fn main() -> ExitCode {
    let wants_json = refused::wants_json(std::env::args_os());
    // Before anything that takes time.
    signals::install(wants_json.then_some(refused::tell_stop));
    panics::install_hook();
    MemoryProbe::announce_this_program();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(told) => {
            if wants_json && told.use_stderr() {
                refused::tell_arguments(&told);
            }
            print::arguments(&told);
            return ExitCode::from(u8::try_from(told.exit_code()).unwrap_or(2));
        }
    };
    match catch_unwind(move || dispatch(cli)) {
        Ok(Ok(())) => {
            // A signal that comes now adds nothing to the answer.
            print::answered();
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => {
            if wants_json {
                refused::tell(&error);
            }
            if let Some(message) = error.message() {
                print::aside(message);
            }
            error.exit_code()
        }
        // The hook has spoken.
        Err(_) => {
            if wants_json {
                refused::tell_panic();
            }
            ExitCode::from(1)
        }
    }
}

fn dispatch(cli: Cli) -> CliResult {
    let store = cli.store.as_deref();
    match cli.command {
        None => open::window(store),
        Some(Task::Advise(args)) => advise::run(store, &args),
        Some(Task::Analyse(args)) => analyse::run(store, &args),
        Some(Task::Analyses(args)) => analyses::run(store, &args),
        Some(Task::Archive(args)) => edit::archive(store, &args),
        Some(Task::Bench(BenchTask::Step(args))) => bench_step::run(&args),
        Some(Task::Bench(BenchTask::Forward(args))) => bench_forward::run(&args),
        Some(Task::Bench(BenchTask::Sweep(args))) => bench_sweep::run(store, &args),
        Some(Task::Bench(BenchTask::Generate(args))) => bench_generate::run(store, &args),
        Some(Task::Bench(BenchTask::LargestBatch(args))) => bench_batch::run(&args),
        Some(Task::Bench(BenchTask::List(args))) => bench_show::list(store, &args),
        Some(Task::Bench(BenchTask::Show(args))) => bench_show::show(store, &args),
        Some(Task::Bench(BenchTask::Compare(args))) => bench_show::compare(store, &args),
        Some(Task::Bench(BenchTask::Delete(args))) => bench_show::delete(store, &args),
        Some(Task::Bench(BenchTask::Restore(args))) => bench_show::restore(store, &args),
        Some(Task::Chart(args)) => chart::run(store, &args),
        Some(Task::Compare(args)) => compare::run(store, &args),
        Some(Task::Completions(args)) => completions::run(&args),
        Some(Task::Convert(args)) => convert::run(store, &args),
        Some(Task::Cross(args)) => cross::run(store, &args),
        Some(Task::Delete(args)) => edit::delete(store, &args),
        Some(Task::Devices(args)) => devices::run(&args),
        Some(Task::Domains(args)) => domains::run(store, &args),
        Some(Task::Estimate(args)) => estimate::run(&args),
        Some(Task::Eval(args)) => eval::run(store, &args),
        Some(Task::Generate(args)) => generate::run(store, &args),
        Some(Task::Export(args)) => export::run(store, &args),
        Some(Task::Fetch(args)) => fetch::run(store, &args),
        Some(Task::Maps(args)) => maps::run(store, &args),
        Some(Task::MeasureMemory) => bench_memory::run(),
        Some(Task::Mixing(args)) => mixing::run(store, &args),
        Some(Task::Move(args)) => queue::move_to(store, &args),
        Some(Task::Note(args)) => edit::note(store, &args),
        Some(Task::Pause(args)) => queue::pause(store, &args),
        Some(Task::Predict(args)) => predict::run(store, &args),
        Some(Task::Presets(args)) => presets::run(&args),
        Some(Task::Preview(args)) => preview::run(store, &args),
        Some(Task::Purge(args)) => purge::run(store, &args),
        Some(Task::Push(args)) => push::run(store, &args),
        Some(Task::Queue(args)) => queue::list(store, &args),
        Some(Task::Race(args)) => race::run(store, &args),
        Some(Task::Rename(args)) => edit::rename(store, &args),
        Some(Task::Repeat(args)) => repeat::run(store, &args),
        Some(Task::Restore(args)) => edit::restore(store, &args),
        Some(Task::Resume(args)) => resume::run(store, &args),
        Some(Task::ResumeCurrent(args)) => queue::resume(store, &args),
        Some(Task::Runs(args)) => runs::run(store, &args),
        Some(Task::Show(args)) => show::run(store, &args),
        Some(Task::Stop(args)) => queue::stop(store, &args),
        Some(Task::Sweep(args)) => sweep::run(store, &args),
        Some(Task::Tag(args)) => edit::tag(store, &args),
        Some(Task::Train(args)) => train::run(store, &args),
        Some(Task::TranslateEval(args)) => translate_eval::run(store, &args),
    }
}
