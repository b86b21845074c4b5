// Starts the page's program. The build puts the names of its two files into this script's address.

// gloo-worker keeps the workers that it makes to itself, and only they tell when a thread fails.
globalThis.Worker = class extends Worker {
  constructor(...how) {
    super(...how);
    dispatchEvent(new CustomEvent("hushgrad-worker", { detail: this }));
  }
};

const names = new URL(import.meta.url).searchParams;
const app = await import(`./${names.get("app")}`);
await app.default({ module_or_path: new URL(names.get("wasm"), import.meta.url) });

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
if (!document.documentElement.dataset.start) {
  const register = () => navigator.serviceWorker?.register(new URL("sw.js", import.meta.url)).catch(() => {});
  requestAnimationFrame(() => setTimeout(register));
}
