import type { JsonLimits } from "@switchyard/contracts/json-limits";
import type { z } from "zod";

/** Above this many values a check ends at its first problem: each problem takes some microseconds to describe. */
export const FEW_VALUES = 1_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Counts the parts of a JSON document while its bytes arrive, at about a gigabyte a second, so that a document which would block the
 * process is refused before it is parsed. For a text that is not JSON the counts have no meaning; the parser refuses it.
 */
export class JsonGauge {
  readonly #limits: JsonLimits;
  #bytes = 0;
  #depth = 0;
  #keys = 0;
  #values = 0;
  #isText = false;
  #isEscape = false;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** True for a document that takes long to check when everything in it is wrong. */
  get isLarge(): boolean {
    return this.#values > FEW_VALUES;
  }

  /** Counts the next bytes; returns which limit the document is beyond, as part of a sentence, or null. */
  add(part: Uint8Array): string | null {
    const { maxBytes, maxDepth, maxKeys, maxValues } = this.#limits;
    this.#bytes += part.length;
    if (this.#bytes > maxBytes) return `is larger than ${maxBytes} bytes`;
    // Fields of an object are several times slower in this loop than variables.
    let [depth, keys, values] = [this.#depth, this.#keys, this.#values];
    let [isText, isEscape] = [this.#isText, this.#isEscape];
    let deepest = depth;
    for (let index = 0; index < part.length; index += 1) {
      const byte = part[index];
      if (isText) {
        if (isEscape) isEscape = false;
        else if (byte === BACKSLASH) isEscape = true;
        else if (byte === QUOTE) isText = false;
      } else if (byte === QUOTE) isText = true;
      else if (byte === COMMA) values += 1;
      else if (byte === COLON) keys += 1;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        values += 1;
        depth += 1;
        if (depth > deepest) deepest = depth;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
    }
    [this.#depth, this.#keys, this.#values] = [depth, keys, values];
    [this.#isText, this.#isEscape] = [isText, isEscape];
    if (deepest > maxDepth) return `is nested deeper than ${maxDepth} levels`;
    if (keys > maxKeys) return `has more than ${maxKeys} keys`;
    return values > maxValues ? `has more than ${maxValues} values` : null;
  }
}

/** Checks a value by a schema. Of a large one only the first problem is found. */
export function checkCounted<S extends z.ZodType>(
  schema: S,
  value: unknown,
  { isLarge }: Pick<JsonGauge, "isLarge">,
): z.ZodSafeParseResult<z.output<S>> {
  // zod's own `validate` sets this option, and `safeParse` passes it on; the type of its options lacks it.
  const options = { abortEarly: isLarge } as z.core.ParseContext<z.core.$ZodIssue>;
  return schema.safeParse(value, options);
}
