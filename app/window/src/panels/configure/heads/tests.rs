use headroom_engine::{
    attention::supported,
    config::{AttentionConfig, Baseline, ModelKind, PartialReuse},
};

use super::*;

fn config(layers: usize, heads: usize, reuse: Reuse) -> RunConfig {
    let mut config = RunConfig::default();
    (config.model.layers, config.model.heads, config.model.width) = (layers, heads, heads * 16);
    config.attention.reuse = reuse;
    config
}

fn custom(rows: &[&str], layers: usize, heads: usize) -> RunConfig {
    config(layers, heads, Reuse::Custom(CustomReuse { rows: rows.iter().map(|row| (*row).to_owned()).collect() }))
}

fn written(config: &RunConfig) -> Vec<String> {
    let Reuse::Custom(custom) = &config.attention.reuse else { panic!("{:?}", config.attention.reuse) };
    custom.rows.clone()
}

fn click(config: &mut RunConfig, layer: usize, head: usize) -> Option<String> {
    edit(config, HeadEdit::Cycle(HeadSpot::new(layer, head)))
}

#[test]
fn every_schedule_is_shown_as_its_plan() {
    for reuse in Reuse::examples(5, 3) {
        let config = config(5, 3, reuse.clone());
        let plan = HeadPlan::derive(&config.attention, 5, 3).unwrap();
        let heads = Heads::of(&config);
        assert_eq!(heads, Heads { grid: head_grid(&plan), is_misfit: false });
        assert_eq!(heads.grid.is_plain(), plan.is_plain());
        for (at, cell) in plan.iter() {
            let shown = heads.grid.cell(spot(at));
            match cell {
                Cell::Compute => assert_eq!(shown, Some(HeadCell::Computes)),
                Cell::Skip => assert_eq!(shown, Some(HeadCell::Skips)),
                Cell::Borrow { from, origin } => {
                    assert_eq!(shown, Some(HeadCell::Borrows { from: spot(from), origin: spot(origin) }));
                }
            }
        }
    }
}

#[test]
fn what_a_slider_allows_is_what_the_engine_allows() {
    for (layers, heads) in [(1, 1), (2, 3), (6, 4)] {
        for kind in Reuse::examples(6, 4).iter().map(Reuse::kind) {
            let base = config(layers, heads, Reuse::default());
            let usual = usual_reuse(kind, &base);
            assert_eq!(usual.kind(), kind);
            assert_eq!(usual.problems(layers, heads), [], "{usual:?}");
            let with = |beyond: usize| {
                let mut reuse = usual.clone();
                for number in reuse.numbers(layers, heads) {
                    match number.value {
                        NumberValue::Always(value) => *value = number.most + beyond,
                        NumberValue::Optional(value) => *value = Some(number.most + beyond),
                    }
                }
                reuse
            };
            assert_eq!(with(0).problems(layers, heads), []);
            let attention = AttentionConfig { reuse: with(0), ..AttentionConfig::default() };
            let plan = HeadPlan::derive(&attention, layers, heads);
            assert!(plan.is_ok() || matches!(usual, Reuse::Custom(_)), "{attention:?}");
            if !matches!(usual, Reuse::None(_) | Reuse::Custom(_)) {
                let mut beyond = with(1);
                assert_ne!(beyond.problems(layers, heads), [], "{beyond:?}");
                within(&mut beyond, layers, heads);
                assert_eq!(beyond, with(0));
            }
        }
    }
}

#[test]
fn clicks_go_through_all_states_and_every_one_is_sound() {
    let mut config = config(3, 2, Reuse::default());
    let mut seen = Vec::new();
    for _ in 0..4 {
        assert_eq!(click(&mut config, 2, 1), None);
        assert_eq!(supported(&config), []);
        seen.push(written(&config)[2].clone());
    }
    assert_eq!(seen, ["c 1.1", "c -", "c c", "c 1.1"]);
    // The first layer has nothing to borrow.
    click(&mut config, 0, 0);
    assert_eq!(written(&config)[0], "- c");
    // The head of the layer before is not there: the nearest one lends.
    click(&mut config, 1, 0);
    assert_eq!(written(&config), ["- c", "0.1 c", "c 1.1"]);
    assert_eq!(edit(&mut config, HeadEdit::Cycle(HeadSpot::new(9, 0))), None);
}

