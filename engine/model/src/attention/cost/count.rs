use serde::{Deserialize, Serialize};

use super::{
    Part, PartCost, Workload, activations,
    scoring::{Scoring, Streams},
};
use crate::{
    attention::{InputPlan, LinearBiases, ModelPlan, NormKind, OutputPlan, Positions, StackPlan, VocabularyHead},
    config::{Coverage, Restore},
};

/// Numbers that `AdamW` keeps for every parameter: two moments.
const MOMENTS: u64 = 2;

/// What one layer costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerCost {
    /// Layer, from 0; those of an encoder come before those of its decoder.
    pub layer: usize,
    /// Its parts.
    pub parts: Vec<PartCost>,
}

impl LayerCost {
    /// One part's cost; none when a layer has no such part.
    pub fn part(&self, part: Part) -> Option<&PartCost> {
        self.parts.iter().find(|cost| cost.part == part)
    }
}

/// What a model costs for a workload. Numbers too large for 64 bits stay at the largest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// What was asked of it.
    pub workload: Workload,
    /// Layer by layer.
    pub layers: Vec<LayerCost>,
    /// What belongs to no layer: embeddings, first or last norm, head.
    pub outside: Vec<PartCost>,
    /// Trainable numbers.
    pub parameters: u64,
    /// FLOPs of one forward pass.
    pub forward_flops: u64,
    /// FLOPs of its backward pass; 0 when there is none.
    pub backward_flops: u64,
    /// FLOPs of one optimiser step, all its forward passes counted; of one forward pass when there is no training.
    pub flops_per_step: u64,
    /// Bytes of the weights, and of their copies in half precision.
    pub weights_bytes: u64,
    /// Bytes of the gradients; 0 when there are none.
    pub gradient_bytes: u64,
    /// Bytes of the optimiser's moments; 0 when there is none.
    pub optimiser_bytes: u64,
    /// Estimated bytes kept from forward until backward, or alive at once in a forward pass alone.
    pub activation_bytes: u64,
    /// Estimated bytes that operations work with for a while, at their largest; 0 when there is no training.
    pub working_bytes: u64,
    /// Estimate of all of them together at their largest.
    pub memory_bytes: u64,
}

impl Cost {
    /// Counts what `plan` costs for `workload`.
    pub fn of(plan: &ModelPlan, workload: &Workload) -> Self {
        let layers = plan.stacks().flat_map(|stack| (0..stack.layers).map(move |layer| (stack, layer)));
        let layers: Vec<LayerCost> =
            layers.enumerate().map(|(number, (stack, layer))| layer_cost(stack, layer, number, workload)).collect();
        let outside = outside_cost(plan, workload);
        let total = |of: fn(&PartCost) -> u64| {
            layers.iter().flat_map(|layer| &layer.parts).chain(&outside).map(of).fold(0, u64::saturating_add)
        };
        let bytes = workload.precision.bytes();
        let parameters = total(|part| part.parameters);
        let (forward_flops, backward_flops) = (total(|part| part.forward_flops), total(|part| part.backward_flops));
        let gradients_bytes = parameters.saturating_mul(workload.precision.weight_bytes());
        // Those of half size are copies beside the weights.
        let copies_bytes = if workload.precision.is_half() { parameters.saturating_mul(bytes) } else { 0 };
        let weights_bytes = gradients_bytes.saturating_add(copies_bytes);
        let (passes, gradient_bytes, optimiser_bytes, activation_bytes) = if workload.is_training() {
            let passes = workload.accumulation as u64;
            (passes, gradients_bytes, gradients_bytes.saturating_mul(MOMENTS), total(|part| part.activation_bytes))
        } else {
            (1, 0, 0, transient_bytes(plan, workload))
        };
        let working = if workload.is_training() {
            plan.stacks().map(|stack| activations::working(stack, workload)).max().unwrap_or(0)
        } else {
            0
        };
        let working_bytes = working.saturating_mul(bytes);
        Self {
            workload: *workload,
            parameters,
            forward_flops,
            backward_flops,
            flops_per_step: forward_flops.saturating_add(backward_flops).saturating_mul(passes),
            weights_bytes,
            gradient_bytes,
            optimiser_bytes,
            activation_bytes,
            working_bytes,
            memory_bytes: [weights_bytes, gradient_bytes, optimiser_bytes, activation_bytes, working_bytes]
                .into_iter()
                .fold(0, u64::saturating_add),
            layers,
            outside,
        }
    }

    /// One part summed over all layers and what lies outside them.
    pub fn part(&self, part: Part) -> PartCost {
        let mut sum = PartCost::new(part, 0, 0, 0, false);
        for cost in self.layers.iter().flat_map(|layer| &layer.parts).chain(&self.outside).filter(|c| c.part == part) {
            sum.add(cost);
        }
        sum
    }

