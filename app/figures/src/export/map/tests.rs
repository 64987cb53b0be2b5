use resvg::tiny_skia::Pixmap;

use super::*;
use crate::{
    plot::{HeatAxis, HeatData, HeatScale, Tone},
    theme::ColourMap,
};

fn figure(side: usize) -> MapFigure {
    let mut values: Vec<f32> = (0..side * side).map(|at| at as f32 / (side * side) as f32).collect();
    values[side + 1] = f32::NAN;
    let data = HeatData::new(side, side, values);
    let tone = Tone::between(ColourMap::Viridis, HeatScale::Linear, 0.0, 1.0);
    let axes = (HeatAxis::numbered("Layer <a>", "L"), HeatAxis::numbered("Layer", "L"));
    let mut figure = MapFigure::new("Similarity & more", data, axes, tone);
    figure.value = "Similarity".to_owned();
    figure.notes.push("Means over 16 examples.".to_owned());
    figure.metadata.insert("run".to_owned(), "abc".to_owned());
    figure
}

#[test]
fn csv_holds_what_is_shown_and_reads_back() {
    let figure = figure(3).seen((1..3, 0..2));
    assert_eq!(map_to_csv(&figure), "Layer <a> \\ Layer,L0,L1\nL1,0.33333334,\nL2,0.6666667,0.7777778\n");
}

#[test]
fn the_drawing_has_real_text_and_a_shape_for_each_cell() {
    let svg = map_to_svg(&figure(4));
    for text in ["Similarity &amp; more", "Layer &lt;a&gt;", ">L3</text>", "Means over 16 examples.", ">0.5</text>"] {
        assert!(svg.contains(text), "no {text} in {svg}");
    }
    assert!(svg.matches("<rect").count() >= 15 + 4 && svg.contains("url(#nothing)"), "{svg}");
    assert!(svg.contains(r#"key="run">abc<"#));
}

#[test]
fn a_large_map_is_a_picture_in_the_drawing() {
    let svg = map_to_svg(&figure(200));
    assert!(svg.contains("data:image/png;base64,iVBOR") && svg.matches("<rect").count() < 20);
    assert!(svg.contains(">L100</text>"));
}

#[test]
fn the_picture_shows_cells_in_their_colours() {
    for side in [4, 300] {
        let figure = figure(side);
        let png = map_to_png(&figure, 2.0).unwrap();
        assert!(png.windows(4).any(|bytes| bytes == b"iTXt"));
        let pixels = Pixmap::decode_png(&png).unwrap();
        // The first row is the darkest; the whole of the map is about as wide as it is said to be.
        let first = figure.tone.colour(0.0).unwrap();
        let last = figure.tone.colour(figure.data.at(side - 1, side - 1)).unwrap();
        for colour in [first, last] {
            let near = |a: u8, b: u8| a.abs_diff(b) < 10;
            let is_it = |p: &&resvg::tiny_skia::PremultipliedColorU8| {
                near(p.red(), colour.r()) && near(p.green(), colour.g()) && near(p.blue(), colour.b())
            };
            assert!(pixels.pixels().iter().filter(is_it).count() > 20, "{side}: {colour:?}");
        }
    }
}

#[test]
fn maps_of_nothing_are_written_too() {
    let tone = Tone::fitting(ColourMap::Magma, HeatScale::Log, HeatData::default().extent());
    let figure = MapFigure::new("", HeatData::default(), (HeatAxis::default(), HeatAxis::default()), tone);
    assert_eq!(map_to_csv(&figure), "\n");
    assert!(map_to_svg(&figure).ends_with("</svg>\n"));
    assert!(map_to_png(&figure, 1.0).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn many_maps_are_one_figure_with_ground_between_them() {
    let maps = [[1.0, f32::NAN, 0.5, 0.5], [0.25; 4]].map(|values| HeatData::new(2, 2, values.to_vec()));
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let blocks = MapBlocks { side: 2, rows: names(&["L0"]), columns: names(&["H0", "H1"]) };
    let tone = Tone::between(ColourMap::Viridis, HeatScale::Linear, 0.0, 1.0);
    let figure = MapFigure::of_blocks("All", blocks, ("Layer", "Head"), |_, head| maps.get(head), tone);
    assert_eq!(map_to_csv(&figure), "Layer \\ Head,H0 0,H0 1,H1 0,H1 1\nL0 0,1,,0.25,0.25\nL0 1,0.5,0.5,0.25,0.25\n");
    let svg = map_to_svg(&figure);
    assert!([">L0</text>", ">H0</text>", ">H1</text>"].iter().all(|name| svg.contains(name)), "{svg}");
    assert!(!svg.contains(">H0 1</text>"), "maps are named, not their columns");
    let png = map_to_png(&figure, 1.0).unwrap();
    assert!(Pixmap::decode_png(&png).is_ok());
}
