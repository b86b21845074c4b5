// In Node, the program is read from disk.
import { readFile } from "node:fs/promises";
import { load as start } from "./index.js";

export { ledgerOf, release } from "./index.js";

/** Loads the program, once. */
export const load = async (from) => start(from ?? (await readFile(new URL("./accountant_bg.wasm", import.meta.url))));
export default load;
