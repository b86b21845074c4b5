//! Rényi accounting: Lemma 4, Lemma 5, Theorem 1 and the conversions to (ε, δ).
