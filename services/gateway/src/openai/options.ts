import { checkCounted } from "@switchyard/bus/bounded-json";
import { cutText } from "@switchyard/contracts/cut-text";
import type { StartRun } from "@switchyard/contracts/agent-runner/runs";
import { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import { z } from "zod";
import { Problem } from "../problems/problem.ts";
import type { Body } from "../routes/read-body.ts";
import { invalid } from "./openai-errors.ts";

/*
 * The options of both endpoints. Each option of the API is honoured, or it is refused with an error that names it: an option that had no effect would look like
 * an agent that ignores it. What an option may be is in the endpoints' schemas; docs/reference/openai-options.md has the same as a table.
 */

/** The settings of a run besides its input. */
export type RunSettings = Pick<StartRun, "sampling" | "thinking" | "limits">;

/** An option whose only accepted values describe an agent's own behaviour. */
export function only(values: readonly (string | number | boolean)[], why: string) {
  return z.literal([...values], { error: why }).nullish();
}

/** An option that is refused, unless it is empty. */
export function refused(why: string) {
  return z
    .unknown()
    .refine((value) => isEmpty(value), { error: why })
    .optional();
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object") return value === undefined;
  return value === null || Object.keys(value).length === 0;
}

const OWN_TOOLS = "an agent has its own tools: leave it out";
const HINT = z.string().max(1_000).nullish();
const number = (least: number, most: number) => z.number().min(least).max(most).nullish();

/** A text for the labels of the run. */
const Label = z.string().max(256).nullish();
const MOST_METADATA = 16;

/** Options that both endpoints have under the same name. */
export const sharedOptions = {
  model: z.string().min(1),
  stream: z.boolean().nullish(),
  metadata: z
    .record(
      z.string().min(1).max(64),
      z.union([z.string().max(256), z.number(), z.boolean()], {
        error: "must be a text of at most 256 characters",
      }),
    )
    .refine((metadata) => Object.keys(metadata).length <= MOST_METADATA, {
      error: `must have at most ${MOST_METADATA} entries`,
    })
    .nullish(),
  user: Label,
  safety_identifier: Label,
  temperature: number(0, 2),
  top_p: number(0, 1),
  tools: refused("an agent has its own tools: leave out tools, or use POST /mcp"),
  tool_choice: only(["auto"], OWN_TOOLS),
  parallel_tool_calls: only(
    [true],
    "an agent's calls run in parallel where its model asks for it: leave it out",
  ),
  service_tier: only(["auto", "default"], "there are no service tiers: leave it out"),
  prompt_cache_key: HINT,
  prompt_cache_retention: HINT,
  prompt_cache_options: refused("an agent's prompt is cached as its provider does: leave it out"),
  moderation: refused("answers are not moderated here: leave it out"),
  top_logprobs: only([0], "answers have no logprobs: leave it out"),
} as const;

/** https://platform.openai.com/docs/guides/reasoning */
export const Effort = ThinkingLevel.nullish();

/** Returns the checked request. Throws a Problem (400) that names the first option which is not accepted. */
export function readOptions<S extends z.ZodObject>(schema: S, body: Body): z.output<S> {
  const parsed = checkCounted(schema, body.value, body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue?.code !== "unrecognized_keys") throw invalidOption(issue);
  const param = [...issue.path, cutText(issue.keys[0] ?? "", 100)].join(".");
  const detail = `${param} is not an option here; docs/reference/openai-options.md lists those that are`;
  throw new Problem({ status: 400, code: "unknown_parameter", detail, data: { param } });
}

function invalidOption(issue: z.core.$ZodIssue | undefined): Problem {
  const param = issue?.path.join(".") || "body";
  return invalid(param, `${param}: ${issue?.message ?? "is not valid"}`);
}

type Settings = Partial<Record<keyof NonNullable<RunSettings["sampling"]>, unknown>>;

/** Returns the settings that a client chose; undefined when it chose none. */
export function samplingOf(settings: Settings): RunSettings["sampling"] {
  const chosen = Object.entries(settings).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  // The values were checked by the schemas of the endpoints.
  return chosen.length === 0 ? undefined : (Object.fromEntries(chosen) as RunSettings["sampling"]);
}

const USER = "openai-user";
const SAFETY = "openai-safety-identifier";
const STORE = "openai-store";

/** Marks the run of a response that its client did not want to be stored. */
export const UNSTORED = { [STORE]: "false" };

/** Returns the client's metadata and end user as labels of the run. */
export function labelsOf({
  metadata,
  user,
  safety_identifier: safety,
}: {
  readonly metadata?: Readonly<Record<string, string | number | boolean>> | null | undefined;
  readonly user?: string | null | undefined;
  readonly safety_identifier?: string | null | undefined;
}): Record<string, string> {
  return {
    ...Object.fromEntries(
      Object.entries(metadata ?? {}).map(([name, value]) => [name, String(value)]),
    ),
    ...(typeof user === "string" && { [USER]: user }),
    ...(typeof safety === "string" && { [SAFETY]: safety }),
  };
}

/** Returns the client's own metadata from the labels of a run. */
export function metadataIn(labels: Readonly<Record<string, string>>): Record<string, string> {
  const { [USER]: _user, [SAFETY]: _safety, [STORE]: _store, via: _via, ...metadata } = labels;
  return metadata;
}

/** True for a run with the mark {@link UNSTORED}: it has no response that could be read. */
export function isUnstored(labels: Readonly<Record<string, string>>): boolean {
  return labels[STORE] === "false";
}
