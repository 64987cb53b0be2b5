//! `headroom maps`: the attention maps of heads on one text as files, whole or put together again from some of their pairs.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use headroom_engine::{
    analysis::reconstruction::RebuiltMap,
    attention::HeadAt,
    config::{DataConfig, counted},
    protocol::{Command, Event, MapText, Rebuild, Target, commands, events},
};
use serde_json::json;

use super::{
    analyses, config_source,
    error::{CliError, CliResult, joined},
    eval,
    files::{self, Files},
    open, print,
    run_args::MapsArgs,
    session::{Heard, Session},
    signals,
    target::{Named, knows_its_text, named},
};
use crate::{
    export::MapFigure,
    panels::{analysis::MapStyle, heads::head_figure, reconstruct::rebuilt_figures},
    plot::HeatData,
};

/// The one view that this command opens.
const VIEW: u64 = 1;

/// What was opened.
struct Opened {
    target: String,
    step: Option<u64>,
    tokens: Vec<String>,
    layers: usize,
    heads: usize,
}

/// Writes the maps.
pub fn run(store: Option<&Path>, args: &MapsArgs) -> CliResult {
    files::refuse_occupied(&args.out)?;
    let (target, trained_on) = match named(store, &args.target)? {
        Named::Directory(path) => (Target::Directory(path), None),
        Named::Run(_, record) => {
            let trained_on = config_source::config_of(&record)?.data;
            (Target::Run { run: record.summary.id, which: args.which }, Some(trained_on))
        }
    };
    let is_directory = matches!(target, Target::Directory(_));
    let named = |path: &PathBuf| eval::named_text(path, args.field.as_ref(), args.column.as_ref(), None, trained_on);
    let mut data = args.data.as_ref().map(named).transpose()?.map(Box::new);
    let rebuild = match (&args.rebuild, args.pairs) {
        (Some(query), Some(k)) => {
            let reading = open::reading_existing(store)?;
            let known = analyses::find(&reading.analyses()?, query)?;
            if !known.reconstructs {
                let message = format!("The analysis {} did not ask for reconstruction. Choose another.", known.id);
                return Err(CliError::at("--rebuild", message));
            }
            // Its pairs restore what it read.
            data = data.or(reading.analysis(&known.id)?.text);
            Some((known, k))
        }
        _ => None,
    };
    let lacks_text = matches!(&target, Target::Directory(path) if !knows_its_text(path));
    if lacks_text && data.is_none() && args.text.is_none() {
        let message = "A model directory from elsewhere holds no text. Write some with --text, as in `headroom maps DIR \
                       --text \"the old river\" --out maps`, or name a file with --data.";
        return Err(CliError::at("--text", message));
    }
    let number = args.example.unwrap_or(1).saturating_sub(1) as usize;
    let image = args.image.map(|image| MapText::Image(image.saturating_sub(1) as usize));
    let text = match (&args.text, &rebuild) {
        (Some(text), _) => MapText::Written(text.clone()),
        // As long as the texts that pairs were chosen from, and none of them.
        (None, Some((known, _))) => {
            MapText::HeldOut { number, tokens: known.tokens as usize, examples: known.examples as usize }
        }
        (None, None) => image.unwrap_or(MapText::Example(number)),
    };
    let rebuild = rebuild.map(|(known, k)| (known.id, k));
    let session = Session::open(store, !is_directory || rebuild.is_some())?;
    signals::listen();
    let (opened, written, empty) = draw(&session, args, (target, data), text, rebuild)?;
    session.end();
    for head in &empty {
        print::aside(format!("L{}H{} has no map: it is off.", head.layer, head.head));
    }
    if args.json {
        return print::json_answer(&json!({
            "event": "maps", "target": opened.target, "step": opened.step, "tokens": opened.tokens,
            "layers": opened.layers, "heads": opened.heads, "out": args.out, "files": written,
        }));
    }
    print::line(format!("{}, {}", opened.target, counted(opened.tokens.len(), "token")))?;
    print::line(format!("Wrote {} to {}", counted(written, "file"), args.out.display()))
}

