import { isRecord } from "@switchyard/contracts/json-record";

/** Longer content is not inspected: it would block the process. */
export const MAX_INSPECTED_CHARS = 524_288;
const MAX_DEPTH = 256;

/** The content is too long or too deep to be inspected. */
export class NotInspectedError extends Error {
  override readonly name = "NotInspectedError";
}

/** Numbers with at least so many digits are read as texts: the number of a card may be one. */
const LONG_NUMBER = 1e11;

/**
 * Copies a JSON value with each text and each key rewritten; a value in which nothing changes is returned as it is. Long whole numbers
 * are read as texts. Bytes in base64 (`data` and `blob` of MCP content) are skipped. Throws {@link NotInspectedError}.
 */
export function rewriteTexts(value: unknown, rewrite: (text: string) => string): unknown {
  let chars = 0;
  const rewritten = (text: string): string => {
    chars += text.length;
    if (chars > MAX_INSPECTED_CHARS)
      throw new NotInspectedError(`it has more than ${MAX_INSPECTED_CHARS} characters`);
    return rewrite(text);
  };
  return copyOf(value, 0);

  function copyOf(one: unknown, depth: number): unknown {
    if (depth > MAX_DEPTH) throw new NotInspectedError(`it is nested deeper than ${MAX_DEPTH}`);
    if (typeof one === "string") return rewritten(one);
    if (typeof one === "number") return copyOfNumber(one);
    if (Array.isArray(one)) return copyOfList(one, depth);
    return isRecord(one) ? copyOfRecord(one, depth) : one;
  }

  function copyOfNumber(one: number): unknown {
    if (!Number.isSafeInteger(one) || Math.abs(one) < LONG_NUMBER) return one;
    const text = String(one);
    const changed = rewritten(text);
    return changed === text ? one : changed;
  }

  function copyOfList(list: readonly unknown[], depth: number): unknown {
    const copy = list.map((item) => copyOf(item, depth + 1));
    return copy.some((item, index) => item !== list[index]) ? copy : list;
  }

  function copyOfRecord(record: Readonly<Record<string, unknown>>, depth: number): unknown {
    let isChanged = false;
    const entries = Object.entries(record).map(([key, inner]): [string, unknown] => {
      const isBytes = (key === "data" || key === "blob") && typeof record["mimeType"] === "string";
      const copied = isBytes ? inner : copyOf(inner, depth + 1);
      const name = rewritten(key);
      isChanged ||= copied !== inner || name !== key;
      return [name, copied];
    });
    return isChanged ? Object.fromEntries(entries) : record;
  }
}
