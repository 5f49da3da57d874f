import { failuresOf, type ServiceError } from "@switchyard/contracts/errors";
import { featureErrors } from "@switchyard/contracts/mcp-features";
import type { Question } from "@switchyard/contracts/mcp-questions";

/** Calls and the other requests declare it alike. */
const fail = failuresOf({ question_pending: featureErrors.question_pending });

/** The server did not begin: it wants a person to open an address first. There is a question at least. */
export function questionPending(server: string, questions: readonly Question[]): ServiceError {
  const [first] = questions;
  const questionIds = questions.map(({ id }) => id);
  return fail.question_pending(
    `MCP server ${server} did nothing: a person has to open an address first. Answer question ${questionIds.join(", ")} (mcp.answer), then send the same again.`,
    { server, questionIds, expiresAt: first?.expiresAt ?? null },
  );
}