    /// Multiply-accumulates of the matrix products inside the layers, forward.
    pub fn layer_macs(&self) -> u64 {
        self.layers.iter().flat_map(|layer| &layer.parts).map(|part| part.macs).fold(0, u64::saturating_add)
    }
}

/// Multiply-accumulates of the matrix products inside the layers for one example of `sequence` tokens: no embeddings,
/// head, norms, softmax or biases. The count that papers on attention call FLOPs, with their two peculiarities:
/// multiplications by diagonals count (a shared matrix's, and a mixing row's on both sides), content biases do not.
pub fn layer_macs(plan: &ModelPlan, sequence: usize) -> u64 {
    let exact = Cost::of(plan, &Workload::inference(1, sequence, crate::config::Precision::F32)).layer_macs();
    let layers =
        plan.stacks().flat_map(|stack| (0..stack.layers).map(move |layer| Scoring::of(stack, layer, Streams::One)));
    layers.fold(exact, |macs, scoring| {
        let tokens = |macs: u64| macs.saturating_mul(sequence as u64);
        macs.saturating_sub(tokens(scoring.projection_macs)).saturating_add(tokens(scoring.published_macs))
    })
}

/// The product, or the largest number when it does not fit.
fn product(factors: &[usize]) -> u64 {
    factors.iter().fold(1, |product: u64, &factor| product.saturating_mul(factor as u64))
}

/// Parameters of a norm of rows of `width` numbers.
fn norm(plan: &StackPlan, width: usize) -> u64 {
    match plan.design.norm {
        NormKind::Layer => product(&[2, width]),
        NormKind::Rms => width as u64,
    }
}

/// Parameters of a linear map with bias.
fn linear(from: usize, to: usize) -> u64 {
    product(&[from, to]).saturating_add(to as u64)
}

/// What layer `layer` of a stack costs, number `number` of the model. Where it attends to an encoder, that reads as many
/// tokens, and what its cross-attention costs stands in the parts of attention.
fn layer_cost(plan: &StackPlan, layer: usize, number: usize, work: &Workload) -> LayerCost {
    let (d, f) = (plan.width, plan.feed_forward);
    let (b, t) = (work.batch, work.sequence);
    let cross = plan.cross.as_ref().map(|cross| StackPlan {
        head_plan: cross.head_plan.clone(),
        compatibility: cross.compatibility.clone(),
        cross: None,
        ..plan.exact()
    });
    let mut parts = attention_cost(plan, layer, Streams::One, work);
    for (part, more) in
        parts.iter_mut().zip(cross.iter().flat_map(|cross| attention_cost(cross, layer, Streams::Two, work)))
    {
        part.add(&more);
    }
    let kept = activations::layer(plan, layer, Streams::One, work);
    let bytes = work.precision.bytes();
    let cost = |part, parameters, macs, numbers: u64| {
        PartCost::new(part, parameters, macs, numbers.saturating_mul(bytes), work.is_training())
    };
    // A layer without attention has no norm for it.
    let norms = [Some(plan), cross.as_ref()].into_iter().flatten().filter(|of| of.head_plan.live(layer) > 0).count();
    let crossed = cross.as_ref().filter(|cross| cross.head_plan.live(layer) > 0);
    let crossed = crossed.map_or(0, |cross| activations::layer(cross, layer, Streams::Two, work).norm / 2);
    let inner_maps = if plan.design.is_gated { 2 } else { 1 };
    let mut feed_forward = product(&[1 + inner_maps, d, f]);
    if plan.design.biases == LinearBiases::All {
        feed_forward = feed_forward.saturating_add(product(&[inner_maps, f])).saturating_add(d as u64);
    }
    parts.push(cost(Part::FeedForward, feed_forward, product(&[1 + inner_maps, b, t, d, f]), kept.feed_forward));
    let norms = norm(plan, d).saturating_mul(1 + norms as u64);
    parts.push(cost(Part::Norm, norms, 0, kept.norm.saturating_add(crossed)));
    if plan.parameters_of(layer) != layer {
        for part in &mut parts {
            part.parameters = 0;
        }
    }
    LayerCost { layer: number, parts }
}