fn draw(
    session: &Session,
    args: &MapsArgs,
    (target, data): (Target, Option<Box<DataConfig>>),
    text: MapText,
    rebuild: Option<(headroom_engine::store::AnalysisId, usize)>,
) -> CliResult<(Opened, usize, Vec<HeadAt>)> {
    let opened = ask(session, commands::LoadMaps { view: VIEW, target, data, text }, |event| match event {
        Event::Maps(events::Maps { target, step, tokens, thumbnails, .. }) => {
            let (layers, heads) = (thumbnails.layers, thumbnails.heads);
            Heard::Answer(Opened { target, step, tokens, layers, heads })
        }
        other => Heard::Usual(other),
    })?;
    for (field, wanted, most, what) in
        [("--layer", args.layer, opened.layers, "layer"), ("--head", args.head, opened.heads, "head")]
    {
        if let Some(wanted) = wanted.filter(|wanted| *wanted >= most) {
            let last = most.saturating_sub(1);
            let message = format!("There is no {what} {wanted}: the model has {what}s 0 to {last}.");
            return Err(CliError::at(field, message));
        }
    }
    let layers = (0..opened.layers).filter(|layer| args.layer.is_none_or(|wanted| wanted == *layer));
    let wanted: Vec<HeadAt> = layers
        .flat_map(|layer| (0..opened.heads).map(move |head| HeadAt::new(layer, head)))
        .filter(|at| args.head.is_none_or(|wanted| wanted == at.head))
        .collect();
    let mut files = Files::create(&args.out)?;
    let mut empty = Vec::new();
    for at in wanted {
        if signals::is_stop_wanted() {
            return Err(CliError::Failed(format!("Stopped; {} are there.", counted(files.count(), "file"))));
        }
        let figures = match &rebuild {
            None => whole(session, &opened, at, args.hide_special)?,
            Some((analysis, k)) => {
                let (layer, head) = (at.layer, at.head);
                let rebuild = Rebuild { analysis: analysis.clone(), scope: 0, layer, head, k: *k };
                rebuilt(session, &opened, at, rebuild)?
            }
        };
        if figures.is_empty() {
            empty.push(at);
        }
        for (name, figure) in figures {
            files.put_map(&name, &figure)?;
        }
    }
    Ok((opened, files.count(), empty))
}

/// The map of a head; nothing where it has none.
fn whole(
    session: &Session,
    opened: &Opened,
    at: HeadAt,
    hides_special: bool,
) -> CliResult<BTreeMap<String, MapFigure>> {
    let HeadAt { layer, head, .. } = at;
    let values = ask(session, commands::LoadMap { view: VIEW, layer, head }, |event| match event {
        Event::Map(events::Map { values, .. }) => Heard::Answer(values),
        other => Heard::Usual(other),
    })?;
    if values.is_empty() {
        return Ok(BTreeMap::new());
    }
    let side = opened.tokens.len();
    let map = HeatData::new(side, side, values);
    let figure = head_figure(at, &map, (&opened.target, &opened.tokens), hides_special, MapStyle::default());
    Ok(BTreeMap::from([(format!("map-L{layer}H{head}"), figure)]))
}

/// A map, the same put together again, and what is between them.
fn rebuilt(session: &Session, opened: &Opened, at: HeadAt, wanted: Rebuild) -> CliResult<BTreeMap<String, MapFigure>> {
    let command = commands::RebuildMap { view: VIEW, rebuild: wanted };
    let found: Result<Box<RebuiltMap>, String> = ask(session, command, |event| match event {
        Event::Rebuilt(events::Rebuilt { rebuilt: Some(found), .. }) => Heard::Answer(Ok(found)),
        Event::Rebuilt(events::Rebuilt { why, .. }) => Heard::Answer(Err(why.unwrap_or_default())),
        other => Heard::Usual(other),
    })?;
    let found = found.map_err(|why| CliError::at("--rebuild", why))?;
    Ok(rebuilt_figures(at, &found, (&opened.target, &opened.tokens)).into_iter().collect())
}

/// Asks for something of a view; a failure is the run's.
fn ask<T>(session: &Session, command: impl Into<Command>, take: impl Fn(Event) -> Heard<T>) -> CliResult<T> {
    session.ask(command, "the maps came", |event| match take(event) {
        Heard::Usual(Event::Failed(events::Failed { why, what_to_do, .. })) => {
            Err(CliError::at("run", joined(&why, &what_to_do)))
        }
        heard => Ok(heard),
    })
}
