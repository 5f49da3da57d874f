import { INVISIBLE } from "@switchyard/contracts/invisible";
import { cutText, cutTextStart } from "@switchyard/contracts/cut-text";

/**
 * Text of a server in a form that may be shown: characters that are invisible or move others are written as `\u{…}`, and a long text is cut
 * in its middle.
 */
export function visible(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  const shown = text.replaceAll(INVISIBLE, escaped);
  if (shown.length <= maxLength) return shown;
  const half = Math.floor((maxLength - 1) / 2);
  return `${cutText(shown, half)}…${cutTextStart(shown, half)}`;
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
