// The teacher's page is readable without this script, which draws the tasks' QR codes for the
// page's actual address, stores the language chosen in it for the whole site, and opens the
// solutions for a complete print.

for (const link of document.querySelectorAll(".languages a")) {
  link.addEventListener("click", () => {
    try {
      localStorage.setItem("hushgrad-language", link.lang);
    } catch {
      // Then only the link has the language.
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

/** Folds that were opened for a complete print. */
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
