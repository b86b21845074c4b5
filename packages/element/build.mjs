// Builds the package from www/element.js, its only source: the element as a module and as a classic
// script, types, manifest (custom-elements.json) and `integrity` digests. Needs only Node.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "dist");
const source = readFileSync(join(here, "../../www/element.js"), "utf8");
const { version } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
const list = (name) => {
  const found = new RegExp(`const ${name} = \`([^\`]+)\``).exec(source);
  if (!found) throw new Error(`www/element.js names no ${name}`);
  return found[1].split(/\s+/);
};
const settings = list("SETTINGS");
const frame = list("FRAME");
const own = ["src", "height", "title"];

const WORDS = {
  src: "The playground's address: any file of its folder, or the folder itself.",
  height: "Pixels that the frame has at least; it grows with what is in it. 400 without.",
  title: "What the frame is called to those who hear the page.",
  lang: "What the frame speaks: `en` or `de`; without it, the language of the page around, where the playground has it.",
  theme: "`light`, `dark` or `system`; without it, the theme of the page around.",
  view: "What stands under the bar: `run`, `stage`, `results`, `lesson`, `lab` or `attack`.",
  controls: "What readers may change, in this order: keys with commas between.",
  hide: "Parts that are not shown, with commas between.",
  poster: "`1`: nothing is loaded before the reader clicks.",
  backend: "`auto`, `cpu` or `gpu`.",
  lesson: "The lesson, for `view=\"lesson\"`.",
};
const word = (name) => WORDS[name] ?? (settings.includes(name) ? "A setting, as in the playground's links; it is applied while the frame stands." : "As in the playground's links.");
const EVENTS = {
  ready: "There is a run to play.",
  step: "Steps were done (up to twenty times a second).",
  paused: "The run stands still, and was measured.",
  complete: "The planned steps are done.",
  state: "Settings changed, or the run began to play or stopped.",
  error: "Something was refused or failed: `detail.message` is a sentence.",
};
const METHODS = {
  play: ["void", "As the button."], pause: ["void", "As the button."], step: ["void", "As the button."], reset: ["void", "As the button."],
  getState: ["Promise<HushGradState>", "What is set and where the run stands."],
  setState: ["Promise<HushGradState>", "Sets what is named, by the keys of the page's links, or nothing: then it is refused with a sentence."],
};

const module = `${source}
/** The element's class; undefined where there are no custom elements (on a server). */
export const HushGrad = globalThis.customElements?.get("hush-grad");
export default HushGrad;
`;

const doc = (text) => `/** ${text} */`;
const types = `// Made by build.mjs of www/element.js.

/** What is set, and where the run stands. */
export interface HushGradState {
  /** The settings, as in a link. */
  query: string;
  started: boolean;
  playing?: boolean;
  resting?: boolean;
  step?: number;
  /** Planned; null: open. */
  steps?: number | null;
  complete?: boolean;
  /** Null also where the test images are the reader's own. */
  accuracy?: number | null;
  /** The upper bound; null where there is none. Round it up where you show it. */
  epsilon?: number | null;
  delta?: number | null;
  /** False: nothing may be claimed. Null: nothing was released yet. */
  guarantee?: boolean | null;
  backend?: "cpu" | "gpu" | null;
  data?: string | null;
  train?: number | null;
}

export interface HushGradProblem {
  message: string;
}

export interface HushGradEventMap {
${Object.entries(EVENTS).map(([name, text]) => `  ${doc(text)}\n  ${name}: CustomEvent<${name === "error" ? "HushGradProblem" : "HushGradState"}>;`).join("\n")}
}

/** Attributes of the element, beside those of any. */
export interface HushGradAttributes {
${[...own, ...frame, ...settings].map((name) => `  ${doc(word(name))}\n  ${/^[a-z]+$/.test(name) ? name : `"${name}"`}?: string | number;`).join("\n")}
}

export declare class HushGrad extends HTMLElement {
  /** Where the playground lies, for elements without \`src\`. */
  static site: string | undefined;
${Object.entries(METHODS).map(([name, [result, text]]) => `  ${doc(text)}\n  ${name}(${name === "setState" ? "state: string | Record<string, string | number>" : ""}): ${result};`).join("\n")}
  addEventListener<K extends keyof HushGradEventMap>(type: K, listener: (this: HushGrad, event: HushGradEventMap[K]) => void, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}
export default HushGrad;

declare global {
  interface HTMLElementTagNameMap {
    "hush-grad": HushGrad;
  }
}
`;

const manifest = {
  schemaVersion: "1.0.0",
  readme: "README.md",
  modules: [{
    kind: "javascript-module",
    path: "dist/hush-grad.js",
    declarations: [{
      kind: "class",
      name: "HushGrad",
      tagName: "hush-grad",
      customElement: true,
      superclass: { name: "HTMLElement" },
      description: "A live run of differentially private training, in a frame.",
      attributes: [...own, ...frame, ...settings].map((name) => ({ name, description: word(name), type: { text: "string" } })),
      members: [
        { kind: "field", name: "site", static: true, type: { text: "string | undefined" }, description: "Where the playground lies, for elements without `src`." },
        ...Object.entries(METHODS).map(([name, [text, description]]) => ({ kind: "method", name, description, return: { type: { text } } })),
      ],
      events: Object.entries(EVENTS).map(([name, description]) => ({ name, description, type: { text: "CustomEvent" } })),
      slots: [{ name: "", description: "What stands here where the element is unknown, and on paper." }],
      cssParts: [{ name: "frame", description: "The frame." }, { name: "problem", description: "What is refused, in a sentence." }],
    }],
    exports: [
      { kind: "js", name: "HushGrad", declaration: { name: "HushGrad", module: "dist/hush-grad.js" } },
      { kind: "custom-element-definition", name: "hush-grad", declaration: { name: "HushGrad", module: "dist/hush-grad.js" } },
    ],
  }],
};

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const files = { "hush-grad.js": module, "hush-grad.classic.js": source, "hush-grad.d.ts": types, "custom-elements.json": `${JSON.stringify(manifest, null, 2)}\n` };
for (const name of ["react.js", "react.d.ts"]) files[name] = readFileSync(join(here, "src", name), "utf8");
const integrity = {};
for (const [name, text] of Object.entries(files)) {
  writeFileSync(join(out, name), text);
  if (name.endsWith(".js")) integrity[name] = `sha384-${createHash("sha384").update(text).digest("base64")}`;
}
// A page that names this exact version by URL accepts no other bytes.
const url = (name) => `https://cdn.jsdelivr.net/npm/hush-grad@${version}/dist/${name}`;
writeFileSync(join(out, "integrity.json"), `${JSON.stringify({ version, files: Object.fromEntries(Object.entries(integrity).map(([name, hash]) => [name, { url: url(name), integrity: hash }])) }, null, 2)}\n`);
