// The teacher's page is read without this; it draws the codes of the tasks for the address under which the page really stands, shows the theme that
// the browser keeps for this site, and opens the solutions for a print of all.

const root = document.documentElement;
let theme = null;
try {
  theme = localStorage.getItem("hushgrad-theme");
} catch {
  // None is kept.
}
if (theme === "light" || theme === "dark") root.dataset.theme = theme;

const { code } = await import(new URL(document.querySelector("meta[name=hushgrad-qr]").content, document.baseURI).href);
for (const task of document.querySelectorAll(".task")) {
  const link = task.querySelector(".task-link");
  const drawn = code(link.href);
  const figure = task.querySelector("figure");
  figure.querySelector("figcaption").textContent = link.href;
  if (drawn) figure.prepend(drawn);
  figure.hidden = false;
}

/** Folds that a print of all has opened. */
let opened = [];
addEventListener("beforeprint", () => {
  if (!document.getElementById("print-all").checked) return;
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const fold of opened) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of opened) fold.open = false;
  opened = [];
});
