// Starts the page's program. The build puts the names of its two files into this script's address.
const names = new URL(import.meta.url).searchParams;
const app = await import(`./${names.get("app")}`);
await app.default({ module_or_path: new URL(names.get("wasm"), import.meta.url) });
