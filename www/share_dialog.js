// The dialogs of *Share*: the page's link as a QR code for a projector, and the current run as a
// link to hand in. Fetched when first opened. A typed name goes only into the text of the link.

const qr = document.querySelector("meta[name=hushgrad-qr]")?.content ?? "./qr.js";
const { code } = await import(new URL(qr, document.baseURI).href);

const STYLE = `
  .share-dialog { width: min(560px, calc(100vw - 32px)); max-width: none; max-height: calc(100dvh - 24px); overflow: auto; }
  .share-dialog[data-kind="code"] { width: fit-content; max-width: calc(100vw - 32px); }
  .share-dialog > * + * { margin-top: 10px; }
  .share-dialog .qr { display: block; margin-inline: auto; border-radius: 8px; width: min(220px, 60vw); }
  .share-dialog[data-kind="code"] .qr { width: min(78vw, calc(100dvh - 210px)); min-width: 180px; }
  .share-dialog .address { overflow-wrap: anywhere; font: 0.87rem/1.45 ui-monospace, monospace; max-width: min(78vw, 110ch); }
  .share-dialog label { display: grid; gap: 2px; font-size: 0.87rem; color: var(--soft); }
  .share-dialog textarea { width: 100%; font: 0.8rem/1.45 ui-monospace, monospace; resize: vertical; background: var(--paper); color: var(--ink); border: 1px solid var(--control); border-radius: 6px; padding: 8px; }
  .share-dialog .end { display: flex; flex-wrap: wrap; gap: 8px 14px; justify-content: space-between; align-items: center; }
  .share-dialog .end p { color: var(--soft); font-size: 0.87rem; flex: 1; }
`;
/** Translates an English text into the page's language. */
let say = (english) => english;

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

const style = new CSSStyleSheet();
style.replaceSync(STYLE);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, style];
const dialog = make("dialog", { className: "share-dialog" });
dialog.setAttribute("aria-labelledby", "share-title");
dialog.dataset.testid = "share-dialog";
document.body.append(dialog);

/** Makes the row of a button that copies a text, its status, and the close button. */
function copying(text) {
  const said = make("p", {});
  said.setAttribute("role", "status");
  const button = make("button", { type: "button", textContent: say("Copy the link") });
  button.dataset.testid = "share-copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      said.textContent = say("The link is copied.");
    } catch {
      said.textContent = say("This browser does not let the page copy. Select the text and copy it with the keyboard.");
    }
  });
  const close = make("button", { type: "button", className: "primary", textContent: say("Close") });
  close.addEventListener("click", () => dialog.close());
  return make("div", { className: "end" }, said, button, close);
}

const picture = (address) => code(address) ?? make("p", { textContent: say("This link is too long for a QR code; copy it instead.") });
const heading = (textContent) => make("h2", { id: "share-title", textContent });

function showCode() {
  const address = location.href;
  return [heading(say("Scan to open with these settings")), picture(address), make("p", { className: "address", textContent: address }), copying(() => address)];
}

function handIn(query, claim) {
  const name = make("input", { type: "text", maxLength: 60, autocomplete: "off" });
  name.dataset.testid = "hand-in-name";
  const text = make("textarea", { readOnly: true, rows: 4, spellcheck: false });
  text.dataset.testid = "hand-in-link";
  const frame = make("div", {});
  const draw = () => {
    const by = name.value.trim();
    text.value = `${new URL(".", document.baseURI).href}?${query}${by && `&by=${encodeURIComponent(by)}`}`;
    frame.replaceChildren(picture(text.value));
  };
  name.addEventListener("input", draw);
  draw();
  return [
    heading(say("Hand in this run")),
    make("p", { textContent: say("The link says: {claim}. Whoever opens it sees that, your settings, and an ε that the page recomputes.").replace("{claim}", claim) }),
    make("label", {}, say("Your name, if you like"), name),
    make("label", {}, say("The link to hand in"), text),
    frame,
    make("p", { textContent: say("Nothing is sent: copy the link and give it to anyone you like. Your name is part of its text.") }),
    copying(() => text.value),
  ];
}

/** Opens one of the two dialogs; `texts` translates its texts. */
export function open(texts, kind, ...told) {
  say = texts;
  dialog.dataset.kind = kind;
  dialog.replaceChildren(...(kind === "code" ? showCode() : handIn(...told)));
  if (!dialog.open) dialog.showModal();
}
