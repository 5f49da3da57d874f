import { z } from "zod";
import { rpc } from "../define.ts";
import { ModelName } from "../ids.ts";

/** A provider through which runners reach models. The list of its models is the provider's own. */
export const ModelProvider = z.object({
  /** The part of a model's name before the first slash. */
  name: z.string(),
  /** `anthropic`, `openai`, `google`, `openai-compatible`, or `scripted`, which is not AI. */
  type: z.string(),
  /** False when it needs a key that the runner does not have. */
  hasKey: z.boolean(),
  /** The environment variable of the runner that holds the key; missing for a key in a file, for none, and from an older runner. */
  keyVariable: z.string().optional(),
});
export type ModelProvider = z.infer<typeof ModelProvider>;

/** A model name is resolved when a run starts; this is the information that exists before. */
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
