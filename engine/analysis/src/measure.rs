use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The similarity of two attention maps A and B: 1 = identical. Means run over the queries p of real tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// One minus the mean total-variation distance of rows, 0..=1 (Reuse Transformers, equation 2).
    #[default]
    TotalVariation,
    /// The mean cosine of rows, 0..=1.
    Cosine,
    /// One minus the mean Jensen-Shannon divergence of rows in bits, 0..=1.
    JensenShannon,
    /// Linear centred kernel alignment of the maps, queries as examples and keys as features, 0..=1 (Kornblith et al.,
    /// 2019).
    LinearCka,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Self; 4] = [Self::TotalVariation, Self::Cosine, Self::JensenShannon, Self::LinearCka];

    /// Its name in text.
    pub fn label(self) -> &'static str {
        match self {
            Self::TotalVariation => "total variation",
            Self::Cosine => "cosine",
            Self::JensenShannon => "Jensen-Shannon",
            Self::LinearCka => "linear CKA",
        }
    }

    /// Its formula in plain characters.
    pub fn formula(self) -> &'static str {
        match self {
            Self::TotalVariation => "S(A, B) = 1 - mean over p of ½ Σ_j |A[p,j] - B[p,j]|",
            Self::Cosine => "S(A, B) = mean over p of A[p]·B[p] / (|A[p]| |B[p]|)",
            Self::JensenShannon => {
                "S(A, B) = 1 - mean over p of H((A[p] + B[p]) / 2) - (H(A[p]) + H(B[p])) / 2, H in bits"
            }
            Self::LinearCka => "S(A, B) = |BᵀA|² / (|AᵀA| |BᵀB|), columns centred over p, Frobenius norms",
        }
    }

    /// Its name in configs and file names.
    pub fn id(self) -> &'static str {
        match self {
            Self::TotalVariation => "total_variation",
            Self::Cosine => "cosine",
            Self::JensenShannon => "jensen_shannon",
            Self::LinearCka => "linear_cka",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Measure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|measure| measure.id() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::id).join(", ");
            format!("\"{text}\" is not a measure of similarity; known are {known}.")
        })
    }
}
