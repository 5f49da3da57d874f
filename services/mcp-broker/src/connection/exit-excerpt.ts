import { cutText } from "@switchyard/contracts/cut-text";

/** `    at connect (/app/index.js:3:9)`: the line above such lines holds the error. */
const STACK_FRAME = /^\s+at .+(?::\d+(?::\d+)?\)?|<anonymous>\)?)\s*$/;
/** Warnings that `npx` prints before the server's own output. */
const NPM_NOISE = /^npm (?:warn|notice)\b/i;
const CUT = "…";

/**
 * The end of a process's output, short enough for a status: whole lines without stack frames and npm's warnings. A single line
 * that is too long keeps its beginning, because it holds the cause.
 */
export function exitExcerpt(text: string, maxLength: number): string {
  const said = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !STACK_FRAME.test(line));
  const own = said.filter((line) => !NPM_NOISE.test(line));
  const lines = own.length > 0 ? own : said;
  const kept: string[] = [];
  let room = maxLength;
  for (const line of lines.toReversed()) {
    const shown = kept.length === 0 ? startExcerpt(line, maxLength) : line;
    if (shown.length > room) break;
    kept.unshift(shown);
    room -= shown.length + 1;
  }
  return kept.join("\n").trim();
}

/** The beginning of a text, cut between two words. */
export function startExcerpt(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const start = cutText(text, maxLength - CUT.length);
  const words = start.replace(/\s+\S*$/, "");
  return `${words === "" ? start : words}${CUT}`;
}
