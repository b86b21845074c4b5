// <hush-grad preset="dp-sgd" sigma="1.5" controls="sigma">: the playground in your page. No
// dependencies; loads as a module and as a classic script. docs/embedding.md has its attributes,
// methods and events; the npm package `hush-grad` is built from this file (packages/element).
(() => {
  // Server-side rendering has no custom elements.
  if (typeof customElements === "undefined" || customElements.get("hush-grad")) return;
  const SOURCE = "hushgrad";
  const VERSION = 1;
  const EVENTS = ["ready", "step", "paused", "complete", "state", "error"];
  // Keys of the page's links that can be set without reloading the frame.
  const SETTINGS = `preset dataset model layers encoder clipping layer-noise layer-norms shape noise density denoiser sampling protects schedule phases phase-list start break minority reading averaging clip clip-quantile clip-count-noise metrics vectors
    pre-scale envelope-seed epsilon sigma nu exponent smoothing memory lot micro-batch users user-source user-skew user-seed local-steps local-rate bands rate rate-end phase-count noise-end momentum copies reach steps delta canaries seed replay grid-bits speed`;
  // Keys whose change reloads the frame.
  const FRAME = `v backend cores theme lang controls hide view poster lesson lab lab-envelope lab-epsilon lab-exponent lab-density`;
  const settings = SETTINGS.split(/\s+/);
  const keys = [...settings, ...FRAME.split(" ")];
  // Global attributes and those of frameworks; no key looks like them.
  const PLAIN = /^(src|class|id|style|slot|part|exportparts|hidden|inert|title|dir|translate|tabindex|autofocus|accesskey|role|is|nonce|height|popover|draggable|spellcheck|contenteditable|item\w+|xmlns|(data|aria|ng)-.*|on.*|[^a-z].*|.*[^a-z0-9-].*)$/;
  /** Milliseconds that an answer may take; the first waits for the whole program. */
  const PATIENCE = 60_000;
  /** Maximum height of a frame in pixels, whatever it requests. */
  const HIGHEST = 6000;
  // A classic script knows its address; that of a module is in the stack trace of an error.
  const scripts = [document.currentScript?.src, /https?:[^\s()]*element\.js[^\s():]*/.exec(new Error().stack ?? "")?.[0]];
  const here = scripts.find((src) => /\/element\.js([?#]|$)/.test(src ?? ""));
  /** True for an opaque origin (a sandbox, a file), which what it frames may have, too. */
  const apart = self.origin === "null";
  const STYLE = `
    :host { display: block; }
    :host([hidden]) { display: none; }
    iframe { display: block; width: 100%; border: 0; }
    p { margin: 0 0 4px; padding: 6px 10px; border: 1px solid currentcolor; border-radius: 6px; font: 0.87rem/1.4 system-ui, sans-serif; }
    p[hidden], slot, .print { display: none; }
    @media print {
      :host { break-inside: avoid; }
      slot { display: contents; }
      .print { display: block; font: 0.87rem/1.4 system-ui, sans-serif; overflow-wrap: anywhere; }
      .print svg { display: block; width: 320px; height: 104px; fill: none; stroke: currentcolor; stroke-width: 2; }
      .waiting iframe, .running svg { display: none; }
    }`;

  /** The theme that an element's attributes and classes name: `light`, `dark` or "". */
  function named(element) {
    const { dataset, classList } = element;
    if (dataset.jpThemeLight) return dataset.jpThemeLight === "false" ? "dark" : "light";
    for (const value of [dataset.theme, dataset.bsTheme, dataset.colorMode, dataset.mdColorScheme]) {
      const found = /dark|slate/i.test(value ?? "") ? "dark" : /light|default/i.test(value ?? "") ? "light" : "";
      if (found) return found;
    }
    for (const theme of ["dark", "light"]) {
      if (["", "theme-", "is-"].some((start) => classList.contains(start + theme)) || classList.contains(`${theme}-mode`) || classList.contains(`${theme}-theme`)) return theme;
    }
    return "";
  }

  /** The theme around an element: as its ancestors name it, else as they look. */
  function themeAround(element) {
    let paper = "";
    for (let at = element.parentNode; at; at = at.parentNode ?? at.host) {
      if (at.nodeType === Node.DOCUMENT_FRAGMENT_NODE) at = at.host;
      if (at.nodeType !== Node.ELEMENT_NODE) break;
      const said = named(at);
      if (said) return said;
      const { backgroundColor } = getComputedStyle(at);
      if (!paper && !/^(transparent|rgba\(.*, 0\))$/.test(backgroundColor)) paper = backgroundColor;
    }
    const schemes = getComputedStyle(element).colorScheme.split(" ");
    const [light, dark] = ["light", "dark"].map((scheme) => schemes.includes(scheme));
    if (light !== dark) return light ? "light" : "dark";
    const [r, g, b] = (/^rgba?\(/.test(paper) && paper.match(/[\d.]+/g)) || [];
    if (b !== undefined) return 0.3 * r + 0.6 * g + 0.1 * b < 110 ? "dark" : "light";
    // A page without themes has a white background.
    return light ? "system" : "light";
  }

  /** The poster's curve, for print. */
  function picture() {
    const [svg, path] = ["svg", "path"].map((name) => document.createElementNS("http://www.w3.org/2000/svg", name));
    svg.setAttribute("viewBox", "0 0 320 90");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", "M0 78C60 76 80 40 130 30s110-12 190-14M0 80l18-1 17-5 18-9 17-11 17-11 18-5 17-8 17 0 17-4 17-1 17-5 17 1 17-2 17 1 17-4");
    svg.append(path);
    return svg;
  }

  class HushGrad extends HTMLElement {
    /** The playground's address for elements without `src`: the site of this script. */
    static site = here;
    static observedAttributes = [...keys, "src", "height", "title"];

    #frame = null;
    /** True if it is on the page and its attributes have been read. */
    #stands = false;
    #origin = "";
    #met = false;
    #started = false;
    /** Changed attributes that have not been applied. */
    #changed = null;
    #theme = "";
    #refused = "";
    /** What is wrong with the attributes. */
    #wrong = "";
    /** Messages to send once the frame has answered the first hello. */
    #queue = [];
    #answers = new Map();
    #count = 0;
    #hear = (event) => this.#take(event);
    #watcher = new MutationObserver((records) => this.#look(records));
    #dark = matchMedia("(prefers-color-scheme: dark)");
    #follow = () => this.#tellTheme();
    #box = document.createElement("div");
    #problem = document.createElement("p");
    #address = document.createElement("span");

    constructor() {
      super();
      const root = this.attachShadow({ mode: "open" });
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      root.adoptedStyleSheets = [sheet];
      this.#problem.setAttribute("part", "problem");
      this.#problem.setAttribute("role", "alert");
      this.#problem.hidden = true;
      const print = document.createElement("div");
      print.className = "print";
      print.append(picture(), this.#address);
      this.#box.append(document.createElement("slot"), print);
      root.append(this.#problem, this.#box);
    }

    connectedCallback() {
      addEventListener("message", this.#hear);
      this.#dark.addEventListener("change", this.#follow);
      this.#watcher.observe(this, { attributes: true });
      const how = { attributes: true, attributeFilter: ["class", "style", "data-theme", "data-bs-theme", "data-color-mode", "data-md-color-scheme", "data-jp-theme-light"] };
      for (const around of [document.documentElement, document.body]) if (around) this.#watcher.observe(around, how);
      this.#stands = true;
      this.#build();
    }

    disconnectedCallback() {
      this.#stands = false;
      removeEventListener("message", this.#hear);
      this.#dark.removeEventListener("change", this.#follow);
      this.#watcher.disconnect();
      this.#forget("<hush-grad> was taken off the page");
      this.#queue = [];
      this.#changed = null;
      this.#frame?.remove();
      this.#frame = null;
    }

    attributeChangedCallback(name, before, now) {
      if (!this.#stands || before === now) return;
      // All changes of one task are applied together.
      if (!this.#changed) queueMicrotask(() => this.#apply());
      this.#changed = (this.#changed ?? new Set()).add(name);
    }

    play() {
      this.#send({ type: "play" });
    }
    pause() {
      this.#send({ type: "pause" });
    }
    step() {
      this.#send({ type: "step" });
    }
    reset() {
      this.#send({ type: "reset" });
    }
    /** Resolves to the settings and the state of the run. */
    getState() {
      return this.#ask({ type: "getState" });
    }
    /** Sets keys of the page's links: `{ sigma: 2 }` or `"sigma=2"`. */
    async setState(state) {
      return this.#ask({ type: "setState", query: String(typeof state === "string" ? state : new URLSearchParams(state)) });
    }

    /** Builds the frame for the attributes. */
    #build() {
      const base = this.getAttribute("src") ?? HushGrad.site;
      if (!base) return this.#refuse("<hush-grad> needs the playground's address in its attribute src.");
      let url;
      try {
        url = new URL("embed.html", new URL(base, document.baseURI));
      } catch {
        return this.#refuse(`<hush-grad>: “${base}” is no address.`);
      }
      if (this.#refused) this.#refuse("");
      for (const { name, value } of this.attributes) if (keys.includes(name)) url.searchParams.set(name, value);
      this.#address.textContent = `A live run of private training: ${new URL(`.${url.search}`, url).href}`;
      this.#theme = themeAround(this);
      // Readers of a German page read German, unless the element itself says otherwise.
      url.hash = `host-theme=${this.#theme}&host-lang=${encodeURIComponent(this.closest("[lang]")?.lang ?? "")}`;
      this.#origin = url.origin;
      this.#met = this.#started = false;
      this.#box.className = "waiting";
      const frame = document.createElement("iframe");
      frame.src = url.href;
      frame.part = "frame";
      frame.loading = "lazy";
      frame.referrerPolicy = "no-referrer";
      // Only scripts with their own origin, a link to the playground, and copies of results.
      frame.sandbox = "allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-downloads";
      frame.allow = "clipboard-write";
      // A statement, not a returned expression: WebKit makes tail calls in strict functions, and
      // would take the frame itself for the sender.
      frame.addEventListener("load", () => {
        frame.contentWindow?.postMessage(this.#message({ type: "hello", theme: this.#theme, fit: true }), this.#target);
      });
      if (this.#frame) this.#forget("<hush-grad>: the frame was loaded anew");
      this.#frame?.remove();
      this.#frame = frame;
      this.#name();
      // Its space is reserved before anything is loaded, so that nothing on the page jumps.
      frame.style.height = `${this.#height}px`;
      this.#box.append(frame);
      this.#check();
      return undefined;
    }

    #name() {
      this.#frame.title = this.getAttribute("title") ?? "hushgrad: train a model privately";
    }

    /** Minimum height in pixels; NaN unless the attribute is from 40 to `HIGHEST`. */
    get #asked() {
      const pixels = Number(/^(\d{1,4})(px)?$/.exec(this.getAttribute("height") ?? "400")?.[1]);
      return pixels >= 40 && pixels <= HIGHEST ? pixels : NaN;
    }

    get #height() {
      return this.#asked || 400;
    }

    /** A page with an opaque origin cannot know whether its frame has one, too. */
    get #target() {
      return apart ? "*" : this.#origin;
    }

    /** Applies changed attributes: sets settings, and reloads the frame for all else. */
    #apply() {
      const changed = [...(this.#changed ?? [])];
      this.#changed = null;
      if (!this.#stands) return;
      if (!this.#frame) return this.#build();
      const of = (list) => changed.filter((name) => list.includes(name));
      if (changed.includes("title")) this.#name();
      if (changed.includes("height")) this.#frame.style.height = `${Math.max(this.#height, Number.parseInt(this.#frame.style.height, 10))}px`;
      const [set, rest] = [of(settings), changed.filter((name) => !settings.includes(name) && !["title", "height"].includes(name))];
      const settable = this.#started && set.every((name) => this.hasAttribute(name));
      if (rest.length || (set.length && !settable)) this.#build();
      else if (set.length) {
        // A preset sets all other settings, so they are set again.
        const all = set.includes("preset") ? settings.filter((name) => this.hasAttribute(name)) : set;
        const state = Object.fromEntries(all.map((name) => [name, this.getAttribute(name)]));
        this.setState(state).then(() => this.#refuse(""), ({ message }) => this.#refuse(message));
      }
      return undefined;
    }

    /** Handles changes of the page's theme and of attributes that are not keys. */
    #look(records) {
      if (records.some(({ target }) => target !== this)) this.#tellTheme();
      if (records.some(({ target, attributeName }) => target === this && !keys.includes(attributeName))) this.#check();
    }

    #tellTheme() {
      const theme = themeAround(this);
      if (theme === this.#theme) return;
      this.#theme = theme;
      if (this.#met) this.#send({ type: "theme", query: theme });
    }

    /** Refuses unknown attributes, which would be ignored silently, and an invalid height. */
    #check() {
      const unknown = this.getAttributeNames().filter((name) => !keys.includes(name) && !PLAIN.test(name));
      const before = this.#wrong;
      this.#wrong = unknown.length
        ? `<hush-grad> has no attribute ${unknown.map((name) => `“${name}”`).join(", ")}.`
        : this.#asked ? "" : `<hush-grad> has no height “${this.getAttribute("height").slice(0, 40)}”: whole pixels from 40 to ${HIGHEST}.`;
      if (this.#wrong || this.#refused === before) this.#refuse(this.#wrong);
    }

    /** Reports a refusal on the page, in the console and as an event. */
    #refuse(message) {
      if (message === this.#refused) return;
      this.#refused = this.#problem.textContent = message;
      this.#problem.hidden = !message;
      if (!message) return;
      console.warn(message);
      // Listeners may be added after the element.
      setTimeout(() => this.dispatchEvent(new CustomEvent("error", { detail: { message } })));
    }

    #forget(why) {
      for (const { refuse, timer } of this.#answers.values()) {
        clearTimeout(timer);
        refuse(new Error(why));
      }
      this.#answers.clear();
    }

    #message = (message) => ({ source: SOURCE, v: VERSION, ...message });

    #send(message) {
      if (this.#met) this.#frame?.contentWindow?.postMessage(this.#message(message), this.#target);
      else this.#queue.push(message);
    }

    #ask(message) {
      const id = ++this.#count;
      return new Promise((answer, refuse) => {
        const timer = setTimeout(() => {
          this.#answers.delete(id);
          refuse(new Error("<hush-grad> did not answer"));
        }, PATIENCE);
        this.#answers.set(id, { answer, refuse, timer });
        this.#send({ ...message, id });
      });
    }

    #take({ source, origin, data }) {
      if (!this.#frame || source !== this.#frame.contentWindow) return;
      if (origin !== this.#origin && !(apart && origin === "null")) return;
      if (data?.source !== SOURCE || data.v !== VERSION) return;
      const { source: _, v: __, type, id, ...detail } = data;
      if (typeof detail.started === "boolean") this.#started = detail.started;
      if (detail.step > 0) this.#box.className = "running";
      if (type === "hello") {
        // The theme may have changed since it was sent.
        if (!this.#met) this.#queue.unshift({ type: "theme", query: this.#theme });
        this.#met = true;
        this.#queue.splice(0).forEach((message) => this.#send(message));
        return;
      }
      if (type === "size") {
        if (detail.height > 0) this.#frame.style.height = `${Math.min(Math.max(detail.height, this.#height), HIGHEST)}px`;
        return;
      }
      const waiting = this.#answers.get(id);
      if (waiting) {
        this.#answers.delete(id);
        clearTimeout(waiting.timer);
        if (type === "error") waiting.refuse(new Error(detail.message));
        else waiting.answer(detail);
      }
      if (EVENTS.includes(type)) this.dispatchEvent(new CustomEvent(type, { detail }));
    }
  }
  customElements.define("hush-grad", HushGrad);
})();
