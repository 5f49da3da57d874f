import { z } from "zod";
import { canonicalDigest } from "../canonical-json.ts";
import { rpc } from "../define.ts";
import { CallerName, Digest, RunId, Timestamp } from "../ids.ts";
import { ListCursor, NextCursor } from "../list-cursor.ts";
import { StopInForce } from "../policy/policy-budgets.ts";
import { storeUnavailable } from "../store-errors.ts";

/**
 * The events that a run may wait for without a runner: a decision, another run, an answer, a time, a higher limit, or the end of a stop.
 */
export const WaitReason = z.enum(["approval", "child", "question", "timer", "limit", "stopped"]);
export type WaitReason = z.infer<typeof WaitReason>;

/** The name of a tool call: `runId:step:index`, and a suffix where a call is made again. */
export const CallIdOfQuestion = z.string().min(1).max(200);
const CallId = CallIdOfQuestion;

/** A JSON Schema of one value, small enough for a form. */
export const AnswerSchema = z.record(z.string(), z.unknown());

/** A question to people, by a run that waits for the answer. */
export const RunQuestion = z.object({
  runId: RunId,
  callId: CallId,
  question: z.string(),
  /** Answers to choose from; empty when any text will do. */
  options: z.array(z.string()),
  /** The JSON Schema of an answer; missing: a text, one of the options when there are any. */
  schema: AnswerSchema.optional(),
  /** From then on the run continues without an answer. */
  until: Timestamp,
});
export type RunQuestion = z.infer<typeof RunQuestion>;

/** A limit that a run, or all runs of a team together, reached. */
export const ReachedLimit = z.object({
  /** `maxSteps`, `maxTokens`, …; of a team `tokens` or `costUsd`. */
  limit: z.string(),
  value: z.number(),
  /** Set for a limit of all runs of one NATS user, which is counted anew each hour, day or month. */
  team: z.object({ name: CallerName, per: z.enum(["hour", "day", "month"]) }).optional(),
});
export type ReachedLimit = z.infer<typeof ReachedLimit>;

/** One event that a run waits for, as it is shown. */
export const RunWait = z.object({
  reason: WaitReason,
  /** A limit and a stop do not belong to a call: then this is the run's id, and `tool` is empty. */
  callId: CallId,
  tool: z.string(),
  /** Null: there is no time limit of the wait's own. */
  until: Timestamp.nullable(),
  approvalId: z.string().optional(),
  childRunId: RunId.optional(),
  question: z.string().optional(),
  options: z.array(z.string()).optional(),
  schema: AnswerSchema.optional(),
  limit: ReachedLimit.optional(),
  stop: StopInForce.optional(),
});
export type RunWait = z.infer<typeof RunWait>;

/** An answer is a value of the question's schema, or a text. */
export const Answer = z.union([
  z.string().max(65_536),
  z.number(),
  z.boolean(),
  z.record(z.string(), z.unknown()),
  z.array(z.unknown()).max(1_000),
]);

const NotAllowed = { data: z.object({ runId: z.string() }) };

/**
 * Answers a question of a run. The requester of the run may, and the users `cli` and `admin`. The first
 * answer counts; the same one again is accepted and changes nothing.
 */
export const answerQuestion = rpc({
  subject: "yard.rpc.{caller}.runs.answer",
  summary: "Answers a question of a run.",
  role: "operator",
  request: z.strictObject({ runId: RunId, callId: CallId, answer: Answer }),
  reply: z.object({ outcome: z.enum(["accepted", "answered_before"]) }),
  errors: {
    not_allowed: NotAllowed,
    store_unavailable: storeUnavailable,
    /** The run has no such open question: it never did, its time is over, or the run has ended. */
    no_question: { data: z.object({ runId: z.string(), callId: z.string() }) },
    /** The answer does not fit the question's schema; the question stays open. */
    invalid_answer: { data: z.object({ problems: z.array(z.string()).max(20) }) },
  },
});

export const listQuestions = rpc({
  subject: "yard.rpc.{caller}.runs.questions",
  summary: "Lists the questions of runs that wait for an answer.",
  role: "viewer",
  request: z.strictObject({
    limit: z.int().min(1).max(200).default(50),
    cursor: ListCursor.optional(),
  }),
  reply: z.object({
    questions: z.array(RunQuestion.extend({ requester: CallerName, agent: z.string() })),
    next: NextCursor,
  }),
  errors: { store_unavailable: storeUnavailable },
});

/** The question of a run, as it is bound to an answer: another question has another digest. */
export function questionBinding({
  runId,
  callId,
  question,
  options,
  schema,
  until,
}: z.infer<typeof RunQuestion>): string {
  return canonicalDigest({ runId, callId, question, options, schema: schema ?? null, until });
}

/** Called by the policy service alone, for the persons of chats that are linked with callers. */
export const listQuestionsForChats = rpc({
  subject: "yard.rpc.{caller}.runs.questions-for-chats",
  summary: "From the policy service: open questions of the users' runs, and ends of others.",
  request: z.strictObject({
    /** The users whose questions are wanted. */
    users: z.array(CallerName).max(1_000),
    watched: z.array(z.strictObject({ runId: RunId, callId: CallId })).max(50),
  }),
  reply: z.object({
    questions: z.array(RunQuestion.extend({ requester: CallerName, agent: z.string() })),
    /** Those of the watched ones that are open no longer. `by` is null without an answer, or when that is not recorded. */
    ended: z.array(
      z.object({ runId: RunId, callId: CallId, by: CallerName.nullable(), isLate: z.boolean() }),
    ),
  }),
  errors: { store_unavailable: storeUnavailable },
  timeoutMs: 5_000,
});

/** Called by the policy service alone: a caller answers in a chat that it has linked. */
export const answerForUser = rpc({
  subject: "yard.rpc.{caller}.runs.answer-for-user",
  summary: "From the policy service: a user answers the question of a run that was shown.",
  request: z.strictObject({
    user: CallerName,
    runId: RunId,
    callId: CallId,
    /** See {@link questionBinding}. */
    binding: Digest,
    answer: Answer,
  }),
  reply: answerQuestion.reply,
  errors: answerQuestion.errors,
  timeoutMs: 5_000,
});
