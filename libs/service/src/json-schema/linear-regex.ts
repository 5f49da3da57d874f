import { RE2JS, type RE2JS as CompiledPattern } from "re2js";

/** The part of a compiled pattern that Ajv uses. */
interface LinearRegex {
  test(text: string): boolean;
  /** Ajv shares compiled patterns by this text, so it must be the pattern's own. */
  toString(): string;
}

const MAX_PATTERN = 1_000;
/** A counted repetition is written out: `[a-z]{1,1000}` alone has 2,000 instructions. */
const MAX_INSTRUCTIONS = 4_000;
/** So many take about as long to compile as one subschema. */
const INSTRUCTIONS_PER_SUBSCHEMA = 100;
/** A refused pattern was parsed, too: so many of its characters count as one subschema. */
const REFUSED_PER_SUBSCHEMA = 100;
/** Instructions times characters that cost about as much as one subschema. */
const WORK_PER_STEP = 256;

/**
 * A JavaScript pattern in an engine that needs time linear in the text, or the reason why it cannot
 * be expressed there: look-around and back references, above all.
 */
export function compileLinearRegex(
  pattern: string,
):
  | { readonly regex: LinearRegex; readonly weight: number }
  | { readonly problem: string; readonly weight: number } {
  if (pattern.length > MAX_PATTERN)
    return { problem: `the pattern has more than ${MAX_PATTERN} characters`, weight: 1 };
  let compiled: CompiledPattern;
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch (error) {
    // The engine's own words repeat the pattern, and it may be anything.
    return {
      problem: `the pattern needs more than a linear-time engine offers, such as look-around or a back reference (${error instanceof Error ? error.name : "error"})`,
      weight: 1 + Math.floor(pattern.length / REFUSED_PER_SUBSCHEMA),
    };
  }
  const instructions = compiled.programSize();
  const weight = Math.ceil(instructions / INSTRUCTIONS_PER_SUBSCHEMA);
  if (instructions > MAX_INSTRUCTIONS)
    return { problem: `the pattern needs more than ${MAX_INSTRUCTIONS} instructions`, weight };
  return {
    weight,
    regex: {
      test(text) {
        spend(1 + (instructions * text.length) / WORK_PER_STEP);
        return compiled.test(text);
      },
      toString: () => pattern,
    },
  };
}

/** A value needs more work to be checked than it may cost. */
export class WorkExceededError extends Error {
  override readonly name = "WorkExceededError";
}

/**
 * Steps that the check under way may still cost. Checks are synchronous, so there is one at a time.
 * A compiled schema counts: it would otherwise take a schema of a few lines, whose references fan
 * out at every level, to stop the event loop.
 */
const budget = { steps: 0 };

export function spend(steps: number): void {
  budget.steps -= steps;
  if (budget.steps < 0) throw new WorkExceededError("the value needs too much work to be checked");
}

export function withBudget<T>(steps: number, check: () => T): T {
  budget.steps = steps;
  return check();
}
