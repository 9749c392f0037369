//! The checksum of files: whether they are as they were written.
//!
//! From: CRC-64 as in the xz file format (ECMA-182, reflected). It notices every single flipped bit, and every burst of
//! up to 64 bits; of other damage one case in 2^64 goes unnoticed. It is no protection against somebody who means harm.
//! Held by: the published check value, below.

/// The checksum of the bytes so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Checksum(u64);

/// What each value of a byte adds.
const TABLE: [u64; 256] = {
    const POLYNOMIAL: u64 = 0xc96c_5795_d787_0f42;
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ POLYNOMIAL } else { rest >> 1 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

impl Checksum {
    /// Of nothing yet.
    pub(super) const NOTHING: Checksum = Checksum(u64::MAX);

    /// Of these bytes.
    pub(super) fn of(bytes: &[u8]) -> u64 {
        let mut checksum = Checksum::NOTHING;
        checksum.add(bytes);
        checksum.value()
    }

    /// Goes on with these bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 >> 8 ^ TABLE[usize::from(self.0.to_le_bytes()[0] ^ byte)];
        }
    }

    pub(super) fn value(self) -> u64 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_check_value() {
        assert_eq!(Checksum::of(b"123456789"), 0x995d_c9bb_df19_39fa);
    }

    #[test]
    fn parts_have_the_checksum_of_the_whole() {
        let mut parts = Checksum::NOTHING;
        parts.add(b"1234");
        parts.add(b"");
        parts.add(b"56789");
        assert_eq!(parts.value(), Checksum::of(b"123456789"));
    }
}
