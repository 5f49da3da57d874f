import { z } from "zod";

/** A NATS user: the `{caller}` of a subject. */
export const CallerName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,31}$/,
    "must be 1-32 characters of a-z 0-9 -, starting with a letter or digit",
  );

/**
 * A run: `{owner}~{name}`. The owner is the NATS user that the run works for, so two owners may use the same name. An owner may leave its
 * own part out of its runs' ids.
 */
export const RunId = z
  .string()
  .regex(
    /^(?:[a-z0-9][a-z0-9-]{0,31}~)?[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/,
    "must be 1-64 characters of A-Z a-z 0-9 _ -, or that behind its owner: owner~name",
  );

/** The whole id of the run that `caller` calls `runId`: its own run, unless an owner is named. */
export function fullRunId(caller: string, runId: string): string {
  return runId.includes("~") ? runId : `${caller}~${runId}`;
}

/** The owner in a run's id; null for an id in which its owner left that part out. */
export function ownerOfRun(runId: string): string | null {
  const end = runId.indexOf("~");
  return end < 0 ? null : runId.slice(0, end);
}

/** The tokens of a run in the subjects of its events. Throws for a run without an owner when none is given. */
export function runTokens(
  runId: string,
  owner: string | null = ownerOfRun(runId),
): { readonly owner: string; readonly runId: string } {
  if (owner === null) throw new TypeError(`run ${runId} has no owner in its id`);
  return { owner, runId: runId.slice(runId.indexOf("~") + 1) };
}

/** An agent definition. The pattern is the seed's rule for directory names, which keeps paths out. */
export const AgentName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, "must be 1-64 characters of A-Z a-z 0-9 _ -");

/** A skill, by its slug. */
export const SkillName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, "must be 1-64 characters of A-Z a-z 0-9 _ -");

/** An MCP server. No underscore is allowed, so `mcp__{server}__{tool}` has exactly one reading. */
export const ServerId = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,23}$/,
    "must be 1-24 characters of a-z 0-9 -, starting with a letter or digit",
  );

/** The id for a server's name that is not a valid id: `Brave Search` is `brave-search`. Null when nothing is left of it. */
export function serverIdOf(name: string): string | null {
  if (ServerId.safeParse(name).success) return name;
  const id = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, 24)
    .replace(/-$/, "");
  return id === "" ? null : id;
}

/** A tool as a model sees it: what every provider accepts. */
export const ToolName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1-64 characters of a-z A-Z 0-9 _ -");

/** A model as `provider/model`; only the first slash separates. */
export const ModelName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}\/\S{1,128}$/, "must look like provider/model");

/** `sha256:` and 64 hexadecimal digits. */
export const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

export const Timestamp = z.iso.datetime();
