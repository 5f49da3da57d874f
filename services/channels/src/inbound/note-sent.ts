import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { MAX_MESSAGE_TEXT } from "@switchyard/contracts/channels/channels";
import { cutText } from "@switchyard/contracts/cut-text";
import { noteInSession } from "@switchyard/contracts/agent-runner/session-delivery";
import type { Accounts } from "../accounts/accounts.ts";
import type { SendRecord } from "../outbound/send-record.ts";
import { conversationKey } from "./conversation-key.ts";

const TIMEOUT_MS = 5_000;

/**
 * Notes a message from an agent or a job in the session of the chat that it went to, so that the agent which answers there is
 * aware of it. Only messages of the sessions' own user are noted: other users of an account do not write into its conversations.
 */
export async function noteSent(
  { bus, accounts }: { readonly bus: Bus; readonly accounts: Pick<Accounts, "get"> },
  { address, caller: owner, about, text, attachments, sendId, sentAt, at }: SendRecord,
): Promise<void> {
  const account = accounts.get(address.channel, address.accountId);
  if (account === null)
    throw new Error(`account ${address.channel}/${address.accountId} is not in force`);
  const { agent, caller } = account.settings.entry;
  if (agent === undefined || caller !== owner) return;
  const { tool, runId, sessionKey } = about;
  const session = conversationKey(agent, address);
  if (session === sessionKey) return;
  const files = attachments.map(
    ({ name, source }) => `[attachment: ${name ?? source.split("?", 1)[0]}]`,
  );
  await call(
    bus,
    noteInSession,
    {
      owner,
      session,
      agent,
      sendId,
      at: sentAt ?? at,
      text: cutText([text, ...files].join("\n").trim(), MAX_MESSAGE_TEXT),
      ...(tool !== null && { tool }),
      ...(runId !== null && { runId }),
      ...(sessionKey !== null && { from: sessionKey }),
    },
    { timeoutMs: TIMEOUT_MS },
  );
}
