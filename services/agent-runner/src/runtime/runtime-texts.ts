import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { HostResults, KnownResult } from "../runtime-host/host-protocol.ts";

type ToolMessage = Extract<LanguageModelV4Prompt[number], { role: "tool" }>;
type ToolResult = Extract<ToolMessage["content"][number], { type: "tool-result" }>;

/** Returns the whole conversation, for a CLI that has none of it. */
export function firstText(prompt: LanguageModelV4Prompt): string {
  const system = prompt.flatMap((message) => (message.role === "system" ? [message.content] : []));
  const said = prompt.filter(({ role }) => role !== "system");
  const instructions =
    system.length === 0 ? "" : `<instructions>\n${system.join("\n\n")}\n</instructions>\n\n`;
  const [only, ...more] = said;
  if (only?.role === "user" && more.length === 0) return `${instructions}${textOf(only)}`;
  const transcript = said.map(
    (message) => `<${message.role}>\n${textOf(message)}\n</${message.role}>`,
  );
  return `${instructions}This is the conversation so far. Its tool calls are done; continue from its end.\n\n${transcript.join("\n\n")}`;
}

/** Returns the messages after the last answer, for a CLI that still has its session and was interrupted in it. */
export function resumeText(prompt: LanguageModelV4Prompt): string {
  const last = prompt.findLastIndex(({ role }) => role === "assistant");
  const since = last === -1 ? [] : prompt.slice(last + 1).map(textOf);
  const news =
    since.length === 0
      ? ""
      : ` This has come since your last answer or call:\n\n${since.join("\n\n")}\n\n`;
  return `You were interrupted. The earlier instructions still hold.${news} Continue the task. Do not repeat calls whose result you have.`;
}

/** The calls of the last answer with their results. */
export function knownResults(prompt: LanguageModelV4Prompt): KnownResult[] {
  const last = prompt.findLast((message) => message.role === "assistant");
  if (last === undefined) return [];
  const results = resultsOf(prompt);
  return last.content.flatMap((part) => {
    if (part.type !== "tool-call") return [];
    const found = results.find(({ id }) => id === part.toolCallId);
    return found === undefined ? [] : [{ tool: part.toolName, input: part.input, ...found }];
  });
}

/** Returns the results of the calls in a prompt. */
export function resultsOf(prompt: LanguageModelV4Prompt): HostResults["results"][number][] {
  return prompt.flatMap((message) => {
    if (message.role !== "tool") return [];
    return message.content.flatMap((part) =>
      part.type === "tool-result" ? [{ id: part.toolCallId, ...outputOf(part) }] : [],
    );
  });
}

/** Returns the messages after the last results, such as a message of a person; empty when there are none. */
export function saidSince(prompt: LanguageModelV4Prompt): string {
  const last = prompt.findLastIndex(({ role }) => role === "tool" || role === "assistant");
  return prompt
    .slice(last + 1)
    .map(textOf)
    .join("\n\n");
}

function textOf(message: LanguageModelV4Prompt[number]): string {
  if (message.role === "system") return message.content;
  return message.content
    .map((part) => {
      switch (part.type) {
        case "text":
          return part.text;
        case "tool-call":
          return `(calls ${part.toolName} with ${JSON.stringify(part.input)})`;
        case "tool-result": {
          const { text, isError } = outputOf(part);
          return `(${part.toolName} ${isError ? "failed" : "gave"}: ${text})`;
        }
        default:
          return ""; // reasoning is not repeated
      }
    })
    .filter((text) => text !== "")
    .join("\n");
}

function outputOf({ output }: ToolResult): { readonly text: string; readonly isError: boolean } {
  switch (output.type) {
    case "text":
      return { text: output.value, isError: false };
    case "error-text":
      return { text: output.value, isError: true };
    default: // the runner writes no other
      return { text: JSON.stringify(output), isError: output.type === "error-json" };
  }
}
