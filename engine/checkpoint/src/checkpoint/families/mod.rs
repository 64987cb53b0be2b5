//! Families of models in the files of Hugging Face's `transformers`: a file each, with its table of tensor names and its keys in
//! `config.json`, both ways.
//!
//! Families of encoders are data: names of tensors, keys and classes ([`text_encoder`], [`image_encoder`]). The others implement
//! [`Family`] themselves, with their keys as rows where these are plain ([`size_keys`]). A new family is one file here and one arm of
//! [`Naming`]; the compiler asks for the rest.

mod albert;
mod bart;
mod bert;
mod deit;
mod distilbert;
mod electra;
mod family;
mod file_names;
mod gpt2;
mod image_encoder;
mod keys;
mod llama;
mod marian;
mod roberta;
mod rotary;
mod size_keys;
mod t5;
mod text_encoder;
mod ties;
mod vit;

pub(super) use self::{
    family::{Family, end_of_text},
    file_names::FileNames,
    keys::{Keys, Own},
    ties::{HeadTensor, TiedTensors, Ties},
};
use crate::attention::Naming;

/// The family of some names.
pub(super) fn family(naming: Naming) -> &'static dyn Family {
    match naming {
        Naming::Bert => &bert::BERT,
        Naming::Gpt2 => &gpt2::Gpt2,
        Naming::Bart => &bart::Bart,
        Naming::Vit => &vit::VIT,
        Naming::Roberta => &roberta::ROBERTA,
        Naming::DistilBert => &distilbert::DISTILBERT,
        Naming::Electra => &electra::ELECTRA,
        Naming::Albert => &albert::ALBERT,
        Naming::Deit => &deit::DEIT,
        Naming::Marian => &marian::Marian,
        Naming::Llama => &llama::Llama,
        Naming::T5 => &t5::T5,
    }
}

/// All of them.
pub(super) fn families() -> impl Iterator<Item = &'static dyn Family> {
    Naming::ALL.into_iter().map(family)
}
