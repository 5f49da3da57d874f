import type { ModelMessage } from "ai";
import type { OfferedTool } from "../core/tool-catalogue.ts";

/** About how many tokens a request has: a quarter of its characters. */
export function tokensOf({
  instructions,
  messages,
  tools,
}: {
  readonly instructions: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly OfferedTool[];
}): number {
  return tokensOfChars(
    instructions.length + JSON.stringify(messages).length + JSON.stringify(tools).length,
  );
}

export function tokensOfChars(chars: number): number {
  return Math.ceil(chars / 4);
}
