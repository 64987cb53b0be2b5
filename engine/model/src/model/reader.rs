use candle_core::{DType, Tensor};

use super::{InputData, ModelError, ModelInput, layer::Pass, names, stack::Stack, tensors::Tensors};
use crate::{
    attention::{InputPlan, ModelPlan, StackPlan},
    ops::{self, Affine, EmbedParts},
};

/// What turns an input into the stream that a stack begins with.
#[derive(Clone, Debug)]
pub(super) enum Reader {
    Tokens {
        /// `[v, d]`
        words: Tensor,
        /// `[types, d]`
        types: Option<Tensor>,
        /// From tables narrower than the stream to it.
        projection: Option<Affine>,
    },
    Patches {
        /// From the numbers of a patch, channel by channel and row by row, to the stream.
        projection: Affine,
        /// What stands before the patches. `[d]`
        class_token: Tensor,
        /// What follows it, where a teacher taught the model. `[d]`
        distillation_token: Option<Tensor>,
        /// Pixels of a side of the image, of a patch, and numbers of a pixel.
        sizes: [usize; 3],
    },
}

impl Reader {
    pub fn build(plan: &ModelPlan, tensors: &Tensors) -> Result<Self, ModelError> {
        Ok(match plan.input {
            InputPlan::Tokens { types, .. } => Self::Tokens {
                words: tensors.weight(names::WORDS)?,
                types: if types > 0 { Some(tensors.weight(names::TOKEN_TYPES)?) } else { None },
                projection: match plan.stack.design.embedding.width {
                    Some(_) => Some(tensors.map(names::PROJECTION, true, plan.stack.matrices)?),
                    None => None,
                },
            },
            InputPlan::Patches { image, patch, channels, distils } => Self::Patches {
                projection: tensors.map(names::PATCHES, true, plan.stack.matrices)?,
                class_token: tensors.get(names::CLASS_TOKEN)?,
                distillation_token: if distils { Some(tensors.get(names::DISTILLATION_TOKEN)?) } else { None },
                sizes: [image, patch, channels],
            },
        })
    }

    /// A tensor of it: where and in which numbers the model is.
    pub fn sample(&self) -> &Tensor {
        match self {
            Self::Tokens { words, .. } => words,
            Self::Patches { class_token, .. } => class_token,
        }
    }

    /// The token table. `[v, d]`
    ///
    /// # Errors
    /// If it reads images.
    pub fn words(&self) -> Result<&Tensor, ModelError> {
        match self {
            Self::Tokens { words, .. } => Ok(words),
            Self::Patches { .. } => Err(ModelError::Unsupported("a model of images that reads text".to_owned())),
        }
    }

    /// The sum of the tables' rows, normed where norms come last, after dropout. `[b, t, d]`
    pub fn embed(
        &self,
        stack: &Stack,
        plan: &StackPlan,
        input: &ModelInput,
        pass: &Pass<'_>,
    ) -> Result<Tensor, ModelError> {
        match (self, &input.data) {
            (Self::Tokens { words, types: table, projection }, InputData::Tokens { ids, types }) => {
                check_sizes(plan, input, ids, types.as_ref())?;
                let types = table.as_ref().map(|table| (table, types.as_ref()));
                let x = embed_tokens(words, types, ids, stack, plan, pass)?;
                Ok(match projection {
                    Some(projection) => projection.forward(&x)?,
                    None => x,
                })
            }
            (Self::Patches { projection, class_token, distillation_token, sizes }, InputData::Pixels(pixels)) => {
                let patches = patches(pixels, *sizes)?.to_dtype(class_token.dtype())?; // [b, n, c p p]
                let (b, n, _) = patches.dims3()?;
                let in_each =
                    |token: &Tensor| token.unsqueeze(0)?.unsqueeze(0)?.broadcast_as((b, 1, plan.width))?.contiguous();
                let learned = [Some(class_token), distillation_token.as_ref()].into_iter().flatten();
                let mut parts = learned.map(in_each).collect::<Result<Vec<_>, _>>()?;
                let learned = parts.len();
                parts.push(projection.forward(&patches)?);
                let x = Tensor::cat(&parts, 1)?; // [b, learned + n, d]
                let Some(positions) = &stack.positions else {
                    return Err(ModelError::Unsupported("patches without positions".to_owned()));
                };
                let positions = positions.narrow(0, plan.first_position, n + learned)?;
                finish(&x.broadcast_add(&positions)?, stack, pass)
            }
            (Self::Tokens { .. }, InputData::Pixels(_)) => {
                Err(ModelError::Unsupported("a model of text that reads an image".to_owned()))
            }
            (Self::Patches { .. }, InputData::Tokens { .. }) => {
                Err(ModelError::Unsupported("a model of images that reads text".to_owned()))
            }
        }
    }
}

