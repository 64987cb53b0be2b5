//! The table of heads of the draft: shown, and changed by hand.

use headroom_engine::{
    attention::{Cell, Draft, HeadAt, HeadPlan, ParameterMatch},
    config::{CustomReuse, NumberValue, Reuse, RunConfig, counted},
};

use crate::widgets::{HeadCell, HeadEdit, HeadGrid, HeadSpot};

/// More layers or heads than any config may have are not drawn.
const MOST_LAYERS: usize = 256;
const MOST_HEADS: usize = 1024;

/// A row of drafts a layer.
type Table = Vec<Vec<Draft>>;

/// The heads of a config, sound or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    /// What the map shows. Empty where the model has no size.
    pub grid: HeadGrid,
    /// A table of the user's own does not fit the model, or has heads that cannot be.
    pub is_misfit: bool,
}

impl Heads {
    /// The heads that a config writes down. Of numbers that are too large the map shows the largest that is allowed.
    pub fn of(config: &RunConfig) -> Self {
        let Some((layers, heads)) = size(config) else { return Self::default() };
        match plan(config, layers, heads) {
            Some(plan) => Self { grid: head_grid(&plan), is_misfit: false },
            None => match &config.attention.reuse {
                Reuse::Custom(custom) => Self { grid: judged(&read(&custom.rows, layers, heads)).0, is_misfit: true },
                _ => Self::default(),
            },
        }
    }
}

/// What a head map shows of a plan.
pub fn head_grid(plan: &HeadPlan) -> HeadGrid {
    let cell = |cell| match cell {
        Cell::Compute => HeadCell::Computes,
        Cell::Borrow { from, origin } => HeadCell::Borrows { from: spot(from), origin: spot(origin) },
        Cell::Skip => HeadCell::Skips,
    };
    HeadGrid::new(plan.heads(), plan.iter().map(|(_, c)| cell(c)).collect())
}

/// Layers, those added to match parameters included, and heads; none where the model cannot be drawn.
fn size(config: &RunConfig) -> Option<(usize, usize)> {
    let model = &config.model;
    if !(1..=MOST_LAYERS).contains(&model.layers) || !(1..=MOST_HEADS).contains(&model.heads) {
        return None;
    }
    let matched = ParameterMatch::of(config).ok().flatten();
    Some((matched.map_or(model.layers, |found| found.layers), model.heads))
}

/// The plan of the schedule, with its numbers inside of what the model allows.
fn plan(config: &RunConfig, layers: usize, heads: usize) -> Option<HeadPlan> {
    let mut attention = config.attention.clone();
    within(&mut attention.reuse, config.model.layers, heads);
    HeadPlan::derive(&attention, layers, heads).ok()
}

/// Lowers the numbers of a schedule to what the model allows.
fn within(reuse: &mut Reuse, layers: usize, heads: usize) {
    for mut number in reuse.numbers(layers, heads) {
        number.set(number.get().unwrap_or(0).min(number.most));
    }
}

/// A change by hand: the schedule becomes a table of the user's own. Returns what else had to change, in words.
pub fn edit(config: &mut RunConfig, edit: HeadEdit) -> Option<String> {
    let table = table(config)?;
    let (at, draft) = match edit {
        HeadEdit::Cycle(at) => (at, next(&table, at)?),
        HeadEdit::Borrow { at, from } => (at, Draft::Borrow { from: head_at(from) }),
    };
    change(config, table, at, draft)
}

/// The same for a head that is to compute, or to be off.
pub fn assign(config: &mut RunConfig, at: HeadSpot, computes: bool) -> Option<String> {
    let table = table(config)?;
    change(config, table, at, if computes { Draft::Compute } else { Draft::Skip })
}

fn change(config: &mut RunConfig, mut table: Table, at: HeadSpot, draft: Draft) -> Option<String> {
    let moved = set(&mut table, at, draft)?;
    let mut notes = Vec::new();
    if moved > 0 {
        let words = counted(moved, "head");
        notes.push(format!("{words} borrowed from it: now from its own lender, or computing."));
    }
    notes.extend(write(config, &table));
    Some(notes.join(" ")).filter(|notes| !notes.is_empty())
}

