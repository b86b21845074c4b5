import type { Page } from "@playwright/test";
import { gzipSync } from "node:zlib";

/** An IDX file of `count` 28×28 images: a bright square whose place encodes the label. */
export function images(count: number): Buffer {
  const file = Buffer.alloc(16 + count * 784);
  [0x803, count, 28, 28].forEach((word, i) => file.writeUInt32BE(word, 4 * i));
  for (let i = 0; i < count; i++) {
    const label = i % 10;
    const [top, left] = [2 + 12 * Math.floor(label / 5), 1 + 5 * (label % 5)];
    for (let row = top; row < top + 5; row++) file.fill(255, 16 + i * 784 + row * 28 + left, 16 + i * 784 + row * 28 + left + 5);
  }
  return file;
}

/** The IDX file of the labels of `images(count)`. */
export function labels(count: number): Buffer {
  const file = Buffer.alloc(8 + count);
  [0x801, count].forEach((word, i) => file.writeUInt32BE(word, 4 * i));
  for (let i = 0; i < count; i++) file[8 + i] = i % 10;
  return file;
}

export interface Dropped {
  name: string;
  mimeType: string;
  buffer: Buffer;
}

/** A file as a visitor would drop it. */
export const file = (name: string, buffer: Buffer): Dropped => ({ name, mimeType: "application/octet-stream", buffer });

/** A training set and a test set, gzipped, under MNIST's names. */
export function small(train = 400, test = 100): Dropped[] {
  return [
    file("train-images-idx3-ubyte.gz", gzipSync(images(train))),
    file("train-labels-idx1-ubyte.gz", gzipSync(labels(train))),
    file("t10k-images-idx3-ubyte.gz", gzipSync(images(test))),
    file("t10k-labels-idx1-ubyte.gz", gzipSync(labels(test))),
  ];
}

/** Drops local files and folders on the page, as a visitor's pointer would. */
export async function drop(page: Page, files: string[]) {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await session.send("Input.dispatchDragEvent", { type, x: 300, y: 300, data });
  }
  await session.detach();
}
