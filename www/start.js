// Starts the page's program. The build puts the names of its two files into this script's address.

const { boot, document: { documentElement: root } } = globalThis;
const here = new URL(".", import.meta.url).href;
const names = new URL(import.meta.url).searchParams;

/** Addresses of the one-line scripts made here. */
const made = new Set();

/** Tags of charts, icons and plain text, with attributes that neither run nor load anything. */
const harmless = /<\/?(?:b|br|circle|code|d[dlt]|div|em|g|h[1-4]|kbd|li|line|[ou]l|p|path|rect|small|span|strong|su[bp]|svg|t[dhr]|text|title|tspan)(?:\s+(?:aria-[a-z]+|class|c[xy]|d[xy]?|focusable|height|r|role|scope|text-anchor|transform|viewBox|width|[xy][12]?)="[^"]*")*\s*\/?>/g;

// The only Trusted Types policy: allows harmless markup and this site's scripts.
globalThis.trustedTypes?.createPolicy("default", {
  createHTML: (html) => (html.replace(harmless, "").includes("<") ? null : html),
  createScriptURL: (url) => (made.has(url) || new URL(url, here).href.startsWith(here) ? url : null),
});

/**
 * With an opaque origin a page cannot start threads from its host's files, but from its own script,
 * which may load them where the host allows it (CORS). In Chromium that must be a classic script,
 * which may import a module.
 */
const apart = self.origin === "null";
function startable(url) {
  const whole = new URL(url, here).href;
  if (!apart || !whole.startsWith(here)) return url;
  const code = `import(${JSON.stringify(whole)}).catch((error) => setTimeout(() => { throw error; }));`;
  const script = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  made.add(script);
  return script;
}

