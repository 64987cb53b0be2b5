//! Whole analyses of small models: what streams through gives what everything at once gives.

use candle_core::{DType, Device};

use crate::{
    Analysis, AnalysisContext, AnalysisError, AnalysisSpec, Basis, Doing, MapView, Measure, NamedArray,
    ReconstructionSpec, SpectrumSpec, analyse,
    attention::{HeadAt, ModelPlan},
    config::{AttentionConfig, FirstReuse, ModelConfig, ModelKind, Reuse, RunConfig},
    model::{ForwardOptions, Model, ModelInput, ParameterSet},
    objective::Batch,
    ops::random::{Purpose, Stream},
    reconstruction::Scope,
};

const TOKENS: usize = 6;

fn model(kind: ModelKind, reuse: Reuse) -> Model {
    let config = RunConfig {
        model: ModelConfig { kind, layers: 3, heads: 2, width: 8, feed_forward: 8, ..ModelConfig::default() },
        attention: AttentionConfig { reuse, ..AttentionConfig::default() },
        ..RunConfig::default()
    };
    let plan = ModelPlan::resolve(&config, 40).unwrap();
    let parameters = ParameterSet::init(&plan, 3, DType::F32, &Device::Cpu).unwrap();
    Model::frozen(&plan, &parameters).unwrap()
}

fn batches(sizes: &[usize]) -> Vec<Batch> {
    let mut stream = Stream::new(9, Purpose::Test, 0);
    let batch = |&batch: &usize| Batch {
        sources: None,
        token_types: None,
        answers: None,
        pixels: None,
        input_ids: (0..batch * TOKENS).map(|_| stream.below(40) as u32).collect(),
        labels: vec![1; batch * TOKENS],
        key_mask: None,
        batch,
        sequence: TOKENS,
    };
    sizes.iter().map(batch).collect()
}

fn spec() -> AnalysisSpec {
    let spectrum = SpectrumSpec { heads: true, ..SpectrumSpec::default() };
    let reconstruction = Some(ReconstructionSpec { layers: true, ..ReconstructionSpec::default() });
    let similarity = Measure::ALL.to_vec();
    AnalysisSpec { similarity, spectrum: Some(spectrum), reconstruction, ..AnalysisSpec::default() }
}

fn found(model: &Model, batches: Vec<Batch>, bases: &[Basis]) -> Result<Analysis, AnalysisError> {
    let examples = batches.iter().map(|batch| batch.batch).sum();
    let wanted = AnalysisContext {
        spec: &spec(),
        examples,
        tokens: TOKENS,
        bases,
        free: None,
        tell: &|_, _| (),
        should_stop: &|| false,
    };
    analyse(model, &mut batches.into_iter(), &wanted)
}

#[test]
fn examples_that_stream_give_what_all_at_once_give() {
    for kind in [ModelKind::Encoder, ModelKind::Decoder] {
        let model = model(kind, Reuse::default());
        let streamed = batches(&[3, 2, 4]);
        let all = Batch {
            sources: None,
            token_types: None,
            answers: None,
            pixels: None,
            input_ids: streamed.iter().flat_map(|batch| batch.input_ids.clone()).collect(),
            labels: vec![1; 9 * TOKENS],
            key_mask: None,
            batch: 9,
            sequence: TOKENS,
        };
        let (streamed, all) = (found(&model, streamed, &[]).unwrap(), found(&model, vec![all], &[]).unwrap());
        assert_eq!((streamed.examples, all.examples), (9, 9));
        for (a, b) in streamed.arrays().iter().zip(&all.arrays()) {
            assert_eq!((&a.name, &a.shape), (&b.name, &b.shape));
            let scale = b.values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
            // Directions that share an eigenvalue may turn: patterns are left to the goldens.
            let is_close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5 * scale || (a.is_nan() && b.is_nan());
            // Fewer samples than pairs of whole maps: rounding decides which of the last are computed first.
            let may_turn = a.name == "patterns" || a.name.starts_with("reconstruction-whole");
            assert!(may_turn || a.values.iter().zip(&b.values).all(is_close), "{}", a.name);
        }
    }
}

#[test]
fn a_copied_map_is_identical_and_only_heads_that_score_have_spectra() {
    let model = model(ModelKind::Encoder, Reuse::First(FirstReuse { layers: 1, heads: 1 }));
    let found = found(&model, batches(&[5]), &[]).unwrap();
    for similarity in &found.similarity {
        // The last head of layer 1 uses the map of the first of layer 0.
        let copy = similarity.between(HeadAt::new(0, 0), HeadAt::new(1, 1));
        assert!((copy - 1.0).abs() < 1e-6, "{}: {copy}", similarity.measure);
        assert!(similarity.between(HeadAt::new(0, 0), HeadAt::new(1, 0)) < copy, "{}", similarity.measure);
    }
    let spectra = found.spectra.as_ref().unwrap();
    let samples: Vec<u64> = spectra.layers.iter().map(|layer| layer.samples).collect();
    assert_eq!(samples, [10, 5, 10]);
    assert_eq!(spectra.heads[3].samples, 0);
    assert!(spectra.network.is_rank_deficient() && found.notes.iter().any(|note| note.contains("25 samples")));
    assert_eq!(found.captured.as_ref().unwrap().layers[1].heads, [0]);
}

