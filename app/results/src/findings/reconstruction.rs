//! Scores restored from some of their pairs, as figures and words.

use headroom_engine::{
    analysis::{
        Analysis,
        reconstruction::{ErrorCurve, Reconstruction, Scope, ScopeReconstruction},
    },
    config::counted,
};

use super::figure_parts::{about, program, query_key_map};
use crate::{
    export::{Figure, FigureAxis, FigureSeries, MapFigure},
    format,
    plot::{Axis, HeatData, HeatScale, Quantity, Scale, Tone},
    theme::{self, ColourMap, Dash},
};

/// Errors of which tables say how many pairs they take.
const ERRORS: [f64; 3] = [0.10, 0.05, 0.01];

/// How FLOPs of scores are counted, which stands where they do.
pub const FLOPS_CONVENTION: &str = "FLOPs count the n - k keys of a query that are restored; table 1 of the Eigen \
                                    paper \
     counts all n keys, so that its ratio k (d + n) / (n d) is larger (0.375 there is 0.344 here).";

/// What a scope is called: `network`, `L3`, `L3H7`.
pub fn scope_name(scope: Scope) -> String {
    match scope {
        Scope::Network => "network".to_owned(),
        Scope::Layer { layer } => format!("L{layer}"),
        Scope::Head { at } => format!("L{}H{}", at.layer, at.head),
    }
}

/// Error curves over pairs and over FLOPs, with names that are fit for files.
pub(super) fn figures(analysis: &Analysis) -> Vec<(String, Figure)> {
    let Some(found) = &analysis.reconstruction else { return Vec::new() };
    let mut all = Vec::new();
    let n = found.tokens as f64;
    for scope in &found.scopes {
        let pairs: Vec<f64> = (0..=found.tokens).map(|k| k as f64).collect();
        let title = format!("Error of scores restored from k pairs per query, {}", scope_name(scope.scope));
        let slug = scope.scope.slug();
        let curves = [&scope.greedy, &scope.eigen, &scope.random];
        let x = Axis::new("Pairs per query").quantity(Quantity::Count);
        let reliable = scope.reliable_pairs(found.tokens);
        let mut figure = figure(analysis, &title, (x, (0.0, n)), &lines(&pairs, curves, reliable));
        figure.notes.extend(reliable_words(found, scope));
        all.push((format!("reconstruction-{slug}"), figure));
    }
    if let (Some(network), false) = (found.scopes.first(), found.score_flops.is_empty()) {
        let curves = [&network.greedy, &network.eigen, &network.random];
        let mut series = lines(rising(&found.score_flops), curves, network.reliable_pairs(found.tokens));
        // Projections need all scores first.
        series.retain(|line| line.method != METHODS[1]);
        if let Some(whole) = &found.whole {
            let points = points(rising(&whole.flops), whole.greedy.honest());
            series.extend(held_out("whole map", &points, 3, whole.reliable_pairs()));
        }
        let title = "Error of restored scores over FLOPs, relative to those of all pairs";
        let x = Axis::new("FLOPs of scores, relative to all pairs");
        let mut figure = figure(analysis, title, (x, (0.0, 1.5)), &series);
        figure.notes.push(FLOPS_CONVENTION.to_owned());
        all.push(("reconstruction-flops".to_owned(), figure));
    }
    if let Some(whole) = &found.whole {
        let pairs: Vec<f64> = (0..=whole.pairs).map(|k| k as f64).collect();
        let curves = [&whole.greedy, &whole.eigen, &whole.random];
        let mut series = lines(&pairs, curves, whole.reliable_pairs());
        if let Some(network) = found.scopes.first() {
            let points = points(&computed_pairs(found), network.greedy.honest());
            series.extend(held_out("rows", &points, 3, network.reliable_pairs(found.tokens)));
        }
        let title = "Error of whole maps restored from some of their pairs";
        let x = Axis::new("Pairs of the map").quantity(Quantity::Count);
        all.push(("reconstruction-whole".to_owned(), figure(analysis, title, (x, (0.0, whole.pairs as f64)), &series)));
    }
    all
}

