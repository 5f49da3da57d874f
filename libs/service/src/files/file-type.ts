import { isTextType } from "@switchyard/contracts/agent-runner/content-parts";
import { cutText } from "@switchyard/contracts/cut-text";

/** The type of a file, or why it is not accepted. */
type FileType = { readonly mediaType: string } | { readonly problem: string };

/** An image of more pixels takes hundreds of megabytes where it is decoded, however few bytes it has. */
export const MAX_PIXELS = 64 * 1024 ** 2;

const ACCEPTED = "PNG, JPEG, GIF, WebP, PDF, WAV, MP3, Ogg, FLAC, and text in UTF-8";

/**
 * The type that the bytes show. It counts, whatever was declared: clients declare `application/octet-stream` for anything, and a wrong type
 * must not carry a file past a condition on it. Only text may be of the type that was declared, since its bytes do not show one.
 */
export function fileTypeOf(bytes: Uint8Array, declared: string | undefined): FileType {
  if (bytes.length === 0) return { problem: "it is empty" };
  const shown = binaryTypeOf(bytes);
  if (shown === null) return textTypeOf(bytes, declared);
  if (!shown.startsWith("image/")) return { mediaType: shown };
  const pixels = imagePixels(shown, bytes);
  if (pixels === null || pixels === 0) return { problem: `its header as ${shown} is damaged` };
  if (pixels <= MAX_PIXELS) return { mediaType: shown };
  return { problem: `it has ${pixels} pixels, and an image may have ${MAX_PIXELS}` };
}

/**
 * The type of a file that need not be an accepted one: as the bytes show it, `application/octet-stream` for bytes of no known type. Whether a
 * model could read it does not matter.
 */
export function shownTypeOf(bytes: Uint8Array, declared: string | undefined): string {
  const shown = binaryTypeOf(bytes);
  if (shown !== null) return shown;
  // Bytes of a text are a text, also when another type was declared.
  for (const type of [declared, undefined]) {
    const found = textTypeOf(bytes, type);
    if ("mediaType" in found) return found.mediaType;
  }
  return "application/octet-stream";
}

/** Decides by the first bytes alone, so that a file is of one type only. https://mimesniff.spec.whatwg.org/ */
function binaryTypeOf(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 16));
  const text = head.toString("latin1");
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(text)) return "image/gif";
  if (text.startsWith("%PDF-")) return "application/pdf";
  if (text.startsWith("RIFF") && text.startsWith("WEBP", 8)) return "image/webp";
  if (text.startsWith("RIFF") && text.startsWith("WAVE", 8)) return "audio/wav";
  if (text.startsWith("OggS")) return "audio/ogg";
  if (text.startsWith("fLaC")) return "audio/flac";
  // A tag, or the frame header of MPEG layer III (ISO/IEC 11172-3, 2.4.1.3).
  if (text.startsWith("ID3") || /^\xff[\xf2\xf3\xfa\xfb]/.test(text)) return "audio/mpeg";
  return null;
}

/** https://mimesniff.spec.whatwg.org/#binary-data-byte */
// oxlint-disable-next-line no-control-regex -- control characters are what text does not have
const BINARY = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f]/;
const utf8 = new TextDecoder("utf-8", { fatal: true });
const BINARY_TYPE = /^(?:image|audio|video)\/|^application\/(?:pdf|zip|gzip)$/;

function textTypeOf(bytes: Uint8Array, declared: string | undefined): FileType {
  const type = (declared ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (BINARY_TYPE.test(type))
    return {
      problem: `its bytes are not those of ${cutText(type, 100)}; accepted are ${ACCEPTED}`,
    };
  try {
    const text = utf8.decode(bytes);
    if (!BINARY.test(text)) return { mediaType: isTextType(type) ? type : "text/plain" };
  } catch {
    // The bytes are not text in UTF-8, which the problem below reports.
  }
  return { problem: `its bytes are of no accepted type; accepted are ${ACCEPTED}` };
}

/** Reads the size of an image in pixels from its header alone; nothing is decoded. Null: the header is damaged. */
function imagePixels(mediaType: string, bytes: Uint8Array): number | null {
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
