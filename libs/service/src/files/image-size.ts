/** Reads the size of an image in pixels from its header alone; nothing is decoded. Null: the header is damaged. */
export function imagePixels(mediaType: string, bytes: Uint8Array): number | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    switch (mediaType) {
      case "image/png": // https://www.w3.org/TR/png-3/#11IHDR
        return view.getUint32(16) * view.getUint32(20);
      case "image/gif": // https://www.w3.org/Graphics/GIF/spec-gif89a.txt, logical screen descriptor
        return view.getUint16(6, true) * view.getUint16(8, true);
      case "image/webp":
        return webpPixels(view);
      case "image/jpeg":
        return jpegPixels(view);
      default:
        return null;
    }
  } catch (error) {
    if (error instanceof RangeError) return null; // it ends within its header
    throw error;
  }
}

/** https://developers.google.com/speed/webp/docs/riff_container */
function webpPixels(view: DataView): number | null {
  switch (view.getUint32(12)) {
    case 0x56503858: // VP8X: width and height less one, in 24 bits each
      return (1 + uint24(view, 24)) * (1 + uint24(view, 27));
    case 0x5650384c: {
      // VP8L: 14 bits each
      const bits = view.getUint32(21, true);
      return (1 + (bits & 0x3fff)) * (1 + ((bits >>> 14) & 0x3fff));
    }
    case 0x56503820: // VP8: 14 bits each behind the start code
      return (view.getUint16(26, true) & 0x3fff) * (view.getUint16(28, true) & 0x3fff);
    default:
      return null;
  }
}

function uint24(view: DataView, at: number): number {
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
}

/** The first frame header, which follows segments of a stated length (ITU-T T.81, B.2). */
function jpegPixels(view: DataView): number | null {
  let at = 2;
  for (;;) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    // A marker may be preceded by any number of fill bytes.
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return view.getUint16(at + 5) * view.getUint16(at + 7);
    if (marker === 0xda || marker === 0xd9) return null;
    at += 2 + view.getUint16(at + 2);
  }
}