/// What k pairs of each query leave to be restored where queries attend to what stands before them alone.
pub fn exact_rows_words(k: usize, tokens: usize) -> String {
    format!(
        "{} of {tokens} queries have no more than {k} keys: their scores are exact by construction, and all of the error is that of \
         the other {}.",
        k.min(tokens),
        tokens.saturating_sub(k)
    )
}

/// Pairs of a whole map that are computed with k = 0, 1, ..., n of each query.
pub fn computed_pairs(found: &Reconstruction) -> Vec<f64> {
    let n = found.tokens;
    let visible = |query: usize| if found.is_causal { query + 1 } else { n };
    (0..=n).map(|k| (0..n).map(|query| k.min(visible(query))).sum::<usize>() as f64).collect()
}

/// FLOPs as long as more pairs cost more: beyond, computing all of them is better in every way.
pub fn rising(flops: &[f64]) -> &[f64] {
    let count = flops.windows(2).take_while(|pair| matches!(pair, [before, after] if after >= before)).count();
    flops.get(..=count).unwrap_or_default()
}

/// What a map of the order of pairs shows.
pub const PLACE: &str = "Place in the order";

/// What a curve is called where errors on other text are not to be relied on.
pub const UNRELIABLE: &str = "too few samples";

/// The ways to choose what is computed, in the order of their colours.
pub const METHODS: [&str; 3] = ["best pairs", "eigenvectors", "pairs by chance"];

/// A curve of errors over what is computed.
#[derive(Clone, Debug)]
pub struct ErrorLine {
    /// The way to choose what is computed.
    pub method: String,
    /// Whether the errors were measured on other text than what the choice was fitted to.
    pub is_held_out: bool,
    /// The points.
    pub points: Vec<(f64, f64)>,
    /// The number of its colour.
    pub number: u64,
    /// Dashed where it was fitted to the same text and another curve was not; dotted where it is not reliable.
    pub dash: Dash,
    /// Whether there were samples enough.
    pub is_reliable: bool,
}

/// The points as far as they can be relied on, and those from there on.
pub fn parted<T: Clone>(points: &[T], reliable: usize) -> (Vec<T>, Vec<T>) {
    let sound = points.get(..=reliable).unwrap_or(points).to_vec();
    let rest = points.get(reliable..).filter(|rest| rest.len() > 1).unwrap_or_default().to_vec();
    (sound, rest)
}

/// Where the curves of a part stop being reliable, and why; nothing where all of them are.
pub fn reliable_words(found: &Reconstruction, scope: &ScopeReconstruction) -> Option<String> {
    let reliable = scope.reliable_pairs(found.tokens);
    (reliable < found.tokens && found.held_out_examples > 0).then(|| {
        format!(
            "Errors beyond k = {} are not reliable: pairs were chosen from {} of {} scores per query, too few to fit \
             more. Ask for more examples.",
            format::count(reliable as u64),
            counted(scope.samples, "map"),
            format::count(found.tokens as u64)
        )
    })
}

/// Every error of every part as CSV, one row a part and k; `reliable` is false where the fit is to too few maps, so that
/// nobody draws that unknowingly.
pub fn reconstruction_csv(found: &Reconstruction) -> String {
    let mut out = "scope,k,samples,reliable,best_pairs_fitted,best_pairs_held_out,eigenvectors_fitted,\
                   eigenvectors_held_out,by_chance_fitted,by_chance_held_out,score_flops,forward_flops\n"
        .to_owned();
    for scope in &found.scopes {
        for k in 0..=found.tokens {
            // With all pairs computed nothing is fitted.
            let is_reliable = k <= scope.reliable_pairs(found.tokens) || k == found.tokens;
            let mut cells =
                vec![scope_name(scope.scope), k.to_string(), scope.samples.to_string(), is_reliable.to_string()];
            let curves = [&scope.greedy, &scope.eigen, &scope.random];
            let errors = curves.iter().flat_map(|curve| [&curve.fitted, &curve.held_out]);
            let numbers = errors.chain([&found.score_flops, &found.forward_flops]);
            cells.extend(numbers.map(|of| of.get(k).map_or_else(String::new, f64::to_string)));
            out.push_str(&cells.join(","));
            out.push('\n');
        }
    }
    out
}

