// Makes second visits work offline. The page's own files are in a cache of this version; the digits
// are in a separate one, filled by the training thread as it reads them. Files are cached and
// served only if their SHA-256 matches. Pages come from the network first, so a new deploy is never
// stale; all else has its digest in its address, so versions never mix.

// `cargo xtask dist` inserts the version of `files.json`, the digests of the page's files and of
// the digits, and a program that only some browsers run.
const VERSION = "";
const FILES = {};
const DIGITS = {};
const PROBE = [];

/** Milliseconds that a host may take if there is a cached copy. */
const PATIENCE = 4_000;
const { scope } = self.registration;
// Several such sites may share an origin.
const ours = `hushgrad-page ${scope} `;
const shell = ours + VERSION;
const digits = `hushgrad-digits ${scope}`;
/** Cache of versions that did not check digests. */
const unchecked = `hushgrad ${scope} `;
const digests = new Map(Object.entries({ ...FILES, ...DIGITS }));
const ofDigits = (name) => name.startsWith("data/");
/** True for a name with a digest in it, whose content never changes. */
const fixed = (name) => /-[0-9a-f]{8,16}[._]|\.[0-9a-f]{12}\.shard$/.test(name);
/** Types of cached files, since a host may send a wrong type for those it does not know. */
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", wasm: "application/wasm", svg: "image/svg+xml", json: "application/json" };

/** The loader uses one of two training programs; the other need not be cached. */
const relaxed = WebAssembly.validate(new Uint8Array(PROBE));
const spared = relaxed ? /^worker-[0-9a-f]{16}(_bg\.wasm|\.js)$/ : /^worker-relaxed-/;

/** True if a response is the file whose SHA-256 starts with `digest`. */
async function sound(response, digest) {
  if (!response.ok || !digest) return false;
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", await response.clone().arrayBuffer()));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("").startsWith(digest);
}

/** Fetches the file of this name and digest; retries a wrong response past the browser's cache. */
async function fetched(url, name, digest, cache) {
  for (const how of [cache, "reload"]) {
    const response = await fetch(url, { cache: how });
    if (!response.ok || (await sound(response, digest))) return response;
  }
  const text = `${name}: what the host sent is damaged, or from another version of this site\n`;
  return new Response(text, { status: 502, statusText: "Not this site's file", headers: { "content-type": "text/plain" } });
}

/** Caches a sound response, a file of this version. */
async function keep(name, response) {
  const type = TYPES[name.split(".").pop()] ?? response.headers.get("content-type") ?? "text/plain";
  const cache = await caches.open(shell);
  // Keeps the host's own headers, so that its policy also holds offline.
  const headers = new Headers(response.headers);
  for (const gone of ["content-encoding", "content-length", "vary"]) headers.delete(gone);
  headers.set("content-type", type.startsWith("text/") ? `${type.split(";")[0]}; charset=utf-8` : type);
  await cache.put(scope + name, new Response(response.body, { headers }));
}

/** Caches of other versions. */
const earlier = async () => (await caches.keys()).filter((each) => each.startsWith(ours) && each !== shell);

/** Returns the cached file of this name and digest; drops a wrong one of this version. */
async function kept(name, digest) {
  const older = await earlier();
  for (const each of ofDigits(name) ? [digits] : [shell, ...older]) {
    const cache = await caches.open(each);
    const found = await cache.match(scope + name, { ignoreVary: true });
    if (!found) continue;
    if (await sound(found, digest)) return found;
    if (!older.includes(each) && digests.get(name)?.startsWith(digest)) await cache.delete(scope + name);
  }
  return null;
}

async function install() {
  await Promise.all(
    Object.entries(FILES).filter(([name]) => !spared.test(name)).map(async ([name, digest]) => {
      // Files that the page has fetched already, or an earlier version had, are not fetched again.
      const response = (await kept(name, digest)) ?? (await fetched(scope + name, name, digest, fixed(name) ? "force-cache" : "no-cache"));
      if (!response.ok) throw new Error(`${name}: ${response.status}`);
      await keep(name, response);
    }),
  );
}

