import { deflateSync } from "node:zlib";

/** The CRC-32 of PNG and ZIP. */
function crc(bytes: Buffer): number {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

const word = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
};

/** A PNG file of one grey, `side` pixels wide. */
export function png(side: number, grey: number): Buffer {
  const chunk = (kind: string, data: Buffer) => {
    const named = Buffer.concat([Buffer.from(kind), data]);
    return Buffer.concat([word(data.length), named, word(crc(named))]);
  };
  const row = Buffer.concat([Buffer.alloc(1), Buffer.alloc(side, grey)]);
  const rows = Buffer.concat(Array<Buffer>(side).fill(row));
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", Buffer.concat([word(side), word(side), Buffer.from([8, 0, 0, 0, 0])])),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** An uncompressed ZIP of these files. */
export function zip(files: [string, Buffer][]): Buffer {
  const [entries, directory]: Buffer[][] = [[], []];
  let at = 0;
  for (const [name, bytes] of files) {
    const title = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc(bytes), 10);
    common.writeUInt32LE(bytes.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(title.length, 22);
    const entry = Buffer.concat([Buffer.from("PK\x03\x04"), common, title, bytes]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\0", "latin1"), common, place, title]));
    entries.push(entry);
    at += entry.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...entries, listed, end]);
}

/** A NumPy array as an `.npy` file. */
export function npy(descr: string, shape: string, elements: Buffer): Buffer {
  const header = Buffer.from(`{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }\n`);
  const length = Buffer.alloc(2);
  length.writeUInt16LE(header.length);
  return Buffer.concat([Buffer.from("\x93NUMPY\x01\0", "latin1"), length, header, elements]);
}

/** `count` records in the format of CIFAR-10. */
export function records(count: number): Buffer {
  const bytes = Buffer.alloc(count * 3073);
  for (let i = 0; i < count; i++) {
    bytes.fill((i * 37) % 256, i * 3073, (i + 1) * 3073);
    bytes[i * 3073] = i % 10;
  }
  return bytes;
}
