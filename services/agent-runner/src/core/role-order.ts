import type { ModelMessage, UserContent } from "ai";

/** The answer between results of tools and a message of a user, for providers that require one. */
const BETWEEN = "(continued)";

/**
 * Returns the messages in the order that strict chat templates require: an answer follows the results of tools, and the roles of users and
 * assistants alternate. Mistral refuses with "Unexpected role 'user' after role 'tool'" (https://github.com/zed-industries/zed/issues/37021), templates
 * of its models in vLLM with "roles must alternate user/assistant".
 */
export function inRoleOrder(messages: readonly ModelMessage[]): ModelMessage[] {
  const ordered: ModelMessage[] = [];
  for (const message of messages) {
    const last = ordered.at(-1);
    if (last?.role === "user" && message.role === "user")
      ordered[ordered.length - 1] = { ...last, content: joined(last.content, message.content) };
    else if (last?.role === "tool" && message.role === "user")
      ordered.push({ role: "assistant", content: BETWEEN }, message);
    else ordered.push(message);
  }
  return ordered;
}

function joined(first: UserContent, second: UserContent): UserContent {
  if (typeof first === "string" && typeof second === "string") return `${first}\n\n${second}`;
  return [...partsOf(first), ...partsOf(second)];
}

function partsOf(content: UserContent): Exclude<UserContent, string> {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
