import { ServiceError } from "@switchyard/contracts/errors";
import {
  AnswerContent,
  answerQuestion,
  type Question,
  type QuestionForm,
} from "@switchyard/contracts/mcp-questions";
import { inputRequired, inputResponse, type InputRequests } from "@modelcontextprotocol/server";
import type { Requester } from "../identity/requester.ts";

type FormRequest = InputRequests[string];

/** The form in which a client's person answers a question of a server; `problem` says why the answer before did not fit. */
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

/**
 * Gives the client's answer to the server. Null when the question has ended, by this answer or another; else one sentence about why
 * the answer does not fit. Without an answer the question is cancelled.
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
    // The call itself says what became of it.
    if (error.code === "already_ended" || error.code === "unknown_question") return null;
    throw error;
  }
}

/** For a client that cannot ask its person: what the server asks, and where it is answered. */
export function howToAnswer({ id, server, message, url, expiresAt }: Question): string {
  const address = url === null ? "" : ` It wants a person to open ${url}.`;
  return `MCP server ${server} asks: ${JSON.stringify(message)}.${address} Somebody who may answer for you does it until ${expiresAt} with: yard mcp answer ${id}, or POST /api/v1/mcp/questions/${id}/answer. Then make the same call again for its result.`;
}
