import fc from "fast-check";
import type { Principal } from "@switchyard/contracts/policy/policy";

/** A call of a history. `tool` is one of the server `bank`. */
export interface ModelCall {
  readonly principal: Principal;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly atMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const RULES = `  - { id: reads, effect: allow, what: { tools: [bank.read] } }
  - id: transfers
    effect: allow
    what: { tools: [bank.transfer] }
    when:
      - { arg: /to, op: in, value: [x, y, z] }
      - { window: { sum: /amount, per: user, within: 1h, lte: 50.5 } }
      - { window: { distinct: /to, per: agent, within: 30m, lt: 3 } }
  - id: more
    effect: allow
    approval: always
    what: { tools: [bank.transfer] }
    when: [{ window: { sum: /amount, per: user, within: 1h, gt: 50.5 } }, { window: { count: true, per: all, within: 10m, lte: 6 } }]
  - id: often
    effect: deny
    what: { tools: [bank.*] }
    when: [{ window: { count: true, of: [bank.transfer], per: run, within: 5m, gte: 4 } }]
  - id: tainted
    effect: deny
    what: { tools: [bank.send] }
    when: [{ after: { tools: [bank.read], in: family, within: 20m } }]
  - { id: sends, effect: allow, what: { tools: [bank.send] }, when: [{ neverAfter: { tools: [bank.transfer], in: session } }] }
`;

/**
 * Rules about earlier calls, random histories of calls, and the decisions that the documentation of such rules states. The model filters
 * the whole history for each question, and uses no part of the engine.
 */
export function modelOf() {
  return { rules: RULES, arbitrary: HISTORY, decideByModel };
}

type Effect = "allow" | "ask" | "deny";

/** `past` has the calls that were not denied, in any order. */
function decideByModel(past: readonly ModelCall[], asked: ModelCall): Effect {
  const { tool, args, principal, atMs } = asked;
  const recent = (withinMs: number, isOwn: (call: ModelCall) => boolean) =>
    past.filter((call) => atMs - call.atMs < withinMs && isOwn(call));
  const isTransfer = (call: ModelCall) => call.tool === "transfer";
  const { runId, agent, user } = principal;

  const ofRun = recent(5 * MINUTE_MS, (call) => isTransfer(call) && call.principal.runId === runId);
  if (runId !== null && ofRun.length + (isTransfer(asked) ? 1 : 0) >= 4) return "deny";
  if (tool === "read") return "allow";
  if (tool === "send") {
    const family = familyOf(asked);
    const reads = recent(
      20 * MINUTE_MS,
      (call) => call.tool === "read" && familyOf(call) === family,
    );
    if (family !== null && reads.length > 0) return "deny";
    const session = principal.context?.session;
    if (session === undefined) return "deny";
    const sent = recent(
      720 * HOUR_MS,
      (call) => isTransfer(call) && call.principal.context?.session === session,
    );
    return sent.length === 0 ? "allow" : "deny";
  }

  const amount = centsOf(args["amount"]);
  const ofUser = (isCounted: (call: ModelCall) => boolean) =>
    recent(HOUR_MS, (call) => isTransfer(call) && call.principal.user === user && isCounted(call));
  const sum = (calls: readonly ModelCall[]) =>
    calls.reduce((total, call) => total + (centsOf(call.args["amount"]) ?? 0), amount ?? 0);
  const all = recent(10 * MINUTE_MS, isTransfer);
  const isMore = amount !== null && sum(ofUser(() => true)) > 5_050 && all.length + 1 <= 6;
  if (isMore) return "ask";
  if (!isPlain(asked) || amount === null || sum(ofUser(isPlain)) > 5_050 || agent === null)
    return "deny";
  const targets = recent(
    30 * MINUTE_MS,
    (call) => isTransfer(call) && call.principal.agent === agent && isPlain(call),
  );
  return new Set([...targets, asked].map((call) => call.args["to"])).size < 3 ? "allow" : "deny";
}

function isPlain({ args }: ModelCall): boolean {
  return ["x", "y", "z"].includes(String(args["to"])) && typeof args["to"] === "string";
}

function familyOf({ principal }: ModelCall): string | null {
  return principal.context?.root ?? principal.runId;
}

/** In hundredths; null for what cannot be added. */
function centsOf(amount: unknown): number | null {
  return typeof amount === "number" && amount >= 0 ? Math.round(amount * 100) : null;
}

const one = <T>(...values: readonly T[]) => fc.constantFrom(...values);

const CALL = fc.record({
  principal: fc.record({
    user: one("ann", "ann", "bob"),
    agent: one("a", "b", null),
    runId: one("r1", "r1", "r2", null),
    context: one(
      {},
      { session: "s1" },
      { root: "r1", session: "s1" },
      { root: "r2", session: "s2" },
    ),
  }),
  tool: one("transfer", "transfer", "transfer", "transfer", "read", "send"),
  args: fc.record(
    {
      to: one<unknown>("x", "x", "y", "z", "w", 1),
      amount: one<unknown>(0.1, 0.2, 10, 10, 20.05, 50.5, "10", -5, null),
    },
    { requiredKeys: [] },
  ),
  laterMs: one(
    0,
    1,
    MINUTE_MS,
    4 * MINUTE_MS,
    11 * MINUTE_MS,
    20 * MINUTE_MS,
    59 * MINUTE_MS + 59_999,
  ),
});

const HISTORY = fc.array(CALL, { minLength: 1, maxLength: 14 }).map((calls): ModelCall[] => {
  let atMs = 1_000_000_000;
  return calls.map(({ laterMs, ...call }) => {
    atMs += laterMs;
    return { ...call, atMs };
  });
});
