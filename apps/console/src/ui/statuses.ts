export type Tone = "good" | "bad" | "busy" | "wait" | "quiet";

/**
 * The words that a `Status` may show to programs, each with the tone of its mark; the mark's shape differs, too, so that no colour
 * is needed. The text for people may be longer.
 */
export const WORDS = {
  running: "busy",
  connecting: "busy",
  pending: "wait",
  waiting: "wait",
  ask: "wait",
  queued: "wait",
  changed: "wait",
  depends: "wait",
  succeeded: "good",
  connected: "good",
  approved: "good",
  consumed: "good",
  allow: "good",
  done: "good",
  ready: "good",
  active: "good",
  ok: "good",
  failed: "bad",
  failing: "bad",
  error: "bad",
  dead: "bad",
  denied: "bad",
  deny: "bad",
  blocked: "bad",
  rejected: "bad",
  cancelled: "quiet",
  expired: "quiet",
  merged: "quiet",
  skipped: "quiet",
  paused: "quiet",
  disabled: "quiet",
  disconnected: "quiet",
  revoked: "quiet",
  standby: "quiet",
  none: "quiet",
  off: "quiet",
  note: "quiet",
} as const satisfies Readonly<Record<string, Tone>>;
export type Word = keyof typeof WORDS;

export function isWord(text: string): text is Word {
  return Object.hasOwn(WORDS, text);
}

/** The word of an API's text; each version of it that this console supports has one. */
export function wordOr(text: string, otherwise: Word): Word {
  return isWord(text) ? text : otherwise;
}

export function toneOf(word: Word): Tone {
  return WORDS[word];
}

const EFFECTS = ["allow", "deny", "ask"] as const;
const TOOL_WORDS = ["running", "waiting", "done", "error", "denied", "failed"] as const;
/** The state of a tool call. */
export type ToolWord = (typeof TOOL_WORDS)[number];

/** Statuses of other objects: the values of `data-status` by the object's name. */
export const STATUSES = {
  approval: ["pending", "approved", "denied", "expired", "cancelled", "consumed"],
  chains: ["intact", "broken"],
  check: ["ok", "failed"],
  "compared-fact": ["same", "differs"],
  explained: EFFECTS,
  "found-skill": ["loaded", "repaired", "skipped", "withheld"],
  need: ["question", "elicitation", "limit", "pins", "withheld", "dead", "letter"],
  live: ["connecting", "live", "waiting"],
  "policy-would": EFFECTS,
  rule: EFFECTS,
  server: ["connecting", "connected", "disconnected", "error", "disabled"],
  toast: ["good", "bad"],
  "tool-card": TOOL_WORDS,
  "tool-result": ["done", "error"],
  turn: ["live", "done", "user", "assistant", "notice"],
  wait: ["approval", "child", "question", "timer", "limit", "stopped"],
} as const;

/** Objects whose status is the code of a problem or of a failure. */
export const WITH_CODE = ["problem", "forbidden", "failure"] as const;

/** A status for programs; the list is a contract, documented in docs/reference/console.md. */
export function said<What extends keyof typeof STATUSES>(
  _what: What,
  status: (typeof STATUSES)[What][number],
): string {
  return status;
}

/** The same where it is a code. */
export function saidCode(_what: (typeof WITH_CODE)[number], code: string): string {
  return code;
}
