import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { TYPES } from "./server";

/** The line between a host and its visitor. */
export interface Line {
  /** Shared by all concurrent responses. */
  megabitsPerSecond: number;
  /** Milliseconds until a response begins. */
  latency: number;
}

/** Bytes per packet, by which concurrent responses take turns. */
const PACKET = 1400;

/** Sends responses through one line at its speed, packet by packet in turn. */
function through(line: Line) {
  const waiting: { body: Buffer; at: number; response: ServerResponse }[] = [];
  let timer: NodeJS.Timeout | undefined;
  let before = 0;
  let credit = 0;
  const send = () => {
    const now = performance.now();
    credit += ((now - before) * line.megabitsPerSecond * 1000) / 8;
    before = now;
    while (credit > 0 && waiting.length > 0) {
      const one = waiting.shift()!;
      const packet = one.body.subarray(one.at, one.at + PACKET);
      one.response.write(packet);
      one.at += packet.length;
      credit -= packet.length;
      if (one.at < one.body.length) waiting.push(one);
      else one.response.end();
    }
    if (waiting.length > 0) return;
    clearInterval(timer);
    timer = undefined;
    credit = 0;
  };
  return (response: ServerResponse, body: Buffer) => {
    if (body.length === 0) return void response.end();
    waiting.push({ body, at: 0, response });
    if (timer) return;
    before = performance.now();
    timer = setInterval(send, 1);
  };
}

/**
 * Serves a site as good hosts do, in Brotli where that helps, over `line` if given. A browser's own
 * throttle would slow the page alone: each of its threads has its own line there.
 */
export async function hostOver(folder: string, line?: Line) {
  const bodies = new Map<string, Buffer>();
  const path = "/some/path/";
  const send = line ? through(line) : (response: ServerResponse, body: Buffer) => void response.end(body);
  const server = createServer((request, response) => {
    const target = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    const inner = target.startsWith(path) ? normalize(target.slice(path.length) || "index.html") : "..";
    const file = join(folder, inner);
    const answer = () => {
      if (inner.startsWith("..") || !existsSync(file) || !statSync(file).isFile()) return void response.writeHead(404).end();
      const packed = !inner.startsWith("data/") || inner.endsWith(".json");
      if (!bodies.has(inner)) bodies.set(inner, packed ? brotliCompressSync(readFileSync(file)) : readFileSync(file));
      const body = bodies.get(inner)!;
      const type = TYPES[extname(inner)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": type, "content-length": body.length, ...(packed ? { "content-encoding": "br" } : {}) });
      send(response, body);
    };
    if (line) setTimeout(answer, line.latency);
    else answer();
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    close: () => new Promise((done) => (server.close(done), server.closeAllConnections())),
  };
}
