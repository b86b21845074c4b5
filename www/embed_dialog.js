// The dialog *Embed*: a preview of this page's settings in another page, and the snippets to copy.
// Fetched when first opened. docs/embedding.md describes the frame and the element.

const SITE = new URL(".", document.baseURI).href;
const SANDBOX = "allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-downloads";
const STYLE = `
  .embed-dialog { width: min(760px, calc(100vw - 32px)); max-width: none; max-height: calc(100dvh - 24px); overflow: auto; }
  .embed-dialog .choices { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 8px 14px; margin: 10px 0; }
  .embed-dialog label { display: grid; gap: 2px; font-size: 0.87rem; color: var(--soft); }
  .embed-dialog label.tick { display: flex; align-items: center; gap: 8px; min-height: 34px; color: var(--ink); }
  .embed-dialog .preview { overflow: auto; border: 1px solid var(--line); border-radius: 8px; background: var(--paper); }
  .embed-dialog iframe { display: block; margin: 0 auto; border: 0; max-width: 100%; }
  .embed-dialog .snippet { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 4px 10px; align-items: end; margin-top: 12px; }
  .embed-dialog textarea { grid-column: 1 / -1; width: 100%; box-sizing: border-box; font: 0.8rem/1.45 ui-monospace, monospace; resize: vertical; background: var(--paper); color: var(--ink); border: 1px solid var(--control); border-radius: 6px; padding: 8px; }
  .embed-dialog h3 { margin: 0; font-size: 0.95rem; }
  .embed-dialog .end { display: flex; flex-wrap: wrap; gap: 8px 14px; justify-content: space-between; align-items: center; margin-top: 14px; }
  .embed-dialog [role="status"] { color: var(--soft); font-size: 0.87rem; }
`;
const style = new CSSStyleSheet();
style.replaceSync(STYLE);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, style];

let dialog = null;

/** Creates an element with its properties and children. */
function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function choice(label, options, hook, change) {
  const select = make("select", {}, ...options.map(([value, text]) => make("option", { value, textContent: text })));
  select.dataset.testid = hook;
  select.addEventListener("change", change);
  return [make("label", { textContent: label }, select), select];
}

const quoted = (text) => String(text).replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

/** Returns both snippets for the choices, and the address and size of their frame. */
export function snippets(query, { size, view, controls, poster, theme }) {
  const all = new URLSearchParams(query);
  const lesson = all.get("lesson");
  all.delete("lesson");
  if (view === "lesson") all.set("lesson", lesson ?? "why-noise");
  if (view !== "lab") for (const key of [...all.keys()]) if (key.startsWith("lab")) all.delete(key);
  if (theme) all.delete("theme");
  for (const [key, value] of [["view", view], ["controls", controls], ["poster", poster ? "1" : ""], ["theme", theme]]) if (value) all.set(key, value);
  // Later versions read links by their `v`; as an attribute it would mean nothing.
  const [width, height] = size.split(" ");
  const address = `${SITE}embed.html?${String(all).replaceAll("%2C", ",")}`;
  all.delete("v");
  const attributes = [...all].map(([key, value]) => ` ${key}="${quoted(value)}"`).join("");
  const box = width === "100%" ? "" : ` style="display: block; max-width: ${width}px"`;
  return {
    address, width, height,
    frame: `<iframe src="${quoted(address)}" title="hushgrad: train a model privately" width="${width}" height="${height}" loading="lazy" referrerpolicy="no-referrer" sandbox="${SANDBOX}" allow="clipboard-write" style="border: 0"></iframe>`,
    element: `<script src="${quoted(SITE)}element.js" defer></script>\n<hush-grad${attributes} height="${height}"${box}></hush-grad>`,
  };
}

