import { createHash } from "node:crypto";
import { SECRET_SHAPES } from "@switchyard/service/inspect/secret-shapes";

/**
 * Masks secrets in a text for the person who decides about it. Only text in the exact shape of a credential is masked and
 * replaced by its length and digest. The name of a field or the words around a value mask nothing: the author of the text
 * controls those, and could hide a command behind them. A text longer than the real credential is shown, too.
 */
export function maskSecrets(text: string): string {
  let masked = text;
  for (const { shape, isSecret } of SECRET_SHAPES)
    masked = masked.replace(shape, (found: string, ...groups: unknown[]) => {
      const head = typeof groups[0] === "string" ? groups[0] : "";
      const secret = found.slice(head.length);
      return isSecret(secret, head) ? head + maskOf(secret) : found;
    });
  return masked;
}

/** True for a text with a mask in it, or something that looks like one. */
export function hasMask(text: string): boolean {
  return text.includes("[redacted ");
}

function maskOf(secret: string): string {
  const digest = createHash("sha256").update(secret).digest("hex");
  return `[redacted ${secret.length} chars sha256:${digest.slice(0, 32)}…]`;
}
