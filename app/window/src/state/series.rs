//! Curves that the panels show: loaded once, extended by cursor while their run trains.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use headroom_engine::{
    protocol::{Request, Ticket, commands},
    store::{Cursor, Cut, RunId, SeriesData, series_names},
};

use crate::plot::{CurveBase, CurveX, Series};

/// Shortest time between two loads of the same curve.
const RELOAD_EVERY: Duration = Duration::from_millis(250);
/// What a run told may be in the store so much later: a load before that may have come too soon.
const STORED_AFTER: Duration = Duration::from_millis(500);
/// Loads that may wait for an answer at the same time: a store full of runs must not fill the engine's door.
const IN_FLIGHT: usize = 24;
/// A load without an answer for so long counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(15);
/// Points of curves that no panel shows any more are kept up to so many points of all, some 50 bytes each.
const POINTS_KEPT: usize = 8_000_000;
/// Frames between two looks at how many there are.
const LOOK_EVERY: u64 = 64;
/// Curves over different x that are kept for one series.
const CURVES_KEPT: usize = 4;

/// All points of one series of one run, in step order.
#[derive(Clone, Debug, Default)]
pub struct RunSeries {
    /// Optimiser step.
    pub steps: Vec<u64>,
    /// Value; may be non-finite.
    pub values: Vec<f64>,
    /// Milliseconds of training until then.
    pub wall_ms: Vec<u64>,
    /// Tokens trained on until then.
    pub tokens: Vec<u64>,
    /// Where resumed attempts take over.
    pub cuts: Vec<Cut>,
    curves: Vec<(CurveX, Series)>,
}

impl RunSeries {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The newest point: step and value.
    pub fn last(&self) -> Option<(u64, f64)> {
        self.steps.last().copied().zip(self.values.last().copied())
    }

    fn x(&self, index: usize, x: CurveX) -> f64 {
        let count = match x.base {
            CurveBase::Step => self.steps.get(index).map(|&step| step as f64),
            CurveBase::Tokens => self.tokens.get(index).map(|&tokens| tokens as f64),
            CurveBase::WallSecs => self.wall_ms.get(index).map(|&ms| ms as f64 / 1000.0),
        };
        count.map_or(f64::NAN, |count| count * x.scale + x.offset)
    }

    /// The curve over an x; kept, so that its version changes only when points come.
    pub fn curve(&mut self, x: CurveX) -> &Series {
        let known = self.curves.iter().position(|(kept, _)| *kept == x);
        let at = known.unwrap_or_else(|| {
            let points: Series = (0..self.len()).map(|i| self.x(i, x)).zip(self.values.iter().copied()).collect();
            if self.curves.len() >= CURVES_KEPT {
                self.curves.remove(0);
            }
            self.curves.push((x, points));
            self.curves.len() - 1
        });
        &self.curves[at].1
    }

    fn take(&mut self, whole: bool, data: SeriesData) {
        if whole {
            *self = Self::default();
        } else if let (Some(&first), Some(&last)) = (data.steps.first(), self.steps.last())
            && first <= last
        {
            // Points that come again replace those that are here.
            let keep = self.steps.partition_point(|&step| step < first);
            self.steps.truncate(keep);
            self.values.truncate(keep);
            self.wall_ms.truncate(keep);
            self.tokens.truncate(keep);
            self.cuts.retain(|cut| cut.index < keep);
            self.curves.clear();
        }
        let before = self.len();
        self.cuts.extend(data.cuts.iter().map(|cut| Cut { index: cut.index + before, ..*cut }));
        self.steps.extend(data.steps);
        self.values.extend(data.values);
        self.wall_ms.extend(data.wall_ms);
        self.tokens.extend(data.tokens);
        let mut curves = std::mem::take(&mut self.curves);
        for (x, curve) in &mut curves {
            for index in before..self.len() {
                if let Some(&value) = self.values.get(index) {
                    curve.push(self.x(index, *x), value);
                }
            }
        }
        self.curves = curves;
    }
}

/// One wanted series.
#[derive(Default)]
struct Entry {
    points: RunSeries,
    loaded: bool,
    stale: bool,
    /// When the run last told of points.
    touched: Option<Instant>,
    cursor: Option<Cursor>,
    asked: Option<Instant>,
    /// The load that is under way.
    ticket: Option<Ticket>,
    wanted_frame: u64,
}

/// The curves by run and series name.
#[derive(Default)]
pub struct SeriesCache {
    runs: BTreeMap<RunId, BTreeMap<String, Entry>>,
    frame: u64,
}

impl SeriesCache {
    /// Says that a panel shows this series in this frame; loading and re-loading follow from it. Call it every frame.
    pub fn want(&mut self, run: &RunId, series: &str) {
        let frame = self.frame;
        if let Some(entry) = self.runs.get_mut(run).and_then(|of_run| of_run.get_mut(series)) {
            entry.wanted_frame = frame;
            return;
        }
        let entry = Entry { stale: true, wanted_frame: frame, ..Entry::default() };
        self.runs.entry(run.clone()).or_default().insert(series.to_owned(), entry);
    }

    /// The points, once loaded (then perhaps none).
    pub fn get(&self, run: &RunId, series: &str) -> Option<&RunSeries> {
        self.runs.get(run)?.get(series).filter(|entry| entry.loaded).map(|entry| &entry.points)
    }

    /// Wants a series and gives its curve over an x, once loaded.
    pub fn curve(&mut self, run: &RunId, series: &str, x: CurveX) -> Option<&Series> {
        self.want(run, series);
        let entry = self.runs.get_mut(run)?.get_mut(series)?;
        entry.loaded.then(|| entry.points.curve(x))
    }