/// Costs of an attention of a layer.
fn attention_cost(plan: &StackPlan, layer: usize, streams: Streams, work: &Workload) -> Vec<PartCost> {
    let (d, d_k) = (plan.width, plan.head_size);
    let (b, t) = (work.batch, work.sequence);
    let mixing = plan.head_plan.live(layer) * d_k;
    let scoring = Scoring::of(plan, layer, streams);
    let output_bias = if scoring.has_output_bias { d } else { 0 };
    let kept = activations::layer(plan, layer, streams, work);
    let bytes = work.precision.bytes();
    let cost = |part, parameters, macs, numbers: u64| {
        PartCost::new(part, parameters, macs, numbers.saturating_mul(bytes), work.is_training())
    };
    let mut scores =
        cost(Part::Scores, restore_parameters(plan, layer), score_macs(plan, layer, &scoring, work), kept.scores);
    if plan.trained_restore().is_none() {
        // A map that stays as it is has no gradient: one product less.
        let spared = restoring_macs(plan, layer, work).saturating_mul(2);
        scores.backward_flops = scores.backward_flops.saturating_sub(spared);
    }
    vec![
        cost(
            Part::Projections,
            scoring.parameters,
            product(&[b, t]).saturating_mul(scoring.projection_macs),
            kept.projections,
        ),
        scores,
        cost(Part::Mix, 0, product(&[b, t, t, mixing]), kept.mix),
        cost(Part::Output, product(&[mixing, d]) + output_bias as u64, product(&[b, t, mixing, d]), kept.output),
    ]
}

/// Multiply-accumulates of the scores of a layer. Where k of t keys are computed: these, and the product of R with them
/// for the others of each row; hidden entries of a map count here as they do for whole maps.
fn score_macs(plan: &StackPlan, layer: usize, scoring: &Scoring, work: &Workload) -> u64 {
    let (b, t) = (work.batch, work.sequence);
    let whole = product(&[b, t, t]).saturating_mul(scoring.score_macs);
    let (Some(k), true) = (plan.coverage.k().map(|k| k.min(t)), plan.approximates(layer)) else { return whole };
    let heads = plan.head_plan.computed(layer);
    match &plan.coverage {
        Coverage::Full(_) => whole,
        Coverage::Partial(_) => {
            let computed = product(&[b, t, k]).saturating_mul(scoring.score_macs + scoring.partial_score_macs);
            computed.saturating_add(restoring_macs(plan, layer, work))
        }
        // All of them, then onto the directions and back.
        Coverage::Eigen(_) => whole.saturating_add(product(&[2, b, heads, t, t, k])),
    }
}

/// Multiply-accumulates of the products with R.
fn restoring_macs(plan: &StackPlan, layer: usize, work: &Workload) -> u64 {
    let t = work.sequence;
    match &plan.coverage {
        Coverage::Partial(partial) if plan.approximates(layer) => {
            let k = partial.k.min(t);
            product(&[work.batch, plan.head_plan.computed(layer), t, k, t - k])
        }
        _ => 0,
    }
}

/// Trained numbers of the map from computed to restored scores that layer `layer` has for itself.
fn restore_parameters(plan: &StackPlan, layer: usize) -> u64 {
    if plan.trained_restore() == Some(Restore::PerLayer) && plan.approximates(layer) {
        plan.restore_numbers()
    } else {
        0
    }
}

/// Parameters of the norms of a stack that belong to no layer.
fn outer_norms(stack: &StackPlan) -> u64 {
    let embeddings = if stack.norms_embeddings() { norm(stack, stack.embedding_width()) } else { 0 };
    let last = if stack.norms_last() { norm(stack, stack.width) } else { 0 };
    embeddings.saturating_add(last)
}

/// Biases for the distances of pairs.
fn relative_biases(stack: &StackPlan) -> usize {
    match stack.design.positions {
        Positions::Relative { buckets, .. } => buckets * stack.heads,
        Positions::Learned | Positions::Sinusoidal | Positions::Rotary(_) => 0,
    }
}

