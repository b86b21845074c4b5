/** How the examples (or clients) of a step are chosen. */
export type Sampling =
  | { poisson: { /** Each takes part with this probability, independently. Neighbours: add or remove one. */ rate: number } }
  | { "fixed-size": { population: number; size: number } }
  | { shuffled: { batches: number } };

/** What bounds one example's part in the sum. */
export type Sensitivity = { l2: { norm: number } } | { envelope: { profile: unknown } } | "unbounded";

/** Noise on each coordinate of the sum, in its units: with a clip of 1, `sigma` is the noise multiplier. */
export type Noise =
  | { gaussian: { sigma: number } }
  | { "student-t": { nu: number; scale: number } }
  | { laplace: { scale: number } }
  | { cauchy: { scale: number } }
  | { "variance-gamma": { scale: number } }
  | { "hyperbolic-secant": { scale: number } }
  | { "generalized-gaussian": { exponent: number; scale: number } }
  | { custom: { density: unknown; scale: number } };

/** One noisy sum over a sample. `noise: null`: none was added, and there is no guarantee. */
export interface Release {
  sampling: Sampling;
  sensitivity: Sensitivity;
  noise: Noise | null;
  unit: "example" | "example-in-micro-batch" | "micro-batch" | "user";
  grid?: { exponent: number; coordinates: number };
  /** Several vectors of each example, as one query: sensitivity and noise are then those of all together. */
  parts?: { holds: "gradient" | "norm-within-clip" | "answer-and-class"; clip: number; noise: number }[];
}

export interface Released {
  release: Release;
  count: number;
}

/** As `hushgrad train --ledger` writes it. */
export interface Ledger {
  format: "hushgrad-ledger";
  version: 1;
  releases: Release[];
  events: { release: number; count: number }[];
}

export interface Account {
  delta: number;
  /** The least of all bounds: each of them holds. Round it up where you show it. */
  epsilon: number;
  /** Rényi, classic conversion (Mironov 2017). */
  classic: { epsilon: number; order: number };
  /** Rényi, improved conversion (Canonne, Kamath & Steinke 2020). */
  improved: { epsilon: number; order: number };
  /** By privacy loss distributions, where these releases have such a price. */
  tight: ({ value: number } & Record<string, unknown>) | null;
  rounding: unknown;
  steps: number;
  /** Everything that ε rests on, a phrase each. Show them beside the number. */
  assumptions: string[];
  /** All of it in words. */
  text: string;
}

export interface Target {
  epsilon: number;
  delta: number;
  /** Which accountant must keep it; `tight` needs least noise. */
  method?: "classic" | "improved" | "tight";
}

export interface Calibrated {
  /** The scale, the steps or the rate: the safe end of the search. */
  value: number;
  /** What it costs: at most the target. */
  epsilon: number;
}

/** A question without a safe answer throws an error with a sentence, and never gives a smaller number. */
export interface Accountant {
  account(ledger: Ledger | string | Released[], how: { delta: number }): Account;
  /** What is left to whoever wrongly accuses a share (0.05) of those who were not in. */
  attack(ledger: Ledger | string | Released[], how: { delta: number; falsePositiveRate?: number }): {
    falsePositiveRate: number;
    truePositiveRate: number;
    advantage: number;
  };
  /** The least noise scale; the release's own is not read. */
  calibrateNoise(release: Release, target: Target & { steps: number }): Calibrated;
  /** The most steps. */
  calibrateSteps(release: Release, target: Target): Calibrated;
  /** The largest rate of Poisson sampling. */
  calibrateRate(release: Release, target: Target & { steps: number }): Calibrated;
  /** A density of one's own for `noise: { custom: { density, scale } }`: symmetric, unimodal, by its formula in x. */
  density(formula: string): unknown;
}

/** Loads the program (WebAssembly), once. */
export function load(from?: string | URL | Response | BufferSource): Promise<Accountant>;
export default load;
export function ledgerOf(released: Released[]): Ledger;
export function release(how: {
  rate?: number;
  clip?: number;
  noiseMultiplier?: number;
  sampling?: Sampling;
  sensitivity?: Sensitivity;
  noise?: Noise;
  unit?: Release["unit"];
}): Release;
