/** A still picture that Chromium made as lossless WebP, where it stands on the first one, and how long it is shown. */
export interface Frame {
  readonly webp: Buffer;
  /** Even numbers. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly ms: number;
}

/**
 * One animated WebP of frames, each over the ones before, for ever again
 * (https://developers.google.com/speed/webp/docs/riff_container).
 */
export function animatedWebp(
  size: { width: number; height: number },
  frames: readonly Frame[],
): Buffer {
  const header = Buffer.alloc(10);
  header[0] = 0b10; // animated
  header.writeUIntLE(size.width - 1, 4, 3);
  header.writeUIntLE(size.height - 1, 7, 3);
  const animation = Buffer.alloc(6); // no background, no last round
  const body = Buffer.concat([
    Buffer.from("WEBP"),
    chunk("VP8X", header),
    chunk("ANIM", animation),
    ...frames.map((frame) => chunk("ANMF", frameOf(frame))),
  ]);
  return chunk("RIFF", body);
}

function frameOf({ webp, x, y, width, height, ms }: Frame): Buffer {
  const head = Buffer.alloc(16);
  head.writeUIntLE(x / 2, 0, 3);
  head.writeUIntLE(y / 2, 3, 3);
  head.writeUIntLE(width - 1, 6, 3);
  head.writeUIntLE(height - 1, 9, 3);
  head.writeUIntLE(ms, 12, 3);
  head[15] = 0b10; // it is not blended with what is below
  return Buffer.concat([head, chunk("VP8L", bitstreamOf(webp))]);
}

/** The pixels alone, of a file that may have other chunks. */
function bitstreamOf(file: Buffer): Buffer {
  for (let at = 12; at < file.length;) {
    const size = file.readUInt32LE(at + 4);
    if (file.toString("latin1", at, at + 4) === "VP8L") return file.subarray(at + 8, at + 8 + size);
    at += 8 + size + (size % 2);
  }
  throw new Error("this browser makes no lossless WebP");
}

function chunk(name: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, "latin1");
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}
