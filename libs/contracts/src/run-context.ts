import { z } from "zod";
import { CallerName, ModelName, RunId } from "./ids.ts";

const OriginName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.:@#+-]{0,127}$/,
    "must be 1-128 characters of A-Z a-z 0-9 _ . : @ # + -",
  );

/** Deeper families of runs are refused a token. */
export const MAX_RUN_DEPTH = 16;

/** Where a run comes from, as the service that starts it knows it: never from a model or a payload. */
export const RunOrigin = z.strictObject({
  /** Where the conversation takes place: `slack`, or with its account or room `slack:eng-general`. */
  channel: OriginName.optional(),
  /** The group conversation in the channel. */
  group: OriginName.optional(),
  /** Whether who speaks owns this installation; absent when nobody has said. */
  owner: z.boolean().optional(),
  /** The conversation that the run belongs to: what is kept for a session is kept for this one. A sub-agent's is its parent's. */
  session: OriginName.optional(),
  /** What the run thinks with. */
  model: ModelName.optional(),
  /** True for a run that plays a recording, and for runs that it starts. */
  replayed: z.literal(true).optional(),
  /** Who wrote what the run's model says: the sender of a recording, or of the agent whose plan is played. */
  dictatedBy: CallerName.optional(),
});
export type RunOrigin = z.infer<typeof RunOrigin>;

/** What whoever brings a message can say of it; believed only of the users that the policy names (`origins`). */
export const SaidOrigin = RunOrigin.pick({ channel: true, group: true, owner: true });
export type SaidOrigin = z.infer<typeof SaidOrigin>;

/** What a run token and a decision know of a run beside its agent. */
export const RunContext = RunOrigin.extend({
  /** The run that started this one. */
  parent: RunId.optional(),
  /** The runs between the parent and the root, the nearest first; absent where there are none. */
  between: z.array(RunId).max(MAX_RUN_DEPTH).optional(),
  /** The run that nobody's run has started, and that all of this family come from. */
  root: RunId.optional(),
  /** True when the run has the memory that its agent shares, because its file says so and the policy allows it. */
  sharesMemory: z.literal(true).optional(),
  /** How many runs stand above it; absent for a run that nobody's run has started. */
  depth: z.int().min(1).max(MAX_RUN_DEPTH).optional(),
});
export type RunContext = z.infer<typeof RunContext>;

/** The runs that a run works for, the nearest first. */
export function runsAbove({ parent, between = [], root }: RunContext): string[] {
  const above = [parent, ...between, root].filter((runId) => runId !== undefined);
  return [...new Set(above)];
}
