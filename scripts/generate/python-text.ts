const LINE_LENGTH = 100;

/** A JSON value as an expression of Python. */
export function pythonValue(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value === "object") {
    const parts = Object.entries(value).map(([key, part]) => `"${key}": ${pythonValue(part)}`);
    return `{${parts.join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** Paragraphs as the documentation of what is above them, indented by so many spaces. */
export function docString(paragraphs: readonly string[], indent: number): string {
  const space = " ".repeat(indent);
  const lines = paragraphs.flatMap((paragraph, index) => [
    ...(index === 0 ? [] : [""]),
    ...wrap(paragraph, LINE_LENGTH - indent - (index === 0 ? 3 : 0)),
  ]);
  const text = lines
    .map((line, index) => (index === 0 || line === "" ? line : space + line))
    .join("\n")
    .replaceAll("\\", "\\\\")
    .replaceAll('"""', '\\"\\"\\"');
  const isOneLine = lines.length === 1 && text.length + indent + 6 <= LINE_LENGTH;
  return `${space}"""${text}${isOneLine ? (text.endsWith('"') ? " " : "") : `\n${space}`}"""`;
}

/** Breaks the lines of a paragraph, but not the code of an example; the lines after the first of each keep its indentation and get four spaces more. */
function wrap(paragraph: string, width: number): string[] {
  const lines: string[] = [];
  for (const line of paragraph.split("\n")) {
    const indent = /^ */.exec(line)?.[0] ?? "";
    const isCode = line.startsWith("    client.");
    let current = indent;
    for (const word of isCode ? [line.trim()] : line.trim().split(" ")) {
      if (current.trim() !== "" && current.length + word.length + 1 > width) {
        lines.push(current);
        current = indent === "" ? "" : `${indent}    `;
      }
      current += (current.trim() === "" ? "" : " ") + word;
    }
    lines.push(current);
  }
  return lines;
}
