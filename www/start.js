// Starts the page's program. The build puts the names of its two files into this script's address.

const { boot, document: { documentElement: root } } = globalThis;
const here = new URL(".", import.meta.url).href;
const names = new URL(import.meta.url).searchParams;

/** Scripts of one line that were made here. */
const made = new Set();

// The browser takes markup and addresses of scripts from this policy alone: no script, nothing that loads, own files only.
globalThis.trustedTypes?.createPolicy("default", {
  createHTML: (html) => (/<(script|iframe|object|embed|base|form|meta|link|style)\b|<[^>]*\son\w+\s*=/i.test(html) ? null : html),
  createScriptURL: (url) => (made.has(url) || new URL(url, here).href.startsWith(here) ? url : null),
});

/** A page without an origin of its own starts no thread from its host's files; but from a script of its own, which may load them where the
    host allows that (CORS). Chromium starts no module so, but a classic script, which may import one. */
const apart = self.origin === "null";
function startable(url) {
  const whole = new URL(url, here).href;
  if (!apart || !whole.startsWith(here)) return url;
  const code = `import(${JSON.stringify(whole)}).catch((error) => setTimeout(() => { throw error; }));`;
  const script = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  made.add(script);
  return script;
}

// gloo-worker keeps the workers that it makes to itself, and only they tell when a thread fails.
globalThis.Worker = class extends Worker {
  constructor(url, how) {
    let read = apart;
    super(startable(url), apart ? {} : { get type() { return (read = true), how.type; } });
    const what = url.includes("accountant") ? "The accountant" : "The training thread";
    if (!read) boot?.says("This browser cannot run the page: it lacks modules in workers. Firefox has them from version 114 on.");
    let alive = false;
    const slow = setTimeout(() => boot?.lags(url, what), 10_000);
    this.addEventListener("message", () => {
      alive = true;
      clearTimeout(slow);
      boot?.comes(url);
    }, { once: true });
    this.addEventListener("error", ({ message }) => {
      clearTimeout(slow);
      if (!alive) boot?.fails(url, what, message?.replace("Uncaught ", ""));
    });
    dispatchEvent(new CustomEvent("hushgrad-worker", { detail: this }));
  }
};

/** Whether a page of another origin stands around this one: its visitor could be led to press what is not seen. */
function foreign() {
  try {
    for (let frame = self; frame !== top; ) if ((frame = frame.parent).origin !== origin) return true;
    return false;
  } catch {
    return true;
  }
}

async function start() {
  const [app, wasm] = ["app", "wasm"].map((name) => new URL(names.get(name), here).href);
  const failed = (url) => (error) => {
    boot?.fails(url, "Its program", String(error));
    throw error;
  };
  boot?.waits("its program");
  const program = await import(app).catch(failed(app));
  try {
    await program.default({ module_or_path: new URL(wasm) });
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) failed(wasm)(error);
    boot?.says(`The page cannot open. Its program stopped as it started (${error}).`);
    throw error;
  }
  boot?.opens();
  watch();
}

// A menu is open while it is used: a choice in it, Escape, a click elsewhere and a focus that moves on close it.
for (const kind of ["click", "pointerdown", "focusin", "keydown"]) {
  addEventListener(kind, ({ key, target }) => {
    if (key && key !== "Escape") return;
    for (const menu of document.querySelectorAll(".menu[open], .badge[open]")) {
      const within = menu.contains(target);
      if (within && !key && !(kind === "click" && target.closest("button"))) continue;
      if (within) menu.firstElementChild.focus();
      menu.open = false;
    }
  });
}

// A chart and a tile are enlarged by their button, and a tile by a click on its pictures; Escape and a click elsewhere end it.
addEventListener("click", ({ target }) => {
  const large = target.closest(".enlarge, .tile .weights, .tile .plot")?.closest(".chart, .tile");
  const button = large?.querySelector(".enlarge");
  if (!button?.checkVisibility()) return;
  if (large.popover) return large.hidePopover();
  large.popover = "auto";
  large.ontoggle = ({ newState }) => {
    button.ariaExpanded = newState === "open";
    if (newState === "open") return;
    large.popover = large.ontoggle = null;
    // Unless it has gone elsewhere, the focus is lost with what was hidden.
    if (document.activeElement === document.body) button.focus();
  };
  large.showPopover();
});

// A word of the field is explained beside it; the texts are fetched when the first is asked for.
let glossary;
const explained = Object.assign(document.createElement("div"), { className: "explained", popover: "auto", role: "dialog", tabIndex: -1 });
explained.setAttribute("aria-labelledby", "explained-word");
const parts = ["h2", "p", "button"].map((kind) => explained.appendChild(document.createElement(kind)));
parts[0].id = "explained-word";
Object.assign(parts[2], { type: "button", textContent: "Close", onclick: () => explained.hidePopover() });

