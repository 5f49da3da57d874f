const CLOSER: Readonly<Record<string, string>> = { "{": "}", "[": "]" };

/**
 * Completes the brackets of JSON on one line: an unclosed text or bracket is closed at the end, an unmatched closer is left out,
 * and so are backslashes outside of texts (`\[`) and commas before a closer.
 */
export function balancedFlow(value: string): string {
  const open: string[] = [];
  let result = "";
  let quote: string | null = null;
  for (let index = 0; index < value.length; index += 1) {
    const character = value[index] ?? "";
    if (quote !== null) {
      result += character;
      if (character === "\\" && quote === '"') {
        index += 1;
        result += value[index] ?? "\\";
      } else if (character === quote) quote = null;
      continue;
    }
    if (character === "\\") continue;
    if (character === "}" || character === "]") {
      const depth = open.lastIndexOf(character);
      if (depth < 0) continue;
      result = withoutComma(result) + open.splice(depth).toReversed().join("");
      continue;
    }
    // A quote opens a text only where a value can begin: `it's` is not text.
    if ((character === '"' || character === "'") && /[{[,:]\s*$/.test(result)) quote = character;
    const closer = CLOSER[character];
    if (closer !== undefined) open.push(closer);
    result += character;
  }
  if (quote !== null) result += quote;
  return open.length === 0 ? result : withoutComma(result) + open.toReversed().join("");
}

/** True for nesting too deep for parsers that have no limit of their own. */
export function nestsDeeply(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (depth > 64) return true;
  }
  return false;
}

function withoutComma(text: string): string {
  return text.replace(/,\s*$/, "");
}
