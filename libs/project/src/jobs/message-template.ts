import { parsePointer } from "@switchyard/contracts/json-pointer";
import { checkFilters, fillTemplate, TemplateError } from "@switchyard/contracts/pointer-template";

/** The document that templates and conditions read: JSON pointers start here. */
export interface MessageDocument {
  readonly subject: string;
  /** The parts of the subject. */
  readonly tokens: readonly string[];
  /** The JSON value of the message, or its text when it is none. */
  readonly body: unknown;
}

/** Returns the document of a received message. */
export function documentOf(subject: string, text: string): MessageDocument {
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // A message need not be JSON.
  }
  return { subject, tokens: subject.split("."), body };
}

/** Checks a template such as `Order {{/body/id}}` before there is a message to fill it. Throws an Error that explains the mistake. */
export function checkTemplate(text: string): void {
  const places = /\{\{([^{}]*)\}\}/g;
  for (const [, place = ""] of text.matchAll(places)) {
    const [pointer = "", ...filters] = place.split("|").map((part) => part.trim());
    pointerTokens(pointer);
    checkFilters(filters);
  }
  if (text.replaceAll(places, "").includes("{{"))
    throw new Error('has a {{ without its }}; a place is a JSON pointer such as "{{/body/id}}"');
}

/** Returns the tokens of a pointer into a message. Throws an Error that explains the mistake. */
export function pointerTokens(pointer: string): string[] {
  const tokens = parsePointer(pointer);
  if (tokens === null || !ROOTS.has(tokens[0] ?? ""))
    throw new Error(
      `has ${JSON.stringify(pointer)}, which is not a part of a message: write /subject, /tokens/1, /body or a JSON pointer below /body such as /body/id`,
    );
  return tokens;
}

const ROOTS: ReadonlySet<string> = new Set(["subject", "tokens", "body"]);

/** Fills the template from a message, or returns why a placeholder cannot be filled. `where` names the template for people. */
export function fill(
  template: string,
  document: MessageDocument,
  where: string,
): { readonly text: string } | { readonly problem: string } {
  try {
    return { text: fillTemplate(template, document, where) };
  } catch (error) {
    if (error instanceof TemplateError) return { problem: error.message };
    throw error;
  }
}
