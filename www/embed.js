// The embedded page: a poster until it is clicked, one GPU device per page, a pause while out of
// sight, and messages with the host page, which docs/embedding.md describes.

const SOURCE = "hushgrad";
const VERSION = 1;
const COMMANDS = ["play", "pause", "step", "reset", "getState", "setState", "theme"];

/** Maximum length of a query that is passed on; the program reports one longer than any link. */
const LONGEST = 5000;
/** Maximum number of commands that wait for the program. */
const MOST_WAITING = 100;
/** Milliseconds for other frames of the page to answer that one of them has the GPU. */
const GPU_PATIENCE = 250;
/** Maximum number of windows of a tab that are asked. */
const MOST_WINDOWS = 200;

if (globalThis.boot) globalThis.boot.talks = true;
const root = document.documentElement;
const poster = document.getElementById("poster");
const query = new URLSearchParams(location.search);
const THEMES = ["light", "dark"];

/** Origin of the host page, once it has said hello: the only partner of messages. */
let host = null;
let started = false;
/** Commands received before the program listens; null once it does. */
let waiting = [];
let ready = null;
let playing = false;
let resting = false;
let seen = false;
/** The height last reported to the host page, once it has asked for heights. */
let told = 0;

// A host page with an opaque origin (a sandbox, a file) can only be addressed as "*"; the message
// still goes to that one window.
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
  // Only ids that any message can hold are sent back.
  const id = typeof named === "number" || (typeof named === "string" && named.length <= 64) ? named : undefined;
  if (!COMMANDS.includes(type)) {
    const called = typeof type === "string" ? type.slice(0, 24) : typeof type;
    post({ type: "error", id, message: `There is no command “${called}”; there are ${COMMANDS.join(", ")}.` });
    return;
  }
  if (type === "theme") return follow(query);
  // Only the program can check settings.
  if (["play", "step", "setState"].includes(type)) start();
  if (type === "pause" || type === "reset") resting = false;
  if (started) command({ type, id, query: typeof query === "string" ? query.slice(0, LONGEST) : "" });
  // Behind a poster nothing runs, and the address has the settings.
  else if (type === "getState") post({ type: "state", id, query: location.search.slice(1), started });
}

/** Shows the host page's theme, unless the address names one, which is the author's choice. */
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

/** From now on reports this page's height to the host page, which resizes the frame. */
function fit() {
  told = 0;
  if (!("fit" in root.dataset)) new ResizeObserver(measure).observe(document.body);
  root.dataset.fit = "";
  measure();
}

function measure() {
  const height = Math.ceil(document.body.getBoundingClientRect().height);
  // A poster fills any height.
  if (!poster.hidden || height === told || height < 40) return;
  told = height;
  post({ type: "size", height });
}

// Messages of the program.
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
  // From now on the host page's settings are set in this frame, without a reload.
  post({ type: "hello", started });
  await takeGpu();
  const script = new URL(root.dataset.start, document.baseURI).href;
  try {
    await import(script);
  } catch (error) {
    // The start script reports its own files.
    globalThis.boot?.fails(script, "Its start", String(error));
  }
}

addEventListener("hushgrad-failed", ({ detail }) => post({ type: "error", message: detail }));

/** State of the claim to the GPU: "" (not asked), `asked`, `held` or `taken`. */
let gpu = "";
/** Decides which of two frames that ask at once gives way. */
const turn = Math.random();
let decided = () => {};

/** The first embed of a page that wants the GPU keeps it; the others train on the CPU. */
async function takeGpu() {
  if (!navigator.gpu || query.get("backend") === "cpu") return;
  gpu = (await lockGpu()) ? "asked" : "taken";
  if (gpu === "asked") await askForGpu();
  if (gpu === "taken") root.dataset.gpu = "taken";
  else gpu = "held";
}

/** True if this tab's lock is held, or there are no locks, as with an opaque origin. */
async function lockGpu() {
  try {
    // The tab, whose frames share this storage, stands for the page: a referrer names a site.
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

/** Asks the tab's other frames by messages, which need no storage and reveal only presence. */
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

/** Pauses training out of sight, and resumes it when back in sight. */
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

// The element passes the theme around it here, so that the first paint has it; links leave it out.
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
