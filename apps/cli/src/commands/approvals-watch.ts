import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { readEvents } from "@switchyard/bus/events";
import type { Approval } from "@switchyard/contracts/policy/approval-record";
import { approvalEscalated, approvalRequested } from "@switchyard/contracts/policy/approval-events";
import {
  approveCall,
  denyCall,
  getApproval,
  listApprovals,
} from "@switchyard/contracts/policy/approvals";
import { filterOf } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { readsAllEvents } from "@switchyard/contracts/user-names";
import { findBus, withBus } from "../bus-session.ts";
import { choicesText, keyLines, lettersFor } from "../chat/decision-keys.ts";
import type { ExitCode } from "../exit-codes.ts";
import { openKeys, type Keys } from "../keys-pressed.ts";
import { writeJsonLine, type Terminal } from "../terminal.ts";
import { exitOfStop, untilStopped } from "../until-stopped.ts";
import {
  approvalLine,
  approvalLines,
  explainCommand,
  reasonPrompt,
  stillMissing,
} from "./approval-lines.ts";

const contracts = { approveCall, denyCall, getApproval, listApprovals };
type Policy = ReturnType<typeof client<typeof contracts>>;

/** A person has this long to see a call before a key decides about it; longer than keyboards wait until a held key repeats. */
const SEEN_AFTER_MS = 1_000;

/**
 * An inbox: what waits now, then what comes, unless only the former is wanted. In a terminal each is shown in full and
 * decided with one key; elsewhere each is one line. Ends with `q`, the end of a terminal's input, Ctrl-C or the pipe
 * that it writes to.
 */
export async function watch(
  terminal: Terminal,
  options: { json?: true; once?: true },
): Promise<ExitCode> {
  const target = await findBus(terminal.env);
  const isInteractive =
    process.stdin.isTTY && process.stdout.isTTY && !options.json && !options.once;
  return untilStopped((stop) =>
    withBus(target, async (bus) => {
      const policy = client(bus, contracts);
      const leaving = new AbortController();
      const signal = AbortSignal.any([stop.signal, leaving.signal]);
      const keys = isInteractive
        ? openKeys({ leave: () => leaving.abort(), interrupt: () => stop.stop("interrupted") })
        : null;
      const onNoMore = (): void =>
        terminal.note(`nothing else waits${isInteractive ? "; q quits" : ""}`);
      try {
        const onOpen = (): void => terminal.note("waiting for calls that need an approval");
        const follow = options.once ? null : { onOpen };
        for await (const id of waiting(bus, policy, { signal, onNoMore, follow })) {
          if (keys === null) await print(terminal, policy, { id, json: options.json === true });
          else await decide(terminal, policy, { id, keys, signal });
          if (signal.aborted) break;
        }
      } finally {
        // Ends the event subscription; otherwise the connection would stay open.
        leaving.abort();
        keys?.close();
      }
      return exitOfStop(stop.reason);
    }),
  );
}

/** Ids, oldest first. With `follow` later ones, too: the list is read after the subscription, so that none is missed in between. */
async function* waiting(
  bus: Bus,
  policy: Policy,
  {
    signal,
    onNoMore,
    follow,
  }: { signal: AbortSignal; onNoMore: () => void; follow: { onOpen: () => void } | null },
): AsyncGenerator<string> {
  const seen = new Set<string>();
  const opened = Promise.withResolvers<void>();
  const whose = readsAllEvents(bus.user) ? {} : { owner: bus.user };
  const filters = [filterOf(approvalRequested, whose), filterOf(approvalEscalated, whose)];
  const events = readEvents(bus, { filters, from: "now", signal, onOpen: opened.resolve });
  const first = follow === null ? null : events.next();
  if (first !== null) await Promise.race([opened.promise, first]);
  follow?.onOpen();
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
  if (signal.aborted) return;
  onNoMore();
  if (first === null) return;
  for (let next = await first; next.done !== true; next = await events.next()) {
    // An escalation may be the first notification that the person may see the call.
    const escalated = approvalEscalated.payload.safeParse(next.value.payload);
    const payload = approvalRequested.payload.safeParse(next.value.payload);
    const id = payload.data?.approvalId;
    if (id === undefined || (seen.has(id) && !escalated.success)) continue;
    seen.add(id);
    yield id;
  }
}

async function print(
  terminal: Terminal,
  policy: Policy,
  { id, json }: { id: string; json: boolean },
): Promise<void> {
  const found = await shown(terminal, policy, id);
  if (found === null) return;
  if (json) writeJsonLine(terminal, found);
  else terminal.out(approvalLine(found.approval));
}

/** Shows one and waits for the key that decides it, or for the next one to be wanted. */
async function decide(
  terminal: Terminal,
  policy: Policy,
  { id, keys, signal }: { id: string; keys: Keys; signal: AbortSignal },
): Promise<void> {
  const found = await shown(terminal, policy, id);
  if (found === null || found.approval.state !== "pending") return;
  const { approval } = found;
  const { binding } = approval;
  terminal.out("");
  for (const line of approvalLines(found, terminal.paintOut)) terminal.out(line);
  await keys.quiet(SEEN_AFTER_MS, signal);
  const key = await chosenKey(terminal, found, { keys, signal });
  if (key === null || key === NEXT) return;
  const prompt = reasonPrompt(approval, key === "n" ? "denials" : "approvals");
  const reason = prompt === null ? "" : await keys.line(prompt, signal);
  if (reason === null) return;
  const why = reason === "" ? {} : { reason };
  await attempt(terminal, async () => {
    const scope = key === "s" ? "session" : "once";
    const reply =
      key === "n"
        ? await policy.denyCall({ id, binding, ...why })
        : await policy.approveCall({ id, binding, scope, ...why });
    const missing = key === "n" ? null : stillMissing(reply.approval);
    terminal.out(`  ${missing ?? approvalLine(reply.approval)}`);
  });
}

/** Leaves a call undecided and shows the next one. */
const NEXT = "l";

/** The key that decides about the call, or leaves it; after `?`, which explains the keys, the person chooses anew. */
async function chosenKey(
  terminal: Terminal,
  found: { readonly approval: Approval },
  { keys, signal }: { keys: Keys; signal: AbortSignal },
): Promise<string | null> {
  const { tier } = found.approval;
  for (;;) {
    // The keys are active as soon as they are shown, so the wait begins first.
    const chosen = keys.oneOf(lettersFor(tier) + NEXT, signal);
    terminal.out(
      terminal.paintOut("dim", `  Approve? [${choicesText(tier)}, ${NEXT} later, q quit]`),
    );
    // One key after the other: each is about what was shown before.
    const key = await chosen;
    if (key !== "?") return key;
    const explained = [
      ...keyLines(tier, explainCommand(found.approval)),
      `  ${NEXT}  leave it undecided, and see the next one`,
      "  q  leave; the calls keep waiting",
    ];
    for (const line of explained) terminal.out(line);
  }
}

/** Null when it may not be read or no longer exists. */
async function shown(terminal: Terminal, policy: Policy, id: string) {
  let found: Awaited<ReturnType<Policy["getApproval"]>> | null = null;
  await attempt(terminal, async () => {
    found = await policy.getApproval({ id });
  });
  return found as Awaited<ReturnType<Policy["getApproval"]>> | null; // assigned in the function above
}

/** Refusals of the policy are printed, and the inbox continues. */
async function attempt(terminal: Terminal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code !== "unknown_approval") terminal.note(error.message);
  }
}