fn outside_cost(plan: &ModelPlan, work: &Workload) -> Vec<PartCost> {
    let (d, vocabulary, predicted) = (plan.stack.width, plan.vocabulary(), work.predicted);
    let e = plan.stack.embedding_width();
    let positions: usize = plan.stacks().map(StackPlan::position_rows).sum();
    let relative: usize = plan.stacks().map(relative_biases).sum();
    let bytes = work.precision.bytes();
    let cost = |part, parameters, macs, numbers: u64| {
        PartCost::new(part, parameters, macs, numbers.saturating_mul(bytes), work.is_training())
    };
    let (input, input_macs) = match plan.input {
        InputPlan::Tokens { types, .. } => {
            let tables = product(&[vocabulary + types, e]);
            match plan.stack.design.embedding.width {
                None => (tables, 0),
                Some(e) => (tables.saturating_add(linear(e, d)), product(&[work.batch, work.sequence, e, d])),
            }
        }
        InputPlan::Patches { patch, channels, distils, .. } => {
            let numbers = channels * patch * patch;
            let learned = 1 + usize::from(distils);
            let patches = work.sequence.saturating_sub(learned);
            (linear(numbers, d).saturating_add(product(&[learned, d])), product(&[work.batch, patches, numbers, d]))
        }
    };
    let (head, head_macs) = match plan.head {
        OutputPlan::Vocabulary(VocabularyHead { transforms, has_bias, table, activation: _ }) => {
            let (transform, macs) =
                if transforms { (linear(d, e) + product(&[2, e]), product(&[predicted, d, e])) } else { (0, 0) };
            let bias = if has_bias { vocabulary as u64 } else { 0 };
            let own = if table.is_own() { product(&[vocabulary, e]) } else { 0 };
            let parameters = transform.saturating_add(bias).saturating_add(own);
            (parameters, macs.saturating_add(product(&[predicted, e, vocabulary])))
        }
        OutputPlan::Classes { classes, pooler, distils } => {
            let (pooler, macs) = if pooler.is_some() { (linear(d, d), product(&[work.batch, d, d])) } else { (0, 0) };
            let maps = 1 + usize::from(distils);
            let parameters = pooler.saturating_add(linear(d, classes).saturating_mul(maps as u64));
            (parameters, macs.saturating_add(product(&[work.batch, maps, d, classes])))
        }
        OutputPlan::Replaced => {
            let positions = product(&[work.batch, work.sequence, d]);
            (linear(d, d).saturating_add(linear(d, 1)), positions.saturating_mul(d as u64 + 1))
        }
        OutputPlan::Span => (linear(d, 2), product(&[work.batch, work.sequence, d, 2])),
        // Nothing reads the pooler.
        OutputPlan::States { pools } => (if pools { linear(d, d) } else { 0 }, 0),
    };
    // The map from computed to restored scores that all layers share.
    let shared = plan.stacks().filter(|stack| stack.trained_restore() == Some(Restore::Common));
    let shared = shared.map(StackPlan::restore_numbers).fold(0, u64::saturating_add);
    let norms = plan.stacks().map(|stack| activations::norm(stack, work)).fold(0, u64::saturating_add);
    let mut embedding = cost(
        Part::Embedding,
        input.saturating_add(product(&[positions, e])).saturating_add(relative as u64),
        input_macs,
        activations::embedding(plan, work),
    );
    if matches!(plan.input, InputPlan::Patches { .. }) {
        // No gradient goes to pixels: one of the two products less.
        embedding.backward_flops = embedding.backward_flops.saturating_sub(embedding.forward_flops);
    }
    vec![
        embedding,
        // After the embeddings where norms come last, at the end where they come first.
        cost(Part::Norm, plan.stacks().map(outer_norms).fold(0, u64::saturating_add), 0, norms),
        cost(Part::Scores, shared, 0, 0),
        cost(Part::Head, head, head_macs, activations::head(plan, work)),
    ]
}

