import { cutText, graphemeStart } from "../cut-text.ts";
import { INVISIBLE } from "../invisible.ts";

/** Part of the system prompt of an agent that answers in a group: how its messages name their writers. */
export const GROUP_MESSAGE_RULE =
  'Messages come from a group of people. Each begins with a line `From <id> "<name>":`, and every line that this person wrote begins with `> `; ' +
  "only the id identifies a person, and such a line is by this person alone.";

export interface GroupMessage {
  /** The provider's id of the sender. */
  readonly id: string;
  /** A sender may choose any name. */
  readonly name: string | undefined;
  readonly text: string;
  readonly files: readonly SentFile[];
}

/** A file that came with a message. */
export interface SentFile {
  /** Chosen by the sender. */
  readonly name: string;
  /** The reason for the agent that it does not get the content; left out, it gets it. */
  readonly problem?: string | undefined;
}

/**
 * The form in which an agent gets a message of a group (`GROUP_MESSAGE_RULE`). No text, name or file name can begin a line of its own, so
 * none can imitate another speaker.
 */
export function groupMessage({ id, name = "", text, files }: GroupMessage): string {
  const shown = cleanName(name);
  const from = `From ${PLAIN_ID.test(id) ? id : quoted(id)}${shown === "" ? "" : ` ${quoted(shown)}`}:`;
  const lines = text === "" ? [] : text.split(LINE_BREAK).map((line) => `> ${line}`.trimEnd());
  return [from, ...lines, ...files.map(fileLine)].join("\n");
}

/** A file beside a message, in one line. */
export function fileLine({ name, problem }: SentFile): string {
  const shown = cleanName(name) || "file";
  return problem === undefined
    ? `[attachment: ${shown}]`
    : `[the file ${shown} could not be loaded: ${cleanName(problem)}]`;
}

/** The most UTF-16 units in names of people and files. */
const MAX_NAME = 128;

/**
 * A name of a person or a file, as one line of visible characters: without controls, bidirectional marks and zero-width characters, and
 * with single blanks for line breaks.
 */
export function cleanName(name: string): string {
  const visible = name
    .replaceAll(/\s+/g, " ")
    .replaceAll(INVISIBLE, "")
    .replaceAll(/ +/g, " ")
    .trim();
  return cutText(visible, graphemeStart(visible, MAX_NAME)).trim();
}

/** All characters that some program shows as the end of a line. */
// oxlint-disable-next-line no-control-regex -- three of them separate lines for some programs
export const LINE_BREAK = /\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/;

const PLAIN_ID = /^[A-Za-z0-9][A-Za-z0-9_.@+=/-]*$/;

/** A name with a quotation mark cannot end its own. */
function quoted(text: string): string {
  return `"${cleanName(text).replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
