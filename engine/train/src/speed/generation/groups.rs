use serde::{Deserialize, Serialize};

use crate::{
    attention::{ModelPlan, StackPlan, projected_share_kept},
    ops::profile::OperationTime,
};

/// A group of the operations of attention to what all rows of a source share (EL-attention, Yan et al., 2021, section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionGroup {
    /// Keys and values of the positions that are attended to.
    BuildKeysValues,
    /// Queries, expanded where hidden states are kept, and the map from the mixed heads back to the stream.
    BuildQuery,
    /// Scores, softmax and the mix of what was kept; with hidden states the maps of the heads' values too.
    Attend,
}

impl AttentionGroup {
    /// Every group, in the order of the paper.
    pub const ALL: [Self; 3] = [Self::BuildKeysValues, Self::BuildQuery, Self::Attend];

    /// Its name where people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BuildKeysValues => "build keys/values",
            Self::BuildQuery => "build query",
            Self::Attend => "attend",
        }
    }
}

/// What a group took, and what it had to do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupTime {
    /// Which.
    pub group: AttentionGroup,
    /// Seconds, of all rows and layers.
    pub seconds: f64,
    /// Floating-point operations of its products: two for each multiply-accumulate.
    pub flops: f64,
    /// Bytes that it must read and write once at least.
    pub bytes: f64,
}

impl GroupTime {
    /// Floating-point operations for each byte; none where nothing was moved.
    pub fn intensity(&self) -> Option<f64> {
        (self.bytes > 0.0).then(|| self.flops / self.bytes)
    }
}

/// The groups of the attention of a model's decoder to its source: cross-attention after an encoder, else self-attention. Of what
/// was recorded while `steps` steps were done, for one step.
pub(super) fn groups_of(operations: &[OperationTime], plan: &ModelPlan, steps: usize) -> Vec<GroupTime> {
    let steps = steps.max(1) as f64;
    let prefix = if plan.encoder.is_some() { "cross-attention: " } else { "attention: " };
    let kept = share_kept(&plan.stack, plan.encoder.is_some());
    let of_group = |group: AttentionGroup| {
        let mut all = GroupTime { group, seconds: 0.0, flops: 0.0, bytes: 0.0 };
        for operation in operations {
            let Some(part) = operation.name.strip_prefix(prefix) else { continue };
            let share = share_of(part, group, kept);
            all.seconds += share * operation.seconds / steps;
            all.flops += share * operation.flops as f64 / steps;
            all.bytes += share * operation.bytes as f64 / steps;
        }
        all
    };
    AttentionGroup::ALL.map(of_group).to_vec()
}

/// Which share of a part of attention belongs to a group. `kept`: the share of projections that makes keys and values.
fn share_of(part: &str, group: AttentionGroup, kept: f64) -> f64 {
    let own = match part {
        "keys and values" => AttentionGroup::BuildKeysValues,
        "queries" | "output" | "from projections to scores" => AttentionGroup::BuildQuery,
        // One product of the same rows makes all three: shared by what each has of its outputs.
        "projections" => {
            return match group {
                AttentionGroup::BuildKeysValues => kept,
                AttentionGroup::BuildQuery => 1.0 - kept,
                AttentionGroup::Attend => 0.0,
            };
        }
        _ => AttentionGroup::Attend,
    };
    f64::from(u8::from(own == group))
}

/// The share of what a stack's attention projects that others than the asking token read, over all layers.
fn share_kept(stack: &StackPlan, is_cross: bool) -> f64 {
    match (&stack.cross, is_cross) {
        (Some(cross), true) => projected_share_kept(stack, &cross.head_plan, &cross.compatibility),
        _ => projected_share_kept(stack, &stack.head_plan, &stack.compatibility),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RunConfig;

    #[test]
    fn times_of_a_step_are_shared_among_the_groups() {
        let plan = ModelPlan::resolve(&RunConfig::default(), 50).unwrap();
        let operation =
            |name: &str, flops| OperationTime { name: name.to_owned(), calls: 1, seconds: 6.0, flops, bytes: 60 };
        let operations = [
            operation("attention: projections", 300),
            operation("attention: scores, softmax, mix", 80),
            operation("attention: output", 20),
            operation("cross-attention: keys and values", 1000),
            operation("linear map", 1000),
        ];
        let groups = groups_of(&operations, &plan, 2);
        let seconds: Vec<f64> = groups.iter().map(|group| group.seconds).collect();
        // Two thirds of the projections of standard attention are keys and values.
        for (found, expected) in seconds.iter().zip([2.0, 1.0 + 3.0, 3.0]) {
            assert!((found - expected).abs() < 1e-9, "{seconds:?}");
        }
        assert!((groups[0].flops - 100.0).abs() < 1e-9 && (groups[2].flops - 40.0).abs() < 1e-9, "{groups:?}");
        assert_eq!(groups[2].intensity(), Some(80.0 / 60.0));
    }
}
