import { call } from "@switchyard/bus/call";
import type { CallContext } from "@switchyard/bus/handler";
import type { openDecision } from "@switchyard/contracts/channels/channels";
import { approvalsForChats } from "@switchyard/contracts/policy/chat-links";
import type { z } from "zod";
import type { Accounts } from "../accounts/accounts.ts";
import { buttonData, isSame, pressButton, type PressParts } from "./press-button.ts";
import type { Prompt, PromptStore } from "./prompt-store.ts";
import { endText } from "./prompt-text.ts";

type Reply = z.output<typeof openDecision.reply>;

export interface DecisionPageParts extends PressParts {
  readonly accounts: Accounts;
  readonly store: PressParts["store"] & Pick<PromptStore, "finish">;
}

const USED = "Nothing is decided here: this link was used, or its call has ended.";

/**
 * Shows the call of a link in a mail, and decides it by a press as the person that the mail was sent to. A link that has decided ends.
 * Rejects with StoreError.
 */
export async function openDecisionLink(
  parts: DecisionPageParts,
  { token, press }: z.output<typeof openDecision.request>,
  fail: CallContext<typeof openDecision>["fail"],
): Promise<Reply> {
  const { store, accounts } = parts;
  const [promptId = "", code = ""] = token.split(".");
  const prompt = await store.read(promptId);
  const account = prompt && accounts.get(prompt.address.channel, prompt.address.accountId);
  const isKnown = prompt?.linkCode !== undefined && isSame(code, prompt.linkCode);
  if (!isKnown || account?.adapter.hasDecisionLinks !== true || prompt.personId === null)
    throw fail.unknown_link("this link is unknown, or too old", { reason: "unknown" });
  const { text, personId, codes, address } = prompt;
  if (prompt.state === "ended" || press === undefined) {
    const ended = await endOf(parts, prompt);
    const outcome = ended ?? (prompt.state === "ended" ? USED : null);
    return { text, outcome, isOpen: outcome === null };
  }
  const answer = await pressButton(parts, account, {
    target: address.target,
    messageId: promptId,
    personId,
    data: buttonData(promptId, codes[press.verdict]),
    pressId: press.id,
  });
  // An alert is a refusal, or the wish for a second press.
  if (!answer.isAlert) await store.finish(prompt);
  const isOpen = answer.isAlert && (await endOf(parts, prompt)) === null;
  return { text, outcome: answer.text, isOpen };
}

/** Returns what became of the call; null while it waits, and while the policy service does not answer. */
async function endOf(
  { bus, log }: DecisionPageParts,
  { approvalId }: Prompt,
): Promise<string | null> {
  try {
    const asked = { groupsOf: [], watched: [approvalId] };
    const [approval] = (await call(bus, approvalsForChats, asked)).watched;
    return approval === undefined ? null : endText(approval);
  } catch (err) {
    log.warn({ err, approvalId }, "state of a call not read for its page");
    return null;
  }
}
