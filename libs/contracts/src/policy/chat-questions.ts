import { z } from "zod";
import { ChatIdentity, ChatLink } from "./chat-links.ts";
import { rpc } from "../define.ts";
import { CallerName, Digest, RunId, Timestamp } from "../ids.ts";
import { AnswerContent, Question, QuestionId } from "../mcp-broker/mcp-questions.ts";
import { Answer, CallIdOfQuestion, RunQuestion } from "../agent-runner/run-waits.ts";
import { UserStoreUnavailable } from "./user-tokens.ts";

/**
 * Questions of runs and of MCP servers, answered in chats. As with decisions, the channels service reports which person answered and which
 * question was shown; the policy service determines whose answer that is.
 */

/** Names a question: by its run and call, or by its id at the broker. */
export const QuestionRef = z.union([
  z.strictObject({ runId: RunId, callId: CallIdOfQuestion }),
  z.strictObject({ questionId: QuestionId }),
]);
export type QuestionRef = z.infer<typeof QuestionRef>;

/** An open question as a chat shows it: one of a run, or one of a server. */
export const ChatQuestion = z.object({
  ref: QuestionRef,
  /** Digest of exactly this question. */
  binding: Digest,
  /** The user whose run, or whose request, it belongs to; only links of this user answer it. */
  user: CallerName,
  run: RunQuestion.extend({ agent: z.string() }).optional(),
  server: Question.pick({
    server: true,
    mode: true,
    message: true,
    form: true,
    url: true,
  }).optional(),
  until: Timestamp,
});
export type ChatQuestion = z.infer<typeof ChatQuestion>;

/** The end of a question. `by` is null without an answer, or when that is not recorded. */
export const QuestionEnd = z.object({
  ref: QuestionRef,
  outcome: z.enum(["answered", "declined", "expired", "ended"]),
  by: CallerName.nullable(),
});
export type QuestionEnd = z.infer<typeof QuestionEnd>;

const QuestionsUnavailable = { data: z.object({ cause: z.string() }), retryable: true } as const;

/** The most questions in a reply, so that it fits one message. */
export const MAX_CHAT_QUESTIONS = 50;

/** Called by the channels service alone: the truth behind the messages with questions. */
export const questionsForChats = rpc({
  subject: "yard.rpc.{caller}.questions.for-chats",
  summary: "From the channels service: open questions with the chats to ask, and ends of others.",
  request: z.strictObject({
    /** Questions whose messages are open. */
    watched: z.array(QuestionRef).max(MAX_CHAT_QUESTIONS),
  }),
  reply: z.object({
    /** The links with `asks` of the user whose question it is. */
    pending: z.array(z.object({ question: ChatQuestion, links: z.array(ChatLink) })),
    /** Those of the watched ones that have ended. */
    ended: z.array(QuestionEnd),
  }),
  errors: { users_unavailable: UserStoreUnavailable, questions_unavailable: QuestionsUnavailable },
  timeoutMs: 10_000,
});

/** Called by the channels service alone, for a button or a reply of a person. */
export const answerInChat = rpc({
  subject: "yard.rpc.{caller}.questions.answer-in-chat",
  summary: "From the channels service: a linked person answers the question that was shown.",
  request: z.strictObject({
    identity: ChatIdentity,
    ref: QuestionRef,
    binding: Digest,
    /** The answer to a question of a run. */
    answer: Answer.optional(),
    /** The answer to a question of a server. */
    action: z.enum(["accept", "decline"]).optional(),
    content: AnswerContent.optional(),
  }),
  /** `by` is the caller of the link. */
  reply: z.object({ by: CallerName, outcome: z.enum(["accepted", "answered_before"]) }),
  errors: {
    users_unavailable: UserStoreUnavailable,
    questions_unavailable: QuestionsUnavailable,
    /** The person has no link, or its link has ended. */
    not_linked: { data: z.object({ channel: z.string(), accountId: z.string() }) },
    /** The caller of the link may not answer it. */
    forbidden_answer: { data: z.object({ caller: z.string() }) },
    /** It is another question than the one that was shown, or it was answered, or its time is over. */
    question_over: { data: z.object({ cause: z.string() }) },
    /** The answer does not fit; the question stays open. */
    invalid_answer: { data: z.object({ problems: z.array(z.string()).max(20) }) },
  },
  timeoutMs: 8_000,
});
