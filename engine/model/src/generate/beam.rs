use super::{
    BeamNode, Ending, GenerateError, GeneratedText, Marks, Search,
    choice::{Candidate, Choice, TextSoFar},
};

/// The beams of one source, as `transformers` searches: of all beams of a group the best continuations, twice as many as there are
/// beams, are taken in order; those that end go to a pool of the best, the first others run on.
pub(super) struct SourceBeams {
    groups: Vec<Group>,
    /// Every token that a beam chose, where somebody wants to see them.
    nodes: Option<Vec<BeamNode>>,
    /// Tokens that were there before the first new one.
    before: Vec<u32>,
    /// Text that an encoder read, or the prompt.
    source: Vec<u32>,
    /// New tokens at most, by the model's positions too.
    most: usize,
    /// New tokens that are asked for.
    wanted: usize,
    length_penalty: f64,
}

struct Group {
    size: usize,
    running: Vec<Beam>,
    /// Texts that ended, the best first.
    pool: Vec<Beam>,
    is_done: bool,
}

#[derive(Clone)]
struct Beam {
    tokens: Vec<u32>,
    /// The last token's place in the tree.
    node: Option<usize>,
    /// Log-probability, less what diversity takes.
    sum: f64,
    /// The sum over the length to the power of the length penalty.
    score: f64,
    ending: Ending,
}

impl SourceBeams {
    pub fn new(before: Vec<u32>, source: Vec<u32>, [most, wanted]: [usize; 2], search: &Search) -> Self {
        let size = search.beams / search.groups.max(1);
        let empty =
            Beam { tokens: Vec::new(), node: None, sum: 0.0, score: f64::NEG_INFINITY, ending: Ending::Stopped };
        let group = |_| Group { size, running: vec![empty.clone()], pool: Vec::new(), is_done: false };
        Self {
            groups: (0..search.groups).map(group).collect(),
            nodes: search.keep_tree.then(Vec::new),
            before,
            source,
            most,
            wanted,
            length_penalty: search.length_penalty,
        }
    }

    /// Rows that wait for a token: of the first step one for all groups, since they have written nothing yet.
    pub fn rows(&self) -> usize {
        let running: usize = self.groups.iter().filter(|group| !group.is_done).map(|group| group.running.len()).sum();
        if self.is_first() { running.min(1) } else { running }
    }

    fn is_first(&self) -> bool {
        self.groups.iter().all(|group| group.running.iter().all(|beam| beam.tokens.is_empty()))
    }

