//! The chance behind the random protocols and worlds: the splitmix64 generator of Steele, Lea and Flood
//! (OOPSLA 2014), so that a seed yields the same everywhere and always.

pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(crate) fn index(&mut self, below: usize) -> usize {
        usize::try_from(self.next() % below as u64).expect("it is below a usize")
    }

    pub(crate) fn below(&mut self, below: u8) -> u8 {
        u8::try_from(self.next() % u64::from(below)).expect("it is below a u8")
    }

    pub(crate) fn chance(&mut self, percent: u8) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.index(of.len())]
    }

    /// The position of one of these weights, the heavier the likelier.
    pub(crate) fn weighted(&mut self, weights: &[u8]) -> usize {
        let mut left = self.below(weights.iter().sum());
        let chosen = weights.iter().position(|&weight| {
            let chosen = left < weight;
            left = left.saturating_sub(weight);
            chosen
        });
        chosen.expect("less than all weights together is left")
    }
}
