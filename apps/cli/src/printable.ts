/**
 * Text from models, tools, servers and logs, made safe for a terminal: control characters could move
 * the cursor, rewrite what was printed or (OSC) write the clipboard, the bidirectional ones
 * reorder a line, and others hide text. They become visible escapes; tab and newline stay.
 */
export function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(UNSAFE, escape).replaceAll(HIDDEN, escape);
}

/** {@link printable} on one line, cut to a number of characters. */
export function printableLine(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  const line = printable(text)
    .replaceAll(/\s*\n\s*/g, " ⏎ ")
    .replaceAll("\t", " ");
  const characters = Array.from(line);
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join("")}…`;
}

/**
 * JSON text that is safe for a terminal as it is: characters that {@link printable} makes visible and `JSON.stringify` leaves
 * unchanged are written as JSON escapes, so a parser reads the same.
 */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(UNSAFE_IN_JSON, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

const UNSAFE_IN_JSON = /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

// C0 without tab and newline, DEL, C1, and the bidirectional overrides and isolates.
// oxlint-disable-next-line no-control-regex -- matching control characters is the purpose
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
// Invisible in every terminal but read by a model: zero-width space, word joiner and its kind, byte order mark, tags. Joiners stay:
// scripts and emoji need them.
const HIDDEN = /[\u200b\u2060-\u2064\ufeff\u{e0000}-\u{e007f}]/gu;

function escape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `\\x${code.toString(16).padStart(2, "0")}`;
}