function build(say) {
  const said = make("p", {});
  said.setAttribute("role", "status");
  said.dataset.testid = "embed-said";
  const preview = make("div", { className: "preview" });
  let query = "";
  let shown = "";
  const draw = () => {
    const made = snippets(query, { size: size.value, view: view.value, controls: controls.value, poster: poster.checked, theme: theme.value });
    texts.frame.value = made.frame;
    texts.element.value = made.element;
    said.textContent = "";
    const key = `${made.address} ${size.value}`;
    if (key === shown) return;
    shown = key;
    const frame = make("iframe", { title: say("Preview of the embed"), src: made.address });
    frame.setAttribute("width", made.width);
    frame.setAttribute("height", made.height);
    preview.replaceChildren(frame);
  };
  const sizes = [["640 400", "640 × 400"], ["100% 460", say("page width, 460 high")], ["360 560", say("360 × 560, like a phone")]];
  const views = [["", say("both curves")], ["stage", say("one step, taken apart")], ["results", say("all results")], ["lesson", say("a lesson")], ["lab", say("the noise lab")]];
  // Suggestions for `controls`.
  const changes = [["", say("nothing")], ["sigma", say("the noise")], ["sigma,clip", say("noise and clip")], ["preset,sigma,rate", say("preset, noise and rate")]];
  const themes = [["", say("same as the page")], ["light", say("light")], ["dark", say("dark")]];
  const [sizeLabel, size] = choice(say("Size"), sizes, "embed-size", draw);
  const [viewLabel, view] = choice(say("View"), views, "embed-view", draw);
  const [controlsLabel, controls] = choice(say("Readers may change"), changes, "embed-controls", draw);
  const [themeLabel, theme] = choice(say("Theme"), themes, "embed-theme", draw);
  const poster = make("input", { type: "checkbox", checked: true });
  poster.dataset.testid = "embed-poster";
  poster.addEventListener("change", draw);
  const texts = {};
  const snippet = (kind, title, more, copied) => {
    const text = make("textarea", { readOnly: true, rows: kind === "frame" ? 5 : 3, spellcheck: false });
    text.setAttribute("aria-label", title);
    text.dataset.testid = `embed-${kind}`;
    texts[kind] = text;
    const copy = make("button", { type: "button", textContent: say("Copy") });
    copy.setAttribute("aria-label", `${say("Copy")}: ${title}`);
    copy.dataset.testid = `embed-copy-${kind}`;
    copy.addEventListener("click", async () => {
      text.select();
      try {
        await navigator.clipboard.writeText(text.value);
        said.textContent = copied;
      } catch {
        said.textContent = say("This browser does not let the page copy. The text is selected: copy it with the keyboard.");
      }
    });
    return make("div", { className: "snippet" }, make("div", {}, make("h3", { textContent: title }), make("span", { className: "small", textContent: more })), copy, text);
  };
  const close = make("button", { type: "button", className: "primary", textContent: say("Close") });
  close.addEventListener("click", () => dialog.close());
  const tick = make("label", { className: "tick" }, poster, say("Load nothing until the reader clicks"));
  const title = make("h2", { id: "embed-title", textContent: say("Embed in your page") });
  dialog = make("dialog", { className: "embed-dialog" }, title,
    make("p", { textContent: say("An embed with the current settings. It trains on the reader's machine. Your page receives settings and results, no images and no model.") }),
    make("div", { className: "choices" }, sizeLabel, viewLabel, controlsLabel, themeLabel, tick), preview,
    snippet("frame", say("Iframe"), say("Works wherever HTML is allowed."), say("Iframe copied.")),
    snippet("element", say("Custom element"), say("Fits its height to its content, follows the page's theme, has methods and events."), say("Custom element copied.")),
    make("div", { className: "end" }, said, close));
  dialog.setAttribute("aria-labelledby", "embed-title");
  dialog.dataset.testid = "embed-dialog";
  // A closed preview does not train.
  dialog.addEventListener("close", () => {
    preview.replaceChildren();
    shown = "";
  });
  document.body.append(dialog);
  return (next) => {
    query = next;
    const link = new URLSearchParams(query);
    if (link.has("lesson")) view.value = "lesson";
    else if (link.has("lab")) view.value = "lab";
    theme.value = ["light", "dark"].includes(link.get("theme")) ? link.get("theme") : "";
    draw();
  };
}

let show = null;
/** The language that the dialog was built in. */
let language = null;

/** Opens the dialog for the page's link; `say` translates its texts. */
export function open(say, query) {
  if (language !== document.documentElement.lang) {
    language = document.documentElement.lang;
    dialog?.remove();
    show = build(say);
  }
  show(query);
  if (!dialog.open) dialog.showModal();
}
