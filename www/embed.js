// The embedded page around the program: a poster until it is clicked, one GPU device a page, rest while out of sight,
// and talk with the page around it. docs/embedding.md describes the messages.

const SOURCE = "hushgrad";
const VERSION = 1;
const COMMANDS = ["play", "pause", "step", "reset", "getState", "setState", "theme"];

/** Characters of a query that are handed on: the program names one that is longer than any link. */
const LONGEST = 5000;
/** Commands that wait for the program. */
const MOST_WAITING = 100;
/** Milliseconds that other frames of the page have to say that one of them has the GPU. */
const GPU_PATIENCE = 250;
/** Windows of a tab that are asked. */
const MOST_WINDOWS = 200;

if (globalThis.boot) globalThis.boot.talks = true;
const root = document.documentElement;
const poster = document.getElementById("poster");
const query = new URLSearchParams(location.search);
const THEMES = ["light", "dark"];

/** Whoever says hello first, and is the page around this one: nobody else is heard or told anything. */
let host = null;
let started = false;
/** Commands that came before the program could hear them; null since it can. */
let waiting = [];
let ready = null;
let playing = false;
let resting = false;
let seen = false;
/** The height that the page around was told last, once it asked for it. */
let told = 0;

// A page without an origin of its own (a sandbox, a file) can be answered in no other way; the answer goes to that one window.
const post = (message) => host && parent.postMessage({ source: SOURCE, v: VERSION, ...message }, host === "null" ? "*" : host);
const command = (detail) => {
  if (!waiting) dispatchEvent(new CustomEvent("hushgrad-command", { detail }));
  else if (waiting.length < MOST_WAITING) waiting.push(detail);
};
const ours = (data) => data?.source === SOURCE && data.v === VERSION;

addEventListener("message", ({ source, origin, data }) => {
  if (!ours(data)) return;
  if (data.type === "gpu" || data.type === "gpu-taken") return shareGpu(source, data);
  if (source !== parent || parent === window) return;
  if (data.type === "hello") {
    host ??= origin;
    if (origin === host) {
      follow(data.theme);
      if (data.fit === true) fit();
      post({ type: "hello", started });
      if (ready) post({ ...ready, started, resting });
    }
  } else if (origin === host) take(data);
});

function take({ type, id: named, query }) {
  // What is said back is what any message can hold.
  const id = typeof named === "number" || (typeof named === "string" && named.length <= 64) ? named : undefined;
  if (!COMMANDS.includes(type)) {
    const called = typeof type === "string" ? type.slice(0, 24) : typeof type;
    post({ type: "error", id, message: `There is no command “${called}”; there are ${COMMANDS.join(", ")}.` });
    return;
  }
  if (type === "theme") return follow(query);
  // What is set is checked by the program alone.
  if (["play", "step", "setState"].includes(type)) start();
  if (type === "pause" || type === "reset") resting = false;
  if (started) command({ type, id, query: typeof query === "string" ? query.slice(0, LONGEST) : "" });
  // Nothing runs behind a poster, and its address says what would.
  else if (type === "getState") post({ type: "state", id, query: location.search.slice(1), started });
}

/** Shows the theme of the page around, unless the address names one: that is its author's. */
function follow(theme) {
  if (THEMES.includes(query.get("theme"))) return;
  const known = THEMES.includes(theme);
  if (!known && theme !== "system") return;
  if (known) root.dataset.hostTheme = root.dataset.theme = theme;
  else {
    delete root.dataset.hostTheme;
    delete root.dataset.theme;
  }
  command({ type: "theme", query: theme });
}

/** From now on the page around hears how high this one is, and gives it that height. */
function fit() {
  told = 0;
  if (!("fit" in root.dataset)) new ResizeObserver(measure).observe(document.body);
  root.dataset.fit = "";
  measure();
}

function measure() {
  const height = Math.ceil(document.body.getBoundingClientRect().height);
  // A poster fills whatever it is given.
  if (!poster.hidden || height === told || height < 40) return;
  told = height;
  post({ type: "size", height });
}

