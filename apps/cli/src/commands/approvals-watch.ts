import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { approvalRequested } from "@switchyard/contracts/approval-events";
import { approveCall, denyCall, getApproval, listApprovals } from "@switchyard/contracts/approvals";
import { filterOf } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { emitKeypressEvents } from "node:readline";
import { createInterface } from "node:readline/promises";
import { findBus, withBus } from "../bus-session.ts";
import { writeJsonLine, type Terminal } from "../terminal.ts";
import { approvalLine, approvalLines } from "./approval-lines.ts";

const contracts = { approveCall, denyCall, getApproval, listApprovals };
type Policy = ReturnType<typeof client<typeof contracts>>;

/**
 * An inbox: what waits now, then what comes. In a terminal each is shown in full and decided with one
 * key; elsewhere each is one line. Ends with the input, `q` or Ctrl-C.
 */
export async function watch(terminal: Terminal, options: { json?: true }): Promise<void> {
  const target = await findBus(process.env);
  const isInteractive = process.stdin.isTTY && process.stdout.isTTY && options.json !== true;
  await withBus(target, async (bus) => {
    const policy = client(bus, contracts);
    const stopping = new AbortController();
    const stop = (): void => stopping.abort();
    process.once("SIGINT", stop);
    process.once("SIGTERM", stop);
    try {
      terminal.note("waiting for calls that need an approval");
      for await (const id of waiting(bus, policy, stopping.signal)) {
        const isOver = isInteractive
          ? await decide(terminal, policy, { id, signal: stopping.signal })
          : await print(terminal, policy, { id, json: options.json === true });
        if (isOver) return;
      }
    } finally {
      // Who leaves hears no more events, or the connection would not be let go.
      stop();
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
    }
  });
}

/** Ids, oldest first; the events begin before the list is read, so that none is missed. */
async function* waiting(bus: Bus, policy: Policy, signal: AbortSignal): AsyncGenerator<string> {
  const seen = new Set<string>();
  const events = readEvents(bus, { filters: [filterOf(approvalRequested)], from: "now", signal });
  const first = events.next();
  const pending: string[] = [];
  let cursor: string | undefined;
  do {
    const request = { limit: 500, ...(cursor === undefined ? {} : { cursor }) };
    const page = await policy.listApprovals(request);
    pending.push(...page.approvals.map(({ id }) => id));
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
  for (const id of pending.toReversed()) {
    seen.add(id);
    yield id;
  }
  for (let next = await first; next.done !== true; next = await events.next()) {
    const payload = approvalRequested.payload.safeParse(next.value.payload);
    if (!payload.success || seen.has(payload.data.approvalId)) continue;
    seen.add(payload.data.approvalId);
    yield payload.data.approvalId;
  }
}

async function print(
  terminal: Terminal,
  policy: Policy,
  { id, json }: { id: string; json: boolean },
): Promise<boolean> {
  const found = await shown(terminal, policy, id);
  if (found === null) return false;
  if (json) writeJsonLine(terminal, found);
  else terminal.out(approvalLine(found.approval));
  return false;
}

/** True when the person leaves. */
async function decide(
  terminal: Terminal,
  policy: Policy,
  { id, signal }: { id: string; signal: AbortSignal },
): Promise<boolean> {
  const found = await shown(terminal, policy, id);
  if (found === null || found.approval.state !== "pending") return false;
  const { approval, presentation } = found;
  terminal.out("");
  for (const line of approvalLines(approval, presentation, terminal.paintOut)) terminal.out(line);
  const mayBeSession = approval.tier === "session";
  const keys = `[a] approve once${mayBeSession ? "  [s] approve for the session" : ""}  [d] deny  [n] next  [q] quit`;
  // Whoever sees the keys may press one at once.
  let next = pressed(signal);
  terminal.out(terminal.paintOut("dim", `  ${keys}`));
  for (;;) {
    const key = await next;
    if (key === null || key === "q") return true;
    if (key === "n") return false;
    const isSession = key === "s" && mayBeSession;
    if (key !== "a" && key !== "d" && !isSession) {
      next = pressed(signal);
      continue;
    }
    await attempt(terminal, async () => {
      const reply =
        key === "d"
          ? await policy.denyCall({ id, ...(await askedReason(signal)) })
          : await policy.approveCall({ id, scope: isSession ? "session" : "once" });
      terminal.out(`  ${approvalLine(reply.approval)}`);
    });
    return false;
  }
}

/** One key in raw mode; null when the input ends or somebody presses Ctrl-C or Ctrl-D. */
function pressed(signal: AbortSignal): Promise<string | null> {
  const { stdin } = process;
  emitKeypressEvents(stdin);
  stdin.setRawMode(true);
  stdin.resume();
  return new Promise((resolve) => {
    const done = (key: string | null): void => {
      stdin.off("keypress", onKey);
      stdin.off("end", onEnd);
      signal.removeEventListener("abort", onEnd);
      stdin.setRawMode(false);
      stdin.pause();
      resolve(key);
    };
    const onKey = (_: unknown, key: { name?: string; ctrl?: boolean }): void =>
      done(key.ctrl === true && (key.name === "c" || key.name === "d") ? null : (key.name ?? ""));
    const onEnd = (): void => done(null);
    stdin.on("keypress", onKey);
    stdin.on("end", onEnd);
    signal.addEventListener("abort", onEnd);
  });
}

async function askedReason(signal: AbortSignal): Promise<{ reason?: string }> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const reason = (
      await lines.question("  reason for the agent (may be empty): ", { signal })
    ).trim();
    return reason === "" ? {} : { reason };
  } finally {
    lines.close();
  }
}

/** Null when it may not be seen or is gone by now. */
async function shown(terminal: Terminal, policy: Policy, id: string) {
  let found: Awaited<ReturnType<Policy["getApproval"]>> | null = null;
  await attempt(terminal, async () => {
    found = await policy.getApproval({ id });
  });
  return found as Awaited<ReturnType<Policy["getApproval"]>> | null; // assigned in the function above
}

/** What the policy refuses is told, and the inbox goes on. */
async function attempt(terminal: Terminal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code !== "unknown_approval") terminal.note(error.message);
  }
}
