use candle_core::{Result, bail};
use rayon::prelude::*;

use super::{
    map::{StepMap, StepNorm, WORTH_THREADS},
    reach::{Reach, Reached, Reaches, Side, for_each_chunk},
    shared::{Shared, SharedParts},
    store::{Past, Run, SharedRows, WrittenRows},
};
use crate::{
    Affine, HeadMap, Norm,
    kernels::{Places, Rows, add_assign, combine, dots, softmax_row},
    profile::{self, Work, span},
    threaded::Buffer,
};

/// Rows of queries, of one head or several, that share one pass over what was kept.
const ROWS_AT_ONCE: usize = 16;

/// An attention of a layer as a step of decoding applies it.
#[derive(Clone, Debug)]
pub struct StepAttentionParts {
    /// Maps of the new tokens' stream, whose outputs stand side by side.
    pub maps: Vec<Affine>,
    /// How queries of the heads that compute are read from these.
    pub queries: Vec<Reach>,
    /// Which of these are kept of every token, first column and count; empty where nothing is.
    pub kept: Vec<(usize, usize)>,
    /// How heads read what was kept of tokens that rows have written; none in cross-attention.
    pub written: Option<Reaches>,
    /// What is kept of all that rows of a source share: a prompt, or what an encoder read.
    pub shared: SharedParts,
    /// Where the maps of the heads that attend come from.
    pub heads: Vec<HeadMap>,
    /// Size of a head.
    pub head_size: usize,
    /// From the mixed heads back to the stream.
    pub output: Affine,
    /// The norm of the sub-layer.
    pub norm: Norm,
    /// Whether a later layer borrows its maps.
    pub lends: bool,
}

/// The same with everything in place.
#[derive(Clone, Debug)]
pub(super) struct StepAttention {
    maps: Vec<StepMap>,
    base: usize,
    queries: Reached,
    kept: Vec<(usize, usize)>,
    written: Option<Side>,
    shared: Shared,
    heads: Vec<HeadMap>,
    computed: usize,
    head_size: usize,
    output: StepMap,
    pub norm: StepNorm,
    lends: bool,
}

/// What a step attends to.
#[derive(Clone, Copy)]
pub(super) struct Attended<'a> {
    pub runs: &'a [Run],
    pub past: &'a Past,
    pub shared: Option<&'a SharedRows>,
}

/// The maps of the heads that compute in one layer: for each run of rows `[heads, rows, keys]`.
#[derive(Debug)]
pub(super) struct StepMaps {
    values: Buffer<f32>,
    heads: usize,
}

/// Where a run's maps are.
#[derive(Clone, Copy)]
struct Span {
    run: Run,
    /// Rows before it, times their keys.
    before: usize,
    /// Keys that all rows of the source share, and those of each row's own.
    keys: [usize; 2],
}

impl Span {
    fn all_keys(&self) -> usize {
        self.keys[0] + self.keys[1]
    }

    /// Numbers of one head's maps.
    fn of_head(&self) -> usize {
        self.run.rows * self.all_keys()
    }
}

impl StepAttention {
    /// For steps of as many rows.
    pub fn new(parts: &StepAttentionParts, rows: usize) -> Result<Self> {
        let map = |map: &Affine| StepMap::new(map)?.for_rows(rows);
        let maps = parts.maps.iter().map(map).collect::<Result<Vec<_>>>()?;
        let base: usize = maps.iter().map(StepMap::outputs).sum();
        let side = |side: &Option<Reaches>| side.as_ref().map(Side::new).transpose();
        let computed = parts.heads.iter().filter(|map| **map == HeadMap::Computed).count();
        let queries = Reached::new(&parts.queries, false)?;
        if queries.heads() != computed || parts.kept.iter().any(|(first, count)| first + count > base) {
            bail!("An attention layer of {computed} heads that compute has {} queries.", queries.heads())
        }
        let attention = Self {
            base,
            queries,
            kept: parts.kept.clone(),
            written: side(&parts.written)?,
            shared: Shared::new(&parts.shared, base, &parts.kept)?,
            heads: parts.heads.clone(),
            computed,
            head_size: parts.head_size,
            output: map(&parts.output)?,
            norm: StepNorm::new(&parts.norm)?,
            lends: parts.lends,
            maps,
        };
        for side in attention.written.iter().chain([attention.shared.side()]) {
            let is_whole = side.keys.heads() == computed && side.values.heads() == attention.heads.len();
            if !is_whole || (computed > 0 && side.keys.size != attention.queries.size) {
                bail!("The heads of an attention layer read other keys or values than they have.")
            }
        }
        Ok(attention)
    }

