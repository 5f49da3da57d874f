import {
  CompletionPart,
  MAX_COMPLETION_TOKENS,
  type completeModel,
} from "@switchyard/contracts/agent-runner/model-completion";
import { z } from "zod";

/** A sampling that a server requests, and the arguments for the policy. */
export interface SamplingRequest {
  readonly completion: z.input<typeof completeModel.request>;
  /** The messages are not among them: a rule looks at numbers and names, and a decision is logged. */
  readonly policyArgs: { readonly maxTokens: number; readonly models: readonly string[] };
}

const Block = z.looseObject({ type: z.string() });

const Params = z.looseObject({
  messages: z
    .array(
      z.looseObject({
        role: z.enum(["user", "assistant"]),
        content: z.union([Block, z.array(Block)]),
      }),
    )
    .min(1)
    .max(200),
  maxTokens: z.int().min(1),
  systemPrompt: z.string().optional(),
  temperature: z.number().min(0).max(2).optional(),
  stopSequences: z.array(z.string().min(1).max(200)).max(16).optional(),
  modelPreferences: z
    .looseObject({
      hints: z
        .array(z.looseObject({ name: z.string().max(200).optional() }))
        .max(16)
        .optional(),
    })
    .optional(),
  tools: z
    .undefined({ error: "has tools, which this client does not offer in sampling" })
    .optional(),
});

/**
 * Reads the parameters of `sampling/createMessage`. More tokens than the limit are not refused but
 * cut: the server sees it in the stop reason. `includeContext` is ignored, as the protocol allows.
 */
export function readSampling(
  params: Readonly<Record<string, unknown>>,
  maxTokens: number,
): SamplingRequest | { problem: string } {
  const parsed = Params.safeParse(params);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { problem: `${issue?.path.join(".") ?? ""} ${issue?.message ?? "is not valid"}`.trim() };
  }
  const {
    messages,
    systemPrompt = null,
    temperature = null,
    stopSequences = [],
    modelPreferences,
  } = parsed.data;
  const read = messages.map(({ role, content }) => ({
    role,
    content: [content].flat().map(partOf),
  }));
  const foreign = read.flatMap(({ content }) => content).find((part) => part === null);
  if (foreign === null)
    return { problem: "a message has content that is not text, image or audio" };
  const hints = (modelPreferences?.hints ?? []).flatMap(({ name }) => name ?? []);
  const tokens = Math.min(parsed.data.maxTokens, maxTokens, MAX_COMPLETION_TOKENS);
  return {
    completion: {
      hints,
      system: systemPrompt,
      messages: read.map(({ role, content }) => ({
        role,
        content: content.filter((part) => part !== null),
      })),
      maxTokens: tokens,
      temperature,
      stopSequences,
    },
    policyArgs: { maxTokens: tokens, models: hints },
  };
}

function partOf(block: Readonly<Record<string, unknown>>): CompletionPart | null {
  const { type, text, data, mimeType } = block;
  const part = type === "text" ? { type, text } : { type, data, mimeType };
  return CompletionPart.safeParse(part).data ?? null;
}
