import { answerInChat, type ChatQuestion } from "@switchyard/contracts/policy/chat-questions";
import { cutForReader } from "@switchyard/contracts/cut-text";
import type { QuestionField } from "@switchyard/contracts/mcp-broker/mcp-questions";
import type { RunQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import { z } from "zod";
import { oneLine } from "./one-line.ts";

/** An answer in the form that the policy service takes. */
export const QuestionReply = answerInChat.request.pick({
  answer: true,
  action: true,
  content: true,
});
export type QuestionReply = z.infer<typeof QuestionReply>;

/** States how the text of a person becomes an answer: as it is, as a number, or as the only field of a server's form. */
export const TextForm = z.object({
  type: z.enum(["text", "number"]),
  /** The field of a server's form; null for a run. */
  field: z.string().nullable(),
});
export type TextForm = z.infer<typeof TextForm>;

/** The ways to answer a question in a chat. With neither choices nor text it is answered elsewhere. */
export interface QuestionForm {
  readonly choices: readonly { readonly label: string; readonly reply: QuestionReply }[];
  readonly textAs: TextForm | null;
  /** The whole texts of choices whose buttons show their beginning. */
  readonly list: readonly string[];
}

/** Providers allow 25 buttons, and labels of 75 characters at least. */
const MAX_BUTTONS = 20;
const MAX_LABEL = 40;
const DECLINE = { label: "Decline", reply: { action: "decline" } } as const;

/** Returns how a question can be answered in a chat. */
export function questionForm({ run, server }: Pick<ChatQuestion, "run" | "server">): QuestionForm {
  if (run !== undefined) return formOfRun(run);
  if (server === undefined) return elsewhere;
  if (server.form === null)
    return { ...elsewhere, choices: [{ label: "Done", reply: { action: "accept" } }, DECLINE] };
  const fields = Object.entries(server.form.fields);
  const [first] = fields;
  if (first === undefined) {
    const accept = { label: "Accept", reply: { action: "accept", content: {} } } as const;
    return { ...elsewhere, choices: [accept, DECLINE] };
  }
  const { choices, textAs, list } = fields.length === 1 ? formOfField(...first) : elsewhere;
  return { choices: [...choices, DECLINE], textAs, list };
}

/** Returns the answer that a text is; null when no text is one, or this one is no number. */
export function replyOfText(text: string, textAs: TextForm | null): QuestionReply | null {
  const given = text.trim();
  if (textAs === null || given === "") return null;
  const value = textAs.type === "number" ? Number(given) : given;
  if (typeof value === "number" && !Number.isFinite(value)) return null;
  if (textAs.field === null) return { answer: value };
  return { action: "accept", content: { [textAs.field]: value } };
}

const elsewhere: QuestionForm = { choices: [], textAs: null, list: [] };

function formOfRun({ options, schema }: RunQuestion): QuestionForm {
  const text: TextForm = { type: "text", field: null };
  if (schema === undefined)
    return {
      ...chosen(options.map((value) => ({ text: value, reply: { answer: value } }))),
      textAs: text,
    };
  const values = schema["enum"];
  if (Array.isArray(values) && values.every(isScalar))
    return chosen(values.map((value) => ({ text: String(value), reply: { answer: value } })));
  if (schema["type"] === "boolean") return chosen(yesOrNo((answer) => ({ answer })));
  if (schema["type"] === "string") return { ...elsewhere, textAs: text };
  if (schema["type"] === "number" || schema["type"] === "integer")
    return { ...elsewhere, textAs: { type: "number", field: null } };
  return elsewhere;
}

function formOfField(name: string, field: QuestionField): QuestionForm {
  const accept = (value: string | number | boolean): QuestionReply => ({
    action: "accept",
    content: { [name]: value },
  });
  if ("oneOf" in field)
    return chosen(
      field.oneOf.map(({ const: value, title }) => ({
        text: title ?? value,
        reply: accept(value),
      })),
    );
  if ("enum" in field)
    return chosen(
      field.enum.map((value, at) => ({
        text: field.enumNames?.[at] ?? value,
        reply: accept(value),
      })),
    );
  switch (field.type) {
    case "boolean":
      return chosen(yesOrNo(accept));
    case "string":
      return { ...elsewhere, textAs: { type: "text", field: name } };
    case "number":
    case "integer":
      return { ...elsewhere, textAs: { type: "number", field: name } };
    default:
      return elsewhere;
  }
}

interface Option {
  readonly text: string;
  readonly reply: QuestionReply;
}

/** Options are buttons where there are few enough of them. */
function chosen(options: readonly Option[]): QuestionForm {
  if (options.length > MAX_BUTTONS) return elsewhere;
  const texts = options.map(({ text }) => oneLine(text));
  const isLong = texts.some((text) => text.length > MAX_LABEL);
  const labels = texts.map((text, at) =>
    cutForReader(isLong ? `${at + 1}. ${text}` : text, MAX_LABEL),
  );
  return {
    choices: options.map(({ reply }, at) => ({ label: labels[at] ?? "", reply })),
    textAs: null,
    list: isLong ? texts.map((text, at) => `${at + 1}. ${text}`) : [],
  };
}

function yesOrNo(replyOf: (value: boolean) => QuestionReply): Option[] {
  return [
    { text: "Yes", reply: replyOf(true) },
    { text: "No", reply: replyOf(false) },
  ];
}

function isScalar(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}