    /// Whether some of its heads use maps that other layers compute.
    pub fn borrows(&self) -> bool {
        self.heads.iter().any(|map| *map != HeadMap::Computed)
    }

    /// What is kept of what all rows of a source share.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Numbers that are kept of every token.
    pub fn kept_width(&self) -> usize {
        self.kept.iter().map(|(_, count)| count).sum()
    }

    /// What the rows of `x` `[rows, d]` attend to, `[rows, d]` too, which is not added to the stream yet. `written` gets what is
    /// kept of them; `places` is the place of the first. `lent` are the maps of the layers before.
    pub fn apply(
        &self,
        x: &[f32],
        out: &mut [f32],
        attended: Attended<'_>,
        written: Option<(&mut WrittenRows, u32)>,
        lent: &[Option<StepMaps>],
    ) -> Result<Option<StepMaps>> {
        if let Some(store) = attended.shared {
            let width = self.shared.width();
            if width != store.width {
                bail!("Heads that read {width} numbers of a position were given {}.", store.width)
            }
            if let Some(run) = attended.runs.iter().find(|run| run.source >= store.spans.len()) {
                bail!("Source {} of {} is not there.", run.source, store.spans.len())
            }
        }
        let rows = attended.past.rows();
        let mut base = Buffer::<f32>::take(rows * self.base);
        let maps_work = Work::product::<f32>(rows, x.len() / rows.max(1), self.base);
        // Cross-attention has made keys and values of its source before.
        let maps_name = if self.kept.is_empty() { "attention: queries" } else { "attention: projections" };
        span(maps_name, maps_work, || {
            let mut first = 0;
            for map in &self.maps {
                map.apply(x, rows, &mut base, first, self.base)?;
                first += map.outputs();
            }
            Ok::<_, candle_core::Error>(())
        })?;
        let written = match written {
            Some((written, place)) => {
                for row in 0..rows {
                    let kept = written.place(place as usize + row);
                    let mut at = 0;
                    for (first, count) in &self.kept {
                        kept[at..at + count].copy_from_slice(&base[row * self.base + first..][..*count]);
                        at += count;
                    }
                }
                Some(&*written)
            }
            None => None,
        };
        let spans = self.spans(attended);
        let q = span("attention: queries", self.queries.reading(rows), || {
            self.queries.read(&base, self.base, rows) // [c, rows, w]
        });
        let maps = self.scores(&q, rows, &spans, attended, written);
        let [_, mixing] = self.attending(&spans);
        let mixed = span("attention: scores, softmax, mix", mixing, || {
            self.mix(&maps, &spans, rows, attended, written, lent) // [rows, h d_k]
        })?;
        let output_work = Work::product::<f32>(rows, mixed.len() / rows.max(1), self.output.outputs());
        span("attention: output", output_work, || self.output.apply(&mixed, rows, out, 0, self.output.outputs()))?;
        Ok(self.lends.then_some(maps))
    }

    fn spans(&self, Attended { runs, past, shared }: Attended<'_>) -> Vec<Span> {
        let mut before = 0;
        let span = |run: &Run| {
            let of_source = shared.map_or(0, |shared| shared.span(run.source).1);
            let own = if self.written.is_some() { past.written(run.first) } else { 0 };
            let span = Span { run: *run, before, keys: [of_source, own] };
            before += span.of_head();
            span
        };
        runs.iter().map(span).collect()
    }

    /// What scores and what the mix of what was kept must do, for profiles: each reads the columns that it needs once.
    fn attending(&self, spans: &[Span]) -> [Work; 2] {
        let mut work = [Work::default(); 2];
        if !profile::is_on() {
            return work;
        }
        for (number, side) in [Some(self.shared.side()), self.written.as_ref()].into_iter().enumerate() {
            let Some(side) = side else { continue };
            for (work, reached) in work.iter_mut().zip([&side.keys, &side.values]) {
                for span in spans {
                    let (rows, positions) = (span.run.rows, if number == 0 { span.keys[0] } else { span.keys[1] });
                    // Each row has a past of its own.
                    let copies = if number == 0 { 1 } else { rows };
                    let maps = reached.heads() * rows * positions;
                    *work = *work
                        + Work { flops: 2 * (maps * reached.count) as u64, bytes: 0 }
                        + Work::pass::<f32>(maps + copies * positions * reached.columns());
                }
            }
            let [_, mixing] = &mut work;
            *mixing = *mixing + side.values.mapping(spans.iter().map(|span| span.run.rows).sum());
        }
        work
    }