fn points(x: &[f64], errors: &[f64]) -> Vec<(f64, f64)> {
    x.iter().copied().zip(errors.iter().copied()).collect()
}

/// Errors on other text; from where they are not reliable on they are a line of their own.
fn held_out(method: &str, points: &[(f64, f64)], number: u64, reliable: usize) -> Vec<ErrorLine> {
    let (sound, rest) = parted(points, reliable);
    let line = |points: Vec<(f64, f64)>, dash: Dash| ErrorLine {
        method: method.to_owned(),
        is_held_out: true,
        points,
        number,
        dash,
        is_reliable: dash == Dash::Solid,
    };
    let rest = (!rest.is_empty()).then(|| line(rest, Dash::Dotted));
    std::iter::once(line(sound, Dash::Solid)).chain(rest).collect()
}

/// The errors of a way to choose over x: on other text where there is any, and on the text that it was fitted to.
pub fn error_lines(method: &str, number: u64, x: &[f64], curve: &ErrorCurve, reliable: usize) -> Vec<ErrorLine> {
    let has_held_out = !curve.held_out.is_empty();
    let mut all =
        if has_held_out { held_out(method, &points(x, &curve.held_out), number, reliable) } else { Vec::new() };
    let dash = if has_held_out { Dash::Dashed } else { Dash::Solid };
    let (method, points) = (method.to_owned(), points(x, &curve.fitted));
    all.push(ErrorLine { method, is_held_out: false, points, number, dash, is_reliable: true });
    all
}

fn lines(x: &[f64], curves: [&ErrorCurve; 3], reliable: usize) -> Vec<ErrorLine> {
    // Projections are not fitted to scores: their errors have no pole.
    let named = METHODS.into_iter().zip([reliable, x.len(), reliable]).zip(curves).zip(0..);
    named.flat_map(|(((name, reliable), curve), number)| error_lines(name, number, x, curve, reliable)).collect()
}

/// Errors on a logarithmic axis, down to one in ten thousand.
fn figure(analysis: &Analysis, title: &str, (x, range): (Axis, (f64, f64)), lines: &[ErrorLine]) -> Figure {
    let series = lines.iter().map(|line| {
        let points = line.points.iter().copied().filter(|(_, error)| *error > 0.0).collect();
        let name = format!("{}, {}", line.method, if line.is_held_out { "held out" } else { "fitted" });
        let series = FigureSeries { dash: line.dash, ..FigureSeries::of_run(line.number, &name, points) };
        if line.is_reliable {
            return series;
        }
        let name = format!("{name}, {UNRELIABLE}");
        FigureSeries { name, colour: theme::pale(series.colour), width: 1.0, ..series }
    });
    Figure {
        title: title.to_owned(),
        subtitle: about(analysis),
        x: FigureAxis { axis: x, range },
        y: FigureAxis {
            axis: Axis::new("Squared error, share of the scores' squares").scale(Scale::Log),
            range: (1e-4, 2.0),
        },
        series: series.collect(),
        notes: analysis.notes.clone(),
        metadata: program(),
        ..Figure::default()
    }
}

/// The order in which each query's pairs are computed, as maps.
pub(super) fn maps(analysis: &Analysis) -> Vec<(String, MapFigure)> {
    let Some(found) = &analysis.reconstruction else { return Vec::new() };
    let n = found.tokens;
    let map = |slug: String, name: String, ranks: &[f32]| {
        let ranks = ranks.iter().map(|rank| if *rank < 0.0 { f32::NAN } else { rank + 1.0 }).collect();
        let data = HeatData::new(n, n, ranks);
        let tone = Tone::fitting(ColourMap::Viridis, HeatScale::Log, data.extent());
        let title = format!("The order in which pairs are computed, {name}");
        (format!("reconstruction-{slug}-order"), query_key_map(title, data, tone).value(PLACE))
    };
    let scopes = found.scopes.iter().map(|scope| map(scope.scope.slug(), scope_name(scope.scope), &scope.ranks));
    let whole = found.whole.iter().map(|whole| map("whole".to_owned(), "whole maps".to_owned(), &whole.ranks));
    scopes.chain(whole).collect()
}