    /// Marks where resumed attempts take over, on this x. A series that is measured now and then has its next point later: over
    /// tokens and time the place is that of the training loss, which has a point a step, where that is loaded.
    pub fn resumed_marks(&self, run: &RunId, series: &str, x: CurveX) -> Vec<(f64, String)> {
        let Some(data) = self.get(run, series) else { return Vec::new() };
        let loss = self.get(run, series_names::TRAIN_LOSS);
        let place = |cut: &Cut| match x.base {
            CurveBase::Step => cut.first_step as f64 * x.scale + x.offset,
            CurveBase::Tokens | CurveBase::WallSecs => {
                let of_loss = loss.and_then(|loss| {
                    let same = loss.cuts.iter().find(|other| other.attempt == cut.attempt)?;
                    Some(loss.x(same.index, x))
                });
                of_loss.unwrap_or_else(|| data.x(cut.index, x))
            }
        };
        // What begins a curve continues nothing.
        let taken_over = data.cuts.iter().filter(|cut| cut.attempt > 1 && cut.index > 0);
        taken_over.map(|cut| (place(cut), "resumed".to_owned())).collect()
    }

    /// A new frame: what is not wanted again is no longer kept up to date.
    pub fn begin_frame(&mut self) {
        self.frame += 1;
        if self.frame.is_multiple_of(LOOK_EVERY) {
            self.forget_beyond(POINTS_KEPT);
        }
    }

    /// Forgets curves that nobody shows, those first that were shown the longest ago, until no more points than this are
    /// left or only what is shown.
    pub(super) fn forget_beyond(&mut self, most: usize) {
        let mut points: usize = self.entries().map(|entry| entry.points.len()).sum();
        if points <= most {
            return;
        }
        let frame = self.frame;
        let mut idle: Vec<(u64, RunId, String, usize)> = Vec::new();
        for (run, of_run) in &self.runs {
            for (series, entry) in of_run {
                if entry.wanted_frame + 2 < frame && entry.ticket.is_none() {
                    idle.push((entry.wanted_frame, run.clone(), series.clone(), entry.points.len()));
                }
            }
        }
        idle.sort();
        for (_, run, series, length) in idle {
            if points <= most {
                return;
            }
            if let Some(of_run) = self.runs.get_mut(&run) {
                of_run.remove(&series);
            }
            points -= length;
        }
    }

    /// The run told of new points. They are loaded until they are sure to be in the store.
    pub fn touch(&mut self, run: &RunId, now: Instant) {
        for entry in self.runs.get_mut(run).into_iter().flat_map(BTreeMap::values_mut) {
            (entry.stale, entry.touched) = (true, Some(now));
        }
    }

    /// Takes an answer in.
    pub fn take(&mut self, run: RunId, series: String, whole: bool, data: SeriesData) {
        let entry = self.runs.entry(run).or_default().entry(series).or_default();
        entry.ticket = None;
        entry.loaded = true;
        entry.cursor = data.cursor.or(entry.cursor);
        let whole = whole || data.is_whole;
        if whole || !data.is_empty() {
            entry.points.take(whole, data);
        }
    }

    /// Takes a failure in: the series is not loaded again until its run tells of points.
    pub(super) fn fail(&mut self, ticket: Ticket) -> bool {
        let mut entries = self.runs.values_mut().flat_map(BTreeMap::values_mut);
        let failed = entries.find(|entry| entry.ticket == Some(ticket));
        failed.is_some_and(|entry| {
            (entry.ticket, entry.stale) = (None, false);
            true
        })
    }

    /// Forgets runs that are no more.
    pub fn retain(&mut self, exists: impl Fn(&RunId) -> bool) {
        self.runs.retain(|run, _| exists(run));
    }

    /// The loads that are due now.
    pub fn take_loads(&mut self, now: Instant) -> Vec<Request> {
        let mut room = IN_FLIGHT.saturating_sub(self.entries().filter(|entry| entry.waits(now)).count());
        let frame = self.frame;
        let mut loads = Vec::new();
        for (run, of_run) in &mut self.runs {
            for (series, entry) in of_run {
                if room == 0 {
                    return loads;
                }
                if entry.is_due(frame) && !entry.waits(now) && entry.ready_in(now).is_zero() {
                    entry.stale = entry.touched.is_some_and(|at| now.duration_since(at) < STORED_AFTER);
                    entry.asked = Some(now);
                    room -= 1;
                    let after = entry.cursor;
                    let load = Request::from(commands::LoadSeries { run: run.clone(), series: series.clone(), after });
                    entry.ticket = Some(load.ticket);
                    loads.push(load);
                }
            }
        }
        loads
    }

    /// When the next load that had to wait for its turn is due; the window asks for a frame then.
    pub fn next_due(&self, now: Instant) -> Option<Duration> {
        self.entries()
            .filter(|entry| entry.is_due(self.frame) && !entry.waits(now))
            .map(|entry| entry.ready_in(now))
            .min()
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.runs.values().flat_map(BTreeMap::values)
    }
}

impl Entry {
    /// Shown in this frame or the one before, and not up to date.
    fn is_due(&self, frame: u64) -> bool {
        self.stale && self.wanted_frame + 1 >= frame
    }

    /// Whether an answer is to come.
    fn waits(&self, now: Instant) -> bool {
        self.ticket.is_some() && self.asked.is_some_and(|asked| now.duration_since(asked) < LOST_AFTER)
    }

    /// Time until it may be loaded again.
    fn ready_in(&self, now: Instant) -> Duration {
        self.asked.map_or(Duration::ZERO, |asked| RELOAD_EVERY.saturating_sub(now.duration_since(asked)))
    }
}
