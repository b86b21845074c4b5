// A second visit needs no network. The page's own files lie in a cache of this version; the digits in one of their own,
// filled by the training thread as it fetches them. Pages come from the network first, so a new deploy is never stale.

// `cargo xtask dist` puts the version, the page's files, a program that only some browsers run, and the digits' addresses here.
const VERSION = "";
const FILES = [];
const PROBE = [];
const DIGITS = [];

const scope = self.registration.scope;
// Several such sites may share an origin.
const ours = `hushgrad ${scope} `;
const shell = ours + VERSION;
const digits = "hushgrad-digits";
/** Names that have their content's digest in them: what they hold never changes. */
const fixed = (url) => /-[0-9a-f]{16}[._]|\.[0-9a-f]{12}\.shard$/.test(new URL(url).pathname);

/** Of two programs for training, its loader takes one; the other need not be kept. */
const relaxed = WebAssembly.validate(new Uint8Array(PROBE));
const spared = relaxed ? /^worker-[0-9a-f]{16}(_bg\.wasm|\.js)$/ : /^worker-relaxed-/;

async function install() {
  const cache = await caches.open(shell);
  await Promise.all(
    FILES.filter((file) => !spared.test(file)).map(async (file) => {
      const url = new URL(file, scope).href;
      // What the page has fetched already, or an earlier version had, is not fetched again.
      const known = fixed(url) && (await caches.match(url, { ignoreVary: true }));
      const response = known || (await fetch(url, { cache: fixed(url) ? "force-cache" : "no-cache" }));
      if (!response.ok) throw new Error(`${file}: ${response.status}`);
      await cache.put(url, response);
    }),
  );
}

async function activate() {
  for (const name of await caches.keys()) if (name.startsWith(ours) && name !== shell) await caches.delete(name);
  const wanted = new Set(DIGITS.map((file) => new URL(file, scope).href));
  const cache = await caches.open(digits);
  for (const { url } of await cache.keys()) if (url.startsWith(`${scope}data/`) && !wanted.has(url)) await cache.delete(url);
  await self.clients.claim();
  await report();
}

/** Tells the pages what was fetched for their next visit. */
async function report() {
  const asked = performance.getEntriesByType("resource").map(({ name, transferSize, startTime }) => ({
    url: name,
    bytes: transferSize,
    at: performance.timeOrigin + startTime,
  }));
  for (const client of await self.clients.matchAll({ includeUncontrolled: true })) client.postMessage({ hushgrad: asked });
}

const keptFirst = async (request) => (await caches.match(request, { ignoreVary: true })) ?? fetch(request);

async function networkFirst(request, name) {
  try {
    return await fetch(request, { cache: "no-cache" });
  } catch (offline) {
    const kept = await caches.match(name, { ignoreVary: true, ignoreSearch: true });
    // Made anew, it is of the address that was asked for: a script reads its own.
    if (kept) return new Response(kept.body, kept);
    throw offline;
  }
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("message", (event) => event.waitUntil(report()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(scope)) return;
  if (fixed(request.url)) event.respondWith(keptFirst(request));
  else {
    const page = new URL(request.url);
    page.search = page.hash = "";
    const name = page.href === scope ? `${scope}index.html` : page.href;
    event.respondWith(networkFirst(request, name));
  }
});
