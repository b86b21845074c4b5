// <hush-grad preset="dp-sgd" sigma="1.5" controls="sigma">: the playground in a page of yours. No dependency; loads as a
// module and as a classic script. docs/embedding.md has its attributes, methods and events.
(() => {
  if (customElements.get("hush-grad")) return;
  const SOURCE = "hushgrad";
  const VERSION = 1;
  const EVENTS = ["ready", "step", "paused", "complete", "state", "error"];
  // Attributes of any element; all others go into the frame's address.
  const PLAIN = /^(src|class|id|style|slot|hidden|title|lang|dir|tabindex|role|height|(data|aria)-.*|on.*)$/;
  /** Milliseconds that an answer may take: the first one waits for the whole program. */
  const PATIENCE = 60_000;
  // A classic script knows its address; a module is named in the trace of an error.
  const here = document.currentScript?.src || /https?:[^\s()]*element\.js[^\s():]*/.exec(new Error().stack ?? "")?.[0];

  class HushGrad extends HTMLElement {
    #frame = null;
    #origin = "";
    #met = false;
    /** Messages for when the frame has answered the first hello. */
    #queue = [];
    #answers = new Map();
    #count = 0;
    #hear = (event) => this.#take(event);

    connectedCallback() {
      const base = this.getAttribute("src") ?? here;
      if (!base) throw new Error("<hush-grad> needs the playground's address in its attribute src");
      const url = new URL("embed.html", new URL(base, document.baseURI));
      for (const { name, value } of this.attributes) if (!PLAIN.test(name)) url.searchParams.set(name, value);
      this.#origin = url.origin;
      this.#met = false;
      // Its place is there before anything is loaded: nothing on the page jumps.
      const height = Number.parseInt(this.getAttribute("height"), 10) || 400;
      if (!this.style.display) this.style.display = "block";
      this.style.minHeight = `${height}px`;
      const frame = document.createElement("iframe");
      frame.src = url.href;
      frame.title = this.getAttribute("title") ?? "hushgrad: train a model privately";
      frame.loading = "lazy";
      frame.referrerPolicy = "no-referrer";
      // Scripts of an origin of its own, a link to the whole playground, and copies of what is shown: no more.
      frame.sandbox = "allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-downloads";
      frame.allow = "clipboard-write";
      Object.assign(frame.style, { display: "block", width: "100%", height: `${height}px`, border: "0" });
      // A statement, and no returned expression: WebKit, which calls in the caller's place what a strict function returns, would take
      // the frame itself for who posts.
      frame.addEventListener("load", () => {
        frame.contentWindow?.postMessage(this.#message({ type: "hello" }), this.#origin);
      });
      this.#frame = frame;
      addEventListener("message", this.#hear);
      this.replaceChildren(frame);
    }

    disconnectedCallback() {
      removeEventListener("message", this.#hear);
      for (const { refuse } of this.#answers.values()) refuse(new Error("<hush-grad> was taken off the page"));
      this.#answers.clear();
      this.#queue = [];
      this.#frame?.remove();
      this.#frame = null;
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
    /** What is set and where the run stands. */
    getState() {
      return this.#ask({ type: "getState" });
    }
    /** Sets what is named, by the keys of the page's links: `{ sigma: 2 }` or `"sigma=2"`. */
    async setState(state) {
      return this.#ask({ type: "setState", query: String(typeof state === "string" ? state : new URLSearchParams(state)) });
    }

    #message = (message) => ({ source: SOURCE, v: VERSION, ...message });

    #send(message) {
      if (this.#met) this.#frame?.contentWindow?.postMessage(this.#message(message), this.#origin);
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
      if (!this.#frame || source !== this.#frame.contentWindow || origin !== this.#origin) return;
      if (data?.source !== SOURCE || data.v !== VERSION) return;
      const { source: _, v: __, type, id, ...detail } = data;
      if (type === "hello") {
        this.#met = true;
        this.#queue.splice(0).forEach((message) => this.#send(message));
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
