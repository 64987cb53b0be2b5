//! The tables of heads that the schedules of `reuse` write down.

use super::{Draft, HeadAt, rows};
use crate::config::{
    AllEndReuse, AlternateReuse, CustomReuse, FirstReuse, FullReuse, PartialReuse, Problem, Reuse, SkipReuse,
};

/// The table of a schedule for `layers` layers of `heads` heads, a row a layer.
///
/// Algorithm 1 (Reuse Transformers): a layer keeps the list of the `H` maps that it uses, its own ones first. In a
/// borrowing layer the heads `0..H-K` compute, and head `H-K+j` takes map `j` of the list of the layer before: what
/// its head `j` used. Layers are named from 0 below, from 1 in the config and in the paper.
///
/// | schedule | borrowing layers |
/// |---|---|
/// | `first` | `1..=P` |
/// | `partial` | `1..=L-2` |
/// | `full` | `1..=P`, K = H |
/// | `alternate` | `1, 3, 5, …`, the first P of them |
/// | `all_end` | `L-1-P..=L-2` |
///
/// # Errors
/// If a number is outside of what the model allows, or a custom table does not fit it.
pub(super) fn drafts(reuse: &Reuse, layers: usize, heads: usize) -> Result<Vec<Vec<Draft>>, Vec<Problem>> {
    let problems = reuse.problems(layers, heads);
    if !problems.is_empty() {
        return Err(problems);
    }
    let up_to = |last: usize| (1..=last).collect::<Vec<_>>();
    Ok(match reuse {
        Reuse::None(_) => table(layers, heads, &[], 0),
        Reuse::First(FirstReuse { layers: p, heads: k }) => table(layers, heads, &up_to(*p), *k),
        Reuse::Partial(PartialReuse { heads: k }) => table(layers, heads, &up_to(layers.saturating_sub(2)), *k),
        Reuse::Full(FullReuse { layers: p }) => table(layers, heads, &up_to(*p), heads),
        Reuse::Alternate(AlternateReuse { layers: p, heads: k }) => {
            let borrowing: Vec<usize> = (1..layers).step_by(2).take(p.unwrap_or(layers)).collect();
            table(layers, heads, &borrowing, k.unwrap_or(heads))
        }
        Reuse::AllEnd(AllEndReuse { layers: p, heads: k }) => {
            let last = layers.saturating_sub(1);
            let borrowing: Vec<usize> = (last.saturating_sub(*p)..last).collect();
            table(layers, heads, &borrowing, k.unwrap_or(heads))
        }
        Reuse::Skip(SkipReuse { layers: p }) => (0..layers)
            .map(|layer| vec![if (1..=*p).contains(&layer) { Draft::Skip } else { Draft::Compute }; heads])
            .collect(),
        Reuse::Custom(CustomReuse { rows }) => rows::parse(rows, layers, heads)?,
    })
}

/// In the layers `borrowing`, the last `reused` heads borrow from the first ones of the layer before.
fn table(layers: usize, heads: usize, borrowing: &[usize], reused: usize) -> Vec<Vec<Draft>> {
    let kept = heads.saturating_sub(reused);
    let cell = |layer: usize, head: usize| match layer.checked_sub(1) {
        Some(before) if head >= kept && borrowing.contains(&layer) => {
            Draft::Borrow { from: HeadAt::new(before, head - kept) }
        }
        _ => Draft::Compute,
    };
    (0..layers).map(|layer| (0..heads).map(|head| cell(layer, head)).collect()).collect()
}
