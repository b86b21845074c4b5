// Runs before the teacher's page is drawn: applies the site's stored theme, and goes to the page in
// the visitor's language, chosen as in start.js: the link's, the stored one, or the first available
// one of the browser.

const root = document.documentElement;
/** Reads what the browser stores for this site under a name; null if nothing. */
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
// The address of a page in a language other than English requests that language.
const wanted = root.lang === "en" ? [link, kept("hushgrad-language"), ...navigator.languages] : [link];
const chosen = wanted.map((each) => each?.slice(0, 2).toLowerCase()).find((each) => pages.has(each)) ?? root.lang;
if (chosen !== root.lang) {
  // Hides this page until the next one comes.
  root.hidden = true;
  location.replace(pages.get(chosen) + location.search + location.hash);
}
