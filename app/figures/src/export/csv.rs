//! CSV of exactly what a figure shows.

use headroom_config::text::csv_cell;

use super::Figure;

/// The figure as CSV (RFC 4180, `\n` line ends): a header, then one row per x value that any curve has within the range
/// shown, ascending. Column 1 is x; then per series its values, its raw values when they are shown as well, and the low
/// and high edge of its band when there is one. A cell is empty where a series has no point. Numbers are written in
/// full, so that reading them gives the same bits; non-finite ones as `NaN`, `inf`, `-inf`. Points of one series that
/// share an x get rows of their own.
pub fn to_csv(figure: &Figure) -> String {
    let (lo, hi) = figure.x.range;
    let inside = |x: f64| x >= lo && x <= hi;
    let mut columns: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for series in &figure.series {
        let shown = |points: &[(f64, f64)]| points.iter().copied().filter(|p| inside(p.0)).collect();
        columns.push((series.name.clone(), shown(&series.points)));
        if !series.raw.is_empty() {
            columns.push((format!("{} (raw)", series.name), shown(&series.raw)));
        }
        if !series.band.is_empty() {
            let edge = |pick: fn(&(f64, f64, f64)) -> f64| {
                series.band.iter().filter(|p| inside(p.0)).map(|p| (p.0, pick(p))).collect()
            };
            columns.push((format!("{} (low)", series.name), edge(|p| p.1)));
            columns.push((format!("{} (high)", series.name), edge(|p| p.2)));
        }
    }
    let mut out = csv_cell(&figure.x.axis.title()).into_owned();
    for (name, _) in &columns {
        out.push(',');
        out.push_str(&csv_cell(name));
    }
    out.push('\n');
    let mut next = vec![0usize; columns.len()];
    loop {
        let heads = || columns.iter().zip(&next).map(|((_, points), &at)| points.get(at));
        let Some(x) = heads().flatten().map(|p| p.0).min_by(f64::total_cmp) else { break };
        out.push_str(&x.to_string());
        let row: Vec<Option<f64>> = heads().map(|head| head.filter(|p| p.0 == x).map(|p| p.1)).collect();
        for (value, at) in row.into_iter().zip(&mut next) {
            out.push(',');
            if let Some(value) = value {
                out.push_str(&value.to_string());
                *at += 1;
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::figure::examples::losses;
    use super::*;
    use crate::export::FigureSeries;

    #[test]
    fn reading_it_back_gives_the_same_points() {
        let figure = losses();
        let text = to_csv(&figure);
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!(
            header,
            [
                "Step",
                "baseline",
                "baseline (raw)",
                "first 2 layers reused (n = 3)",
                "first 2 layers reused (n = 3) (low)",
                "first 2 layers reused (n = 3) (high)",
                "alternate",
                "alternate (raw)"
            ]
        );
        let mut rows = 0;
        for (line, i) in lines.zip(0..) {
            rows += 1;
            let cells: Vec<f64> = line.split(',').map(|c| c.parse().unwrap()).collect();
            let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
            let (s, t): (&FigureSeries, &FigureSeries) = (&figure.series[0], &figure.series[1]);
            assert_eq!(cells[0], s.points[i].0);
            assert!(same(cells[1], s.points[i].1) && same(cells[2], s.raw[i].1));
            assert!(same(cells[4], t.band[i].1) && same(cells[5], t.band[i].2));
            assert!(same(cells[7], figure.series[2].raw[i].1));
        }
        assert_eq!(rows, 400);
    }

    #[test]
    fn missing_points_are_empty_cells_and_names_are_quoted() {
        let series = |name: &str, points: &[(f64, f64)]| FigureSeries {
            name: name.to_owned(),
            points: points.to_vec(),
            ..FigureSeries::default()
        };
        let mut figure = Figure::default();
        figure.x.range = (0.0, 3.0);
        figure.x.axis.label = "Step".to_owned();
        figure.series = vec![
            series("a, \"b\"", &[(0.0, 1.0), (1.0, 2.0), (1.0, 2.5), (9.0, 9.0)]),
            series("c", &[(1.0, f64::INFINITY), (2.5, -1e-300)]),
        ];
        assert_eq!(to_csv(&figure), format!("Step,\"a, \"\"b\"\"\",c\n0,1,\n1,2,inf\n1,2.5,\n2.5,,{}\n", -1e-300));
    }

    #[test]
    fn only_what_is_in_view() {
        let mut figure = losses();
        figure.x.range = (100.0, 199.0);
        assert_eq!(to_csv(&figure).lines().count(), 1 + 10);
        figure.series.clear();
        assert_eq!(to_csv(&figure), "Step\n");
    }
}
