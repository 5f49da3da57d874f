import { Part } from "@a2a-js/sdk";
import { z } from "zod";

/**
 * A part as the protocol writes it, with exactly one of its four contents. Clients open the addresses, so only those of the web
 * are accepted.
 */
const about = {
  filename: z.string().max(255).optional(),
  mediaType: z.string().max(255).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
};
const WrittenPart = z.union([
  z.strictObject({ text: z.string(), ...about }),
  z.strictObject({ raw: z.base64(), ...about }),
  z.strictObject({ url: z.url({ protocol: /^https?$/ }), ...about }),
  z.strictObject({ data: z.json(), ...about }),
]);
const WrittenParts = z.strictObject({ parts: z.array(WrittenPart).min(1).max(100) });

/**
 * Returns the parts of an answer. A JSON object or list becomes data, and `{"parts": [...]}` with parts as A2A writes them,
 * such as files, becomes these parts. Everything else is text, and so is every answer for a client that accepts no JSON.
 */
export function partsOfAnswer(answer: string, isPlain: boolean): Part[] {
  const value = isPlain ? undefined : jsonIn(answer);
  if (value === undefined) return [textPart(answer)];
  const written = WrittenParts.safeParse(value);
  return written.success ? written.data.parts.map(partOf) : [dataPart(value)];
}

/** True when a text that has just begun may turn out to be JSON. Such an answer is sent only when it is complete. */
export function mayBeJson(beginning: string): boolean {
  return /^\s*[[{]/.test(beginning);
}

export function textPart(value: string): Part {
  const content = { $case: "text" as const, value };
  return { content, metadata: undefined, filename: "", mediaType: "text/plain" };
}

export function dataPart(value: unknown): Part {
  const content = { $case: "data" as const, value };
  return { content, metadata: undefined, filename: "", mediaType: "application/json" };
}

function partOf(written: z.infer<typeof WrittenPart>): Part {
  const usual = "text" in written ? "text/plain" : "data" in written ? "application/json" : "";
  return Part.fromJSON({ mediaType: usual, ...written });
}

function jsonIn(text: string): unknown {
  if (!mayBeJson(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