    /// See [`Writer::choose`](super::run).
    pub fn choose(
        &mut self,
        logits: &mut [&mut [f32]],
        search: &Search,
        marks: &Marks,
    ) -> Result<Vec<(usize, u32)>, GenerateError> {
        let is_first = self.is_first();
        let mut going_on = Vec::new();
        let mut first_row = 0;
        // How often earlier groups chose a token.
        let mut chosen: Vec<(u32, f64)> = Vec::new();
        let has_groups = self.groups.len() > 1;
        // As many as there have to be for enough that go on, whatever ends.
        let candidates = (1 + marks.end.len()).max(2);
        for (number, group) in self.groups.iter_mut().enumerate() {
            if group.is_done {
                if let Some(pad) = marks.pad.or(marks.end.first().copied()) {
                    count_in(&mut chosen, pad, group.size as f64);
                }
                continue;
            }
            let mut found: Vec<Candidate> = Vec::new();
            let penalties: Vec<(u32, f64)> =
                chosen.iter().map(|(token, count)| (*token, count * search.diversity)).collect();
            for (place, beam) in group.running.iter().enumerate() {
                let row = if is_first { 0 } else { first_row + place };
                let mut own = logits[row].to_vec();
                let mut choice = Choice::normalised(&mut own)?;
                let tokens: Vec<u32> = self.before.iter().chain(&beam.tokens).copied().collect();
                let text =
                    TextSoFar { tokens: &tokens, written: beam.tokens.len(), most: self.most, source: &self.source };
                choice.process(&text, search, marks, &penalties);
                choice.add_best(&mut found, candidates.saturating_mul(group.size), (place, beam.sum));
            }
            let written = group.running.first().map_or(0, |beam| beam.tokens.len()) + 1;
            if found.is_empty() {
                return Err(GenerateError::NothingLeft { step: written });
            }
            let length = (written as f64).powf(self.length_penalty);
            // The length at which a running text is compared with those that ended.
            let hoped = if search.is_exhaustive && self.length_penalty > 0.0 { self.wanted } else { written };
            let hoped = (hoped as f64).powf(self.length_penalty);
            let best_found = found.first().map_or(f64::NEG_INFINITY, |candidate| candidate.sum);
            let rows = group.running.len();
            let mut next: Vec<(usize, Beam)> = Vec::new();
            let mut ended: Vec<Beam> = Vec::new();
            for (rank, candidate) in found.iter().enumerate() {
                let ends = marks.end.contains(&candidate.token);
                let is_last = written == self.most;
                let parent = &group.running[candidate.beam];
                let mut tokens = parent.tokens.clone();
                tokens.push(candidate.token);
                let ending = match (ends, self.most < self.wanted) {
                    (true, _) => Ending::EndToken,
                    (false, true) => Ending::Positions,
                    (false, false) => Ending::Length,
                };
                let has_ended = is_last || ends;
                if if has_ended { rank >= group.size } else { next.len() >= group.size } {
                    continue;
                }
                let score = candidate.sum / length;
                let node = self.nodes.as_mut().map(|nodes| {
                    nodes.push(BeamNode {
                        parent: parent.node,
                        token: candidate.token,
                        group: number,
                        log_probability: candidate.sum,
                        score: has_ended.then_some(score),
                        is_running: false,
                    });
                    nodes.len() - 1
                });
                let beam = Beam { tokens, node, sum: candidate.sum, score, ending };
                if has_ended {
                    ended.push(beam);
                } else {
                    next.push((candidate.beam, Beam { ending: Ending::Stopped, ..beam }));
                }
            }
            for beam in ended {
                let place = group.pool.partition_point(|other| other.score >= beam.score);
                group.pool.insert(place, beam);
            }
            group.pool.truncate(group.size);
            for (_, beam) in &next {
                if let Some(token) = beam.tokens.last() {
                    count_in(&mut chosen, *token, 1.0);
                }
            }
            let is_full = group.pool.len() >= group.size;
            // Diverse beam search asks for the best of all, also where it ended.
            let best_running = next.first().map_or(f64::NEG_INFINITY, |(_, beam)| beam.sum);
            let best_running = if has_groups { best_found } else { best_running } / hoped;
            let worst = group.pool.last().map_or(f64::NEG_INFINITY, |beam| beam.score);
            group.is_done = next.is_empty() || (is_full && (search.early_stopping || best_running <= worst));
            if !group.is_done {
                going_on.extend(next.iter().map(|(parent, beam)| {
                    let row = if is_first { 0 } else { first_row + parent };
                    (row, beam.tokens.last().copied().unwrap_or_default())
                }));
            }
            group.running = next.into_iter().map(|(_, beam)| beam).collect();
            first_row += rows;
        }
        Ok(going_on)
    }

    /// Every token that a beam chose, in the order of steps; empty where that is not kept.
    pub fn tree(&self) -> Vec<BeamNode> {
        let mut nodes = self.nodes.clone().unwrap_or_default();
        let running = self.groups.iter().filter(|group| !group.is_done).flat_map(|group| &group.running);
        for node in running.filter_map(|beam| beam.node) {
            nodes[node].is_running = true;
        }
        nodes
    }

    /// The best text that ended; where nothing has ended, the best that runs.
    pub fn best(&self) -> GeneratedText {
        let ended = self.groups.iter().filter_map(|group| group.pool.first());
        let is_done = self.groups.iter().all(|group| group.is_done);
        let running = self.groups.iter().filter(|group| !group.is_done).flat_map(|group| &group.running);
        let running = running.filter(|_| !is_done);
        let best = ended.chain(running).max_by(|a, b| a.score.total_cmp(&b.score));
        best.map_or_else(
            || GeneratedText { tokens: Vec::new(), ending: Ending::Stopped, score: 0.0, tree: Vec::new() },
            |beam| GeneratedText {
                tokens: beam.tokens.clone(),
                ending: beam.ending,
                score: beam.score,
                tree: Vec::new(),
            },
        )
    }
}

/// Counts a token.
fn count_in(chosen: &mut Vec<(u32, f64)>, token: u32, times: f64) {
    match chosen.iter_mut().find(|(other, _)| *other == token) {
        Some((_, count)) => *count += times,
        None => chosen.push((token, times)),
    }
}
