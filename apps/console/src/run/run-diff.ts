import type { Span } from "./run-story.ts";

/** A line of one run beside the line of the other that it answers to; null where the other has none. */
export interface Pair {
  readonly id: string;
  readonly left: Span | null;
  readonly right: Span | null;
  /** In what they differ; empty for two that are the same. */
  readonly differs: readonly string[];
}

/** Limit of weighed pairs; the rest of longer runs is paired in order. */
const MOST_WEIGHED = 4_000_000;

/**
 * The lines of two runs side by side in the order of both, notes left out: as many as can be are paired with a line of the same
 * kind and name, and of those rather with one that is the same in all.
 */
export function pairsOf(left: readonly Span[], right: readonly Span[]): readonly Pair[] {
  const [ours, theirs] = [left, right].map((spans) => spans.filter(({ kind }) => kind !== "note"));
  if (ours === undefined || theirs === undefined) return [];
  const begun = startOf(ours, theirs);
  const rest = paired(ours.slice(begun), theirs.slice(begun));
  const same = ours.slice(0, begun).map((one, at) => [one, theirs[at] ?? null] as const);
  return [...same, ...rest].map(([one, other], at) => ({
    id: `p${at}`,
    left: one,
    right: other,
    differs: differenceOf(one, other),
  }));
}

type Two = readonly [Span | null, Span | null];

/** Counts the lines that both have in common at the start: forked runs share it. */
function startOf(left: readonly Span[], right: readonly Span[]): number {
  let at = 0;
  while (at < left.length && at < right.length && weight(left[at], right[at]) === 2) at += 1;
  return at;
}

/** The common subsequence of the most weight. */
function paired(left: readonly Span[], right: readonly Span[]): Two[] {
  const width = right.length + 1;
  if (left.length * width > MOST_WEIGHED) return inOrder(left, right);
  const best = new Uint32Array((left.length + 1) * width);
  const bestAt = (row: number, column: number): number => best[row * width + column] ?? 0;
  for (let row = left.length - 1; row >= 0; row -= 1)
    for (let column = right.length - 1; column >= 0; column -= 1) {
      const gain = weight(left[row], right[column]);
      best[row * width + column] = Math.max(
        bestAt(row + 1, column),
        bestAt(row, column + 1),
        gain === 0 ? 0 : gain + bestAt(row + 1, column + 1),
      );
    }
  const pairs: Two[] = [];
  let [row, column] = [0, 0];
  while (row < left.length && column < right.length) {
    const gain = weight(left[row], right[column]);
    const most = bestAt(row, column);
    if (gain > 0 && most === gain + bestAt(row + 1, column + 1))
      pairs.push([left[row++] ?? null, right[column++] ?? null]);
    else if (most === bestAt(row + 1, column)) pairs.push([left[row++] ?? null, null]);
    else pairs.push([null, right[column++] ?? null]);
  }
  return [...pairs, ...inOrder(left.slice(row), []), ...inOrder([], right.slice(column))];
}

function inOrder(left: readonly Span[], right: readonly Span[]): Two[] {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, at) => [
    left[at] ?? null,
    right[at] ?? null,
  ]);
}

/** 2 for the same, 1 for two of the same kind and name, else 0. */
function weight(one: Span | undefined, other: Span | undefined): number {
  if (one === undefined || other === undefined) return 0;
  if (one.kind !== other.kind || one.title !== other.title) return 0;
  return differenceOf(one, other).length === 0 ? 2 : 1;
}

/** Describes for a person how two lines differ. A different duration is no difference. */
function differenceOf(one: Span | null, other: Span | null): string[] {
  if (one === null) return ["only on the right"];
  if (other === null) return ["only on the left"];
  const names = [
    [one.kind !== other.kind || one.title !== other.title, "another step"],
    [one.status !== other.status, "status"],
    [one.decision?.effect !== other.decision?.effect, "decision"],
    [one.decision?.rule !== other.decision?.rule, "rule"],
    [one.kind === "tool" && argumentsOf(one) !== argumentsOf(other), "arguments"],
    [saidOf(one) !== saidOf(other), one.kind === "model" ? "text" : "result"],
  ] as const;
  return names.flatMap(([differs, name]) => (differs ? [name] : []));
}

/** The digest of the arguments: their preview may be cut. */
function argumentsOf({ events }: Span): string {
  const asked = events.find(({ event }) => event === "tool-requested");
  return asked?.event === "tool-requested" ? asked.data.argsDigest : "";
}

/** The result of a line: the text of a model, the result of a call, the reason of a failure. */
export function saidOf({ events, detail }: Span): string {
  for (const message of events.toReversed()) {
    if (message.event === "model-responded") return message.data.text;
    if (message.event === "tool-completed") return message.data.preview;
    if (message.event === "tool-denied") return message.data.decision.reason;
    if (message.event === "tool-failed") return `${message.data.code}: ${message.data.message}`;
  }
  return detail;
}
