// Runs before the teacher's page is drawn. It shows the theme that the browser keeps for this site, and goes to the page in the visitor's
// language, chosen as start.js does: that of the link, the one that was chosen here, or the first of the visitor's that there is.

const root = document.documentElement;
/** What the browser keeps for this site under a name. */
const kept = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
};
const theme = kept("hushgrad-theme");
if (theme === "light" || theme === "dark") root.dataset.theme = theme;

const pages = new Map([...document.querySelectorAll("link[rel=alternate]")].map(({ hreflang, href }) => [hreflang, href]));
const link = new URLSearchParams(location.search).get("lang");
// The address of a page in another language than English asks for that language.
const wanted = root.lang === "en" ? [link, kept("hushgrad-language"), ...navigator.languages] : [link];
const chosen = wanted.map((each) => each?.slice(0, 2).toLowerCase()).find((each) => pages.has(each)) ?? root.lang;
if (chosen !== root.lang) {
  // Nothing of this one is seen on the way.
  root.hidden = true;
  location.replace(pages.get(chosen) + location.search + location.hash);
}
