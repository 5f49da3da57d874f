import { RE2JS } from "re2js";

const MAX_PATTERN = 512;
/** A counted repetition is written out: `[a-z]{1,500}` alone has 1,000 instructions. */
const MAX_INSTRUCTIONS = 1_000;

/**
 * Compiles a pattern in the syntax of RE2 (https://github.com/google/re2/wiki/Syntax), which needs time linear in the text and has
 * neither look-around nor back references. The test is true when the pattern matches the whole text. Returns the reason as a text when
 * the pattern cannot be used.
 */
export function compileLinearPattern(pattern: string): ((text: string) => boolean) | string {
  if (pattern.length > MAX_PATTERN) return `has more than ${MAX_PATTERN} characters`;
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch {
    return "is no pattern of RE2: look-around and back references do not exist there, and brackets have to be closed";
  }
  if (compiled.programSize() > MAX_INSTRUCTIONS)
    return `needs more than ${MAX_INSTRUCTIONS} steps; use smaller counts in braces`;
  return (text) => compiled.matches(text);
}
