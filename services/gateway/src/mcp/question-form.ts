import { ServiceError } from "@switchyard/contracts/errors";
import {
  AnswerContent,
  answerQuestion,
  type Question,
  type QuestionForm,
} from "@switchyard/contracts/mcp-broker/mcp-questions";
import { inputRequired, inputResponse, type InputRequests } from "@modelcontextprotocol/server";
import type { Requester } from "../identity/requester.ts";

type FormRequest = InputRequests[string];

/** Returns the form in which a client's person answers a question of a server; `problem` explains why the previous answer did not fit. */
export function questionForm(
  { message }: Question,
  form: QuestionForm,
  problem: string | null,
): FormRequest {
  return inputRequired.elicit({
    message: problem === null ? message : `${problem} ${message}`,
    requestedSchema: {
      type: "object",
      properties: propertiesOf(form.fields),
      required: form.required,
    },
  });
}

/** Returns the fields in the protocol's form: a multiple choice states that its items are strings. */
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

/**
 * Sends the client's answer to the server. Returns null when the question has ended, by this answer or another; else one
 * sentence about why the answer does not fit. Without an answer the question is cancelled.
 */
export async function answerServer(
  requester: Requester,
  id: string,
  { responses, key }: { readonly responses: Record<string, unknown>; readonly key: string },
): Promise<string | null> {
  const answer = inputResponse(responses, key);
  const action = answer.kind === "elicit" ? answer.action : "cancel";
  const content = AnswerContent.safeParse(answer.kind === "elicit" ? (answer.content ?? {}) : {});
  if (action === "accept" && !content.success)
    return "The answer does not fit: a field has a value that no form can have.";
  const given = action === "accept" && content.success ? { content: content.data } : {};
  try {
    await requester.ask(answerQuestion, { id, action, ...given });
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === "invalid_content") return `${error.message}.`;
    // The call itself returns the outcome.
    if (error.code === "already_ended" || error.code === "unknown_question") return null;
    throw error;
  }
}