/// The main findings, a sentence each.
pub(super) fn summary(found: &Reconstruction) -> Vec<String> {
    let Some(network) = found.scopes.first() else { return Vec::new() };
    let how = if found.held_out_examples == 0 { "on the same examples" } else { "on held-out examples" };
    let mut lines = vec![format!(
        "Scores restored from k of {} of each query, chosen from {} of {}, errors {how} ({}):",
        counted(found.tokens as u64, "pair"),
        counted(network.samples, "map"),
        counted(found.examples, "example"),
        format::count(found.held_out_examples),
    )];
    for error in ERRORS {
        let least = |curve: &ErrorCurve| match curve.least(error) {
            Some(k) => k.to_string(),
            None => "more than all".to_owned(),
        };
        let flops = network.greedy.least(error).and_then(|k| found.score_flops.get(k).zip(found.forward_flops.get(k)));
        let flops = flops.map_or_else(String::new, |(scores, forward)| {
            format!("; FLOPs of scores {scores:.2}, of a forward pass {forward:.3} of those of all pairs")
        });
        lines.push(format!(
            "  squared error {:.0} %: k = {} (eigenvectors {}, pairs by chance {}){flops}.",
            100.0 * error,
            least(&network.greedy),
            least(&network.eigen),
            least(&network.random),
        ));
    }
    if !found.score_flops.is_empty() {
        lines.push(format!("  {FLOPS_CONVENTION}"));
    }
    if let Some(whole) = &found.whole {
        let [ten, five, one] = ERRORS.map(|error| {
            whole.greedy.least(error).map_or_else(|| "more than all".to_owned(), |count| format::count(count as u64))
        });
        lines.push(format!(
            "Chosen among all {} pairs of the map: {ten} pairs for 10 %, {five} for 5 %, {one} for 1 %.",
            format::count(whole.pairs as u64)
        ));
    }
    lines
}