/// Cuts and fills a table of the user's own to the model: new heads compute, and so do those whose lender is gone.
pub fn fit(config: &mut RunConfig) {
    if let Some(table) = table(config) {
        drop(write(config, &table));
    }
}

/// The rows of the table as it stands, with invalid cells repaired.
pub fn rows(config: &RunConfig) -> Option<Vec<String>> {
    Some(HeadPlan::from_drafts(&table(config)?).ok()?.to_custom().rows)
}

/// The table as it stands, with invalid cells repaired.
fn table(config: &RunConfig) -> Option<Table> {
    let (layers, heads) = size(config)?;
    if let Some(plan) = plan(config, layers, heads) {
        return Some(plan.into());
    }
    match &config.attention.reuse {
        Reuse::Custom(custom) => Some(judged(&read(&custom.rows, layers, heads)).1),
        _ => None,
    }
}

/// Writes a sound table down. Layers that were added to match parameters become layers of the model.
fn write(config: &mut RunConfig, table: &[Vec<Draft>]) -> Option<String> {
    let plan = HeadPlan::from_drafts(table).ok()?;
    config.attention.reuse = Reuse::Custom(plan.to_custom());
    config.attention.match_parameters.take()?;
    let added = plan.layers().saturating_sub(config.model.layers);
    config.model.layers = plan.layers();
    Some(match added {
        0 => "Matching of parameters is off: a table has as many layers as it has rows.".to_owned(),
        _ => format!(
            "Matching of parameters is off: a table has as many layers as it has rows, now {} of the model's own.",
            plan.layers()
        ),
    })
}

/// What follows on a click: computes, borrows from the layer before, is off.
fn next(table: &Table, at: HeadSpot) -> Option<Draft> {
    Some(match get(table, at)? {
        Draft::Compute => usual_lender(table, at).map_or(Draft::Skip, |from| Draft::Borrow { from }),
        Draft::Borrow { .. } => Draft::Skip,
        Draft::Skip => Draft::Compute,
    })
}

/// The same head of the layer before; where that has no map, the nearest one that has.
fn usual_lender(table: &Table, at: HeadSpot) -> Option<HeadAt> {
    (0..at.layer).rev().find_map(|layer| {
        let row = table.get(layer)?;
        let has_map = |head: &usize| !matches!(row.get(*head), Some(Draft::Skip) | None);
        let nearest = (0..row.len()).filter(has_map).min_by_key(|head| head.abs_diff(at.head))?;
        Some(HeadAt::new(layer, nearest))
    })
}

/// The lender that a head has when somebody wants it to borrow.
pub fn first_lender(config: &RunConfig, at: HeadSpot) -> Option<HeadSpot> {
    usual_lender(&table(config)?, at).map(spot)
}

/// Changes a head. The borrowers of a head that goes turn to its own lender, or compute. Returns how many did; none if
/// the head is outside the table.
fn set(table: &mut Table, at: HeadSpot, draft: Draft) -> Option<usize> {
    let before = get(table, at)?;
    *table.get_mut(at.layer)?.get_mut(at.head)? = draft;
    if draft != Draft::Skip {
        return Some(0);
    }
    let instead = match before {
        Draft::Borrow { from } => Draft::Borrow { from },
        Draft::Compute | Draft::Skip => Draft::Compute,
    };
    let gone = Draft::Borrow { from: head_at(at) };
    let mut moved = 0;
    for cell in table.iter_mut().flatten().filter(|cell| **cell == gone) {
        *cell = instead;
        moved += 1;
    }
    Some(moved)
}

fn get(table: &[Vec<Draft>], at: HeadSpot) -> Option<Draft> {
    table.get(at.layer)?.get(at.head).copied()
}

fn spot(at: HeadAt) -> HeadSpot {
    HeadSpot::new(at.layer, at.head)
}

fn head_at(at: HeadSpot) -> HeadAt {
    HeadAt::new(at.layer, at.head)
}