    /// Pieces of a buffer with `heads` times [`Span::of_head`] numbers for each span: one for some heads of a run each.
    fn pieces<'a>(
        spans: &[Span],
        heads: usize,
        numbers: impl Fn(&Span) -> usize,
        mut buffer: &'a mut [f32],
    ) -> Vec<(Span, usize, usize, &'a mut [f32])> {
        let mut pieces = Vec::new();
        for span in spans {
            let at_once = if spans.len() >= 4 { heads } else { ROWS_AT_ONCE.div_ceil(span.run.rows.max(1)) };
            let mut head = 0;
            while head < heads {
                let count = at_once.clamp(1, heads - head);
                let piece;
                (piece, buffer) = buffer.split_at_mut(count * numbers(span));
                pieces.push((*span, head, head + count, piece));
                head += count;
            }
        }
        pieces
    }

    fn each_piece<P: Send>(pieces: Vec<P>, work: usize, each: impl Fn(P) + Send + Sync) {
        if work < WORTH_THREADS || pieces.len() < 2 {
            pieces.into_iter().for_each(each);
        } else {
            pieces.into_par_iter().with_max_len(1).for_each(each);
        }
    }

    /// Maps of the heads that compute, from queries `[c, rows, w]`.
    fn scores(
        &self,
        q: &[f32],
        rows: usize,
        spans: &[Span],
        attended: Attended<'_>,
        written: Option<&WrittenRows>,
    ) -> StepMaps {
        let heads = self.computed;
        let mut values = Buffer::take(heads * spans.iter().map(Span::of_head).sum::<usize>());
        let scale = 1.0 / (self.head_size as f32).sqrt();
        let shared = attended.shared.map(|store| (self.shared.side(), store));
        let written = self.written.as_ref().zip(written);
        let sides = [shared.map(|(side, _)| side), written.map(|(side, _)| side)];
        let expansion = sides.iter().flatten().fold(Work::default(), |work, side| work + side.keys.mapping(rows));
        let [of_shared, of_written] = span("attention: queries", expansion, || {
            sides.map(|side| side.filter(|_| heads > 0).map(|side| side.expand(q, rows)))
        });
        let width = sides.iter().flatten().map(|side| side.keys.count).max().unwrap_or(0);
        let work = values.len() * width;
        let [scoring, _] = self.attending(spans);
        let each = |(span, from, to, out): (Span, usize, usize, &mut [f32])| {
            let (run, keys) = (span.run, span.all_keys());
            if let (Some((side, store)), Some((expanded, biases))) = (shared, &of_shared) {
                let q = expanded.as_deref().unwrap_or(q);
                let count = side.keys.count;
                let mut head = from;
                while head < to {
                    let column = side.keys.firsts[head];
                    let end = (head..to).take_while(|&h| side.keys.firsts[h] == column).count() + head;
                    // Heads that read the same columns, and all rows of the run: one pass over them.
                    let asking: Vec<u32> = (head..end)
                        .flat_map(|h| (run.first..run.first + run.rows).map(move |row| (h * rows + row) as u32))
                        .collect();
                    store.keys(run.source, column).scores(
                        Rows { data: q, places: Places::Listed { rows: &asking, stride: count, first: 0 } },
                        count,
                        out,
                        Places::Every { first: (head - from) * span.of_head(), stride: keys, count: asking.len() },
                    );
                    head = end;
                }
                for h in from..to {
                    for row in 0..run.rows {
                        let bias = biases[h * rows + run.first + row];
                        let out = &mut out[(h - from) * span.of_head() + row * keys..][..span.keys[0]];
                        match side.content_column(h).map(|column| store.rows(run.source, column)) {
                            Some(content) => {
                                for (at, score) in out.iter_mut().enumerate() {
                                    *score += bias + content.row(at, 1)[0];
                                }
                            }
                            None => out.iter_mut().for_each(|score| *score += bias),
                        }
                    }
                }
            }
            if let (Some((side, store)), Some((expanded, biases))) = (written, &of_written) {
                let q = expanded.as_deref().unwrap_or(q);
                let count = side.keys.count;
                for at in 0..run.rows {
                    let row = run.first + at;
                    let places = attended.past.places(row);
                    let mut head = from;
                    while head < to {
                        let column = side.keys.firsts[head];
                        let end = (head..to).take_while(|&h| side.keys.firsts[h] == column).count() + head;
                        dots(
                            Rows::every(q, (head * rows + row) * count, rows * count, end - head),
                            Rows {
                                data: &store.data,
                                places: Places::Listed { rows: places, stride: side.width, first: column },
                            },
                            count,
                            out,
                            Places::Every {
                                first: (head - from) * span.of_head() + at * keys + span.keys[0],
                                stride: span.of_head(),
                                count: end - head,
                            },
                        );
                        head = end;
                    }
                    for h in from..to {
                        let bias = biases[h * rows + row];
                        let out = &mut out[(h - from) * span.of_head() + at * keys + span.keys[0]..][..span.keys[1]];
                        let column = side.content_column(h);
                        for (score, place) in out.iter_mut().zip(places) {
                            *score += bias + column.map_or(0.0, |c| store.data[*place as usize * side.width + c]);
                        }
                    }
                }
            }
            for row in out.chunks_exact_mut(keys.max(1)) {
                softmax_row(row, scale, keys, None);
            }
        };
        span("attention: scores, softmax, mix", scoring, || {
            Self::each_piece(Self::pieces(spans, heads, Span::of_head, &mut values), work, each);
        });
        StepMaps { values, heads }
    }

    /// What the heads that attend mix, side by side for each row. `[rows, h d_k]`
    fn mix(
        &self,
        own: &StepMaps,
        spans: &[Span],
        rows: usize,
        attended: Attended<'_>,
        written: Option<&WrittenRows>,
        lent: &[Option<StepMaps>],
    ) -> Result<Buffer<f32>> {
        let (heads, size) = (self.heads.len(), self.head_size);
        // Where the maps of each head are, and its number among those that compute there.
        let mut computed = 0;
        let mut sources = Vec::with_capacity(heads);
        for map in &self.heads {
            sources.push(match *map {
                HeadMap::Computed => {
                    computed += 1;
                    (own, usize::MAX, computed - 1)
                }
                HeadMap::Borrowed { layer, computed } => match lent.get(layer) {
                    Some(Some(maps)) if computed < maps.heads => (maps, layer, computed),
                    _ => bail!("Layer {layer} has no maps that could be borrowed."),
                },
            });
        }
        let mut mixed = Buffer::<f32>::take(heads * rows * size);
        // Of what is kept otherwise than heads read it: what rows of it mix to, which then goes through the head's map.
        let shared = attended.shared.map(|store| (self.shared.side(), store));
        let written = self.written.as_ref().zip(written);
        let sides = [shared.map(|(side, _)| side), written.map(|(side, _)| side)];
        let counts = sides.map(|side| side.map_or(0, |side| if side.values.is_same() { 0 } else { side.values.count }));
        let mut ensembles = counts.map(|count| Buffer::<f32>::take(heads * rows * count));
        let keys: usize = spans.iter().map(Span::of_head).sum();
        let work = heads * keys * sides.iter().flatten().map(|side| side.values.count).max().unwrap_or(0);
        let pieces = |width: usize, buffer| Self::pieces(spans, heads, move |span| span.run.rows * width, buffer);
        let [of_shared, of_written] = &mut ensembles;
        let of_sides = pieces(counts[0], of_shared).into_iter().zip(pieces(counts[1], of_written));
        let of_sides = of_sides.map(|(of_shared, of_written)| [of_shared.3, of_written.3]);
        let pieces: Vec<_> = pieces(size, &mut mixed).into_iter().zip(of_sides).collect();
        Self::each_piece(pieces, work, |((span, from, to, out), [of_shared, of_written])| {
            let (run, keys) = (span.run, span.all_keys());
            out.fill(0.0);
            // Rows of the maps of heads `head..end`, all in one layer's buffer.
            let places = |head: usize, end: usize, row: std::ops::Range<usize>| -> Vec<u32> {
                (head..end)
                    .flat_map(|h| row.clone().map(move |row| (h, row)))
                    .map(|(h, row)| (sources[h].2 * run.rows + row) as u32)
                    .collect()
            };
            let together = |reached: &Reached, head: usize| {
                let same = |h: &usize| sources[*h].1 == sources[head].1 && reached.firsts[*h] == reached.firsts[head];
                (head..to).take_while(same).count() + head
            };
            let start_of = |head: usize| span.before * sources[head].0.heads;
            if let Some((side, store)) = shared {
                let reached = &side.values;
                let mut head = from;
                while head < to {
                    let end = together(reached, head);
                    let weights = places(head, end, 0..run.rows);
                    mix_rows(
                        reached,
                        (head, end),
                        Rows {
                            data: &sources[head].0.values,
                            places: Places::Listed { rows: &weights, stride: keys, first: start_of(head) },
                        },
                        store.rows(run.source, reached.firsts[head]),
                        [&mut *out, &mut *of_shared],
                        ((head - from) * run.rows, 1, weights.len()),
                    );
                    head = end;
                }
            }
            if let Some((side, store)) = written {
                let reached = &side.values;
                for row in 0..run.rows {
                    let past = attended.past.places(run.first + row);
                    let mut head = from;
                    while head < to {
                        let end = together(reached, head);
                        let weights = places(head, end, row..row + 1);
                        mix_rows(
                            reached,
                            (head, end),
                            Rows {
                                data: &sources[head].0.values,
                                places: Places::Listed {
                                    rows: &weights,
                                    stride: keys,
                                    first: start_of(head) + span.keys[0],
                                },
                            },
                            Rows {
                                data: &store.data,
                                places: Places::Listed { rows: past, stride: side.width, first: reached.firsts[head] },
                            },
                            [&mut *out, &mut *of_written],
                            ((head - from) * run.rows + row, run.rows, weights.len()),
                        );
                        head = end;
                    }
                }
            }
        });
        let through: Vec<_> = sides
            .into_iter()
            .zip(&ensembles)
            .filter_map(|(side, ensemble)| {
                side.filter(|side| !side.values.is_same()).map(|side| (&side.values, &**ensemble))
            })
            .collect();
        let mut by_head = Buffer::<f32>::take(if through.is_empty() { 0 } else { heads * rows * size });
        let work = through.iter().map(|(values, _)| values.count * size * heads * rows).sum();
        for_each_chunk(&mut by_head, (rows * size).max(1), work, |(head, out)| {
            // Its rows, run by run.
            let mut before = 0;
            let mut places = Vec::with_capacity(rows);
            for span in spans {
                places.extend((0..span.run.rows).map(|row| (before + head * span.run.rows + row) as u32));
                before += heads * span.run.rows;
            }
            for (number, (values, ensemble)) in through.iter().enumerate() {
                let ensemble =
                    Rows { data: ensemble, places: Places::Listed { rows: &places, stride: values.count, first: 0 } };
                values.through(head, ensemble, out, number > 0);
            }
        });
        let mut by_row = Buffer::<f32>::take(heads * rows * size);
        let mut before = 0;
        for span in spans {
            for head in 0..heads {
                for row in 0..span.run.rows {
                    let from = before + (head * span.run.rows + row) * size;
                    let to = ((span.run.first + row) * heads + head) * size;
                    by_row[to..to + size].copy_from_slice(&mixed[from..from + size]);
                    if !by_head.is_empty() {
                        let from = (head * rows + span.run.first + row) * size;
                        add_assign(&mut by_row[to..to + size], &by_head[from..from + size]);
                    }
                }
            }
            before += heads * span.run.rows * size;
        }
        Ok(by_row)
    }
}

