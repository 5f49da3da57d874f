import {
  AnswerContent,
  answerQuestion,
  questionRequested,
  type Question,
  type QuestionForm,
} from "@switchyard/contracts/mcp-questions";
import type { EventHub } from "../events/event-hub.ts";
import type { ToolCall } from "./tool-call.ts";

/** Questions that a client of a gateway is being asked: calls of the same caller are notified of the same ones. */
const beingAskedAt = new WeakMap<EventHub, Set<string>>();

/**
 * Passes questions that a server asks during a call on to the client's person, in sessions, which alone have a way for it.
 * Elsewhere they wait for `POST /api/v1/mcp/questions/{id}/answer`. Returns what ends it.
 */
export function relayQuestions(server: string, request: ToolCall): () => void {
  const { requester, parts, abilities, context } = request;
  if (!abilities.forms || context.sessionId === undefined || !requester.may(answerQuestion))
    return () => {};
  const beingAsked = beingAskedAt.get(parts.hub) ?? new Set();
  beingAskedAt.set(parts.hub, beingAsked);
  const prefix = `yard.evt.mcp-question.${requester.caller}.`;
  return parts.hub.onEvent(({ subject, payload }) => {
    if (!subject.startsWith(prefix) || !subject.endsWith(".requested")) return;
    const parsed = questionRequested.payload.safeParse(payload);
    const question = parsed.data?.question;
    if (question === undefined || question.server !== server || question.form === null) return;
    if (beingAsked.has(question.id)) return;
    beingAsked.add(question.id);
    relay(question, request)
      .catch(request.onFault)
      .finally(() => beingAsked.delete(question.id));
  });
}

/** The fields as the protocol spells them: a choice of several texts says that they are texts. */
function propertiesOf(fields: QuestionForm["fields"]): Record<string, { type: "boolean" }> {
  const spelled = Object.entries(fields).map(([name, field]) => [
    name,
    field.type === "array" && "enum" in field.items
      ? { ...field, items: { type: "string", ...field.items } }
      : field,
  ]);
  // The contract's fields are those that the protocol allows; its type has one of them for all.
  return Object.fromEntries(spelled) as Record<string, { type: "boolean" }>;
}

async function relay({ id, message, form, expiresAt }: Question, request: ToolCall): Promise<void> {
  const { requester, context } = request;
  if (form === null) return;
  const answer = await context.mcpReq
    .elicitInput(
      {
        mode: "form",
        message,
        requestedSchema: {
          type: "object",
          properties: propertiesOf(form.fields),
          required: form.required,
        },
      },
      { timeout: Math.max(1_000, Date.parse(expiresAt) - Date.now()) },
    )
    .catch(() => null); // the client has gone or cannot: somebody else may answer
  if (answer === null) return;
  const content = AnswerContent.safeParse(answer.content);
  const said = answer.action === "accept" && content.success ? { content: content.data } : {};
  await requester.ask(answerQuestion, { id, action: answer.action, ...said }).catch(() => {});
}