/// Bytes alive at once in a forward pass that keeps nothing: the widest layer, or the logits.
fn transient_bytes(plan: &ModelPlan, work: &Workload) -> u64 {
    let widest = plan
        .stacks()
        .flat_map(|stack| (0..stack.layers).map(move |layer| (stack, layer)))
        .map(|(stack, layer)| {
            let kept = activations::layer(stack, layer, Streams::One, work);
            [kept.projections, kept.scores, kept.mix, kept.output, kept.feed_forward, kept.norm]
                .into_iter()
                .fold(0, u64::saturating_add)
        })
        .max()
        .unwrap_or(0);
    widest.max(activations::head(plan, work) / 2).saturating_mul(work.precision.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attention::{BART, BERT, CrossPlan, Draft, HeadAt, HeadPlan, HeadTable, Naming, Preset, StackName, VIT},
        config::{
            AttentionConfig, Cache, Collaborative, Compatibility, DeviceChoice, FullReuse, MapMemoryChoice,
            ModelConfig, ModelKind, NormPlacement, Pairwise, PartialCoverage, Precision, Reuse, RunConfig,
            SharedWeight, Symmetric,
        },
        ops::Activation,
    };

    fn plan(kind: ModelKind, change: impl FnOnce(&mut RunConfig)) -> ModelPlan {
        let mut config = RunConfig::default();
        config.model.kind = kind;
        change(&mut config);
        ModelPlan::resolve(&config, 101).unwrap()
    }

    /// The plan of a row of the golden table: `hyper` and `attention`.
    fn golden_plan(row: &serde_json::Value) -> (ModelPlan, usize) {
        let size = |name: &str| row["hyper"][name].as_u64().map(|n| n as usize);
        let encoder = row["family"] != "gpt2";
        let mut config = RunConfig::default();
        config.model.kind = if encoder { ModelKind::Encoder } else { ModelKind::Decoder };
        config.model.norm = if encoder { NormPlacement::Post } else { NormPlacement::Pre };
        config.model.layers = size("L").unwrap();
        config.model.heads = size("H").unwrap();
        config.model.width = size("d").unwrap();
        config.model.feed_forward = size("ff").unwrap_or(4 * config.model.width);
        config.model.positions = size("P");
        config.data.sequence_length = size("n").unwrap();
        (ModelPlan::resolve(&config, size("V").unwrap()).unwrap(), config.data.sequence_length)
    }

    /// The last `reused` heads of the layers in `borrowing` each borrow a map of the layer before, or all are skipped.
    fn reuse(layers: usize, heads: usize, borrowing: &[usize], reused: usize, skip: bool) -> HeadPlan {
        let row = |layer: usize| -> Vec<Draft> {
            let borrows = borrowing.contains(&layer);
            (0..heads)
                .map(|head| match borrows {
                    true if skip => Draft::Skip,
                    true if head >= heads - reused => {
                        Draft::Borrow { from: HeadAt::new(layer - 1, head - (heads - reused)) }
                    }
                    _ => Draft::Compute,
                })
                .collect()
        };
        HeadPlan::from_drafts(&(0..layers).map(row).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn matches_the_golden_table() {
        let text =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/params_flops.json"));
        let table: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
        let mut checked = 0;
        for row in table["configs"].as_array().unwrap() {
            // What stands around the layers is this program's in the first two alone.
            let is_whole = match row["family"].as_str().unwrap() {
                "bert_mlm" | "gpt2" => true,
                "bert_pooler" | "bert_seqcls" | "distilbert" | "albert" => false,
                _ => continue,
            };
            let (mut plan, sequence) = golden_plan(row);
            let attention = &row["attention"];
            let number = |name: &str| attention[name].as_u64().unwrap() as usize;
            let (l, h) = (plan.stack.layers, plan.stack.heads);
            let layers: Vec<usize> = match (attention["variant"].as_str().unwrap(), attention["layout"].as_str()) {
                ("standard" | "symmetric" | "pairwise" | "shared" | "collaborative", _) => Vec::new(),
                ("reuse", Some("proposed" | "skip")) => (1..=number("P")).collect(),
                ("reuse", Some("alternate")) => (1..=number("P")).map(|i| 2 * i - 1).collect(),
                ("reuse", Some("all_end")) => (l - 1 - number("P")..l - 1).collect(),
                ("partial", _) => {
                    check_partial_row(row, plan, sequence);
                    checked += 1;
                    continue;
                }
                _ => continue,
            };
            plan.stack.compatibility = match attention["variant"].as_str().unwrap() {
                "symmetric" => Compatibility::Symmetric(Symmetric {}),
                "pairwise" => Compatibility::Pairwise(Pairwise {}),
                "shared" => Compatibility::SharedWeight(SharedWeight {}),
                "collaborative" => Compatibility::Collaborative(Collaborative { d_k: number("Dt") }),
                _ => Compatibility::default(),
            };
            if !layers.is_empty() {
                plan.stack.head_plan = reuse(l, h, &layers, number("K"), attention["layout"] == "skip");
            }
            let expected = &row["expected"];
            let cost = Cost::of(&plan, &Workload::inference(1, sequence, Precision::F32));
            if is_whole {
                assert_eq!(Some(cost.parameters), expected["model_params"].as_u64(), "{}", row["id"]);
            }
            assert_eq!(Some(layer_macs(&plan, sequence)), expected["model_macs"].as_u64(), "{}", row["id"]);
            for (layer, cost) in cost.layers.iter().enumerate() {
                let sum = |of: fn(&PartCost) -> u64| {
                    [Part::Projections, Part::Scores, Part::Mix, Part::Output]
                        .into_iter()
                        .map(|part| of(cost.part(part).unwrap()))
                        .sum::<u64>()
                };
                let scoring = Scoring::of(&plan.stack, layer, Streams::One);
                let published = sequence as u64 * scoring.published_macs;
                let macs = sum(|p| p.macs) - cost.part(Part::Projections).unwrap().macs + published;
                assert_eq!(Some(macs), expected["attention_macs_per_layer"][layer].as_u64(), "{}", row["id"]);
                let parameters = expected["attention_block_params_per_layer"][layer].as_u64();
                assert_eq!(Some(sum(|p| p.parameters)), parameters, "{} layer {layer}", row["id"]);
            }
            checked += 1;
        }
        assert!(checked >= 66, "only {checked} rows of the golden table were checked");
    }

    /// Models of images, of classes, and of an encoder and a decoder.
    #[test]
    fn models_of_every_shape_have_the_parameters_of_the_golden_table() {
        let text =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/params_flops.json"));
        let table: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
        let mut checked = 0;
        for row in table["configs"].as_array().unwrap() {
            let size = |name: &str| row["hyper"][name].as_u64().unwrap() as usize;
            if row["attention"]["variant"] != "standard" {
                continue;
            }
            let stack = |preset: &Preset, name: StackName, positions: usize| {
                let (layers, heads, width, feed_forward) = (size("L"), size("H"), size("d"), size("ff"));
                let positions = Some(positions);
                let model = ModelConfig { layers, heads, width, feed_forward, positions, ..ModelConfig::default() };
                preset.checked_stack(name, &model, &AttentionConfig::default(), size("n")).unwrap()
            };
            let text = || InputPlan::Tokens { vocabulary: size("V"), types: 0 };
            let (input, encoder, stack, head) = match row["family"].as_str().unwrap() {
                "vit" => {
                    let (image, patch, channels) = (size("image"), size("patch"), size("channels"));
                    let positions = (image / patch) * (image / patch) + 1;
                    let head = OutputPlan::Classes { classes: size("labels"), pooler: None, distils: false };
                    let input = InputPlan::Patches { image, patch, channels, distils: false };
                    (input, None, stack(&VIT, StackName::Encoder, positions), head)
                }
                "bert_seqcls" => {
                    let input = InputPlan::Tokens { vocabulary: size("V"), types: 2 };
                    let head =
                        OutputPlan::Classes { classes: size("labels"), pooler: Some(Activation::Tanh), distils: false };
                    (input, None, stack(&BERT, StackName::Encoder, size("P")), head)
                }
                "bart" => {
                    let mut decoder = stack(&BART, StackName::Decoder, size("P"));
                    let (head_plan, compatibility) = (decoder.head_plan.clone(), decoder.compatibility.clone());
                    decoder.cross = Some(CrossPlan { head_plan, compatibility });
                    let head = OutputPlan::Vocabulary(VocabularyHead {
                        transforms: false,
                        has_bias: false,
                        table: HeadTable::Tied,
                        activation: None,
                    });
                    (text(), Some(Box::new(stack(&BART, StackName::Encoder, size("P")))), decoder, head)
                }
                _ => continue,
            };
            let plan = ModelPlan { naming: Naming::Bert, input, encoder, stack, head, cache: Cache::default() };
            let cost = Cost::of(&plan, &Workload::inference(1, size("n"), Precision::F32));
            assert_eq!(Some(cost.parameters), row["expected"]["model_params"].as_u64(), "{}", row["id"]);
            if row["family"] != "bart" {
                let macs = row["expected"]["model_attention_macs"].as_u64().unwrap()
                    + row["expected"]["model_ffn_macs"].as_u64().unwrap();
                assert_eq!(cost.layer_macs(), macs, "{}", row["id"]);
            }
            checked += 1;
        }
        assert_eq!(checked, 5);
    }

    /// A row whose pairs are scored in part: its parameters, and the share of the scores that is left to compute.
    fn check_partial_row(row: &serde_json::Value, plan: ModelPlan, sequence: usize) {
        let restore = match row["attention"]["train"].as_str().unwrap() {
            "fixed" => Restore::Fixed,
            "common" => Restore::Common,
            _ => Restore::PerLayer,
        };
        let k = row["attention"]["k"].as_u64().unwrap() as usize;
        let coverage = Coverage::Partial(PartialCoverage { k, restore, ..PartialCoverage::default() });
        // Positions that no sequence reaches stand in the table alone.
        let unused = ((plan.stack.positions - sequence) * plan.stack.width) as u64;
        let mut plan = plan.with_coverage(coverage);
        plan.stack.positions = sequence;
        let work = Workload::inference(1, sequence, Precision::F32);
        let (cost, exact) = (Cost::of(&plan, &work), Cost::of(&plan.exact(), &work));
        assert_eq!(Some(cost.parameters + unused), row["expected"]["model_params"].as_u64(), "{}", row["id"]);
        let restored = cost.parameters - exact.parameters;
        assert_eq!(Some(restored), row["expected"]["reconstruction_params"].as_u64(), "{}", row["id"]);
        let macs = |cost: &Cost, layer: usize| cost.layers[layer].part(Part::Scores).unwrap().macs;
        let (n, d_k, heads) = (sequence as u64, plan.stack.head_size as u64, plan.stack.heads as u64);
        assert_eq!(macs(&cost, plan.stack.layers - 1), macs(&exact, plan.stack.layers - 1), "the last layer is exact");
        assert_eq!(macs(&cost, 0), heads * n * k as u64 * (d_k + n - k as u64));
    }

    #[test]
    fn a_decoder_restores_what_its_queries_see() {
        let partial = |kind: ModelKind, restore: Restore| {
            plan(kind, |config| {
                config.data.sequence_length = 10;
                let partial = PartialCoverage { k: 4, restore, ..PartialCoverage::default() };
                config.attention.coverage = Coverage::Partial(partial);
            })
        };
        assert_eq!(partial(ModelKind::Encoder, Restore::Fixed).stack.restore_numbers(), 10 * 6 * 4);
        assert_eq!(partial(ModelKind::Decoder, Restore::Fixed).stack.restore_numbers(), (6 * 7 / 2) * 4);
        let count = |restore| {
            let plan = partial(ModelKind::Decoder, restore);
            let work = Workload::inference(1, 10, Precision::F32);
            Cost::of(&plan, &work).parameters - Cost::of(&plan.exact(), &work).parameters
        };
        assert_eq!(Restore::ALL.map(count), [0, 84, 3 * 84]);
    }

    #[test]
    fn one_layer_matches_the_published_tables() {
        let text =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/params_flops.json"));
        let table: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
        let layer = |d: usize, heads: usize, compatibility: Compatibility| {
            let mut plan = plan(ModelKind::Encoder, |config| {
                (config.model.width, config.model.heads, config.model.layers) = (d, heads, 1);
            });
            plan.stack.compatibility = compatibility;
            plan
        };
        let shared = || Compatibility::SharedWeight(SharedWeight {});
        for row in table["qkv_params_table3"].as_array().unwrap() {
            let number = |name: &str| row[name].as_u64().unwrap();
            let d = number("d");
            for (name, compatibility, biases) in [
                ("standard", Compatibility::default(), 3),
                ("symmetric", Compatibility::Symmetric(Symmetric {}), 2),
                ("pairwise", Compatibility::Pairwise(Pairwise {}), 2),
                ("shared", shared(), 1),
            ] {
                let plan = layer(d as usize, number("m") as usize, compatibility);
                assert_eq!(
                    Scoring::of(&plan.stack, 0, Streams::One).parameters - biases * d,
                    number(name),
                    "{name} at {d}"
                );
            }
        }
        for row in table["collaborative_layer_costs"].as_array().unwrap() {
            let number = |name: &str| row[name].as_u64().unwrap();
            let (d, tokens) = (number("d"), number("T"));
            let compatibility = match row["Dt"].as_u64() {
                Some(d_k) => Compatibility::Collaborative(Collaborative { d_k: d_k as usize }),
                None => Compatibility::default(),
            };
            let plan = layer(d as usize, number("H") as usize, compatibility.clone());
            let found = Scoring::of(&plan.stack, 0, Streams::One);
            // Biases, content biases too, do not count there.
            let biases = if compatibility == Compatibility::default() { 3 * d } else { d + number("H") * d };
            assert_eq!(found.parameters - biases + d * d, number("layer_params_no_bias"), "{row}");
            let attention = tokens * found.published_macs + tokens * tokens * (found.score_macs + d) + tokens * d * d;
            assert_eq!(attention, number("layer_macs"), "{row}");
        }
    }

    #[test]
    fn products_counted_one_by_one() {
        // Each matrix product of one forward pass as [rows, inner, columns].
        let plan = plan(ModelKind::Decoder, |_| {});
        let (b, t) = (3, 10);
        let (d, f, h, d_k) = (plan.stack.width, plan.stack.feed_forward, plan.stack.heads, plan.stack.head_size);
        let mut products = Vec::new();
        for _ in 0..plan.stack.layers {
            products.push([b * t, d, 3 * d]);
            products.extend(vec![[t, d_k, t]; b * h]);
            products.extend(vec![[t, t, d_k]; b * h]);
            products.extend([[b * t, d, d], [b * t, d, f], [b * t, f, d]]);
        }
        products.push([b * t, d, plan.vocabulary()]);
        let flops: usize = products.iter().map(|[m, k, n]| 2 * m * k * n).sum();
        let work = Workload {
            batch: b,
            sequence: t,
            predicted: b * t,
            accumulation: 2,
            precision: Precision::F32,
            in_blocks: true,
            in_core: false,
            map_memory: MapMemoryChoice::Auto,
        };
        let cost = Cost::of(&plan, &work);
        assert_eq!(cost.forward_flops, flops as u64);
        assert_eq!(cost.backward_flops, 2 * flops as u64);
        assert_eq!(cost.flops_per_step, 6 * flops as u64);
    }

    #[test]
    fn memory_on_a_gpu_is_near_what_was_measured() {
        // What `headroom bench step` measured on one, in MiB: see `MEASURED.md`.
        let (standard, gpt2, bert) =
            ([6, 4, 256, 128, 16, 8192], [12, 12, 768, 1024, 8, 50_257], [12, 12, 768, 512, 16, 30_522]);
        let ratios = [
            (standard, Precision::F32, 379.0),
            (standard, Precision::Bf16, 274.0),
            (gpt2, Precision::F32, 8624.0),
            (gpt2, Precision::Bf16, 5296.0),
            (bert, Precision::Tf32, 7373.0),
            (bert, Precision::Bf16, 4577.0),
        ]
        .map(|(sizes, precision, measured)| {
            let [layers, heads, width, tokens, batch, vocabulary] = sizes;
            let mut config = RunConfig { device: DeviceChoice::Cuda(0), precision, ..RunConfig::default() };
            if sizes == bert {
                (config.model.kind, config.model.norm) = (ModelKind::Encoder, NormPlacement::Post);
            }
            (config.model.layers, config.model.heads, config.model.width) = (layers, heads, width);
            (config.model.feed_forward, config.model.dropout) = (4 * width, 0.0);
            (config.data.sequence_length, config.train.batch) = (tokens, batch);
            let cost = Cost::of(&ModelPlan::resolve(&config, vocabulary).unwrap(), &Workload::training(&config));
            cost.memory_bytes as f64 / f64::from(1 << 20) / measured
        });
        assert!(ratios.iter().all(|ratio| (0.9..1.3).contains(ratio)), "predicted over measured: {ratios:?}");
    }

    #[test]
    fn a_gpu_keeps_maps_only_where_it_does_not_attend_in_tiles() {
        let scores = |change: &dyn Fn(&mut RunConfig)| {
            let mut config = RunConfig { device: DeviceChoice::Cuda(0), ..RunConfig::default() };
            (config.precision, config.model.dropout) = (Precision::Bf16, 0.0);
            (config.model.layers, config.model.heads, config.model.width) = (2, 4, 256);
            (config.data.sequence_length, config.train.batch) = (256, 2);
            change(&mut config);
            let plan = ModelPlan::resolve(&config, 101).unwrap();
            activations::layer(&plan.stack, 0, Streams::One, &Workload::training(&config)).scores
        };
        let (rows, map) = (2 * 256 * 4, 2 * 256 * 256 * 4);
        assert_eq!(scores(&|_| ()), 2 * rows, "heads of 64 in 16 bits");
        assert_eq!(scores(&|config| config.model.heads = 16), 4 * map, "heads of 16 keep their maps");
        assert_eq!(scores(&|config| config.precision = Precision::F32), 2 * rows, "and of 64 in 32 bits do not");
        let again = |config: &mut RunConfig| {
            (config.model.heads, config.train.map_memory) = (16, MapMemoryChoice::Recompute);
        };
        assert_eq!(scores(&again), 4 * 2 * rows);
        let lends = |config: &mut RunConfig| config.attention.reuse = Reuse::Full(FullReuse { layers: 1 });
        assert_eq!(scores(&lends), 2 * map, "scores, and maps that are lent");
    }

    #[test]
    fn parts_add_up() {
        for kind in ModelKind::LANGUAGE_MODELS {
            let mut config = RunConfig::default();
            config.model.kind = kind;
            let plan = ModelPlan::resolve(&config, 500).unwrap();
            let cost = Cost::of(&plan, &Workload::training(&config));
            let sum = |of: fn(&PartCost) -> u64| Part::ALL.into_iter().map(|part| of(&cost.part(part))).sum::<u64>();
            assert_eq!(sum(|part| part.parameters), cost.parameters);
            assert_eq!(sum(|part| part.forward_flops), cost.forward_flops);
            assert_eq!(sum(|part| part.activation_bytes), cost.activation_bytes);
            assert_eq!(cost.memory_bytes, 4 * cost.weights_bytes + cost.activation_bytes + cost.working_bytes);
        }
    }

    #[test]
    fn masked_language_modelling_carries_only_masked_tokens_to_the_vocabulary() {
        let mut config = RunConfig::default();
        config.model.kind = ModelKind::Encoder;
        (config.train.batch, config.data.sequence_length, config.train.mask_fraction) = (10, 10, 0.15);
        assert_eq!(Workload::training(&config).predicted, 15);
        config.model.kind = ModelKind::Decoder;
        assert_eq!(Workload::training(&config).predicted, 100);
    }

    #[test]
    fn inference_needs_no_gradients_and_less_memory() {
        let plan = plan(ModelKind::Encoder, |_| {});
        let inference = Cost::of(&plan, &Workload::inference(16, 64, Precision::F32));
        assert_eq!((inference.backward_flops, inference.gradient_bytes, inference.optimiser_bytes), (0, 0, 0));
        let training = Cost::of(&plan, &Workload { accumulation: 1, ..inference.workload });
        assert!(inference.memory_bytes < training.memory_bytes / 4);
        let double = Cost::of(&plan, &Workload { precision: Precision::F64, ..training.workload });
        assert_eq!(double.memory_bytes, 2 * training.memory_bytes);
    }

    #[test]
    fn absurd_sizes_saturate() {
        let plan = plan(ModelKind::Decoder, |config| {
            (config.model.layers, config.model.width, config.model.feed_forward) = (256, 65_536, 1_048_576);
            config.data.sequence_length = 1_048_576;
        });
        let work = Workload {
            batch: 65_536,
            sequence: 1_048_576,
            predicted: 1 << 36,
            accumulation: 65_536,
            precision: Precision::F64,
            in_blocks: true,
            in_core: false,
            map_memory: MapMemoryChoice::Auto,
        };
        assert_eq!(Cost::of(&plan, &work).memory_bytes, u64::MAX);
    }
}
