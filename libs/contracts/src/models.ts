import { z } from "zod";
import { rpc } from "./define.ts";
import { ModelName } from "./ids.ts";

/** A provider that runners can reach models of. What models it has, only the provider knows. */
export const ModelProvider = z.object({
  /** The part of a model's name before the first slash. */
  name: z.string(),
  /** `anthropic`, `openai`, `google`, `openai-compatible`, or `scripted`, which is not AI. */
  type: z.string(),
  /** False when it needs a key that the runner does not have. */
  hasKey: z.boolean(),
});
export type ModelProvider = z.infer<typeof ModelProvider>;

/** Whether a model name can be used is decided when a run starts; this is what can be known before. */
export const listModels = rpc({
  subject: "yard.rpc.{caller}.models.list",
  summary: "Lists the configured model providers and the default model.",
  role: "viewer",
  request: z.strictObject({}),
  reply: z.object({
    /** The model of agents that name none. */
    default: ModelName,
    providers: z.array(ModelProvider),
  }),
});
