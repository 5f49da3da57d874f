import type { ApprovalTier } from "@switchyard/contracts/policy/approval-tier";

/** A key that decides about a call which waits. */
export type DecisionKey = "y" | "s" | "n" | "?";

interface Meaning {
  readonly key: DecisionKey;
  readonly short: string;
  readonly long: string;
}

const ONCE: Meaning = { key: "y", short: "once", long: "approve this call, once" };
const SESSION: Meaning = {
  key: "s",
  short: "session",
  long: "approve calls of its kind in this run or conversation, for a while; see: ./yard grants list",
};
const NO: Meaning = { key: "n", short: "no", long: "deny it, with a reason for the agent" };
const EXPLAIN: Meaning = { key: "?", short: "explain", long: "the whole call, and these keys" };

/** The keys for an approval, the same ones in `run`, `chat` and `approvals watch`. A grant for a session needs a rule that allows it. */
function meaningsFor(tier: ApprovalTier): readonly Meaning[] {
  return tier === "session" ? [ONCE, SESSION, NO, EXPLAIN] : [ONCE, NO, EXPLAIN];
}

/** `y once, s session, n no, ? explain`. */
export function choicesText(tier: ApprovalTier): string {
  return meaningsFor(tier)
    .map(({ key, short }) => `${key} ${short}`)
    .join(", ");
}

/** The keys as letters. */
export function lettersFor(tier: ApprovalTier): string {
  return meaningsFor(tier)
    .map(({ key }) => key)
    .join("");
}

/** The reply to a line that is no key of this approval. */
export function notOffered(line: string, tier: ApprovalTier): string {
  return WORDS[line.trim().toLowerCase()] === "s"
    ? "the rule asks about each call, so there is no approval for a session: y, n or ?"
    : `type one of ${lettersFor(tier).split("").join(", ")}`;
}

/** The answer to `?`, below the whole call: what each key does, and where the rules are shown one by one. */
export function keyLines(tier: ApprovalTier, command: string): string[] {
  return [
    ...meaningsFor(tier).map(({ key, long }) => `  ${key}  ${long}`),
    `  rule by rule: ${command}`,
  ];
}

const WORDS: Readonly<Record<string, DecisionKey>> = {
  y: "y",
  yes: "y",
  s: "s",
  session: "s",
  n: "n",
  no: "n",
  "?": "?",
};

/** The key that a typed line stands for; null for any other line, and for a session where the rule allows single calls only. */
export function keyOfLine(line: string, tier: ApprovalTier): DecisionKey | null {
  const key = WORDS[line.trim().toLowerCase()] ?? null;
  return key !== null && lettersFor(tier).includes(key) ? key : null;
}