#[test]
fn borrowers_of_a_head_that_goes_turn_to_its_lender_or_compute() {
    let mut config = custom(&["c c", "0.0 c", "1.0 1.1"], 3, 2);
    let note = click(&mut config, 1, 0).unwrap();
    assert_eq!(written(&config), ["c c", "- c", "0.0 1.1"]);
    assert!(note.starts_with("1 head borrowed from it"), "{note}");
    assert!(assign(&mut config, HeadSpot::new(1, 1), false).is_some());
    assert_eq!(written(&config), ["c c", "- -", "0.0 c"]);
    assert_eq!(supported(&config), []);
    let lender = HeadEdit::Borrow { at: HeadSpot::new(2, 1), from: HeadSpot::new(0, 1) };
    edit(&mut config, lender);
    assert_eq!(written(&config)[2], "0.0 0.1");
    // A lender that cannot be leaves the table as it is.
    let before = config.clone();
    edit(&mut config, HeadEdit::Borrow { at: HeadSpot::new(0, 1), from: HeadSpot::new(2, 1) });
    assert_eq!(config, before);
}

#[test]
fn a_table_that_does_not_fit_shows_where_and_can_be_made_to() {
    let mut config = custom(&["c c c", "0.0 0.2 x", "1.1 3.0 -"], 4, 2);
    let heads = Heads::of(&config);
    assert!(heads.is_misfit && !supported(&config).is_empty());
    let why = |layer, head| heads.grid.reason(HeadSpot::new(layer, head)).unwrap_or_default().to_owned();
    assert!(why(1, 1).contains("2 heads"), "{}", why(1, 1));
    assert!(why(2, 1).contains("earlier layer") && why(3, 0).contains("no place"));
    assert_eq!(heads.grid.reason(HeadSpot::new(1, 0)), None);
    fit(&mut config);
    assert_eq!(written(&config), ["c c", "0.0 c", "1.1 c", "c c"]);
    assert_eq!(supported(&config), []);
    assert!(!Heads::of(&config).is_misfit);
    // A click does the same on its way.
    let mut config = custom(&["c"], 2, 2);
    click(&mut config, 1, 1);
    assert_eq!(written(&config), ["c c", "c 0.1"]);
    let empty = custom(&[], 2, 2);
    assert!(Heads::of(&empty).is_misfit);
}

#[test]
fn layers_that_were_added_to_match_become_layers_of_the_model() {
    let mut config = config(12, 12, Reuse::Partial(PartialReuse { heads: 6 }));
    config.model.kind = ModelKind::Encoder;
    (config.model.width, config.model.feed_forward) = (768, 3072);
    config.attention.match_parameters = Some(Baseline::Standard);
    assert_eq!(Heads::of(&config).grid.layers(), 13);
    let note = click(&mut config, 12, 0).unwrap();
    assert!(note.contains("13"), "{note}");
    assert_eq!((config.model.layers, config.attention.match_parameters), (13, None));
    assert_eq!(written(&config).len(), 13);
    assert_eq!(supported(&config), []);
}

#[test]
fn a_size_that_cannot_be_has_no_map() {
    for (layers, heads) in [(0, 4), (4, 0), (usize::MAX, 4), (4, usize::MAX)] {
        let mut config = RunConfig::default();
        (config.model.layers, config.model.heads) = (layers, heads);
        assert_eq!(Heads::of(&config), Heads::default());
        assert_eq!(rows(&config), None);
    }
}
