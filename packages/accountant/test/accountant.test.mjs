import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { ledgerOf, load, release } from "hushgrad-accountant";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const accountant = await load();
const step = release({ rate: 256 / 60_000, noiseMultiplier: 1.1 });

test("a training costs what the crate's front page says", () => {
  const account = accountant.account([{ release: step, count: 3515 }], { delta: 1e-5 });
  assert.equal(account.classic.epsilon.toFixed(3), "1.593");
  assert.equal(account.improved.epsilon.toFixed(3), "1.281");
  assert.equal(account.epsilon.toFixed(3), "1.134");
  assert.equal(account.steps, 3515);
  assert.ok(account.assumptions.some((phrase) => phrase.includes("add or remove one")));
  assert.match(account.text, /ε/);
});

test("a budget asks for the noise that keeps it", () => {
  const target = { epsilon: 1, delta: 1e-5, steps: 3515 };
  const noise = accountant.calibrateNoise(step, target);
  assert.equal(noise.value.toFixed(2), "1.19");
  assert.ok(noise.epsilon <= 1);
  const kept = accountant.account([{ release: { ...step, noise: { gaussian: { sigma: noise.value } } }, count: 3515 }], { delta: 1e-5 });
  assert.ok(kept.epsilon <= 1);
  const { value: steps } = accountant.calibrateSteps(step, { epsilon: 1, delta: 1e-5 });
  assert.ok(steps > 2000 && steps < 3515, String(steps));
  assert.ok(accountant.calibrateRate(step, target).value < 256 / 60_000);
  const renyi = accountant.calibrateNoise(step, { ...target, method: "improved" });
  assert.ok(renyi.value > noise.value, "the tight accountant needs least noise");
});

test("a ledger's order and kinds are kept", () => {
  const other = release({ rate: 0.01, noiseMultiplier: 2 });
  const ledger = ledgerOf([{ release: step, count: 2 }, { release: step, count: 3 }, { release: other, count: 1 }, { release: step, count: 1 }]);
  assert.deepEqual(ledger.events, [{ release: 0, count: 5 }, { release: 1, count: 1 }, { release: 0, count: 1 }]);
  assert.equal(ledger.releases.length, 2);
  const of = (form) => accountant.account(form, { delta: 1e-5 }).epsilon;
  assert.equal(of(ledger), of(JSON.stringify(ledger)));
});

test("an attacker's best test is bounded", () => {
  const { truePositiveRate, advantage } = accountant.attack([{ release: step, count: 100 }], { delta: 1e-5 });
  assert.ok(truePositiveRate > 0.05 && truePositiveRate < 0.2 && advantage < 0.2);
});

test("what has no safe answer is a sentence, never a number", () => {
  const open = { ...step, noise: null };
  assert.throws(() => accountant.account([{ release: open, count: 1 }], { delta: 1e-5 }), /no guarantee/);
  assert.throws(() => accountant.account([{ release: step, count: 1 }], { delta: 0 }), /delta/);
  assert.throws(() => accountant.account("{}", { delta: 1e-5 }));
  assert.throws(() => release({ rate: 0.01 }), /needs noise/);
  assert.throws(() => accountant.calibrateNoise(step, { epsilon: 1, delta: 1e-5, steps: 0 }), /whole number/);
  assert.throws(() => accountant.density("x"));
});

test("a density of one's own has a price, and more noise costs less", () => {
  const density = accountant.density("1/cosh(x)");
  const of = (scale) => accountant.account([{ release: release({ rate: 0.01, noise: { custom: { density, scale } } }), count: 10 }], { delta: 1e-5 }).epsilon;
  assert.ok(of(2) > 0 && of(2) < of(1), `${of(2)} ${of(1)}`);
});

test("npm packs the program and its types", () => {
  const [{ files }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  const packed = files.map(({ path }) => path);
  for (const path of ["dist/index.js", "dist/node.js", "dist/index.d.ts", "dist/accountant.js", "dist/accountant_bg.wasm", "README.md", "LICENSE-MIT"]) assert.ok(packed.includes(path), path);
  assert.ok(!packed.some((path) => /\.rs$|test|build\.mjs/.test(path)));
});

test("the types hold", { skip: !existsSync(join(root, "node_modules/typescript")) && "npm install brings typescript" }, () => {
  const folder = mkdtempSync(join(tmpdir(), "hushgrad-accountant-types-"));
  try {
    const file = join(folder, "use.ts");
    writeFileSync(file, `
      import { load, release, ledgerOf } from "${join(root, "dist/index.js")}";
      const accountant = await load();
      const epsilon: number = accountant.account(ledgerOf([{ release: release({ rate: 0.01, noiseMultiplier: 1 }), count: 1 }]), { delta: 1e-5 }).epsilon;
      // @ts-expect-error: δ is needed.
      accountant.account([], {});
      export { epsilon };
    `);
    execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "--module", "esnext", "--moduleResolution", "bundler", "--target", "es2022", "--lib", "es2022,dom", "--typeRoots", folder, file], { encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    assert.fail(String(error.stdout || error));
  } finally {
    rmSync(folder, { recursive: true });
  }
  assert.ok(readFileSync(join(root, "dist/index.d.ts"), "utf8").includes("Accountant"));
});
