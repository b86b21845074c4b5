import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

export const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};

/**
 * What a host answers in place of a file: a status, a page as if it were the file, the wrong type,
 * wrong bytes of the right type, nothing ever, or a redirect to a sign-in page or from the page's
 * file to its folder.
 */
export type Fault = number | "page" | "type" | "bytes" | "hang" | "sign-in" | "folder";

export interface Site {
  /** Scheme, host and port. */
  origin: string;
  /** The page's address, under a path that the build did not know. */
  url: string;
  /** Paths requested since the start, in order, relative to the page. */
  asked: string[];
  /** Paths (relative to the page) that answer 404 although the file exists. */
  missing: Set<string>;
  /** The fault to answer with for a path (relative to the page), if any. */
  fault: (path: string) => Fault | undefined;
  /** Headers of the response for a path (relative to the page), in addition to its type. */
  headers: (path: string) => Record<string, string>;
  /** Paths (relative to the page) that are answered only once their promise resolves. */
  held: Map<string, Promise<unknown>>;
  close(): Promise<void>;
}

/** Serves a folder on the loopback interface under `path`, with `headers` and a type alone. */
export async function serve(folder: string, path = "/some/path/", headers: Record<string, string> = {}): Promise<Site> {
  if (!existsSync(join(folder, "index.html"))) {
    throw new Error(`${folder} holds no site; build one with \`cargo xtask dist\` and name it in HUSHGRAD_SITE`);
  }
  const asked: string[] = [];
  const missing = new Set<string>();
  const held = new Map<string, Promise<unknown>>();
  const site = { fault: (_path: string): Fault | undefined => undefined, headers: (_path: string) => headers };
  const server: Server = createServer({ maxHeaderSize: 1 << 20 }, (request, response) => {
    const target = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    const inner = target.startsWith(path) ? normalize(target.slice(path.length) || "index.html") : "..";
    asked.push(inner);
    const file = join(folder, inner);
    const answer = () => {
      const signIn = "<!doctype html><title>Sign in</title><p>Sign in";
      if (target === "/sign-in") {
        response.writeHead(200, { "content-type": "text/html" }).end(signIn);
        return;
      }
      if (inner.startsWith("..") || missing.has(inner) || !existsSync(file) || !statSync(file).isFile()) {
        response.writeHead(404, { "content-type": "text/plain" }).end("no such file\n");
        return;
      }
      const type = TYPES[extname(file)] ?? "application/octet-stream";
      const fault = site.fault(inner);
      if (fault === "hang") return;
      if (typeof fault === "number") response.writeHead(fault, { "content-type": "text/plain" }).end("a fault\n");
      else if (fault === "sign-in") response.writeHead(302, { location: "/sign-in" }).end();
      else if (fault === "folder" && target.endsWith(inner)) response.writeHead(302, { location: `./${new URL(request.url!, "http://localhost").search}` }).end();
      else if (fault === "page") response.writeHead(200, { "content-type": "text/html", ...site.headers(inner) }).end(signIn);
      else if (fault === "bytes") response.writeHead(200, { "content-type": type, ...site.headers(inner) }).end("// not it\n");
      else {
        response.writeHead(200, { "content-type": fault === "type" ? "text/plain" : type, ...site.headers(inner) });
        createReadStream(file).pipe(response);
      }
    };
    const wait = held.get(inner);
    if (wait) void wait.then(answer);
    else answer();
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(site, {
    origin,
    url: origin + path,
    asked,
    missing,
    held,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  });
}
