import { MAX_PIN_DIFFERENCES, type PinDifference } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { canonicalJson } from "@switchyard/contracts/canonical-json";
import { pointerToken } from "@switchyard/contracts/json-pointer";
import { isRecord } from "@switchyard/contracts/json-record";
import { visible } from "@switchyard/service/visible-text";

const MAX_TEXT = 2_000;

/** The differences of two definitions, by JSON pointer, in order; a value that exists on one side only is listed as a whole. */
export function pinDifferences(
  before: unknown,
  after: unknown,
): { readonly differences: readonly PinDifference[]; readonly omitted: number } {
  const differences: PinDifference[] = [];
  let omitted = 0;
  const waiting = [{ before, after, where: "" }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (canonicalJson(next.before) === canonicalJson(next.after)) continue;
    const inner = innerPairs(next);
    if (inner !== null) waiting.push(...inner.toReversed());
    else if (differences.length >= MAX_PIN_DIFFERENCES) omitted += 1;
    else
      differences.push({
        where: visible(next.where, 500),
        before: shown(next.before),
        after: shown(next.after),
      });
  }
  return { differences, omitted };
}

interface ValuePair {
  readonly before: unknown;
  readonly after: unknown;
  readonly where: string;
}

/** The members of two objects or two lists, or null when the pair is compared as a whole. */
function innerPairs({ before, after, where }: ValuePair): ValuePair[] | null {
  const isPair =
    (isRecord(before) && isRecord(after)) || (Array.isArray(before) && Array.isArray(after));
  if (!isPair) return null;
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.map((key) => ({
    before: memberOf(before, key),
    after: memberOf(after, key),
    where: `${where}/${pointerToken(key)}`,
  }));
}

function memberOf(value: object, key: string): unknown {
  // Own properties of an object can be read by name, whatever its type.
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function shown(value: unknown): string | null {
  return value === undefined || value === null ? null : visible(canonicalJson(value), MAX_TEXT);
}