/// Reads rows as far as they can be, cut and filled to the model's size.
fn read(rows: &[String], layers: usize, heads: usize) -> Vec<Vec<Result<Draft, String>>> {
    let cell = |text: Option<&str>| match text {
        None => Err("the table has no place for it".to_owned()),
        Some("c") => Ok(Draft::Compute),
        Some("-") => Ok(Draft::Skip),
        Some(text) => {
            let from = text
                .split_once('.')
                .and_then(|(layer, head)| Some(HeadAt::new(layer.parse().ok()?, head.parse().ok()?)));
            from.map(|from| Draft::Borrow { from }).ok_or_else(|| {
                let short: String = text.chars().take(12).collect();
                format!("\u{201C}{short}\u{201D} is not known; write c, 0.1 or -")
            })
        }
    };
    let row = |layer: usize| {
        let mut words = rows.get(layer).map(|row| row.split_whitespace()).into_iter().flatten();
        (0..heads).map(|_| cell(words.next())).collect()
    };
    (0..layers).map(row).collect()
}

/// What can be shown of a table, with the reason at each head that cannot be; and the table with these computing.
fn judged(read: &[Vec<Result<Draft, String>>]) -> (HeadGrid, Table) {
    let heads = read.first().map_or(0, Vec::len);
    let mut mended: Table = Vec::with_capacity(read.len());
    let mut wrong = Vec::new();
    let mut cells: Vec<Vec<HeadCell>> = Vec::with_capacity(read.len());
    for (layer, row) in read.iter().enumerate() {
        let mut cell_row = Vec::with_capacity(heads);
        let mut mended_row = Vec::with_capacity(heads);
        for (head, cell) in row.iter().enumerate() {
            let found = match cell {
                Err(why) => Err(why.clone()),
                Ok(Draft::Compute) => Ok((HeadCell::Computes, Draft::Compute)),
                Ok(Draft::Skip) => Ok((HeadCell::Skips, Draft::Skip)),
                Ok(Draft::Borrow { from }) => borrowed(&cells, heads, layer, *from),
            };
            let (cell, draft) = found.unwrap_or_else(|why| {
                wrong.push((HeadSpot::new(layer, head), why));
                // It computes in the repaired table: others may borrow from it.
                (HeadCell::Computes, Draft::Compute)
            });
            cell_row.push(cell);
            mended_row.push(draft);
        }
        cells.push(cell_row);
        mended.push(mended_row);
    }
    let mut grid = HeadGrid::new(heads, cells.into_iter().flatten().collect());
    for (at, why) in wrong {
        grid.mark(at, why);
    }
    (grid, mended)
}

/// A head that borrows, judged among the layers so far.
fn borrowed(cells: &[Vec<HeadCell>], heads: usize, layer: usize, from: HeadAt) -> Result<(HeadCell, Draft), String> {
    if from.head >= heads {
        return Err(format!(
            "it borrows from {from}, but there {} {}, counted from 0",
            if heads == 1 { "is" } else { "are" },
            counted(heads, "head")
        ));
    }
    if from.layer >= layer {
        return Err(format!("it borrows from {from}; a lender stands in an earlier layer"));
    }
    let lender = spot(from);
    let origin = match cells.get(from.layer).and_then(|row| row.get(from.head)) {
        Some(HeadCell::Computes) => lender,
        Some(HeadCell::Borrows { origin, .. }) => *origin,
        Some(HeadCell::Alike { .. } | HeadCell::Alone | HeadCell::Skips | HeadCell::Wrong) | None => {
            return Err(format!("it borrows from {from}, which is off"));
        }
    };
    Ok((HeadCell::Borrows { from: lender, origin }, Draft::Borrow { from }))
}

/// A schedule of this kind with numbers that fit the model: about half of what it allows.
pub fn usual_reuse(kind: &str, config: &RunConfig) -> Reuse {
    let mut found = Reuse::examples(1, 1).into_iter().find(|example| example.kind() == kind).unwrap_or_default();
    if let Reuse::Custom(_) = found {
        return Reuse::Custom(CustomReuse { rows: rows(config).unwrap_or_default() });
    }
    for number in found.numbers(config.model.layers, config.model.heads) {
        match number.value {
            NumberValue::Always(value) => *value = number.most.div_ceil(2),
            NumberValue::Optional(value) => *value = None,
        }
    }
    found
}

#[cfg(test)]
mod tests;