/// What heads `from..to`, which read the same columns, mix of `kept` with `weights`: rows of the heads one after the other,
/// equally many of each. What heads read as it is kept is added to the first of `outs`, of the size of a head; otherwise rows of
/// what is kept are mixed to the second. The first row among those of a piece, how far the next is, and how many there are.
fn mix_rows(
    reached: &Reached,
    (from, to): (usize, usize),
    weights: Rows<'_>,
    kept: Rows<'_>,
    [out, ensemble]: [&mut [f32]; 2],
    (first, step, rows): (usize, usize, usize),
) {
    let Reached { count, size, .. } = *reached;
    let places = |width: usize| Places::Every { first: first * width, stride: step * width, count: rows };
    if reached.is_same() {
        combine(weights, kept, count, out, places(size), true);
    } else {
        combine(weights, kept, count, ensemble, places(count), false);
    }
    if reached.has_offsets() {
        let of_head = rows / (to - from).max(1);
        for row in 0..rows {
            let share: f32 = weights.row(row, kept.places.count()).iter().sum();
            let offset = reached.offset(from + row / of_head.max(1)).unwrap_or_default();
            let start = places(size).at(row);
            for (out, offset) in out[start..start + size].iter_mut().zip(offset) {
                *out += share * offset;
            }
        }
    }
}
