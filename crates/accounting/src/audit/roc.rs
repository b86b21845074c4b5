//! The area under the ROC curve of scores.

use super::Evidence;

impl Evidence {
    /// The probability that a canary that is in outscores one that is out, ties counting half (Mann
    /// & Whitney 1947): the area under the ROC curve. 0.5 is chance, and the value without pairs.
    #[must_use]
    pub fn auc(&self) -> f64 {
        let mut sorted = self.scores.clone();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut below, mut won) = (0_u64, 0.0);
        for tied in sorted.chunk_by(|a, b| a.0 == b.0) {
            let members = tied.iter().filter(|(_, is_in)| *is_in).count() as f64;
            let others = tied.len() as f64 - members;
            won += members * (below as f64 + 0.5 * others);
            below += others as u64;
        }
        let pairs = below as f64 * (sorted.len() as f64 - below as f64);
        if pairs > 0.0 { won / pairs } else { 0.5 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_is_the_share_of_ordered_pairs() {
        let auc = |scores: &[(f64, bool)]| Evidence { scores: scores.to_vec(), ..Evidence::default() }.auc();
        assert_eq!(auc(&[]), 0.5);
        assert_eq!(auc(&[(1.0, true), (2.0, true)]), 0.5);
        assert_eq!(auc(&[(f64::INFINITY, true), (f64::NEG_INFINITY, false), (f64::INFINITY, true)]), 1.0);
        assert_eq!(auc(&[(0.0, true), (1.0, false)]), 0.0);
        let scores = [(0.3, true), (0.3, false), (-0.0, false), (0.0, true), (2.0, false), (1.5, true), (0.1, false)];
        let mut won = 0.0;
        for (a, _) in scores.iter().filter(|(_, is_in)| *is_in) {
            for (b, _) in scores.iter().filter(|(_, is_in)| !is_in) {
                won += if a > b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                };
            }
        }
        assert_eq!(auc(&scores), won / 12.0);
    }
}
