//! `headroom convert`: another model of a run's or of a model directory.

use std::path::{Path, PathBuf};

use headroom_engine::{
    attention::ModelPlan,
    config::counted,
    convert::{Conversion, ConvertError, ConvertedAttention, LayerPrice, Price, check},
    protocol::{Event, Target, commands, events},
};

use crate::export::TextTable;
use crate::findings;

use super::{
    convert_args::ConvertArgs,
    error::{CliError, CliResult},
    eval, export,
    job::{Shown, ignored, run_job},
    plain, print,
    session::Session,
    target::{Named, knows_its_text, named, plan_of},
};

/// Converts.
pub fn run(store: Option<&Path>, args: &ConvertArgs) -> CliResult {
    let to = std::path::absolute(&args.to).map_err(|error| {
        CliError::at("--to", format!("The directory {} cannot be used: {error}.", args.to.display()))
    })?;
    let conversions = conversions(args, &to)?;
    for (_, to) in &conversions {
        export::refuse_occupied(to)?;
    }
    let found = named(store, &args.target)?;
    if let Some(plan) = plan_of(&found, args.which) {
        for (conversion, _) in &conversions {
            refuse_number(&plan, conversion)?;
        }
    }
    let (target, trained_on) = match found {
        Named::Directory(path) => (Target::Directory(path), None),
        Named::Run(_, record) => {
            let config = record.run_config().map_err(|error| {
                CliError::Failed(format!("The config of the run {} cannot be read. {error}", record.summary.id))
            })?;
            (Target::Run { run: record.summary.id, which: args.which }, Some(config.data))
        }
    };
    let is_directory = matches!(target, Target::Directory(_));
    let current_dir = std::env::current_dir()
        .map_err(|error| CliError::Failed(format!("The current folder cannot be found: {error}.")))?;
    let text = |path: &PathBuf| eval::named_text(path, args.field.as_ref(), args.column.as_ref(), None, trained_on);
    let data = args.data.as_ref().map(text).transpose()?.map(Box::new);
    let needs_text = conversions.iter().any(|(conversion, _)| conversion.needs_text());
    let lacks_text = matches!(&target, Target::Directory(path) if !knows_its_text(path));
    if needs_text && lacks_text && data.is_none() {
        let message = "A model directory from elsewhere holds no text, and this conversion depends on what the model does \
                       with one. Name some with --data, as in `headroom convert DIR --to NEW --borrow 0.9 --data \
                       text.txt`.";
        return Err(CliError::at("--data", message));
    }
    let session = Session::open_for_reading(store, !is_directory)?;
    for (conversion, to) in conversions {
        let job = commands::Convert {
            target: target.clone(),
            conversion,
            to,
            data: data.clone(),
            examples: whole(args.examples),
            tokens: args.tokens,
            threads: args.threads.map(whole),
            base_dir: current_dir.clone(),
        };
        let converted = run_job(&session, job, "run", Shown::streamed(args.json), ignored)?;
        if args.json { print::json_line(&Event::from(converted))? } else { tell(&converted)? }
    }
    session.end();
    Ok(())
}

/// Refuses a number that the model does not allow, by the argument that says it.
fn refuse_number(plan: &ModelPlan, conversion: &Conversion) -> CliResult {
    match check(plan, conversion) {
        Err(ConvertError::Number { option, why }) => Err(CliError::at(format!("--{option}"), why)),
        // The model is to blame, of which the engine tells.
        Err(_) | Ok(()) => Ok(()),
    }
}

/// The conversions that were asked for, each with the folder that it goes to.
fn conversions(args: &ConvertArgs, to: &Path) -> CliResult<Vec<(Conversion, PathBuf)>> {
    let all = args.conversion.conversions()?.into_iter();
    Ok(all.map(|(conversion, folder)| (conversion, folder.map_or_else(|| to.to_owned(), |own| to.join(own)))).collect())
}

fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn tell(converted: &events::Converted) -> CliResult {
    let events::Converted {
        target,
        conversion,
        path,
        bytes,
        parameters_before,
        parameters,
        attentions,
        found,
        price,
        unpriced,
        left_out,
        seconds,
    } = converted;
    print::line(format!("{target} became {}: {}", conversion.label(), path.display()))?;
    print::line(format!(
        "{} instead of {}, {} on disk, {} s",
        counted(*parameters, "parameter"),
        plain::count(*parameters_before),
        plain::bytes(*bytes),
        plain::number(*seconds)
    ))?;
    if let Some(found) = found {
        print::line(format!("On the text: {found}"))?;
    }
    if !attentions.is_empty() {
        let mut table = TextTable::new(["attention", "error of its products", "sweeps", "time"]);
        for ConvertedAttention { attention, relative_error, sweeps, seconds } in attentions {
            table.row([
                attention.clone(),
                relative_error.map_or_else(|| "-".to_owned(), percent),
                plain::count(*sweeps as u64),
                format!("{} s", plain::number(*seconds)),
            ]);
        }
        print::block(&table.to_plain())?;
    }
    if let Some(price) = price {
        tell_price(price)?;
    }
    if let Some(why) = unpriced {
        print::line(format!("What it changed in maps and outputs was not measured: {why}."))?;
    }
    findings::not_taken_over(left_out).map_or(Ok(()), print::line)
}

fn tell_price(price: &Price) -> CliResult {
    print::line(format!(
        "Compared on {} of {} ({}):",
        counted(price.examples as u64, "example"),
        counted(price.tokens as u64, "token"),
        price.data
    ))?;
    let mut table = TextTable::new(["layer", "distance of its maps", "error of its output"]);
    for LayerPrice { layer, map_distance, output_error } in &price.layers {
        let distance = map_distance.map_or_else(|| "-".to_owned(), |distance| format!("{distance:.4}"));
        table.row([layer.to_string(), distance, percent(*output_error)]);
    }
    print::block(&table.to_plain())?;
    print::line("The output of the last layer is that after the norm at the end, where the model has one.")?;
    let (Some(before), Some(now)) = (price.loss_before, price.loss) else {
        return findings::without_loss(price).map_or(Ok(()), print::line);
    };
    print::line(format!("Loss {} nats, {} before", plain::number(now), plain::number(before)))
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}
