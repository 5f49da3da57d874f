import { readFile } from "node:fs/promises";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { type Approval } from "@switchyard/contracts/policy/approval-record";
import {
  approveCall,
  cancelApproval,
  denyCall,
  getApproval,
  listApprovals,
} from "@switchyard/contracts/policy/approvals";
import { isRecord } from "@switchyard/contracts/json-record";
import { grantWords } from "@switchyard/contracts/policy/approval-words";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { checkApprovalName, namedApproval } from "../named-approval.ts";
import { checkRunName, namedRun } from "../named-run.ts";
import { timeText, type Times } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import {
  actorText,
  approvalLine,
  argumentsText,
  approvalLines,
  stateText,
  stillMissing,
} from "./approval-lines.ts";

interface Options {
  readonly json?: true;
}

const contracts = { approveCall, cancelApproval, denyCall, getApproval, listApprovals };

export async function list(
  terminal: Terminal,
  options: { all?: true; run?: string; limit: number } & Options & Times,
): Promise<void> {
  const { all, run, limit } = options;
  if (run !== undefined) checkRunName(run);
  const { reply, shown } = await withPolicy(terminal, async (policy, bus) => {
    const found = await policy.listApprovals({
      pendingOnly: all !== true,
      limit,
      ...(run === undefined ? {} : { runId: await namedRun(bus, run) }),
    });
    return { reply: found, shown: options.json ? [] : await argumentsOf(policy, found.approvals) };
  });
  if (options.json) return writeJson(terminal, reply);
  if (reply.approvals.length === 0) {
    const whose = run === undefined ? "" : ` of run ${run}`;
    if (all === true) return terminal.note(`no call${whose} has waited for an approval`);
    return terminal.note(
      `no call${whose} waits for an approval; those decided: ./yard approvals list --all`,
    );
  }
  const texts = new Map(shown);
  const columns = [
    { title: "ID", value: ({ id }: Approval) => id },
    { title: "STATE", value: stateText, isSpare: true },
    { title: "TIER", value: ({ tier }: Approval) => tier, isSpare: true },
    { title: "RISK", value: ({ risk }: Approval) => risk, isSpare: true },
    { title: "TOOL", value: ({ tool }: Approval) => tool.name, maxWidth: 48 },
    { title: "ARGUMENTS", value: ({ id }: Approval) => texts.get(id) ?? "–", maxWidth: 60 },
    { title: "WHO", value: actorText, maxWidth: 72, isSpare: true },
    {
      title: "UNTIL",
      value: ({ state, expiresAt }: Approval) =>
        state === "pending" || state === "approved" ? timeText(expiresAt, options) : "–",
    },
  ];
  for (const line of tableLines(columns, reply.approvals)) terminal.out(line);
  if (reply.next !== null)
    terminal.note(
      `there are more; ${reply.pending} ${reply.pending === 1 ? "waits" : "wait"} in all`,
    );
}

const AT_ONCE = 16;

/** The arguments by the approval's id. One that is gone meanwhile is left out, and hides no other. */
async function argumentsOf(
  policy: Policy,
  approvals: readonly Approval[],
): Promise<(readonly [id: string, text: string])[]> {
  const texts: (readonly [id: string, text: string])[] = [];
  for (let at = 0; at < approvals.length; at += AT_ONCE) {
    const part = approvals.slice(at, at + AT_ONCE).map(async ({ id }) => {
      const found = await policy.getApproval({ id }).catch(() => null);
      return found === null ? null : ([id, argumentsText(found.presentation.args)] as const);
    });
    texts.push(...(await Promise.all(part)).filter((text) => text !== null));
  }
  return texts;
}

export async function show(terminal: Terminal, id: string, options: Options): Promise<void> {
  const reply = await askedAbout(terminal, id, (policy, named) => policy.getApproval(named));
  if (options.json) return writeJson(terminal, reply);
  for (const line of approvalLines(reply, terminal.paintOut)) terminal.out(line);
}

export async function approve(
  terminal: Terminal,
  id: string,
  options: {
    session?: true;
    ttl?: number;
    uses?: number;
    same?: string[];
    arguments?: string;
    reason?: string;
  } & Options,
): Promise<void> {
  const { session, ttl, uses, same, reason, arguments: file } = options;
  const isNarrowed = ttl !== undefined || uses !== undefined || same !== undefined;
  if (session !== true && isNarrowed)
    throw new CliError("usage", "--ttl, --uses and --same go only with --session", {
      hint: "leave them out to approve this one call",
    });
  if (session === true && file !== undefined)
    throw new CliError("usage", "--arguments goes only with this one call", {
      hint: "leave --session out",
    });
  checkIsNamed(id);
  const changed = file === undefined ? {} : { arguments: await argumentsIn(file) };
  const reply = await askedAbout(terminal, id, (policy, named) =>
    policy.approveCall({
      ...named,
      ...changed,
      scope: session === true ? "session" : "once",
      ...(ttl === undefined ? {} : { ttlSeconds: ttl }),
      ...(uses === undefined ? {} : { maxUses: uses }),
      ...(same === undefined ? {} : { sameArguments: same }),
      ...(reason === undefined ? {} : { reason }),
    }),
  );
  if (options.json) return writeJson(terminal, reply);
  terminal.note(approvalLine(reply.approval));
  const missing = stillMissing(reply.approval);
  if (missing !== null) terminal.note(missing);
  if (reply.grant === null) return;
  const { id: grantId, expiresAt } = reply.grant;
  terminal.note(`calls of its kind pass ${grantWords(reply.grant, expiresAt)}: ${grantId}`);
}

/** Reads changed arguments. Rejects with a CliError for a file that is no JSON object. */
async function argumentsIn(file: string): Promise<Record<string, unknown>> {
  const text = await readFile(file, "utf8");
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return { ...value };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new CliError("usage", `${file} is not a JSON object with the arguments of a call`, {
    hint: "see the present ones with: ./yard approvals show ID --json",
  });
}

export async function deny(
  terminal: Terminal,
  id: string,
  options: { reason?: string } & Options,
): Promise<void> {
  const { reason } = options;
  checkIsNamed(id);
  const reply = await askedAbout(terminal, id, (policy, named) =>
    policy.denyCall({ ...named, ...(reason === undefined ? {} : { reason }) }),
  );
  if (options.json) return writeJson(terminal, reply);
  terminal.note(approvalLine(reply.approval));
}

export async function cancel(terminal: Terminal, id: string, options: Options): Promise<void> {
  const reply = await askedAbout(terminal, id, (policy, named) => policy.cancelApproval(named));
  if (options.json) return writeJson(terminal, reply);
  terminal.note(approvalLine(reply.approval));
}

type Policy = ReturnType<typeof client<typeof contracts>>;

async function withPolicy<T>(
  terminal: Terminal,
  ask: (policy: Policy, bus: Bus) => Promise<T>,
): Promise<T> {
  return withBus(await findBus(terminal.env), (bus) => ask(client(bus, contracts), bus));
}

/** Throws for `last`: another call may have come since the person looked. */
function checkIsNamed(id: string): void {
  if (id !== "last") return;
  throw new CliError("usage", "last may be another call than the one that you looked at", {
    hint: "look at it with ./yard approvals show last, and decide by its id",
  });
}

/** Requests the approval that was named in full, by its beginning, or by `last`. */
function askedAbout<T>(
  terminal: Terminal,
  name: string,
  ask: (policy: Policy, named: { id: string }) => Promise<T>,
): Promise<T> {
  checkApprovalName(name);
  return withPolicy(terminal, async (policy, bus) =>
    ask(policy, { id: await namedApproval(bus, name) }),
  );
}
