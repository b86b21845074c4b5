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

// The next visit needs no network; this one is not kept waiting for that.
if (!document.documentElement.dataset.start) {
  const register = () => navigator.serviceWorker?.register(new URL("sw.js", import.meta.url)).catch(() => {});
  requestAnimationFrame(() => setTimeout(register));
}
