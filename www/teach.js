// The teacher's page is read without this; it draws the codes of the tasks for the address under which the page really stands, keeps the language
// that is chosen in it, for the whole site, and opens the solutions for a print of all.

for (const link of document.querySelectorAll(".languages a")) {
  link.addEventListener("click", () => {
    try {
      localStorage.setItem("hushgrad-language", link.lang);
    } catch {
      // Then the link alone says it.
    }
  });
}

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
