import { call } from "@switchyard/bus/call";
import type { CallContext } from "@switchyard/bus/handler";
import type { openDecision } from "@switchyard/contracts/channels/channels";
import { approvalsForChats } from "@switchyard/contracts/policy/chat-links";
import { questionsForChats } from "@switchyard/contracts/policy/chat-questions";
import type { z } from "zod";
import type { PressAnswer } from "../adapters/adapter.ts";
import type { Account, Accounts } from "../accounts/accounts.ts";
import type { DecisionLinks } from "./decision-links.ts";
import { buttonData, isSame, pressButton, type PressParts } from "./press-button.ts";
import { answerQuestion } from "./answer-question.ts";
import { subjectOf, type Prompt, type PromptStore, type QuestionPrompt } from "./prompt-store.ts";
import { endText, questionEndText } from "./prompt-text.ts";
import { replyOfText } from "./question-form.ts";

type Reply = z.output<typeof openDecision.reply>;

export interface DecisionPageParts extends PressParts {
  readonly accounts: Accounts;
  readonly links: DecisionLinks;
  readonly store: PressParts["store"] & Pick<PromptStore, "finish">;
}

const USED = "Nothing is decided here: this link was used, or its call has ended.";

/**
 * Shows the call or question of a link in a mail, and decides or answers it by a press as the person that the mail was sent to. A link that has decided ends.
 * Rejects with StoreError.
 */
export async function openDecisionLink(
  parts: DecisionPageParts,
  { token, press }: z.output<typeof openDecision.request>,
  fail: CallContext<typeof openDecision>["fail"],
): Promise<Reply> {
  const { store, accounts } = parts;
  const link = parts.links.read(token);
  if (link === null) throw fail.unknown_link("this link is not one of ours", { reason: "forged" });
  const { promptId, code } = link;
  const prompt = await store.read(promptId);
  const account = prompt && accounts.get(prompt.address.channel, prompt.address.accountId);
  const isKnown =
    prompt?.linkCode !== undefined && isSame(code, prompt.linkCode) && link.isFor(prompt);
  if (!isKnown || account?.adapter.hasDecisionLinks !== true || prompt.personId === null)
    throw fail.unknown_link("this link is unknown, or too old", { reason: "unknown" });
  const { text, personId, address } = prompt;
  const about = "question" in prompt ? { question: shownQuestion(prompt) } : {};
  if (prompt.state === "ended" || press === undefined) {
    const ended = await endOf(parts, prompt);
    const outcome = ended ?? (prompt.state === "ended" ? USED : null);
    return { text, outcome, isOpen: outcome === null, ...about };
  }
  const answer =
    "question" in prompt && press.text !== undefined
      ? await answerWith(parts, account, { prompt, text: press.text, personId })
      : await pressButton(parts, account, {
          target: address.target,
          messageId: promptId,
          personId,
          data: buttonData(promptId, codeOf(prompt, press) ?? ""),
          pressId: press.id,
        });
  // An alert is a refusal, or the wish for a second press.
  if (!answer.isAlert) await store.finish(prompt);
  const isOpen = answer.isAlert && (await endOf(parts, prompt)) === null;
  return { text, outcome: answer.text, isOpen, ...about };
}

type Press = NonNullable<z.output<typeof openDecision.request>["press"]>;

function codeOf(prompt: Prompt, { verdict, choice }: Press): string | undefined {
  if ("question" in prompt) return choice === undefined ? undefined : prompt.choices[choice]?.code;
  return verdict === undefined ? undefined : prompt.codes[verdict];
}

function shownQuestion({ choices, textAs }: QuestionPrompt): NonNullable<Reply["question"]> {
  return { choices: choices.map(({ label }) => label), takesText: textAs !== null };
}

async function answerWith(
  parts: DecisionPageParts,
  account: Account,
  {
    prompt,
    text,
    personId,
  }: { readonly prompt: QuestionPrompt; readonly text: string; readonly personId: string },
): Promise<PressAnswer> {
  const reply = replyOfText(text, prompt.textAs);
  if (reply !== null) return answerQuestion(parts, account, { prompt, reply, personId });
  const wanted = prompt.textAs?.type === "number" ? "a number" : "a text";
  return { text: `Not answered: write ${wanted}.`, isAlert: true };
}

/** Returns what became of the call or question; null while it waits, and while the policy service does not answer. */
async function endOf({ bus, log }: DecisionPageParts, prompt: Prompt): Promise<string | null> {
  try {
    if ("question" in prompt) {
      const watched = [prompt.question];
      const [end] = (await call(bus, questionsForChats, { watched })).ended;
      return end === undefined ? null : questionEndText(end);
    }
    const asked = { groupsOf: [], watched: [prompt.approvalId] };
    const [approval] = (await call(bus, approvalsForChats, asked)).watched;
    return approval === undefined ? null : endText(approval);
  } catch (err) {
    log.warn({ err, subject: subjectOf(prompt) }, "state of a call not read for its page");
    return null;
  }
}
