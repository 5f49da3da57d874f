import { call } from "@switchyard/bus/call";
import { answerInChat } from "@switchyard/contracts/policy/chat-questions";
import { cutForReader } from "@switchyard/contracts/cut-text";
import { isError, isStandardCode, ServiceError } from "@switchyard/contracts/errors";
import type { Account } from "../accounts/accounts.ts";
import type { IncomingMessage, PressAnswer } from "../adapters/adapter.ts";
import { answerMessage, type LinkParts } from "./link-chat.ts";
import { subjectOf, type PromptStore, type QuestionPrompt } from "./prompt-store.ts";
import { replyOfText, type QuestionReply } from "./question-form.ts";
import type { SendStore } from "../outbound/send-store.ts";

export interface ReplyParts extends LinkParts {
  /** Changes the messages about a question that has ended. */
  readonly look: () => void;
  readonly store: Pick<PromptStore, "questionsAt" | "hurry">;
  readonly sends: Pick<SendStore, "read">;
}

/** The least that a provider shows to a person, in UTF-16 units. */
const MAX_ANSWER = 200;

/** Answers a question as a person of a chat; the policy service determines whose answer that is. Rejects when the store does not answer. */
export async function answerQuestion(
  {
    bus,
    log,
    store,
    look,
  }: Pick<ReplyParts, "bus" | "log" | "look"> & {
    readonly store: Pick<PromptStore, "hurry">;
  },
  { settings: { channel, accountId } }: Account,
  {
    prompt,
    reply,
    personId,
  }: {
    readonly prompt: QuestionPrompt;
    readonly reply: QuestionReply;
    readonly personId: string;
  },
): Promise<PressAnswer> {
  const { question: ref, binding } = prompt;
  const identity = { channel, accountId, personId };
  try {
    const { by, outcome } = await call(bus, answerInChat, { identity, ref, binding, ...reply });
    await store.hurry(subjectOf(prompt));
    look();
    const said = reply.action === "decline" ? "Declined" : "Answered";
    const text = outcome === "accepted" ? `${said} by ${by}.` : `${said} before by ${by}.`;
    return { text, isAlert: false };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    log.info({ err: error, personId }, "question not answered in a chat");
    return { text: cutForReader(refusalText(error), MAX_ANSWER), isAlert: true };
  }
}

/**
 * Handles a message that answers a question of the same private chat: it becomes no message for an agent. Returns false for any other
 * message. Rejects when the store does not answer; then the message must not be acknowledged.
 */
export async function answerByReply(
  parts: ReplyParts,
  account: Account,
  message: IncomingMessage,
): Promise<boolean> {
  const { target, sender, replyToMessageId, threadId } = message;
  const repliedTo = replyToMessageId ?? threadId;
  const isPrivate = target.kind === "user" && target.id === sender.id;
  if (account.adapter.edit === undefined || repliedTo === undefined) return false;
  if (!isPrivate || sender.isBot === true) return false;
  const prompt = await questionOf(parts, account, { target, repliedTo });
  if (prompt === null || prompt.personId !== sender.id) return false;
  const reply = replyOfText(message.text, prompt.textAs) ?? choiceOf(prompt, message.text);
  const answer =
    reply === null
      ? { text: notTaken(prompt) }
      : await answerQuestion(parts, account, { prompt, reply, personId: sender.id });
  await answerMessage(parts, account, { message, text: answer.text, purpose: "!answer" });
  return true;
}

/** The question that a message of ours shows; the id of the message may be in the record of its send alone. */
async function questionOf(
  { store, sends }: ReplyParts,
  { settings: { channel, accountId } }: Account,
  { target, repliedTo }: Pick<IncomingMessage, "target"> & { readonly repliedTo: string },
): Promise<QuestionPrompt | null> {
  for (const prompt of await store.questionsAt({ channel, accountId, target })) {
    if (prompt.messageId === repliedTo) return prompt;
    if (prompt.messageId !== null) continue;
    const send = await sends.read(prompt.sendId);
    if (send?.record.messageIds.includes(repliedTo) === true) return prompt;
  }
  return null;
}

/** A person may write what a button says. */
function choiceOf({ choices }: QuestionPrompt, text: string): QuestionReply | null {
  return choices.find(({ label }) => label === text.trim())?.reply ?? null;
}

function notTaken({ textAs, choices }: QuestionPrompt): string {
  if (textAs?.type === "number") return "Not answered: reply with a number.";
  return choices.length > 0
    ? "Not answered: press one of the buttons."
    : "Not answered: this question is not answered in a chat; its message says where.";
}

function refusalText(error: ServiceError): string {
  if (isError(error, answerInChat, "not_linked"))
    return "Not answered: link this account first, with the code of: yard channels link";
  if (isError(error, answerInChat, "forbidden_answer"))
    return `Not answered: ${error.data.caller} may not answer this question.`;
  if (isError(error, answerInChat, "question_over"))
    return "Not answered: the question was answered, or its time is over.";
  if (isError(error, answerInChat, "invalid_answer"))
    return `Not answered: ${error.data.problems.join("; ")}`;
  if (error.code === "timeout")
    return "No answer yet. The message shows it if your answer counted; answer again if not.";
  if (!isStandardCode(error.code) && error.code !== "questions_unavailable")
    return `Not answered: ${error.message}`;
  return "Not answered: the service of the question does not answer. Try again later.";
}
