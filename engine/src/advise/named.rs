//! Schedules of a name that write down a given table.

use crate::{
    attention::HeadPlan,
    config::{
        AllEndReuse, AlternateReuse, AttentionConfig, FirstReuse, FullReuse, NoReuse, PartialReuse, Reuse, SkipReuse,
    },
};

/// The schedule of a name that gives every head the same map, else the table itself.
pub(super) fn reuse(plan: &HeadPlan) -> Reuse {
    let (layers, heads) = (plan.layers(), plan.heads());
    let borrowing = (0..layers).filter(|layer| plan.borrowed(*layer) > 0).count();
    let most = (0..layers).map(|layer| plan.borrowed(layer)).max().unwrap_or(0);
    let skipped = (0..layers).filter(|layer| plan.skips_layer(*layer)).count();
    let candidates = [
        Reuse::None(NoReuse {}),
        Reuse::Full(FullReuse { layers: borrowing }),
        Reuse::Partial(PartialReuse { heads: most }),
        Reuse::First(FirstReuse { layers: borrowing, heads: most }),
        Reuse::Alternate(AlternateReuse { layers: None, heads: (most < heads).then_some(most) }),
        Reuse::Alternate(AlternateReuse { layers: Some(borrowing), heads: (most < heads).then_some(most) }),
        Reuse::AllEnd(AllEndReuse { layers: borrowing, heads: (most < heads).then_some(most) }),
        Reuse::Skip(SkipReuse { layers: skipped }),
    ];
    let is_same = |candidate: &Reuse| {
        let config = AttentionConfig { reuse: candidate.clone(), ..AttentionConfig::default() };
        let derived = HeadPlan::derive(&config, layers, heads);
        // Whose map a head uses counts, not over whom it comes.
        derived.is_ok_and(|derived| plan.iter().all(|(at, _)| derived.origin(at) == plan.origin(at)))
    };
    candidates.into_iter().find(is_same).unwrap_or_else(|| Reuse::Custom(plan.to_custom()))
}
