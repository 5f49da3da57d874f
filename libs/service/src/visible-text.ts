/**
 * Text of a server as it may be shown: what cannot be seen, or what moves other characters, is
 * written as `\u{…}`, and a long text is cut in its middle.
 */
export function visible(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  const shown = text.replaceAll(INVISIBLE, escaped);
  if (shown.length <= maxLength) return shown;
  const half = Math.floor((maxLength - 1) / 2);
  return `${shown.slice(0, half)}…${shown.slice(-half)}`;
}

/** Controls but tab and newline, format characters, what has no glyph, and halves of surrogate pairs. */
const INVISIBLE =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class -- matching such characters is the purpose
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Cf}|\p{Cs}|\p{Co}|\p{Variation_Selector}|[\u115f\u1160\u3164\uffa0\u2028\u2029\u034f\u17b4\u17b5]/gu;

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
