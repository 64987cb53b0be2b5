/// Chance by seed (the generator "split mix 64"), so that a failing test can be run again.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// Chance of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}
