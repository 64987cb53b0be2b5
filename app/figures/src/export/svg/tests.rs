use resvg::usvg::roxmltree::Document;

use super::to_svg;
use crate::{
    export::{
        Figure, FigureSeries,
        figure::examples::{log_losses, losses},
        png::parse,
    },
    plot::Quantity,
};

fn texts(document: &Document<'_>) -> Vec<String> {
    let collect = |node: resvg::usvg::roxmltree::Node<'_, '_>| {
        node.descendants().filter(resvg::usvg::roxmltree::Node::is_text).filter_map(|n| n.text()).collect::<String>()
    };
    document.descendants().filter(|n| n.has_tag_name("text")).map(collect).collect()
}

#[test]
fn it_parses_and_says_what_it_shows() {
    let figure = losses();
    let svg = to_svg(&figure);
    parse(&svg).unwrap();
    let document = Document::parse(&svg).unwrap();
    let texts = texts(&document);
    for expected in [
        "Validation loss",
        "WikiText-2, smoothing 0.6 & raw values faint",
        "Step",
        "Cross-entropy (nats/token)",
        "baseline",
        "first 2 layers reused (n = 3)",
        "alternate",
        "2,000",
        "Runs are aligned by step.",
        "resumed",
    ] {
        assert!(texts.iter().any(|t| t == expected), "{expected} is missing in {texts:?}");
    }
    let entry = document.descendants().find(|n| n.has_tag_name(("urn:headroom:figure:1", "entry"))).unwrap();
    assert_eq!(entry.attribute("key"), Some("config"));
    assert_eq!(entry.text(), Some("format = 1\nname = \"a <b> & c\""));
}

#[test]
fn log_axes_have_raised_exponents() {
    let mut figure = log_losses();
    (figure.x.axis.quantity, figure.x.range) = (Quantity::Number, (1e-8, 1e4));
    let svg = to_svg(&figure);
    parse(&svg).unwrap();
    assert!(texts(&Document::parse(&svg).unwrap()).iter().any(|t| t == "10−8"));
}

#[test]
fn gaps_break_the_line_and_are_marked() {
    let mut figure = losses();
    figure.series.remove(0);
    figure.series.remove(0);
    figure.series[0].raw.clear();
    let svg = to_svg(&figure);
    let document = Document::parse(&svg).unwrap();
    let curve = document
        .descendants()
        .find(|n| n.attribute("stroke-dasharray").is_some() && n.attribute("d").is_some_and(|d| d.len() > 1000))
        .unwrap();
    assert_eq!(curve.attribute("d").unwrap().matches('M').count(), 2);
    assert!(svg.contains("<title>NaN at "));
}

#[test]
fn few_points_have_dots_and_many_have_none() {
    let dots = |count: u32| {
        let points = (0..count).map(|i| (f64::from(i), f64::from(i % 7))).collect();
        let mut figure = losses();
        (figure.x.range, figure.y.range) = ((0.0, f64::from(count - 1)), (0.0, 7.0));
        figure.series = vec![FigureSeries { points, ..FigureSeries::default() }];
        to_svg(&figure).matches("<circle").count()
    };
    assert_eq!((dots(1), dots(4), dots(400)), (1, 4, 0));
}

#[test]
fn hostile_input_still_gives_a_document() {
    let mut figure = losses();
    figure.title = "a \u{0} <script> \u{1b}[0m & \"quotes\" ]]>".to_owned();
    figure.x.range = (f64::NAN, f64::INFINITY);
    figure.y.range = (3.0, 3.0);
    figure.size = (0.0, 0.0);
    figure.series[0].points = vec![(0.0, 1e308), (1.0, -1e308), (f64::NAN, 1.0)];
    parse(&to_svg(&figure)).unwrap();
    parse(&to_svg(&Figure::default())).unwrap();
    let series = (0..200).map(|i| FigureSeries { name: format!("run {i}"), ..FigureSeries::default() }).collect();
    let many = Figure { series, ..Figure::default() };
    let svg = to_svg(&many);
    assert!(svg.contains("and 160 more"));
}
