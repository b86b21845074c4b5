/** How the examples (or clients) of a step are sampled. */
export type Sampling =
  | { poisson: { /** Each takes part with this probability, independently. Neighbours: add or remove one. */ rate: number } }
  | { "fixed-size": { population: number; size: number } }
  | { shuffled: { batches: number } };

/** What bounds one example's contribution to the sum. */
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

/** One noisy sum over a sample. `noise: null`: no noise, hence no guarantee. */
export interface Release {
  sampling: Sampling;
  sensitivity: Sensitivity;
  noise: Noise | null;
  unit: "example" | "example-in-micro-batch" | "micro-batch" | "user";
  grid?: { exponent: number; coordinates: number };
  /** Several vectors per example as one query; sensitivity and noise are those of all together. */
  parts?: { holds: "gradient" | "norm-within-clip" | "answer-and-class"; clip: number; noise: number }[];
}

export interface Released {
  release: Release;
  count: number;
}

/** The format of `hushgrad train --ledger`. */
export interface Ledger {
  format: "hushgrad-ledger";
  version: 1;
  releases: Release[];
  events: { release: number; count: number }[];
}

export interface Account {
  delta: number;
  /** The smallest of the bounds, all of which hold. Round it up for display. */
  epsilon: number;
  /** Rényi, classic conversion (Mironov 2017). */
  classic: { epsilon: number; order: number };
  /** Rényi, improved conversion (Canonne, Kamath & Steinke 2020). */
  improved: { epsilon: number; order: number };
  /** By privacy loss distributions, if these releases have such a price. */
  tight: ({ value: number } & Record<string, unknown>) | null;
  rounding: unknown;
  steps: number;
  /** The assumptions of ε, a phrase each. Show them beside the number. */
  assumptions: string[];
  /** The whole account as text. */
  text: string;
}

export interface Target {
  epsilon: number;
  delta: number;
  /** The method that must meet the target; `tight` needs the least noise. */
  method?: "classic" | "improved" | "tight";
}

export interface Calibrated {
  /** The scale, steps or rate, at the safe end of the search. */
  value: number;
  /** Its ε, at most the target. */
  epsilon: number;
}

/** A question without a safe answer throws an error with a sentence; ε is never understated. */
export interface Accountant {
  account(ledger: Ledger | string | Released[], how: { delta: number }): Account;
  /** Bounds an attack at this false-positive rate (default 0.05). */
  attack(ledger: Ledger | string | Released[], how: { delta: number; falsePositiveRate?: number }): {
    falsePositiveRate: number;
    truePositiveRate: number;
    advantage: number;
  };
  /** Finds the least noise scale; the release's own is ignored. */
  calibrateNoise(release: Release, target: Target & { steps: number }): Calibrated;
  /** Finds the most steps. */
  calibrateSteps(release: Release, target: Target): Calibrated;
  /** Finds the largest rate of Poisson sampling. */
  calibrateRate(release: Release, target: Target & { steps: number }): Calibrated;
  /** Parses a density for `custom` noise: symmetric, unimodal, by its formula in x. */
  density(formula: string): unknown;
}

/** Loads the WebAssembly program, once. */
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
