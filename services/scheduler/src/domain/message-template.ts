import { locate, parsePointer } from "@switchyard/contracts/json-pointer";

/** What templates and conditions look into: JSON pointers begin here. */
export interface MessageDocument {
  readonly subject: string;
  /** The parts of the subject. */
  readonly tokens: readonly string[];
  /** The JSON value of the message, or its text when it is none. */
  readonly body: unknown;
}

/** A text with places that are filled from a message. */
export interface MessageTemplate {
  readonly text: string;
  readonly parts: readonly (string | { readonly pointer: string; readonly tokens: string[] })[];
}

/** The document of a message as it came. */
export function documentOf(subject: string, text: string): MessageDocument {
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // A message need not be JSON.
  }
  return { subject, tokens: subject.split("."), body };
}

/** Reads `Order {{/body/id}}`. Throws an Error that says what is wrong. */
export function parseTemplate(text: string): MessageTemplate {
  const pieces = text.split(/(\{\{[^{}]*\}\})/);
  const parts = pieces
    .filter((piece) => piece !== "")
    .map((piece) => {
      const pointer = /^\{\{([^{}]*)\}\}$/.exec(piece)?.[1]?.trim();
      if (pointer === undefined) {
        if (piece.includes("{{"))
          throw new Error(
            'has a {{ without its }}; a place is a JSON pointer such as "{{/body/id}}"',
          );
        return piece;
      }
      return { pointer, tokens: pointerTokens(pointer) };
    });
  return { text, parts };
}

/** The tokens of a pointer into a message. Throws an Error that says what is wrong. */
export function pointerTokens(pointer: string): string[] {
  const tokens = parsePointer(pointer);
  if (tokens === null || !ROOTS.has(tokens[0] ?? ""))
    throw new Error(
      `has ${JSON.stringify(pointer)}, which is no place in a message: write /subject, /tokens/1, /body or a JSON pointer below /body such as /body/id`,
    );
  return tokens;
}

const ROOTS: ReadonlySet<string> = new Set(["subject", "tokens", "body"]);

/** The text of a message, or the pointer that finds nothing in it. What is no text is written as JSON. */
export function fill(
  template: MessageTemplate,
  document: MessageDocument,
): { readonly text: string } | { readonly missing: string } {
  let text = "";
  for (const part of template.parts) {
    if (typeof part === "string") {
      text += part;
      continue;
    }
    const found = locate(document, part.tokens);
    if (found.kind !== "found") return { missing: part.pointer };
    text += typeof found.value === "string" ? found.value : JSON.stringify(found.value);
  }
  return { text };
}
