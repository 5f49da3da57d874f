import type { Page } from "./fetch-page.ts";
import type { HtmlTexts } from "./html-text.ts";

const TEXT_TYPES = [
  /^text\//,
  /^application\/(json|xml|javascript|yaml|x-yaml|toml|x-ndjson|x-sh|sql|graphql)$/,
  /\+(json|xml|yaml)$/,
];
const HTML_TYPES = new Set(["text/html", "application/xhtml+xml"]);
/** The part of a page that has to declare its encoding, when its server does not. */
const PRESCAN_BYTES = 1_024;

/** Returns the text that a person reads on a page; null when it is not text. */
export async function pageText(
  { mediaType, charset, body }: Page,
  { html, ...by }: { html: HtmlTexts; signal: AbortSignal; caller: string },
): Promise<string | null> {
  const isHtml = HTML_TYPES.has(mediaType);
  const isText = isHtml || TEXT_TYPES.some((type) => type.test(mediaType));
  if (!isText && (mediaType !== "" || body.includes(0))) return null;
  const encoding = encodingByMark(body) ?? charset ?? (isHtml ? encodingByTag(body) : null);
  const text = decoderOf(encoding).decode(body);
  return isHtml ? html.textOf(text, by) : text;
}

/** A byte order mark takes precedence over the server's charset. */
function encodingByMark(body: Buffer): string | null {
  if (body[0] === 0xff && body[1] === 0xfe) return "utf-16le";
  return body[0] === 0xfe && body[1] === 0xff ? "utf-16be" : null;
}

/** Reads `<meta charset="gbk">` or `<meta http-equiv="Content-Type" content="text/html; charset=gbk">`. */
function encodingByTag(body: Buffer): string | null {
  const head = body.toString("latin1", 0, PRESCAN_BYTES);
  return /<meta\s[^>]*charset\s*=\s*["']?([\w:-]+)/i.exec(head)?.[1] ?? null;
}

/** Unsupported encodings are decoded as UTF-8, with replacement characters for invalid bytes. */
function decoderOf(charset: string | null) {
  try {
    return new TextDecoder(charset ?? "utf-8");
  } catch {
    return new TextDecoder("utf-8");
  }
}
