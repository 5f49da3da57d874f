import { createHash, timingSafeEqual } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { decideInChat } from "@switchyard/contracts/policy/chat-links";
import { cutForReader } from "@switchyard/contracts/cut-text";
import { isError, isStandardCode, ServiceError } from "@switchyard/contracts/errors";
import type { Log } from "@switchyard/service/log";
import type { Account } from "../accounts/accounts.ts";
import type { ButtonPress, PressAnswer } from "../adapters/adapter.ts";
import { answerQuestion } from "./answer-question.ts";
import type { CallPrompt, Prompt, PromptStore, QuestionPrompt } from "./prompt-store.ts";
import type { QuestionReply } from "./question-form.ts";
import { endText } from "./prompt-text.ts";

export interface PressParts {
  readonly bus: Bus;
  readonly store: Pick<PromptStore, "read" | "write" | "isConfirmed" | "hurry">;
  readonly log: Log;
  /** Changes the messages about an approval that has ended. */
  readonly look: () => void;
}

/** The least that a provider shows to a person, in UTF-16 units. */
const MAX_ANSWER = 200;
const DATA = /^yd:([0-9a-f]{32}):([\w-]{11})$/;

/** Returns the data of a button: at most 64 bytes. */
export function buttonData(promptId: string, code: string): string {
  return `yd:${promptId}:${code}`;
}

/**
 * Decides or answers as the person who pressed. A press counts only with the secret of its button, in the conversation of its message, and in private from
 * its person; the policy service checks all else. Rejects when the store does not answer.
 */
export async function pressButton(
  parts: PressParts,
  account: Account,
  press: ButtonPress,
): Promise<PressAnswer> {
  const { store, log } = parts;
  const [, promptId = "", code = ""] = DATA.exec(press.data) ?? [];
  const prompt = promptId === "" ? null : await store.read(promptId);
  const meant = prompt === null ? null : meaningOf(prompt, code);
  if (prompt === null || meant === null || !isPlaceOf(prompt, account, press)) {
    log.warn({ account: account.name, personId: press.personId }, "press of an unknown button");
    return alert("Nothing was decided: this button is unknown here, or too old.");
  }
  if (prompt.personId !== null && prompt.personId !== press.personId) {
    log.warn({ promptId, personId: press.personId }, "press of another person's button");
    return alert("Nothing was decided: these buttons are for another person.");
  }
  if (prompt.messageId === null) await store.write({ ...prompt, messageId: press.messageId });
  if (meant.question !== null) {
    const { question, reply } = meant;
    return answerQuestion(parts, account, { prompt: question, reply, personId: press.personId });
  }
  const { call: waiting, verdict } = meant;
  if (verdict === "approve" && waiting.risk === "high") {
    const isConfirmed = await store.isConfirmed(promptId, press.personId, press.pressId);
    if (!isConfirmed)
      return alert(`High risk: press Approve again within a minute to approve ${waiting.title}.`);
  }
  const answer = await decide(parts, account, {
    prompt: waiting,
    verdict,
    personId: press.personId,
  });
  await store.hurry(waiting.approvalId);
  parts.look();
  return answer;
}

async function decide(
  { bus, log }: PressParts,
  { settings: { channel, accountId } }: Account,
  {
    prompt: { approvalId: id, binding },
    verdict,
    personId,
  }: {
    readonly prompt: CallPrompt;
    readonly verdict: "approve" | "deny";
    readonly personId: string;
  },
): Promise<PressAnswer> {
  const identity = { channel, accountId, personId };
  try {
    const { approval } = await call(bus, decideInChat, { identity, id, binding, verdict });
    return { text: endText(approval) ?? "Your vote counts; more are needed.", isAlert: false };
  } catch (error) {
    log.info({ err: error, approvalId: id, personId }, "press without a decision");
    return alert(refusalText(error));
  }
}

function refusalText(error: unknown): string {
  if (isError(error, decideInChat, "already_ended"))
    return `Nothing was decided: the call is ${error.data.state} already.`;
  if (isError(error, decideInChat, "not_linked"))
    return "Nothing was decided: link this account first, with the code of: yard channels link";
  if (isError(error, decideInChat, "forbidden_approver"))
    return `Nothing was decided: ${error.data.caller} may not decide about this call (${error.data.setting}).`;
  if (isError(error, decideInChat, "binding_mismatch"))
    return "Nothing was decided: the call is another one than the message shows.";
  if (isError(error, decideInChat, "unknown_approval"))
    return "Nothing was decided: there is no such approval for you.";
  if (error instanceof ServiceError && error.code === "timeout")
    return "No answer yet. The message shows the decision if it counted; press again if not.";
  if (error instanceof ServiceError && !isStandardCode(error.code))
    return cutForReader(`Nothing was decided: ${error.message}`, MAX_ANSWER);
  return "Nothing was decided: the policy service does not answer. Press again later.";
}

type Meaning =
  | {
      readonly question: null;
      readonly call: CallPrompt;
      readonly verdict: "approve" | "deny";
    }
  | { readonly question: QuestionPrompt; readonly reply: QuestionReply };

/** Returns what the button with this secret does; null for none of the message. */
function meaningOf(prompt: Prompt, code: string): Meaning | null {
  if ("question" in prompt) {
    const choice = prompt.choices.find((one) => isSame(code, one.code));
    return choice === undefined ? null : { question: prompt, reply: choice.reply };
  }
  const { codes } = prompt;
  const verdicts = ["approve", "deny"] as const;
  const verdict = verdicts.find((one) => isSame(code, codes[one]));
  return verdict === undefined ? null : { question: null, call: prompt, verdict };
}

/** A press under a forwarded or copied message comes from another conversation. */
function isPlaceOf(
  { address }: Prompt,
  { settings }: Account,
  { target }: Pick<ButtonPress, "target">,
): boolean {
  return (
    address.channel === settings.channel &&
    address.accountId === settings.accountId &&
    (address.target.kind === "user") === (target.kind === "user") &&
    address.target.id === target.id
  );
}

/** Compares in a time that does not depend on where the texts differ. */
export function isSame(given: string, expected: string): boolean {
  const digests = [given, expected].map((text) => createHash("sha256").update(text).digest());
  const [a, b] = digests;
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}

function alert(text: string): PressAnswer {
  return { text, isAlert: true };
}