/** Removes earlier versions' caches, unless a page is open or a later version is installing. */
async function tidy() {
  const { installing, waiting } = self.registration;
  if (installing || waiting || (await self.clients.matchAll({ includeUncontrolled: true })).length) return;
  for (const name of await caches.keys()) if ((name.startsWith(ours) && name !== shell) || name.startsWith(unchecked)) await caches.delete(name);
  // Formerly, the sites of an origin shared one cache for digits.
  for (const name of [digits, "hushgrad-digits"]) {
    if (!(await caches.has(name))) continue;
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      const wanted = name === digits && digests.has(request.url.slice(scope.length));
      if (request.url.startsWith(`${scope}data/`) && !wanted) await cache.delete(request);
    }
    if (!(await cache.keys()).length) await caches.delete(name);
  }
}

async function activate() {
  await tidy();
  await self.clients.claim();
  await report();
}

/** Why the cache served the last page: the host's status, or "page" for one not of this site. */
let host = "";

/** Tells the pages what was fetched here, and the one that asks the host's answer (`host`). */
async function report(asking) {
  const asked = performance.getEntriesByType("resource").map(({ name, transferSize, startTime }) => ({
    url: name,
    bytes: transferSize,
    at: performance.timeOrigin + startTime,
  }));
  for (const client of await self.clients.matchAll({ includeUncontrolled: true })) {
    client.postMessage({ hushgrad: asked, host: client.id === asking ? host : "" });
  }
  if (asking) host = "";
}

/** Serves a file of known digest from the cache, unless the request bypasses all caches. */
async function file(request, name, digest) {
  const anew = request.cache === "reload";
  const found = anew ? null : await kept(name, digest);
  if (found) return found;
  const response = await fetched(request.url, name, digest, anew ? "reload" : "default").catch(() => null);
  const own = digests.get(name)?.startsWith(digest) && !ofDigits(name) && !spared.test(name);
  if (response?.ok && own) await keep(name, response.clone()).catch(() => {});
  if (response?.ok) return response;
  return (anew && (await kept(name, digest))) || response || Response.error();
}

/** Serves a file of another version, from which a page may still be open. */
async function ofAnother(request, name) {
  for (const each of await earlier()) {
    const found = await (await caches.open(each)).match(scope + name, { ignoreVary: true });
    if (found) return found;
  }
  return fetch(request);
}

/** True if a text is a page of this site. */
const isOurs = (html) => /name="hushgrad-(worker|qr)"/.test(html);

/** True if a redirect leads to a page of this site, and not to a login, say. */
async function leadsHome(request, signal) {
  const response = await fetch(request.url, { cache: "no-cache", signal }).catch(() => null);
  return response?.ok && response.url.startsWith(scope) && isOurs(await response.text());
}

/** Serves the host's file; the cached one if that fails, is slow, or leads to a foreign page. */
async function newest(request, name) {
  const found = await kept(name, digests.get(name));
  const signal = found && AbortSignal.timeout(PATIENCE);
  const page = name.endsWith(".html");
  if (page) host = "";
  const instead = (answer) => {
    if (page) host = answer;
    return found;
  };
  try {
    const response = await fetch(request, { cache: "no-cache", ...(signal && { signal }) });
    if (!found) return response;
    // The browser follows redirects itself.
    if (response.type === "opaqueredirect") return (await leadsHome(request, signal)) ? response : instead("page");
    if (response.status >= 400) return instead(String(response.status));
    const body = await response.arrayBuffer();
    if (page && response.ok && !isOurs(new TextDecoder().decode(body))) return instead("page");
    return new Response(body, response);
  } catch (error) {
    if (found) return found;
    throw error;
  }
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("message", (event) => {
  // A visitor who retries a failed page wants the newest version at once.
  event.waitUntil(event.data === "hushgrad-now" ? self.skipWaiting() : report(event.source?.id));
});
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(scope)) return;
  const { pathname, searchParams } = new URL(request.url);
  const name = pathname.slice(new URL(scope).pathname.length) || "index.html";
  if (request.mode === "navigate") event.waitUntil(tidy());
  // A page of another version names that version's files.
  const named = /^[0-9a-f]{16}$/.exec(searchParams.get("is") ?? "")?.[0];
  const digest = named ?? (fixed(name) ? digests.get(name) : undefined);
  if (digest && request.mode !== "navigate") event.respondWith(file(request, name, digest));
  else if (digests.has(name)) event.respondWith(newest(request, name));
  else if (fixed(name) && !ofDigits(name)) event.respondWith(ofAnother(request, name));
});
