import { z } from "zod";
import { Address, ProviderId } from "../channels/channel-address.ts";
import { CallerName, ModelName, RunId } from "../ids.ts";

const OriginName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.:@#+-]{0,127}$/,
    "must be 1-128 characters of A-Z a-z 0-9 _ . : @ # + -",
  );

/** A run below this depth gets no token. */
export const MAX_RUN_DEPTH = 16;

/** The chat that a run answers: tools that send messages act in it when a call names no other one. */
export const RunChat = z.strictObject({
  address: Address,
  /** The message that the run answers. */
  messageId: ProviderId.optional(),
  /** The name is the sender's own text. */
  sender: z.strictObject({ id: ProviderId, name: z.string().max(128).optional() }).optional(),
});
export type RunChat = z.infer<typeof RunChat>;

/** The origin of a run, as the service that starts it reports it: never from a model or a payload. */
export const RunOrigin = z.strictObject({
  /** The channel of the conversation: `slack`, or with its account or room `slack:eng-general`. */
  channel: OriginName.optional(),
  /** The group conversation in the channel. */
  group: OriginName.optional(),
  /** The chat itself, by the provider's own ids. */
  chat: RunChat.optional(),
  /** True when the sender owns this installation; absent when that is not established. */
  owner: z.boolean().optional(),
  /** The conversation that the run belongs to: everything stored for a session is stored for this one. A sub-agent's is its parent's. */
  session: OriginName.optional(),
  /** The model that the run uses. */
  model: ModelName.optional(),
  /** True for a run that plays a recording, and for runs that it starts. */
  replayed: z.literal(true).optional(),
  /** The author of the model's answers: the sender of a recording, or of the agent whose plan is played. */
  dictatedBy: CallerName.optional(),
  /** The number of runs above it; absent for a run that no other run started. */
  depth: z.int().min(1).max(MAX_RUN_DEPTH).optional(),
});
export type RunOrigin = z.infer<typeof RunOrigin>;

/** The origin that the service behind a message can claim; trusted only from the users that the policy names (`origins`). */
export const SaidOrigin = RunOrigin.pick({
  channel: true,
  group: true,
  chat: true,
  owner: true,
});
export type SaidOrigin = z.infer<typeof SaidOrigin>;

/** The facts about a run in a run token and a decision, beside its agent. */
export const RunContext = RunOrigin.extend({
  /** The run that started this one. */
  parent: RunId.optional(),
  /** The runs between the parent and the root, the nearest first; absent where there are none. */
  between: z.array(RunId).max(MAX_RUN_DEPTH).optional(),
  /** The run that no other run started, from which all of this family come. */
  root: RunId.optional(),
  /** True when the run has the memory that its agent shares, because its file requests it and the policy allows it. */
  sharesMemory: z.literal(true).optional(),
});
export type RunContext = z.infer<typeof RunContext>;

/** The runs that a run works for, the nearest first. */
export function runsAbove({ parent, between = [], root }: RunContext): string[] {
  const above = [parent, ...between, root].filter((runId) => runId !== undefined);
  return [...new Set(above)];
}