// gloo-worker hides its workers, and only they report that a thread fails.
globalThis.Worker = class extends Worker {
  constructor(url, how) {
    let read = apart;
    super(startable(url), apart ? {} : { get type() { return (read = true), how.type; } });
    const what = url.includes("accountant") ? "The accountant" : "The training thread";
    if (!read) boot?.says(say("This browser cannot run the page: it does not support module workers. Firefox does from version 114 on."));
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

/** True if a page of another origin frames this one, which would allow clickjacking. */
function foreign() {
  try {
    for (let frame = self; frame !== top; ) if ((frame = frame.parent).origin !== origin) return true;
    return false;
  } catch {
    return true;
  }
}

/** The tag that names a file of the page; `file` gives the arguments of `fetch` for it. */
const tagged = (name) => document.querySelector(`meta[name=hushgrad-${name}]`);
function file(tag) {
  const [address, integrity = ""] = tag.content.split("#");
  return [new URL(address, here).href, { integrity, cache: "no-cache" }];
}
/** Those arguments for the file in the page's language, if there is one. */
const translated = (name) => file(tagged(`${name}-${root.lang}`) ?? tagged(name));

/** Languages with a table of texts. */
const LANGUAGES = [...document.querySelectorAll("meta[name^=hushgrad-text-]")].map(({ name }) => name.slice(14));
const LANGUAGE = "hushgrad-language";
/** Each language's name in itself. */
const NAMES = Object.fromEntries(LANGUAGES.map((each) => [each, new Intl.DisplayNames(each, { type: "language" }).of(each)]));

/** The first available language of the link, the host page, the stored choice and the browser. */
function language() {
  let chosen = null;
  try {
    chosen = localStorage.getItem(LANGUAGE);
  } catch {
    // An opaque origin has no storage.
  }
  const [link, around] = [new URLSearchParams(location.search).get("lang"), new URLSearchParams(location.hash.slice(1)).get("host-lang")];
  const wanted = [link, around, chosen, ...navigator.languages];
  return wanted.map((each) => each?.slice(0, 2).toLowerCase()).find((each) => LANGUAGES.includes(each)) ?? "en";
}

/** The language requested last. */
let asked = null;
/** Fetches and applies the texts of a language; false if another was requested meanwhile. */
async function speak(wanted) {
  asked = wanted;
  const answer = await fetch(...file(tagged(`text-${wanted}`)));
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const table = await answer.text();
  if (asked !== wanted) return false;
  root.lang = wanted;
  root.dir = /^@dir (\w+)/m.exec(table)?.[1] ?? "ltr";
  texts = glossary = null;
  const rules = new Intl.PluralRules(wanted);
  const forms = ["zero", "one", "two", "few", "many", "other"].filter((form) => rules.resolvedOptions().pluralCategories.includes(form));
  globalThis.hushgradText = { table, languages: LANGUAGES, names: NAMES, form: (n) => forms.indexOf(rules.select(n)) };
  return true;
}

/** The glossary, once it has been requested. */
let glossary = null;
/** Translations for this script and the dialogs, by their English, once needed. */
let texts = null;
function say(english) {
  const entries = () => (globalThis.hushgradText?.table ?? "").matchAll(/^([^@#=\n].*)\n(?:= (.*)\n)?/gm);
  texts ??= new Map([...entries()].map(([, own, translated]) => [own, translated ?? own]));
  return texts.get(english) ?? english;
}

function keep(language) {
  try {
    localStorage.setItem(LANGUAGE, language);
  } catch {
    // Then it is chosen again next time.
  }
}

// A chosen language is stored at once, as the page may be left before its table arrives; the
// program is told when it does.
addEventListener("hushgrad-speak", async ({ detail }) => {
  keep(detail);
  try {
    if (await speak(detail)) dispatchEvent(new CustomEvent("hushgrad-spoken"));
  } catch (error) {
    if (asked !== detail) return;
    // The next visit must not ask for what failed. A page being left fails, too, but is soon gone.
    setTimeout(() => asked === detail && keep(root.lang), 500);
    boot?.fails(file(tagged(`text-${detail}`))[0], "Its text", String(error));
  }
});

async function start() {
  const spoken = language();
  // In parallel with the program, which needs it; a failure is reported after the import.
  const told = speak(spoken).then(() => null, (error) => error);
  const [app, wasm] = ["app", "wasm"].map((name) => new URL(names.get(name), here).href);
  const failed = (url) => (error) => {
    boot?.fails(url, "Its program", String(error));
    throw error;
  };
  boot?.waits("its program");
  const program = await import(app).catch(failed(app));
  const missing = await told;
  if (missing) {
    boot?.fails(file(tagged(`text-${spoken}`))[0], "Its text", String(missing));
    throw missing;
  }
  try {
    await program.default({ module_or_path: new URL(wasm) });
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) failed(wasm)(error);
    boot?.says(say("The page cannot open. Its program failed at startup ({error}).").replace("{error}", () => error));
    throw error;
  }
  boot?.opens();
  watch();
}

// Closes a menu after a choice in it, Escape, a click elsewhere or a moved focus.
for (const kind of ["click", "pointerdown", "focusin", "keydown"]) {
  addEventListener(kind, (event) => {
    const { key, target } = event;
    if (key && key !== "Escape") return;
    for (const menu of document.querySelectorAll(".menu[open], .badge[open]")) {
      const within = menu.contains(target);
      if (within && !key && !(kind === "click" && target.closest("button"))) continue;
      if (within) menu.firstElementChild.focus();
      if (key) event.preventDefault();
      menu.open = false;
    }
  });
}

// Enlarges a chart or a tile by its button, and a tile by a click on its pictures; Escape and a
// click elsewhere restore it.
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
    // Unless the focus has moved elsewhere, hiding has lost it.
    if (document.activeElement === document.body) button.focus();
  };
  large.showPopover();
});

// A link to the page itself loads nothing and acts like Forward. An embed has only one address.
if (!document.documentElement.dataset.start) addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='?']:not([target], [download])");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.defaultPrevented) return;
  // If an opaque origin refuses, the link loads the page.
  history.pushState(null, "", link.href);
  event.preventDefault();
  dispatchEvent(new PopStateEvent("popstate"));
});

