//! How pixels become the numbers that a model of images reads, under the keys of `transformers`' `ViTImageProcessor`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{CheckpointError, PREPROCESSOR};
use crate::{attention::ModelPlan, config::ImageShape, data::Normalisation};

/// What `transformers` multiplies bytes with.
const RESCALE: f64 = 1.0 / 255.0;

/// What it takes for mean and deviation where the file says none.
const USUAL: f64 = 0.5;

/// The text of the file; none of a model of text, or where nothing is known.
pub(super) fn text(plan: &ModelPlan, normalisation: Option<&Normalisation>) -> Option<String> {
    let (shape, own) = plan.image_shape().zip(normalisation)?;
    let settings = json!({
        "image_processor_type": "ViTImageProcessor",
        "do_resize": true,
        "size": { "height": shape.size, "width": shape.size },
        "resample": 2,
        "do_rescale": true,
        "rescale_factor": RESCALE,
        "do_normalize": true,
        "image_mean": own.mean,
        "image_std": own.deviation,
    });
    Some(serde_json::to_string_pretty(&settings).unwrap_or_default())
}

/// What the text of such a file says.
///
/// # Errors
/// If it cannot be read, is for other numbers of channels, or says what is not computed here.
pub(super) fn read(text: &str, shape: ImageShape, dir: &Path) -> Result<Normalisation, CheckpointError> {
    let wrong = |why: String| CheckpointError::Settings { file: PREPROCESSOR.to_owned(), why, path: dir.to_owned() };
    let keys: Map<String, Value> = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let is_on = |key: &str| keys.get(key).and_then(Value::as_bool).unwrap_or(true);
    let factor = keys.get("rescale_factor").and_then(Value::as_f64).unwrap_or(RESCALE);
    if !is_on("do_rescale") || (factor / RESCALE - 1.0).abs() > 1e-6 {
        return Err(wrong("pixels are divided by 255 here, which it asks otherwise".to_owned()));
    }
    if !is_on("do_normalize") {
        return Ok(Normalisation { mean: vec![0.0; shape.channels], deviation: vec![1.0; shape.channels] });
    }
    let numbers = |key: &str, is_right: &dyn Fn(f64) -> bool| -> Result<Vec<f64>, CheckpointError> {
        let found: Option<Vec<f64>> = match keys.get(key) {
            None => Some(vec![USUAL; shape.channels]),
            Some(Value::Array(all)) => all.iter().map(Value::as_f64).collect(),
            Some(one) => one.as_f64().map(|one| vec![one; shape.channels]),
        };
        found
            .filter(|found| found.len() == shape.channels && found.iter().all(|number| is_right(*number)))
            .ok_or_else(|| wrong(format!("`{key}` is not one number for each of {} channels", shape.channels)))
    };
    Ok(Normalisation {
        mean: numbers("image_mean", &f64::is_finite)?,
        deviation: numbers("image_std", &|number| number.is_finite() && number > 0.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AttentionConfig, ModelConfig};

    #[test]
    fn what_is_written_comes_back_and_what_is_wrong_is_told() {
        let shape = ImageShape { size: 28, channels: 1 };
        let plan = ModelPlan::of_images(&ModelConfig::default(), &AttentionConfig::default(), shape, 7, 10).unwrap();
        let own = Normalisation { mean: vec![0.286_040_598_4], deviation: vec![0.353_024_242_6] };
        let dir = Path::new("model");
        let written = text(&plan, Some(&own)).unwrap();
        assert_eq!(read(&written, shape, dir).unwrap(), own);
        assert_eq!(text(&plan, None), None);
        let usual = read("{}", ImageShape { size: 224, channels: 3 }, dir).unwrap();
        assert_eq!((usual.mean, usual.deviation), (vec![0.5; 3], vec![0.5; 3]));
        for (wrong, told) in [
            (r#"{"image_mean": [0.5, 0.5, 0.5]}"#, "`image_mean`"),
            (r#"{"image_std": [0.0]}"#, "`image_std`"),
            (r#"{"do_rescale": false}"#, "divided by 255"),
            ("{", "EOF"),
        ] {
            let error = read(wrong, shape, dir).unwrap_err().to_string();
            assert!(error.contains(told) && error.contains(PREPROCESSOR), "{error}");
        }
    }
}
