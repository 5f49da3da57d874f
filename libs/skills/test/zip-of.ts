import { crc32, deflateRawSync } from "node:zlib";

export interface ZipEntry {
  readonly name: string;
  readonly content?: Uint8Array | string;
  /** Unix mode with its type bits. */
  readonly mode?: number;
  readonly flags?: number;
  readonly method?: number;
  /** The size that the directory of the archive claims, if not the true one. */
  readonly claimedBytes?: number;
}

const FILE = 0o100644;

/** A zip with exactly these entries, as PKWARE's APPNOTE.TXT has it; libraries refuse to write bad ones. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, content = "", mode = FILE, flags = 0, method = 8, claimedBytes } of entries) {
    const raw = Buffer.from(content);
    const data = method === 8 ? deflateRawSync(raw) : raw;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags | 0x800, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc32(raw), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(claimedBytes ?? raw.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const head = Buffer.concat([Buffer.from("PK\x03\x04"), common, Buffer.from(name), data]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE((mode << 16) >>> 0, 6);
    rest.writeUInt32LE(offset, 10);
    const madeBy = Buffer.from([20, 3]);
    central.push(
      Buffer.concat([Buffer.from("PK\x01\x02"), madeBy, common, rest, Buffer.from(name)]),
    );
    local.push(head);
    offset += head.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...local, directory, Buffer.from("PK\x05\x06"), end]);
}