#[test]
fn an_analysis_on_its_own_space_gives_its_own_spectrum() {
    let model = model(ModelKind::Encoder, Reuse::default());
    let own = found(&model, batches(&[30]), &[]).unwrap();
    let directions = own.spectra.as_ref().unwrap().patterns.clone();
    let count = directions.len();
    let basis = Basis { name: "itself".to_owned(), directions };
    let projected = found(&model, batches(&[30]), &[basis]).unwrap();
    let own = own.spectra.unwrap().network.cumulative();
    let projection = &projected.projections[0];
    for (place, value) in projection.network.iter().enumerate() {
        assert!((value - own[place]).abs() < 1e-5, "{place}: {value} instead of {}", own[place]);
    }
    assert_eq!((projection.network.len(), projection.layers.len()), (count, 3));
    let other = Basis { name: "shorter".to_owned(), directions: vec![vec![0.5; 4]] };
    let error = found(&model, batches(&[2]), &[other]).unwrap_err().to_string();
    assert!(error.contains("maps of 2 tokens") && error.contains("maps of 6 tokens"), "{error}");
}

#[test]
fn padded_examples_are_left_out_of_spectra_and_said_to_be() {
    let model = model(ModelKind::Encoder, Reuse::default());
    let mut batch = batches(&[4]).remove(0);
    batch.key_mask = Some((0..4 * TOKENS).map(|place| u8::from(place < 4 * TOKENS - 2)).collect());
    let analysed = found(&model, vec![batch.clone()], &[]).unwrap();
    assert_eq!(analysed.spectra.unwrap().examples, 3);
    assert!(analysed.notes.iter().any(|note| note.contains("1 of 4 examples")), "{:?}", analysed.notes);
    batch.key_mask = Some(vec![0; 4 * TOKENS]);
    assert!(matches!(found(&model, vec![batch], &[]), Err(AnalysisError::NoExamples)));
    let mut decoded = batches(&[2]).remove(0);
    decoded.key_mask = Some((0..2 * TOKENS).map(|place| u8::from(place != 2 * TOKENS - 1)).collect());
    let decoder = self::model(ModelKind::Decoder, Reuse::default());
    assert_eq!(found(&decoder, vec![decoded], &[]).unwrap().spectra.unwrap().examples, 1);
}

#[test]
fn an_analysis_that_is_stopped_says_so() {
    let model = model(ModelKind::Encoder, Reuse::default());
    let wanted = AnalysisContext {
        spec: &spec(),
        examples: 3,
        tokens: TOKENS,
        bases: &[],
        free: None,
        tell: &|_, _| (),
        should_stop: &|| true,
    };
    let stopped = analyse(&model, &mut batches(&[3]).into_iter(), &wanted);
    assert!(matches!(stopped, Err(AnalysisError::Stopped)));
}

