// The embedded page around the program: a poster until it is clicked, one GPU device a page, rest while out of sight,
// and talk with the page around it. docs/embedding.md describes the messages.

const SOURCE = "hushgrad";
const VERSION = 1;
const COMMANDS = ["play", "pause", "step", "reset", "getState", "setState"];

/** Characters of a query that are handed on: the program names one that is longer than any link. */
const LONGEST = 5000;
/** Commands that wait for the program. */
const MOST_WAITING = 100;

const root = document.documentElement;
/** In a sandbox that keeps it from its own origin a page has no threads. */
const apart = self.origin === "null";
const poster = document.getElementById("poster");
const query = new URLSearchParams(location.search);
if (["light", "dark"].includes(query.get("theme"))) root.dataset.theme = query.get("theme");

/** Whoever says hello first, and is the page around this one: nobody else is heard or told anything. */
let host = null;
let started = false;
/** Commands that came before the program could hear them; null since it can. */
let waiting = [];
let ready = null;
let playing = false;
let resting = false;
let seen = false;

const post = (message) => host && parent.postMessage({ source: SOURCE, v: VERSION, ...message }, host);
const command = (detail) => {
  if (!waiting) dispatchEvent(new CustomEvent("hushgrad-command", { detail }));
  else if (waiting.length < MOST_WAITING) waiting.push(detail);
};

addEventListener("message", ({ source, origin, data }) => {
  // A frame without an origin of its own cannot be answered without answering everybody.
  if (source !== parent || parent === window || origin === "null") return;
  if (data?.source !== SOURCE || data.v !== VERSION) return;
  if (data.type === "hello") {
    host ??= origin;
    if (origin === host) {
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
  // What is set is checked by the program alone.
  if (["play", "step", "setState"].includes(type)) start();
  if (type === "pause" || type === "reset") resting = false;
  if (started) command({ type, id, query: typeof query === "string" ? query.slice(0, LONGEST) : "" });
  // Nothing runs behind a poster, and its address says what would.
  else if (type === "getState") post({ type: "state", id, query: location.search.slice(1), started });
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
  if (started) return;
  started = true;
  poster.hidden = true;
  if (apart) return globalThis.boot?.says("This frame stands in a sandbox that keeps it from its own origin, so it has no threads to train in: allow-same-origin is missing.");
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

/** The first of the embeds on a page that wants the GPU has it for as long as it is there; the others train on the CPU. */
async function takeGpu() {
  if (!navigator.gpu || query.get("backend") === "cpu") return;
  try {
    // The page around is known by its tab, whose frames share this storage: a referrer names no more than a site.
    const tab = (sessionStorage["hushgrad-tab"] ??= crypto.randomUUID());
    await new Promise((done, fail) => {
      const hold = (lock) => {
        if (!lock) root.dataset.gpu = "taken";
        done();
        return lock && new Promise(() => {});
      };
      navigator.locks.request(`hushgrad-gpu ${tab}`, { ifAvailable: true }, hold).catch(fail);
    });
  } catch {
    // A frame that may keep and lock nothing cannot know of the others.
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

poster.hidden = query.get("poster") !== "1";
poster.addEventListener("click", () => {
  start();
  command({ type: "play" });
});
new IntersectionObserver((entries) => {
  seen = entries.at(-1).isIntersecting;
  look();
}).observe(root);
document.addEventListener("visibilitychange", look);
