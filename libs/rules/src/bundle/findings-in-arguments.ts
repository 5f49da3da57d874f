import type { Finding, FindingCounts } from "@switchyard/contracts/policy/findings";
import { countFindings } from "@switchyard/service/inspect/count-findings";
import { masksInValue } from "@switchyard/service/inspect/masks-in";

type Arguments = Readonly<Record<string, unknown>>;

/** The counts by kind, so that several rules about one call inspect its arguments once. Null: they are too long. */
const inspected = new WeakMap<Arguments, Map<Finding, number | null>>();

/** Counts what is found in the arguments. The mask of a value counts as the value. Null when they are too long to be inspected. */
export function findingsInArguments(
  args: Arguments,
  kinds: readonly Finding[],
): FindingCounts | null {
  const known = inspected.get(args) ?? new Map<Finding, number | null>();
  inspected.set(args, known);
  const missing = kinds.filter((kind) => !known.has(kind));
  if (missing.length > 0) {
    const counts = countFindings(args, missing);
    const masks = new Map(masksInValue(args).map(({ mask, kind }) => [mask, kind]));
    for (const kind of missing) {
      const masked = [...masks.values()].filter((one) => one === kind).length;
      known.set(kind, counts === null ? null : (counts[kind] ?? 0) + masked);
    }
  }
  const found: FindingCounts = {};
  for (const kind of kinds) {
    const count = known.get(kind) ?? null;
    if (count === null) return null;
    if (count > 0) found[kind] = count;
  }
  return found;
}