#[test]
fn progress_counts_what_comes_after_the_text_was_read_and_names_it() {
    let model = model(ModelKind::Decoder, Reuse::default());
    let told = std::cell::RefCell::new(Vec::new());
    let wanted = AnalysisContext {
        spec: &AnalysisSpec { reconstruction: None, ..spec() },
        examples: 3,
        tokens: TOKENS,
        bases: &[],
        free: None,
        tell: &|doing, share| told.borrow_mut().push((doing, share)),
        should_stop: &|| false,
    };
    analyse(&model, &mut batches(&[1, 2]).into_iter(), &wanted).unwrap();
    let told = told.into_inner();
    assert!(told.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{told:?}");
    let shares =
        |wanted| told.iter().filter(|(doing, _)| *doing == wanted).map(|(_, share)| *share).collect::<Vec<_>>();
    let (reading, spectra) = (shares(Doing::Reading), shares(Doing::Spectra));
    assert_eq!((reading.len(), told.last().map(|(_, share)| *share)), (2, Some(1.0)));
    assert!(reading[1] < 0.8 && spectra[spectra.len() - 1] > 0.85, "{told:?}");
    assert!(spectra.len() > 2, "one for the network and for each layer: {told:?}");
}

#[test]
fn an_analysis_packs_into_numbers_and_facts_and_back() {
    let model = model(ModelKind::Decoder, Reuse::First(FirstReuse { layers: 1, heads: 1 }));
    let basis = Basis { name: "any".to_owned(), directions: vec![vec![1.0 / 6.0; 36]] };
    let analysis = found(&model, batches(&[3]), &[basis]).unwrap();
    let packed = analysis.pack().unwrap();
    let back = Analysis::unpack(&packed.facts, &packed.values).unwrap();
    assert!(back.pack().unwrap().values == packed.values);
    let (own, kept) = (analysis.reconstruction.as_ref().unwrap(), back.reconstruction.as_ref().unwrap());
    assert!(own.scopes[0].has_factors && !own.scopes[0].factors.is_empty());
    assert_eq!((&own.scopes[0].factors, &own.scopes[0].ranks), (&kept.scopes[0].factors, &kept.scopes[0].ranks));
    assert!(!packed.facts.contains("factors\":["), "large arrays are no text");
    assert!(back.clone().light().pack().unwrap().values.len() < packed.values.len());
    assert_eq!((&back.notes, back.examples), (&analysis.notes, analysis.examples));
    let names: Vec<String> = back.arrays().into_iter().map(|NamedArray { name, .. }| name).collect();
    for name in [
        "similarity-cosine",
        "eigenvalues-heads",
        "patterns",
        "captured-query-layer-1",
        "subspace-0",
        "reconstruction-network-errors",
        "reconstruction-layer-2-order",
        "reconstruction-whole-errors",
        "reconstruction-flops",
    ] {
        assert!(names.contains(&name.to_owned()), "{name}: {names:?}");
    }
    for array in back.arrays() {
        assert_eq!(array.values.len(), array.shape.iter().product::<usize>(), "{}", array.name);
    }
    assert!(Analysis::unpack(&packed.facts, &packed.values[1..]).unwrap_err().contains("do not fit"));
    // Sizes of somebody else's, by which tables would be made.
    let mut facts: serde_json::Value = serde_json::from_str(&packed.facts).unwrap();
    facts["analysis"]["similarity"][0]["layers"] = 4_000_000_000_u64.into();
    assert!(Analysis::unpack(&facts.to_string(), &packed.values).unwrap_err().contains("do not fit 4000000000 layers"));
    let mut facts: serde_json::Value = serde_json::from_str(&packed.facts).unwrap();
    facts["lengths"][0] = u64::MAX.into();
    assert!(Analysis::unpack(&facts.to_string(), &packed.values).unwrap_err().contains("do not fit"));
}

#[test]
fn a_view_is_rebuilt_from_the_pairs_that_the_analysis_chose() {
    for kind in [ModelKind::Encoder, ModelKind::Decoder] {
        let model = model(kind, Reuse::First(FirstReuse { layers: 1, heads: 2 }));
        let analysed = found(&model, batches(&[8]), &[]).unwrap().reconstruction.unwrap();
        let scopes: Vec<Scope> = analysed.scopes.iter().map(|scope| scope.scope).collect();
        assert_eq!(scopes, [Scope::Network, Scope::Layer { layer: 0 }, Scope::Layer { layer: 2 }], "layer 1 borrows");
        assert_eq!((analysed.examples, analysed.held_out_examples, analysed.scopes[0].samples), (4, 4, 16));
        let view = MapView::new(model, &[4, 7, 1, 9, 3, 2], None, &Device::Cpu).unwrap();
        // A head that borrows is rebuilt from its lender's scores.
        for head in [HeadAt::new(0, 1), HeadAt::new(1, 1), HeadAt::new(2, 0)] {
            let scores = view.scores(head).unwrap().unwrap();
            let map = view.map(head).unwrap().unwrap();
            let rebuilt = analysed.rebuild(0, &scores, TOKENS).unwrap();
            let is_close = |(a, b): (&f32, &f32)| (a.is_nan() && *b == 0.0) || (a - b).abs() < 1e-6;
            assert!(rebuilt.rebuilt_map.iter().zip(&map).all(is_close), "with all pairs it is the model's own map");
            assert!(analysed.rebuild(0, &scores, 0).unwrap().score_error == 1.0);
        }
    }
}

#[test]
fn a_view_shows_the_maps_that_the_model_uses() {
    let pair = Some([0, 0, 0, 1, 1, 1]);
    let mut first = Vec::new();
    for (kind, types) in [(ModelKind::Encoder, None), (ModelKind::Encoder, pair), (ModelKind::Decoder, None)] {
        let model = model(kind, Reuse::First(FirstReuse { layers: 1, heads: 1 }));
        let ids: Vec<u32> = (3..9).collect();
        let mut input = ModelInput::new(&ids, None, 1, 6, &Device::Cpu).unwrap();
        if let Some(types) = &types {
            input = input.with_token_types(types).unwrap();
        }
        let options = ForwardOptions { keep_maps: true, ..ForwardOptions::default() };
        let maps = model.attend(&input, &options).unwrap().maps;
        let view = MapView::new(model, &ids, types.as_ref().map(<[u32; 6]>::as_slice), &Device::Cpu).unwrap();
        first.push(view.map(HeadAt::new(0, 0)).unwrap().unwrap());
        let thumbnails = view.thumbnails().unwrap();
        assert_eq!((thumbnails.side, view.tokens()), (6, 6));
        for (layer, maps) in maps.iter().enumerate() {
            let maps: Vec<f32> = maps.flatten_all().unwrap().to_vec1().unwrap();
            for head in 0..2 {
                let expected = &maps[head * 36..(head + 1) * 36];
                let found = view.map(HeadAt::new(layer, head)).unwrap().unwrap();
                let small = &thumbnails.values[(layer * 2 + head) * 36..][..36];
                for shown in [&found[..], small] {
                    assert!(
                        shown.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6),
                        "layer {layer}, head {head}"
                    );
                }
            }
        }
    }
    assert_ne!(first[0], first[1], "a pair is not read as one text");
}
