import { z } from "zod";
import { invalid } from "./openai-errors.ts";

const Part = z.looseObject({ type: z.string(), text: z.string().optional() });
const Content = z.union([z.string(), z.array(Part)]).nullish();
export const ChatMessage = z.looseObject({ role: z.string(), content: Content });
export type ChatMessage = z.infer<typeof ChatMessage>;

/** What one message says. Throws a Problem for pictures, sounds and files, which agents do not take. */
export function textOf({ content }: { readonly content?: z.infer<typeof Content> }): string {
  if (typeof content === "string") return content;
  return (content ?? [])
    .map(({ type, text }) => {
      if (text === undefined || !TEXTS.has(type))
        throw invalid("messages", `a part of the type ${type} is not taken here: send text`);
      return text;
    })
    .join("\n");
}

const TEXTS = new Set(["text", "input_text", "output_text"]);

/** The last message where a session has what was said before; else the whole conversation, one message alone as it is. */
export function inputOf(messages: readonly ChatMessage[], hasSession: boolean): string {
  const said = messages
    .map((message) => ({ role: message.role, text: textOf(message) }))
    .filter(({ text }) => text !== "");
  const last = said.at(-1);
  if (last === undefined) throw invalid("messages", "there is no message with text");
  const isAlone = said.length === 1;
  if (hasSession || isAlone) return last.text;
  const before = said.slice(0, -1).map(({ role, text }) => `${role}: ${text}`);
  return `What was said before:\n\n${before.join("\n\n")}\n\nNow ${last.role} says:\n\n${last.text}`;
}