// What the program tells.
addEventListener("hushgrad", ({ detail }) => {
  if (detail.type === "listening") {
    const all = waiting ?? [];
    waiting = null;
    all.forEach(command);
    return;
  }
  if ("playing" in detail) playing = detail.playing;
  if (detail.type === "ready") ready = detail;
  post({ ...detail, started, resting });
});

async function start() {
  if (started || globalThis.boot?.refused) return;
  started = true;
  poster.hidden = true;
  // From now on what the page around sets is set in this frame, and needs no other.
  post({ type: "hello", started });
  await takeGpu();
  const script = new URL(root.dataset.start, document.baseURI).href;
  try {
    await import(script);
  } catch (error) {
    // Whatever is behind its start it names itself.
    globalThis.boot?.fails(script, "Its start", String(error));
  }
}

addEventListener("hushgrad-failed", ({ detail }) => post({ type: "error", message: detail }));

/** Where this frame stands with the GPU: not asked, `asked`, `held` or `taken`. */
let gpu = "";
/** Which of two frames that ask at once gives way. */
const turn = Math.random();
let decided = () => {};

/** The first of the embeds on a page that wants the GPU has it for as long as it is there; the others train on the CPU. */
async function takeGpu() {
  if (!navigator.gpu || query.get("backend") === "cpu") return;
  gpu = (await lockGpu()) ? "asked" : "taken";
  if (gpu === "asked") await askForGpu();
  if (gpu === "taken") root.dataset.gpu = "taken";
  else gpu = "held";
}

/** Whether the lock of this tab is had, or there are no locks: a frame without an origin may keep and lock nothing. */
async function lockGpu() {
  try {
    // The page around is known by its tab, whose frames share this storage: a referrer names no more than a site.
    const tab = (sessionStorage["hushgrad-tab"] ??= crypto.randomUUID());
    return await new Promise((done, fail) => {
      const hold = (lock) => {
        done(!!lock);
        return lock && new Promise(() => {});
      };
      navigator.locks.request(`hushgrad-gpu ${tab}`, { ifAvailable: true }, hold).catch(fail);
    });
  } catch {
    return true;
  }
}

/** Asks the other frames of the tab by messages, which need no storage. What one learns of another is that it stands there. */
function askForGpu() {
  const others = [];
  const collect = (page) => {
    for (let i = 0; i < page.length && others.length < MOST_WINDOWS; i++) {
      if (page[i] !== window) others.push(page[i]);
      collect(page[i]);
    }
  };
  collect(top);
  if (!others.length) return undefined;
  const answered = new Promise((done) => {
    decided = done;
    setTimeout(done, GPU_PATIENCE);
  });
  for (const other of others) other.postMessage({ source: SOURCE, v: VERSION, type: "gpu", turn }, "*");
  return answered;
}

function shareGpu(source, { type, turn: other }) {
  const first = gpu === "asked" && turn < other;
  if (type === "gpu" && (gpu === "held" || first)) source?.postMessage({ source: SOURCE, v: VERSION, type: "gpu-taken" }, "*");
  else if (gpu === "asked" && source !== window) {
    gpu = "taken";
    decided();
  }
}

/** Out of sight nothing is trained; back in sight, what played plays on. */
function look() {
  const away = document.hidden || !seen;
  if (!away && poster.hidden) start();
  if (away && playing && !resting) {
    resting = true;
    command({ type: "pause" });
  } else if (!away && resting) {
    resting = false;
    command({ type: "play" });
  }
}

// The element names the theme around it here, so that the first thing to be seen has it; no link goes on with it.
follow(new URLSearchParams(location.hash.slice(1)).get("host-theme"));
waiting = [];
if (THEMES.includes(query.get("theme"))) root.dataset.theme = query.get("theme");
poster.hidden = query.get("poster") !== "1" || globalThis.boot?.refused;
poster.addEventListener("click", () => {
  start();
  command({ type: "play" });
});
new IntersectionObserver((entries) => {
  seen = entries.at(-1).isIntersecting;
  look();
}).observe(root);
document.addEventListener("visibilitychange", look);
