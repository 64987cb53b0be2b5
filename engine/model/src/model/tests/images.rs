//! Models of images: every way to score a pair, with every schedule, as single operations and composed of small ones.

use super::*;
use crate::{config::ImageShape, model::Loss, ops};

const SHAPE: ImageShape = ImageShape { size: 6, channels: 3 };
const PATCH: usize = 2;

fn image_plan(norm: NormPlacement, compatibility: Compatibility, reuse: Reuse) -> ModelPlan {
    let model = crate::config::ModelConfig {
        kind: ModelKind::Encoder,
        layers: 3,
        heads: 4,
        width: 12,
        feed_forward: 7,
        dropout: 0.2,
        norm,
        ..Default::default()
    };
    let attention = AttentionConfig { reuse, compatibility, ..AttentionConfig::default() };
    ModelPlan::of_images(&model, &attention, SHAPE, PATCH, 5).unwrap()
}

/// Three images of noise.
fn pixels() -> Vec<f32> {
    let mut stream = Stream::new(3, Purpose::Test, 0);
    (0..3 * SHAPE.numbers()).map(|_| stream.normal() as f32).collect()
}

fn images(pixels: &[f32]) -> ModelInput {
    ModelInput::images(pixels, [3, SHAPE.channels, SHAPE.size], &Device::Cpu).unwrap()
}

/// The loss, then every gradient, by name.
fn everything(model: &Model) -> Vec<(String, Tensor)> {
    let options = ForwardOptions { dropout: Some((3, 4)), ..ForwardOptions::default() };
    let found = model.forward(&images(&pixels()), &options).unwrap();
    let loss = ops::cross_entropy(&found.logits, &Tensor::new(&[4_i64, 0, 2], &Device::Cpu).unwrap()).unwrap();
    let loss = Loss { loss, labelled: 3, maps: found.maps, hidden: found.hidden };
    model.backward(&loss).unwrap();
    let gradients = model.gradients().unwrap();
    let gradients = gradients.iter().map(|(name, gradient)| (name.to_owned(), gradient));
    [("loss".to_owned(), loss.loss.clone())].into_iter().chain(gradients).collect()
}

#[test]
fn images_train_every_family_and_schedule_as_single_operations() {
    for compatibility in Compatibility::examples(4, 12) {
        for (number, reuse) in Reuse::examples(3, 4).into_iter().enumerate() {
            let plan = image_plan(NormPlacement::ALL[number % 2], compatibility.clone(), reuse.clone());
            assert!(plan.stack.is_fusible(), "the layers are those of text");
            let parameters = wide(&plan, DType::F64);
            let ours = everything(&Model::trainable(&plan, &parameters).unwrap());
            let reference = everything(&Model::trainable(&plan, &parameters).unwrap().composed());
            assert_eq!(ours.len(), reference.len());
            for ((name, ours), (_, reference)) in ours.iter().zip(&reference) {
                let scale = numbers(reference).iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                let difference = largest_difference(ours, reference);
                assert!(difference <= 1e-12 * scale, "{name} of {compatibility:?}, {reuse:?}: {difference} of {scale}");
            }
            for name in ["input.patches.weight", "input.patches.bias", "input.class_token", "encoder.positions.weight"]
            {
                let gradient = &ours.iter().find(|(known, _)| known == name).unwrap().1;
                assert!(numbers(gradient).iter().any(|number| *number != 0.0), "{name}");
            }
        }
    }
}

/// Every patch and every channel is read: each pixel changes the logits.
#[test]
fn every_pixel_counts() {
    let plan = image_plan(NormPlacement::Pre, Compatibility::default(), Reuse::default());
    let model = frozen(&plan, &wide(&plan, DType::F64));
    let logits = |pixels: &[f32]| numbers(&model.forward(&images(pixels), &ForwardOptions::default()).unwrap().logits);
    let before = logits(&pixels());
    for place in 0..SHAPE.numbers() {
        let mut other = pixels();
        other[place] += 1.0;
        let after = logits(&other);
        assert!(before[..5] != after[..5] && before[5..] == after[5..], "number {place} of the first image alone");
    }
}
