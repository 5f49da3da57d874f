import { deflateRawSync, inflateRawSync } from "node:zlib";
import { Usage } from "@switchyard/contracts/agent-runner/runs";

/** The columns of a run's state hash, by name. */
export type Columns = Readonly<Record<string, string>>;

/** A shorter text for the values of a column. A value that does not come back as it was is packed by its name instead. */
interface Form {
  readonly write: (value: string) => string;
  readonly read: (short: string) => string;
}

const BASE = 36;
const TEXT: Form = { write: (value) => value, read: (short) => short };
const NUMBER: Form = {
  write: (value) => Number(value).toString(BASE),
  read: (short) => String(Number.parseInt(short, BASE)),
};
const TIME: Form = {
  write: (value) => Date.parse(value).toString(BASE),
  read: (short) => new Date(Number.parseInt(short, BASE)).toISOString(),
};
/** The numbers of a usage, in the order of its schema, which is the one in which the runner writes them. */
const USAGE: Form = {
  write: (value) => {
    const usage = JSON.parse(value) as Usage; // what is anything else does not come back
    const numbers = USAGE_KEYS.map((key) => usage[key]?.toString(BASE) ?? "");
    return numbers.join(",").replace(/,+$/, "");
  },
  read: (short) => {
    const numbers = short.split(",");
    const pairs = USAGE_KEYS.flatMap((key, index) => {
      const number = numbers[index];
      return number ? [`"${key}":${Number.parseInt(number, BASE)}`] : [];
    });
    return `{${pairs.join(",")}}`;
  },
};
const USAGE_KEYS = Object.keys(Usage.shape) as (keyof Usage)[];

/** The columns that nearly every run has, in the order of their lines. A later version may only add to the end. */
const LINES: readonly (readonly [string, Form])[] = [
  ["model", TEXT],
  ["agent", TEXT],
  ["createdAt", TIME],
  ["updatedAt", TIME],
  ["usage", USAGE],
  ["costUsd", TEXT],
  ["steps", NUMBER],
  ["toolCalls", NUMBER],
  ["events", NUMBER],
  ["attempts", NUMBER],
  ["bytes", NUMBER],
  ["inputStart", TEXT],
  ["labels", TEXT],
];

/** The texts that packed columns often contain are here, the most frequent at the end. They never change: with others no packed column can be read. */
const DICTIONARY = Buffer.from(
  [
    '{"team":"","project":"","customer":"","user":"","env":"production"}',
    '{"provenance":"inter_session","sourceSession":"","sourceTool":"sessions_spawn"}sessions_send"}',
    '{"failure":"{\\"code\\":\\"internal\\",\\"message\\":\\"","wakeSeq":"1","open:',
    '{"errorCode":"limit_exceeded"}{"errorCode":"model_error"}',
    "https://www.the and of for with in this what how is please ",
    "ollama/llama3.\nmistral/mistral-large-latest\n",
    "google/gemini-2.5-flash\ngoogle/gemini-2.5-pro\nopenai/gpt-4.1-mini\nopenai/gpt-5-mini\nopenai/gpt-5\n",
    "anthropic/claude-haiku-4-5\nanthropic/claude-opus-4-1\nanthropic/claude-sonnet-4-5\nscripted/plan\n",
    "\nnull\n0\n0.00\n1\n0\n5\n1\n22\n2\n1\n8\n1\n23\n4\n3\nc\n1\n24\n\n{}\n",
  ].join(""),
);

/** Lists unpack up to 100,000 runs at once, so the output buffer is as small as a usual run needs, in place of zlib's 16 KiB. */
const READING = { dictionary: DICTIONARY, chunkSize: 512 };

/** Packs columns into a few bytes. */
export function packColumns(columns: Columns): Buffer {
  const lines: string[] = [];
  const byName = new Map(Object.entries(columns));
  for (const [name, form] of LINES) {
    const short = shortOf(byName.get(name), form);
    lines.push(short);
    if (short !== "") byName.delete(name);
  }
  lines.push(byName.size === 0 ? "" : JSON.stringify(Object.fromEntries(byName)));
  return deflateRawSync(lines.join("\n"), { level: 9, dictionary: DICTIONARY });
}

/** Returns the columns that were packed. */
export function unpackColumns(packed: Uint8Array): Record<string, string> {
  const lines = inflateRawSync(packed, READING).toString().split("\n");
  const byName = lines[LINES.length] ?? "";
  const columns = byName === "" ? {} : (JSON.parse(byName) as Record<string, string>);
  for (const [index, [name, form]] of LINES.entries()) {
    const short = lines[index] ?? "";
    if (short !== "") columns[name] = form.read(short);
  }
  return columns;
}

/** Returns the line of a value; an empty one when there is no value, or none that comes back from its line. */
function shortOf(value: string | undefined, { write, read }: Form): string {
  if (value === undefined || value.includes("\n")) return "";
  try {
    const short = write(value);
    return read(short) === value ? short : "";
  } catch {
    return ""; // a value of another form
  }
}
