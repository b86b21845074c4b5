import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const FOLDER = resolve(process.env.HUSHGRAD_SITE ?? "../../dist");

/** Calls `use` with a temporary copy of the site, then removes it. */
export async function copied(use: (folder: string) => Promise<void>) {
  const folder = mkdtempSync(join(tmpdir(), "hushgrad-deploy-"));
  try {
    cpSync(FOLDER, folder, { recursive: true });
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const digest = (content: Buffer, encoding: "hex" | "base64") => createHash("sha256").update(content).digest(encoding);

/** Turns the site in `folder` into its next version, with new digests, as the build would. */
export function redeploy(folder: string, version: string, changes: Record<string, (text: string) => string>, renamed: Record<string, string> = {}) {
  const read = (file: string) => readFileSync(join(folder, file));
  const edit = (file: string, change: (text: string) => string) => writeFileSync(join(folder, file), change(read(file).toString()));
  for (const [from, to] of Object.entries(renamed)) renameSync(join(folder, from), join(folder, to));
  const pages = ["index.html", "embed.html"];
  const renaming = (text: string) => Object.entries(renamed).reduce((text, [from, to]) => text.replaceAll(from, to), text);
  for (const file of pages) edit(file, renaming);
  for (const [file, change] of Object.entries(changes)) {
    const before = read(file);
    edit(file, change);
    const after = read(file);
    const told = (text: string) =>
      text.replaceAll(`is=${digest(before, "hex").slice(0, 16)}`, `is=${digest(after, "hex").slice(0, 16)}`)
        .replaceAll(digest(before, "base64"), digest(after, "base64"));
    if (!pages.includes(file)) for (const page of pages) edit(page, told);
  }
  const anew = (list: string) => {
    const names = Object.keys(JSON.parse(list)).map((name) => renamed[name] ?? name).filter((name) => existsSync(join(folder, name)));
    return JSON.stringify(Object.fromEntries(names.map((name) => [name, digest(read(name), "hex")])));
  };
  edit("sw.js", (text) =>
    text.replace(/^const VERSION = ".*";$/m, `const VERSION = "${version}";`)
      .replace(/^const (FILES|DIGITS) = (\{.*\});$/gm, (_, name, list) => `const ${name} = ${anew(list)};`),
  );
}