/// A row a scope: pairs of each query for 10, 5 and 1 % of squared error (held out, where anything was), FLOPs of scores at
/// 5 %, then pairs for 5 % on the examples that they were chosen from, eigenvectors and pairs by chance for the same.
pub fn reconstruction_table(found: &Reconstruction) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let headings = vec![
        "k for an error of",
        "10 %",
        "5 %",
        "1 %",
        "FLOPs at 5 %",
        "5 % fitted",
        "eigenvectors 5 %",
        "by chance 5 %",
        "maps",
    ];
    let dash = || "-".to_owned();
    let least = |curve: &ErrorCurve, error: f64| curve.least(error).map_or_else(dash, |k| k.to_string());
    let row = |scope: &ScopeReconstruction| {
        let mut cells = vec![scope_name(scope.scope)];
        cells.extend(ERRORS.map(|error| least(&scope.greedy, error)));
        let flops = scope.greedy.least(0.05).and_then(|k| found.score_flops.get(k));
        cells.push(flops.map_or_else(dash, |ratio| format!("{ratio:.2}")));
        let fitted = scope.greedy.fitted.iter().position(|error| *error <= 0.05);
        cells.push(fitted.map_or_else(dash, |k| k.to_string()));
        cells.extend([least(&scope.eigen, 0.05), least(&scope.random, 0.05), format::count(scope.samples)]);
        cells
    };
    (headings, found.scopes.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(pace: f64) -> ErrorCurve {
        let errors: Vec<f64> = (0..=8).map(|k| if k == 8 { 0.0 } else { (-pace * f64::from(k)).exp() }).collect();
        ErrorCurve { held_out: errors.iter().map(|error| (error * 1.5).min(1.0)).collect(), fitted: errors }
    }

    #[test]
    fn flops_end_where_all_pairs_cost_less() {
        assert_eq!(rising(&[0.0, 0.5, 1.2, 1.1, 1.0]), [0.0, 0.5, 1.2]);
        assert_eq!((rising(&[]).len(), rising(&[0.0, 1.0]).len()), (0, 2));
    }

    #[test]
    fn pairs_and_flops_for_an_error_are_said() {
        let scope = ScopeReconstruction {
            samples: 120,
            greedy: curve(0.8),
            eigen: curve(1.2),
            random: curve(0.3),
            ranks: (0..64).map(|place| (place % 8) as f32).collect(),
            ..ScopeReconstruction::default()
        };
        let flops: Vec<f64> = (0..=8).map(|k| f64::from(k) / 8.0).collect();
        let found = Reconstruction {
            tokens: 8,
            examples: 10,
            held_out_examples: 10,
            scopes: vec![scope],
            score_flops: flops.clone(),
            forward_flops: flops,
            ..Reconstruction::default()
        };
        let text = summary(&found).join("\n");
        for words in [
            "k of 8 pairs of each query",
            "120 maps",
            "on held-out examples",
            "squared error 5 %: k = 5 (eigenvectors 3, pairs by chance 8); FLOPs of scores 0.62",
            "FLOPs count the n - k keys of a query that are restored; table 1",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let (headings, rows) = reconstruction_table(&found);
        assert_eq!((headings.len(), rows[0].len()), (9, 9));
        assert_eq!(rows[0][..6], ["network", "4", "5", "7", "0.62", "4"]);
        let analysis = Analysis { reconstruction: Some(found), ..Analysis::default() };
        let names: Vec<String> = figures(&analysis).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["reconstruction-network", "reconstruction-flops"]);
        assert!(
            figures(&analysis).iter().all(|(_, figure)| !figure.series.iter().any(|one| one.name.contains("too few")))
        );
        let (name, map) = maps(&analysis).remove(0);
        assert_eq!((name.as_str(), map.data.at(3, 0)), ("reconstruction-network-order", 1.0));
    }

    #[test]
    fn errors_of_too_few_samples_are_pale_named_and_marked_in_the_table() {
        let scope = |samples: u64| ScopeReconstruction {
            samples,
            greedy: curve(0.8),
            eigen: curve(1.2),
            random: curve(0.3),
            ..ScopeReconstruction::default()
        };
        let of = |samples: u64| Reconstruction {
            tokens: 8,
            examples: 1,
            held_out_examples: 1,
            scopes: vec![scope(samples)],
            ..Reconstruction::default()
        };
        let (few, enough) = (of(6), of(16));
        assert_eq!((reliable_words(&enough, &enough.scopes[0]), few.scopes[0].reliable_pairs(8)), (None, 3));
        let words = reliable_words(&few, &few.scopes[0]).unwrap();
        assert!(words.contains("beyond k = 3") && words.contains("from 6 maps of 8 scores"), "{words}");
        let analysis = Analysis { reconstruction: Some(few.clone()), ..Analysis::default() };
        let (_, figure) = figures(&analysis).remove(0);
        let names: Vec<&str> = figure.series.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.iter().filter(|name| name.ends_with(", too few samples")).count(), 2, "{names:?}");
        let line = |name: &str| figure.series.iter().find(|one| one.name == name).unwrap();
        let (sound, rest) = (line("best pairs, held out"), line("best pairs, held out, too few samples"));
        assert_eq!((sound.points.len(), sound.points[3].0, rest.points[0].0), (4, 3.0, 3.0));
        assert!(sound.colour != rest.colour && figure.notes.contains(&words));
        assert_eq!(line("eigenvectors, held out").points.len(), 8, "all but the last, whose error is 0");
        let csv = reconstruction_csv(&few);
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert!(rows.iter().all(|row| row.len() == rows[0].len()) && rows.len() == 10, "{csv}");
        assert_eq!(rows[0][..4], ["scope", "k", "samples", "reliable"]);
        assert_eq!(
            (&rows[4][..4], &rows[5][..4]),
            (&["network", "3", "6", "true"][..], &["network", "4", "6", "false"][..])
        );
        assert_eq!(rows[9][3], "true", "nothing is fitted where all are computed");
        assert!(reconstruction_csv(&enough).lines().skip(1).all(|line| line.split(',').nth(3) == Some("true")));
    }
}
