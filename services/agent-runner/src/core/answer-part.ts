import { MessageFiles } from "@switchyard/contracts/agent-runner/content-parts";
import { Digest, ModelName, SkillName } from "@switchyard/contracts/ids";
import { z } from "zod";

/** `runId:step:index`, minted once with the model's answer; providers identify the call by it permanently. */
export const CallId = z.string();

export const SkillRef = z.object({ name: SkillName, digest: Digest });

export type SkillRef = z.infer<typeof SkillRef>;

const ProviderOptions = z.record(z.string(), z.record(z.string(), z.unknown()));

/** A part of a model's answer. Provider options carry signatures that the provider wants back. */
export const AnswerPart = z.discriminatedUnion("type", [
  z.object({
    type: z.enum(["text", "reasoning"]),
    text: z.string(),
    providerOptions: ProviderOptions.optional(),
  }),
  z.object({
    type: z.literal("tool-call"),
    callId: CallId,
    /** The id by which the conversation joins call and result. */
    toolCallId: z.string(),
    /** The name that the model wrote, also where it wrote it as an argument of \`via\`. */
    tool: z.string(),
    input: z.unknown(),
    /** The tool through which the model called this one; missing: none. */
    via: z.literal("call_tool").optional(),
    providerOptions: ProviderOptions.optional(),
  }),
]);

export type AnswerPart = z.infer<typeof AnswerPart>;

export type ToolCallPart = Extract<AnswerPart, { type: "tool-call" }>;

/** Tools accept objects; any other input from a model is not a call. */
export function isArguments(input: unknown): input is Record<string, unknown> {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}

export const FinishReason = z.enum([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "other",
]);

export type FinishReason = z.infer<typeof FinishReason>;

/** A step of another run: its answer and the results of its calls. */
export const CopiedTurn = z.object({
  content: z.array(AnswerPart),
  finishReason: FinishReason,
  /** The model that answered; missing in older journals. */
  model: ModelName.optional(),
  results: z.array(
    z.object({
      callId: CallId,
      text: z.string(),
      isError: z.boolean(),
      /** Missing: false. */
      isOfChild: z.boolean().optional(),
      files: MessageFiles.optional(),
    }),
  ),
});

export type CopiedTurn = z.infer<typeof CopiedTurn>;