/** Texts by word. */
async function read() {
  const [address, integrity] = document.querySelector("meta[name=hushgrad-glossary]").content.split("#");
  const answer = await fetch(new URL(address, here), { integrity: integrity ?? "", cache: "no-cache" });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return new Map((await answer.text()).trim().split("\n\n").map((entry) => {
    const [head, text] = entry.split("\n");
    const [key, ...title] = head.split(": ");
    return [key, [title.join(": "), text]];
  }));
}

addEventListener("click", async ({ target }) => {
  const word = target.closest("[data-word]");
  if (!word) return;
  const told = await (glossary ??= read()).then((texts) => texts.get(word.dataset.word), (error) => {
    glossary = null;
    return ["The glossary did not come", `${error.message ?? error}. Check the connection, and press the word again.`];
  });
  [parts[0].textContent, parts[1].textContent] = told ?? [word.textContent, "There is no text on this word."];
  (word.closest("dialog") ?? document.body).append(explained);
  explained.showPopover({ source: word });
  const [at, own] = [word, explained].map((each) => each.getBoundingClientRect());
  const [width, height] = [root.clientWidth, root.clientHeight];
  const below = at.bottom + 6 + own.height <= height || at.top < own.height + 6;
  explained.style.left = `${Math.max(8, Math.min(at.left, width - own.width - 8))}px`;
  explained.style.top = `${Math.max(8, Math.min(below ? at.bottom + 6 : at.top - own.height - 6, height - own.height - 8))}px`;
  explained.focus();
});

// What is said lies over the page, at one edge of it or, where that would cover what has the focus, at the other.
function keepOff() {
  const [box, focus] = [document.querySelector(".overlay"), document.activeElement];
  if (!box || !focus || focus === document.body || box.contains(focus)) return;
  const covers = () => {
    const [a, b] = [box, focus].map((each) => each.getBoundingClientRect());
    return a.height > 0 && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  };
  if (!covers()) return;
  box.classList.toggle("moved");
  if (covers()) box.classList.toggle("moved");
}

/** The page stands: what it says is watched from now on. */
function watch() {
  const box = document.querySelector(".overlay");
  if (!box) return;
  new ResizeObserver(keepOff).observe(box);
  for (const kind of ["focusin", "scroll", "resize"]) addEventListener(kind, keepOff, { capture: true, passive: true });
}

/** A script of the site that few visitors need at once, as the build has named it. */
const later = (name, unnamed) => new URL(document.querySelector(`meta[name=hushgrad-${name}]`)?.content ?? unnamed, document.baseURI).href;

// On paper the page's address stands at its end, as text and as a code. What draws codes is fetched when all else is under way: a page that is
// about to be printed waits for nothing.
let code = null;
const drawCodes = () => import(later("qr", "./qr.js")).then((qr) => { code = qr.code; }, () => {});
addEventListener("beforeprint", () => {
  document.body.dataset.address = location.href;
  const drawn = code?.(location.href);
  document.querySelector(".paper-code")?.remove();
  if (drawn) document.body.append(Object.assign(document.createElement("div"), { className: "paper-code" }));
  document.querySelector(".paper-code")?.append(drawn);
  root.dataset.painted = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
});

// The next visit needs no network; this one is not kept waiting for that.
const register = () => {
  try {
    navigator.serviceWorker?.register(new URL("sw.js", here)).catch(() => {});
  } catch {
    // A sandbox without an origin.
  }
};

// What another page embeds, and what is shared and handed in, is shown, set and copied in dialogs that few visitors open.
for (const name of ["embed", "share"]) {
  addEventListener(`hushgrad-${name}`, async ({ detail }) => {
    const script = later(`${name}-dialog`, `./${name}_dialog.js`);
    try {
      (await import(script)).open(...detail);
    } catch (error) {
      boot?.fails(script, "The dialog", String(error));
    }
  });
}

if (boot?.refused) {
  // It says why.
} else if (!root.dataset.start && root.dataset.frames !== "any" && foreign()) {
  boot?.says("This is the whole playground, which does not run within a page of another site.");
  const link = document.createElement("a");
  Object.assign(link, { href: location.href, target: "_blank", textContent: "Open it in a tab of its own" });
  document.getElementById("again")?.replaceWith(link);
} else {
  await start();
  requestAnimationFrame(() => setTimeout(register));
  if (!root.dataset.start) drawCodes();
}
