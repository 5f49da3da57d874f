import { client } from "@switchyard/bus/call";
import {
  parseTarget,
  type Address,
  type AddressInput,
} from "@switchyard/contracts/channels/channel-address";
import {
  checkChannelAccount,
  listChannelAccounts,
  resolveTarget,
  sendChannelMessage,
  type ChannelAccount,
} from "@switchyard/contracts/channels/channels";
import { findBus, withBus } from "../bus-session.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface SendOptions {
  readonly thread?: string;
  readonly replyTo?: string;
  readonly attach?: string[];
  readonly effect?: string;
  readonly silent?: true;
  readonly key?: string;
  readonly dryRun?: true;
  readonly json?: true;
}

export async function list(
  terminal: Terminal,
  { channel, json }: { channel?: string; json?: true },
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listChannelAccounts }).listChannelAccounts(
      channel === undefined ? {} : { channel },
    ),
  );
  if (json) return writeJson(terminal, reply);
  const lines = tableLines<ChannelAccount>(
    [
      { title: "ACCOUNT", value: nameOf },
      { title: "USER", value: ({ caller }) => caller },
      { title: "AGENT", value: ({ agent }) => agent ?? "" },
      { title: "INBOUND", value: ({ inbound }) => inbound },
      { title: "CAN", value: ({ capabilities }) => capabilities.actions.join(" "), maxWidth: 60 },
      { title: "PROBLEM", value: ({ problem }) => printableLine(problem ?? ""), maxWidth: 60 },
    ],
    reply.accounts,
  );
  if (reply.accounts.length === 0) terminal.note("there is no account that you may use");
  else for (const line of lines) terminal.out(line);
  for (const problem of reply.problems) terminal.note(`not in force: ${printableLine(problem)}`);
}

/** Fails when a provider does not take the credentials of one of them. */
export async function check(
  terminal: Terminal,
  named: string | undefined,
  { json }: { json?: true },
): Promise<ExitCode> {
  const checks = await withBus(await findBus(terminal.env), async (bus) => {
    const service = client(bus, { checkChannelAccount, listChannelAccounts });
    const accounts =
      named === undefined ? (await service.listChannelAccounts({})).accounts : [accountOf(named)];
    return Promise.all(
      accounts.map(({ channel, accountId }) =>
        service.checkChannelAccount({ channel, ...(accountId !== undefined && { accountId }) }),
      ),
    );
  });
  if (json) writeJson(terminal, { checks });
  else if (checks.length === 0) terminal.note("there is no account that you may use");
  else
    for (const { ok, identity, problem, ...account } of checks)
      terminal.out(
        `${ok ? "ok     " : "failed "} ${nameOf(account)}  ${printableLine((ok ? identity : problem) ?? "")}`.trimEnd(),
      );
  return checks.every(({ ok }) => ok) ? EXIT.ok : EXIT.failed;
}

export async function send(
  terminal: Terminal,
  { account, target, message: text }: { account: string; target: string; message: string },
  options: SendOptions,
): Promise<void> {
  const { thread, replyTo, attach = [], effect, silent = false, key, dryRun = false } = options;
  const reply = await withBus(await findBus(terminal.env), async (bus) => {
    const channels = client(bus, { resolveTarget, sendChannelMessage });
    const named = parseTarget(target);
    const from = accountOf(account);
    const place: AddressInput =
      named === null
        ? (await channels.resolveTarget({ ...from, query: target })).address
        : { ...from, target: named };
    return channels.sendChannelMessage({
      to: thread === undefined ? place : { ...place, threadId: thread },
      text,
      attachments: attach.map((source) => ({ source })),
      silent,
      dryRun,
      ...(replyTo !== undefined && { replyToMessageId: replyTo }),
      ...(effect !== undefined && { effectId: effect }),
      ...(key !== undefined && { idempotencyKey: key }),
    });
  });
  if (options.json) return writeJson(terminal, reply);
  const what = dryRun ? "could be sent" : reply.replayed ? "was sent before" : "sent";
  const ids = reply.messageIds.map((id) => printableLine(id)).join(", ");
  terminal.out(`${what}: ${placeText(reply.address)} ${ids}`.trimEnd());
  for (const left of reply.degraded) terminal.note(`left out: ${left}`);
}

/** `telegram/main user:42`, with the thread where there is one. */
export function placeText(address: Address): string {
  const { target, threadId } = address;
  const thread = threadId === undefined ? "" : ` in ${threadId}`;
  return printableLine(`${nameOf(address)} ${target.kind}:${target.id}${thread}`);
}

function nameOf({ channel, accountId }: { channel: string; accountId: string }): string {
  return `${channel}/${accountId}`;
}

/** Reads `telegram` or `telegram/main`; what is none the service refuses. */
export function accountOf(text: string): { channel: string; accountId?: string } {
  const slash = text.indexOf("/");
  if (slash < 0) return { channel: text };
  return { channel: text.slice(0, slash), accountId: text.slice(slash + 1) };
}
