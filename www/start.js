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

// The next visit needs no network; this one is not kept waiting for that.
const register = () => {
  try {
    navigator.serviceWorker?.register(new URL("sw.js", here)).catch(() => {});
  } catch {
    // A sandbox without an origin.
  }
};

// What another page embeds is shown, set and copied in a dialog that few visitors open.
addEventListener("hushgrad-embed", async ({ detail }) => {
  const dialog = document.querySelector("meta[name=hushgrad-embed-dialog]")?.content ?? "./embed_dialog.js";
  const script = new URL(dialog, document.baseURI).href;
  try {
    (await import(script)).open(detail);
  } catch (error) {
    boot?.fails(script, "The dialog", String(error));
  }
});

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
}
