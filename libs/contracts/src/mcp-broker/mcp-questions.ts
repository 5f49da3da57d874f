import { z } from "zod";
import { storeUnavailable } from "../store-errors.ts";
import { event, rpc } from "../define.ts";
import { CallerName, ServerId, Timestamp } from "../ids.ts";
import { Principal } from "../policy/policy.ts";

/**
 * A question that an MCP server asks a person while it works on a request (MCP elicitation). It is stored in Redis until a day after its
 * end; the content of an answer is stored only until the server has it.
 */

export const QuestionId = z.string().regex(/^q-[A-Za-z0-9]{8,32}$/);

/**
 * `pending` until one of the others, for good: answered by a person (`accepted`, `declined`, `cancelled`), not answered in time
 * (`expired`), or no longer needed, because the request or the connection ended (`lost`).
 */
export const QuestionState = z.enum([
  "pending",
  "accepted",
  "declined",
  "cancelled",
  "expired",
  "lost",
]);
export type QuestionState = z.infer<typeof QuestionState>;

// oxlint-disable-next-line no-control-regex -- control characters are what it refuses
const NAME = /^[^\x00-\x1f\x7f-\x9f]{1,128}$/u;
const described = {
  title: z.string().max(500).optional(),
  description: z.string().max(2_000).optional(),
};
export const QuestionChoice = z.object({
  const: z.string().max(500),
  title: z.string().max(500).optional(),
});
const Choices = z.array(QuestionChoice).min(1).max(500);
const Values = z.array(z.string().max(500)).min(1).max(500);

/** One field of a form. MCP allows only these: flat, and without regular expressions. */
export const QuestionField = z.union([
  z.object({
    ...described,
    type: z.literal("string"),
    oneOf: Choices,
    default: z.string().optional(),
  }),
  z.object({
    ...described,
    type: z.literal("string"),
    enum: Values,
    enumNames: z.array(z.string().max(500)).optional(),
    default: z.string().optional(),
  }),
  z.object({
    ...described,
    type: z.literal("string"),
    minLength: z.int().nonnegative().optional(),
    maxLength: z.int().nonnegative().optional(),
    format: z.enum(["email", "uri", "date", "date-time"]).optional(),
    default: z.string().max(10_000).optional(),
  }),
  z.object({
    ...described,
    type: z.enum(["number", "integer"]),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    default: z.number().optional(),
  }),
  z.object({ ...described, type: z.literal("boolean"), default: z.boolean().optional() }),
  z.object({
    ...described,
    type: z.literal("array"),
    minItems: z.int().nonnegative().optional(),
    maxItems: z.int().nonnegative().optional(),
    items: z.union([z.object({ enum: Values }), z.object({ anyOf: Choices })]),
    default: z.array(z.string()).optional(),
  }),
]);
export type QuestionField = z.infer<typeof QuestionField>;

export const QuestionForm = z.object({
  fields: z
    .record(z.string().regex(NAME), QuestionField)
    .refine((fields) => Object.keys(fields).length <= 64, { error: "has more than 64 fields" }),
  required: z.array(z.string()).max(64),
});
export type QuestionForm = z.infer<typeof QuestionForm>;

export const Question = z.object({
  id: QuestionId,
  server: ServerId,
  state: QuestionState,
  /** `form` asks for the fields; `url` asks to open an address, without a description of the page. */
  mode: z.enum(["form", "url"]),
  /** The server's words. Show them as the server's, never as Switchyard's. */
  message: z.string(),
  form: QuestionForm.nullable(),
  url: z.string().nullable(),
  /** The principals of the requests that the server works on; the users among them may answer. */
  askedFor: z.array(Principal),
  askedAt: Timestamp,
  expiresAt: Timestamp,
  endedAt: Timestamp.nullable(),
  /** The NATS user that answered. */
  answeredBy: CallerName.nullable(),
});
export type Question = z.infer<typeof Question>;

export const listQuestions = rpc({
  subject: "yard.rpc.{caller}.mcp.questions",
  summary: "Lists the questions of MCP servers that the caller may answer, newest first.",
  role: "viewer",
  request: z.strictObject({
    server: ServerId.optional(),
    /** Only those that wait for an answer, unless false. */
    pendingOnly: z.boolean().default(true),
  }),
  reply: z.object({ questions: z.array(Question) }),
  errors: { store_unavailable: storeUnavailable },
});

export const AnswerContent = z.record(
  z.string(),
  z.union([z.string().max(10_000), z.number(), z.boolean(), z.array(z.string().max(500)).max(500)]),
);
export type AnswerContent = z.infer<typeof AnswerContent>;

export const answerQuestion = rpc({
  subject: "yard.rpc.{caller}.mcp.answer",
  summary: "Answers a question of an MCP server, once.",
  role: "operator",
  request: z.strictObject({
    id: QuestionId,
    action: z.enum(["accept", "decline", "cancel"]),
    /** The content of an accepted form: values by field. */
    content: AnswerContent.optional(),
  }),
  reply: z.object({ question: Question }),
  errors: {
    /** Returned also for a question that the caller may not see. */
    unknown_question: { data: z.object({ id: z.string() }) },
    already_ended: { data: z.object({ id: z.string(), state: QuestionState }) },
    /** One text for each field that does not fit; none contains a value. */
    invalid_content: { data: z.object({ problems: z.array(z.string()) }) },
    store_unavailable: storeUnavailable,
  },
});

/** Called by the policy service alone: a caller answers in a chat that it has linked. */
export const answerForUser = rpc({
  subject: "yard.rpc.{caller}.mcp.answer-for-user",
  summary: "From the policy service: a user answers a question of an MCP server, once.",
  request: z.strictObject({ user: CallerName, ...answerQuestion.request.shape }),
  reply: answerQuestion.reply,
  errors: answerQuestion.errors,
  timeoutMs: 5_000,
});

/** Called by the policy service alone, for the persons of chats that are linked with callers. */
export const listQuestionsForChats = rpc({
  subject: "yard.rpc.{caller}.mcp.questions-for-chats",
  summary: "From the policy service: questions of MCP servers that one of the users may answer.",
  request: z.strictObject({ users: z.array(CallerName).max(1_000) }),
  /** Those of the last day, also those that have ended. */
  reply: listQuestions.reply,
  errors: listQuestions.errors,
  timeoutMs: 5_000,
});

export const questionRequested = event({
  subject: "yard.evt.mcp-question.{owner}.{id}.requested",
  summary: "An MCP server asks a person a question and waits for mcp.answer.",
  payload: z.object({ question: Question }),
});

export const questionEnded = event({
  subject: "yard.evt.mcp-question.{owner}.{id}.ended",
  summary:
    "A question of an MCP server was answered, or its time is over; the answer is not in the event.",
  payload: z.object({ question: Question }),
});

/** Explains, for a program that cannot prompt its person, the server's question and where to answer it. */
export function howToAnswer({
  id,
  server,
  message,
  url,
  expiresAt,
}: Pick<Question, "id" | "server" | "message" | "url" | "expiresAt">): string {
  const address = url === null ? "" : ` It wants a person to open ${url}.`;
  return `MCP server ${server} asks: ${JSON.stringify(message)}.${address} A person who may answer for you does it until ${expiresAt} with: yard mcp answer ${id}, or POST /api/v1/mcp/questions/${id}/answer. Then make the same call again for its result.`;
}
