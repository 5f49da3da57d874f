/** A call that logs a line, or adds fields to all lines of a part. */
const CALL = /(?:\blog|#log)\s*\.(?:trace|debug|info|warn|error|fatal|child)\(/g;

/** The names of fields that a file logs, and the names of objects that hold more of them and are made elsewhere. */
export function fieldsIn(text: string): { fields: string[]; elsewhere: string[] } {
  const found = { fields: new Set<string>(), elsewhere: new Set<string>() };
  for (const match of text.matchAll(CALL)) {
    const open = match.index + match[0].length - 1;
    const [first = '""'] = partsOf(text.slice(open + 1, endOf(text, open) - 1));
    collect(first, text, found);
  }
  return { fields: [...found.fields], elsewhere: [...found.elsewhere] };
}

interface Found {
  readonly fields: Set<string>;
  readonly elsewhere: Set<string>;
}

function collect(expression: string, text: string, found: Found): void {
  if (/^["'`]/.test(expression)) return;
  if (expression.startsWith("{")) {
    for (const part of partsOf(expression.slice(1, -1))) {
      const name = /^"?(\w+)"?\s*(?::|$)/.exec(part)?.[1];
      if (part.startsWith("...")) collect(part.slice(3).trim(), text, found);
      else if (name !== undefined) found.fields.add(name);
      else throw new Error(`${part} is no field of a log line`);
    }
    return;
  }
  if (expression.startsWith("(")) {
    // Each of the objects that a condition chooses from.
    for (let at = 1; at < expression.length; at += 1) {
      if (expression[at] !== "{") continue;
      const end = endOf(expression, at);
      collect(expression.slice(at, end), text, found);
      at = end;
    }
    return;
  }
  const made = new RegExp(`const ${expression} = \\{`).exec(text);
  if (made === null) found.elsewhere.add(expression);
  else {
    const open = made.index + made[0].length - 1;
    collect(text.slice(open, endOf(text, open)), text, found);
  }
}

/** Splits at the commas outside of brackets and strings. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length;) {
    if (text[at] === ",") {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
    at = /["'`([{]/.test(text[at] ?? "") ? endOf(text, at) : at + 1;
  }
  parts.push(text.slice(start));
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/** The index behind the string or the bracket that begins here. */
function endOf(text: string, start: number): number {
  const open = text[start] ?? "";
  if (/["'`]/.test(open)) {
    let at = start + 1;
    while (at < text.length && text[at] !== open) at += text[at] === "\\" ? 2 : 1;
    return at + 1;
  }
  let at = start + 1;
  while (at < text.length && !/[)\]}]/.test(text[at] ?? ""))
    at = /["'`([{]/.test(text[at] ?? "") ? endOf(text, at) : at + 1;
  return at + 1;
}
