// The accountant, for browsers. All answers are upper bounds; round them up for display.
import start, { account, attack, calibrate, density } from "./accountant.js";

const FORMAT = { format: "hushgrad-ledger", version: 1 };

/** Converts a ledger (an object, JSON text or a list of releases) to JSON text. */
function ledgerText(ledger) {
  if (typeof ledger === "string") return ledger;
  return JSON.stringify(Array.isArray(ledger) ? ledgerOf(ledger) : ledger);
}

/** Builds a ledger of releases in order: `[{ release, count }]`. Equal releases are one kind. */
export function ledgerOf(released) {
  const kinds = [];
  const events = [];
  for (const { release, count } of released) {
    const text = JSON.stringify(release);
    let kind = kinds.indexOf(text);
    if (kind < 0) kind = kinds.push(text) - 1;
    const last = events.at(-1);
    if (last?.release === kind) last.count += count;
    else events.push({ release: kind, count });
  }
  return { ...FORMAT, releases: kinds.map((text) => JSON.parse(text)), events };
}

/** Builds a release, by default with Poisson sampling, a clip and Gaussian noise. */
export function release({ rate, clip = 1, noiseMultiplier, sampling, sensitivity, noise, unit = "example" }) {
  const bound = sensitivity ?? { l2: { norm: clip } };
  if (!noise && !(noiseMultiplier > 0)) throw new RangeError("a release needs noise, or a noiseMultiplier above 0");
  return {
    sampling: sampling ?? { poisson: { rate } },
    sensitivity: bound,
    noise: noise ?? { gaussian: { sigma: noiseMultiplier * clip } },
    unit,
  };
}

class Accountant {
  account(ledger, { delta }) {
    return JSON.parse(account(ledgerText(ledger), delta));
  }
  attack(ledger, { delta, falsePositiveRate = 0.05 }) {
    const { advantage, "true-positive-rate": truePositiveRate } = JSON.parse(attack(ledgerText(ledger), delta, falsePositiveRate));
    return { falsePositiveRate, truePositiveRate, advantage };
  }
  calibrateNoise(release, { steps, ...target }) {
    return JSON.parse(calibrate("noise", JSON.stringify(release), steps, JSON.stringify(target)));
  }
  calibrateSteps(release, target) {
    return JSON.parse(calibrate("steps", JSON.stringify(release), 1, JSON.stringify(target)));
  }
  calibrateRate(release, { steps, ...target }) {
    return JSON.parse(calibrate("rate", JSON.stringify(release), steps, JSON.stringify(target)));
  }
  density(formula) {
    return JSON.parse(density(formula));
  }
}

let ready = null;

/** Loads the program, once. `from`: its address, response or bytes, if not beside this script. */
export function load(from) {
  ready ??= start({ module_or_path: from ?? new URL("./accountant_bg.wasm", import.meta.url) }).then(
    () => new Accountant(),
    (error) => {
      // The next call may have a network again.
      ready = null;
      throw error;
    },
  );
  return ready;
}
export default load;
