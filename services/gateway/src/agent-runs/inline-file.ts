import { cutText } from "@switchyard/contracts/cut-text";
import type { InputPiece } from "./store-input.ts";

const DATA_URL = /^data:([^;,]*)((?:;[^;,]*)*),/i;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
const MAX_NAME = 127;
/** The limit of characters of a data URL before its data. */
const MAX_HEAD = 300;

/** Returns a file that a request contains in base64; null when the text is not base64. A file without a name is named after its kind. */
export function inlineFile(
  base64: string,
  {
    name,
    mediaType,
  }: { readonly name: string | undefined; readonly mediaType: string | undefined },
): InputPiece | null {
  const text = base64.replaceAll(/\s/g, "");
  if (text === "" || !BASE64.test(text)) return null;
  return fileOfBytes(Buffer.from(text, "base64"), { name, mediaType });
}

/** Does the same as {@link inlineFile} for bytes. An empty type counts as missing. */
export function fileOfBytes(
  bytes: Uint8Array,
  {
    name,
    mediaType,
  }: { readonly name: string | undefined; readonly mediaType: string | undefined },
): InputPiece {
  const type = mediaType === "" ? undefined : mediaType;
  return { bytes, name: nameOf(name, type), mediaType: type };
}

/** Returns the file of a data URL (RFC 2397) in base64; null for any other URL. */
export function fileOfDataUrl(url: string, name?: string): InputPiece | null {
  const [head = "", type = "", parameters = ""] = DATA_URL.exec(cutText(url, MAX_HEAD)) ?? [];
  if (head === "" || !/;base64$/i.test(parameters)) return null;
  return inlineFile(url.slice(head.length), { name, mediaType: type });
}

/** Returns a name that `files.put` accepts: without the path that a client may send. */
function nameOf(name: string | undefined, mediaType: string | undefined): string {
  const last = (name ?? "").split(/[/\\]/).at(-1) ?? "";
  // oxlint-disable-next-line no-control-regex -- control characters are what it removes
  const clean = last.replaceAll(/[\u0000-\u001f\u007f]/g, "").trim();
  const [kind = "file"] = (mediaType ?? "file").split("/");
  return cutText(clean, MAX_NAME) || kind;
}
