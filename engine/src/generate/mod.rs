//! stub
use candle_core::Device;
use crate::model::{Model, ModelError};
/// e
#[derive(Debug, thiserror::Error)]
pub enum GenerateError { /// m
 #[error(transparent)] Model(#[from] ModelError) }
