import { compile } from "html-to-text";
import type { Page } from "./fetch-page.ts";

const TEXT_TYPES = [
  /^text\//,
  /^application\/(json|xml|javascript|yaml|x-yaml|toml|x-ndjson|x-sh|sql|graphql)$/,
  /\+(json|xml|yaml)$/,
];
const HTML_TYPES = new Set(["text/html", "application/xhtml+xml"]);

/** Documents that are deeper than this are cut there: a hostile one could be endless. */
const MAX_DEPTH = 100;

const toText = compile({
  wordwrap: false,
  limits: { maxDepth: MAX_DEPTH, maxInputLength: 4 * 1024 * 1024 },
  selectors: [
    { selector: "img", format: "skip" },
    { selector: "script", format: "skip" },
    { selector: "style", format: "skip" },
    { selector: "noscript", format: "skip" },
    { selector: "svg", format: "skip" },
    { selector: "a", options: { hideLinkHrefIfSameAsText: true, ignoreHref: false } },
    ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({
      selector,
      options: { uppercase: false },
    })),
    { selector: "table", format: "dataTable" },
  ],
});

/** What a person reads of a page; null when it is no text. */
export function pageText({ mediaType, charset, body }: Page): string | null {
  const isHtml = HTML_TYPES.has(mediaType);
  const isText = isHtml || TEXT_TYPES.some((type) => type.test(mediaType));
  if (!isText && (mediaType !== "" || body.includes(0))) return null;
  const text = decoderOf(charset).decode(body);
  return isHtml ? toText(text) : text;
}

/** Encodings that this platform does not know are read as UTF-8, with marks for what is not. */
function decoderOf(charset: string | null) {
  try {
    return new TextDecoder(charset ?? "utf-8");
  } catch {
    return new TextDecoder("utf-8");
  }
}