// Explains a technical term beside it; the glossary is fetched at the first request.
const explained = Object.assign(document.createElement("div"), { className: "explained", popover: "auto", role: "dialog", tabIndex: -1 });
explained.setAttribute("aria-labelledby", "explained-word");
const parts = ["h2", "p", "button"].map((kind) => explained.appendChild(document.createElement(kind)));
parts[0].id = "explained-word";
Object.assign(parts[2], { type: "button", onclick: () => explained.hidePopover() });

/** Fetches the glossary: titles and texts by word. */
async function read() {
  const answer = await fetch(...translated("glossary"));
  if (!answer.ok) throw new Error(say("the server answered {status}").replace("{status}", answer.status));
  return new Map((await answer.text()).trim().split("\n\n").map((entry) => {
    const [head, text] = entry.split("\n");
    const [key, ...title] = head.split(": ");
    return [key, [title.join(": "), text]];
  }));
}

addEventListener("click", async ({ target }) => {
  const word = target.closest("[data-word]");
  if (!word) return;
  const pressed = word.getBoundingClientRect();
  const told = await (glossary ??= read()).then((texts) => texts.get(word.dataset.word), (error) => {
    glossary = null;
    return [say("The glossary did not load"), `${error.message ?? error}. ${say("Check the connection, and press the word again.")}`];
  });
  [parts[0].textContent, parts[1].textContent] = told ?? [word.textContent, say("There is no entry for this word.")];
  parts[2].textContent = say("Close");
  (word.closest("dialog") ?? document.body).append(explained);
  explained.showPopover({ source: word });
  // A redrawn chart replaces the words of its legend.
  const at = word.isConnected ? word.getBoundingClientRect() : pressed;
  const own = explained.getBoundingClientRect();
  const [width, height] = [root.clientWidth, root.clientHeight];
  const below = at.bottom + 6 + own.height <= height || at.top < own.height + 6;
  const line = root.dir === "rtl" ? at.right - own.width : at.left;
  explained.style.left = `${Math.max(8, Math.min(line, width - own.width - 8))}px`;
  explained.style.top = `${Math.max(8, Math.min(below ? at.bottom + 6 : at.top - own.height - 6, height - own.height - 8))}px`;
  explained.focus();
});

// Keeps messages, which lie over one edge of the page, off the focus by moving them to the other.
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

/** Watches the messages and the transport, once the page is built. */
function watch() {
  const box = document.querySelector(".overlay");
  if (!box) return;
  new ResizeObserver(keepOff).observe(box);
  // On a phone the set-up lies on the transport, whatever its height.
  const bar = document.querySelector(".transport");
  new ResizeObserver(() => root.style.setProperty("--bar", `${bar.offsetHeight}px`)).observe(bar);
  for (const kind of ["focusin", "scroll", "resize"]) addEventListener(kind, keepOff, { capture: true, passive: true });
}

/** The address of a script that few visitors need at once, as named by the build. */
const later = (name, unnamed) => new URL(tagged(name)?.content ?? unnamed, document.baseURI).href;

// In print the page's address is at its end, as text and as a QR code. The script for codes is
// fetched in advance, since a page about to be printed cannot wait.
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

// Caches the site for offline visits, without delaying this one.
const register = () => {
  try {
    navigator.serviceWorker?.register(new URL("sw.js", here)).catch(() => {});
  } catch {
    // An opaque origin.
  }
};

// The dialogs *Embed* and *Share* are fetched when opened, as few visitors need them.
for (const name of ["embed", "share"]) {
  addEventListener(`hushgrad-${name}`, async ({ detail }) => {
    const script = later(`${name}-dialog`, `./${name}_dialog.js`);
    try {
      (await import(script)).open(say, ...detail);
    } catch (error) {
      boot?.fails(script, "The dialog", String(error));
    }
  });
}

if (boot?.refused) {
  // `boot.js` has reported why.
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