/// Refuses texts that are too long, and masks and token types of other sizes.
fn check_sizes(plan: &StackPlan, input: &ModelInput, ids: &Tensor, types: Option<&Tensor>) -> Result<(), ModelError> {
    let (b, t) = ids.dims2()?;
    if t > plan.longest() {
        return Err(ModelError::TooLong { sequence: t, positions: plan.longest() });
    }
    for (what, other) in [("key mask", input.key_mask.as_ref()), ("token types", types)] {
        if let Some(found) = other.filter(|other| other.dims() != [b, t]) {
            return Err(ModelError::InputSize { what, found: found.elem_count(), batch: b, sequence: t });
        }
    }
    Ok(())
}

fn embed_tokens(
    words: &Tensor,
    types: Option<(&Tensor, Option<&Tensor>)>,
    ids: &Tensor,
    stack: &Stack,
    plan: &StackPlan,
    pass: &Pass<'_>,
) -> Result<Tensor, ModelError> {
    let (b, t) = ids.dims2()?;
    let first = plan.first_position as u32;
    let places: Vec<u32> = (0..b).flat_map(|_| first..first + t as u32).collect();
    if let (true, true, Some(positions)) = (pass.in_blocks, plan.has_plain_embeddings(), &stack.positions) {
        let rows = |ids: &Tensor| ids.flatten_all()?.to_vec1::<u32>();
        let mut tables = vec![(words.clone(), rows(ids)?), (positions.clone(), places)];
        if let Some((table, types)) = types {
            tables.push((table.clone(), types.map_or_else(|| Ok(vec![0; b * t]), rows)?));
        }
        let dropout = pass.dropout.block(stack.site);
        let norm = stack.embedding_norm().map(|norm| norm.layer().cloned()).transpose()?;
        let parts = EmbedParts { tables, norm, dropout };
        return Ok(ops::embed(parts, [b, t], pass.gradients)?);
    }
    let places = Tensor::from_vec(places, (b, t), words.device())?;
    let mut x = token_rows(words, stack, plan, ids, &places)?;
    if let Some((table, types)) = types {
        let types = match types {
            Some(types) => types.clone(),
            None => Tensor::zeros((b, t), DType::U32, words.device())?,
        };
        x = ops::residual(&x, &ops::embedding(table, &types)?, None)?;
    }
    finish(&x, stack, pass)
}

/// The rows of tokens, with those of their positions where there are such.
pub(super) fn token_rows(
    words: &Tensor,
    stack: &Stack,
    plan: &StackPlan,
    ids: &Tensor,
    places: &Tensor,
) -> Result<Tensor, ModelError> {
    let mut x = ops::embedding(words, ids)?;
    if plan.design.embedding.is_scaled {
        x = (x * (plan.embedding_width() as f64).sqrt())?;
    }
    Ok(match &stack.positions {
        Some(positions) => ops::residual(&x, &ops::embedding(positions, places)?, None)?,
        None => x,
    })
}

/// The norm after the embeddings and their dropout.
fn finish(x: &Tensor, stack: &Stack, pass: &Pass<'_>) -> Result<Tensor, ModelError> {
    let x = match stack.embedding_norm() {
        Some(norm) => norm.forward(x)?,
        None => x.clone(),
    };
    Ok(pass.dropout.apply(&x, stack.site)?)
}

/// The numbers of each patch, row of patches by row. `[b, channels, image, image]` to `[b, n, channels patch patch]`
fn patches(pixels: &Tensor, [image, patch, channels]: [usize; 3]) -> Result<Tensor, ModelError> {
    let (b, c, h, w) = pixels.dims4()?;
    let side = image.checked_div(patch).unwrap_or_default();
    if (c, h, w) != (channels, image, image) || side * patch != image {
        let found = pixels.elem_count();
        return Err(ModelError::InputSize { what: "image", found, batch: b, sequence: channels * image * image });
    }
    let cut = pixels.reshape(&[b, c, side, patch, side, patch][..])?.permute([0, 2, 4, 1, 3, 5])?;
    Ok(cut.contiguous()?.reshape((b, side * side, c * patch * patch))?)
}
