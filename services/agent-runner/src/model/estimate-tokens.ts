import type { ModelRequest } from "./model-call.ts";

/** About how many tokens a request has: a quarter of its characters. */
export function tokensOf({
  instructions,
  messages,
  tools,
}: Pick<ModelRequest, "instructions" | "messages" | "tools">): number {
  return tokensOfChars(
    instructions.length + JSON.stringify(messages).length + JSON.stringify(tools).length,
  );
}

export function tokensOfChars(chars: number): number {
  return Math.ceil(chars / 4);
}
