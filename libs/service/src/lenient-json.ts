/** A text is not JSON, also when comments and trailing commas are allowed. The message has the position and none of the text. */
export class JsonTextError extends Error {
  override readonly name = "JsonTextError";
}

const STRING = /"(?:[^"\\]|\\.)*"/s.source;
const COMMENTS = new RegExp(String.raw`${STRING}|//[^\n]*|/\*.*?\*/`, "gs");
const TRAILING_COMMAS = new RegExp(String.raw`${STRING}|,(?=\s*[}\]])`, "gs");

/**
 * Reads JSON as people paste it from README files: with comments and trailing commas. Throws a JsonTextError that names line
 * and column, and what was expected there.
 */
export function parseLenientJson(text: string): unknown {
  const plain = blanked(blanked(text.replace(/^\uFEFF/, " "), COMMENTS), TRAILING_COMMAS);
  try {
    return JSON.parse(plain);
  } catch (cause) {
    const { offset, expected } = firstFault(plain);
    const before = plain.slice(0, offset).split("\n");
    const column = (before.at(-1)?.length ?? 0) + 1;
    throw new JsonTextError(`line ${before.length}, column ${column}: expected ${expected}`, {
      cause,
    });
  }
}

/** Blanks out the matches, but not in strings; all other text stays in its position. */
function blanked(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (found) =>
    found.startsWith('"') ? found : found.replaceAll(/[^\n]/g, " "),
  );
}

const SPACE = /\s*/y;
const TOKEN =
  // oxlint-disable-next-line no-control-regex -- a string may have none of them
  /(?<mark>[{}[\],:])|(?<string>"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

type Wanted = "value" | "first value" | "key" | "first key" | "colon" | "next" | "end";

const EXPECTED: Readonly<Record<Wanted, string>> = {
  value: "a value (texts in double quotes)",
  "first value": "a value (texts in double quotes) or ]",
  key: "a key in double quotes",
  "first key": "a key in double quotes or }",
  colon: "a colon",
  next: "a comma or the closing bracket",
  end: "nothing more",
};

/** Finds the position at which the text stops being JSON. */
function firstFault(text: string): { offset: number; expected: string } {
  const open: string[] = [];
  let wanted: Wanted = "value";
  let offset = 0;
  for (;;) {
    SPACE.lastIndex = offset;
    SPACE.test(text);
    offset = TOKEN.lastIndex = SPACE.lastIndex;
    const token = TOKEN.exec(text);
    const next: Wanted | null = token === null ? null : after(wanted, token, open);
    if (token === null || next === null) return { offset, expected: EXPECTED[wanted] };
    wanted = next;
    offset = TOKEN.lastIndex;
  }
}

/** The kind of token that has to follow a token; null when it does not fit. `open` are the brackets around it. */
function after(wanted: Wanted, token: RegExpExecArray, open: string[]): Wanted | null {
  const { mark, string } = token.groups ?? {};
  const done = (): Wanted => (open.length === 0 ? "end" : "next");
  switch (wanted) {
    case "first key":
    case "key":
      if (mark === "}" && wanted === "first key") return closed();
      return string === undefined ? null : "colon";
    case "colon":
      return mark === ":" ? "value" : null;
    case "next":
      if (mark === ",") return open.at(-1) === "{" ? "key" : "value";
      return mark === (open.at(-1) === "{" ? "}" : "]") ? closed() : null;
    case "first value":
    case "value":
      if (mark === "]" && wanted === "first value") return closed();
      if (mark === undefined) return done();
      if (mark !== "{" && mark !== "[") return null;
      open.push(mark);
      return mark === "{" ? "first key" : "first value";
    case "end":
      return null;
    default:
      return wanted satisfies never;
  }

  function closed(): Wanted {
    open.pop();
    return done();
  }
}
