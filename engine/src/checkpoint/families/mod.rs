//! Families of models in the files of Hugging Face's `transformers`: a file each, with its table of tensor names and its keys in
//! `config.json`, both ways.
//!
//! A new family is one file here and one arm of [`Naming`]; the compiler asks for the rest.

mod albert;
mod bart;
mod bert;
mod deit;
mod distilbert;
mod electra;
mod family;
mod file_names;
mod gpt2;
mod keys;
mod llama;
mod marian;
mod roberta;
mod rotary;
mod t5;
mod ties;
mod vit;

use self::family::bert_sizes;
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
        Naming::Bert => &bert::Bert,
        Naming::Gpt2 => &gpt2::Gpt2,
        Naming::Bart => &bart::Bart,
        Naming::Vit => &vit::Vit,
        Naming::Roberta => &roberta::Roberta,
        Naming::DistilBert => &distilbert::DistilBert,
        Naming::Electra => &electra::Electra,
        Naming::Albert => &albert::Albert,
        Naming::Deit => &deit::Deit,
        Naming::Marian => &marian::Marian,
        Naming::Llama => &llama::Llama,
        Naming::T5 => &t5::T5,
    }
}

/// All of them.
pub(super) fn families() -> impl Iterator<Item = &'static dyn Family> {
    Naming::ALL.into_iter().map(family)
}
