/** Builds the system prompt: the agent's own, then its preloaded skills, the list of the others and rules. */
export function systemPrompt(parts: readonly string[]): string {
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n\n");
}
