import { cutText } from "@switchyard/contracts/cut-text";
import { answerThreadJob } from "@switchyard/service/thread-job";
import { compile } from "html-to-text";

/** Documents that are deeper than this are cut there: a hostile one could be endless. */
const MAX_DEPTH = 100;
/** More than the text of a page within the size limit; only layout can make it longer. */
const MAX_TEXT_LENGTH = 4 * 1024 * 1024;

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

/** The text of a page, or null when it cannot be laid out. */
export interface HtmlAnswer {
  readonly text: string | null;
}

answerThreadJob((html: string): HtmlAnswer => {
  try {
    return { text: cutText(toText(html), MAX_TEXT_LENGTH) };
  } catch (error) {
    // Too many nested calls, or a text that is too long for this platform.
    if (error instanceof RangeError) return { text: null };
    throw error;
  }
});
