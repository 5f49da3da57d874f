import { cutText } from "@switchyard/contracts/cut-text";
import { ModelName } from "@switchyard/contracts/ids";
import { BusyPolicy } from "@switchyard/contracts/agent-runner/session-key";
import { z } from "zod";
import { ToolError } from "../tool-error.ts";
import type { ConfigChange } from "./config-changes.ts";
import type { Json } from "./config-value.ts";

interface Rule {
  /** `*` is any name. */
  readonly path: readonly string[];
  readonly schema: z.ZodType;
  readonly about: string;
  /** The number of leading path segments that must exist already. */
  readonly existing: number;
  readonly required?: boolean;
}

const Prompt = z.string().max(100_000);

/** Everything that agents can change; all other values are protected [F32] [F33]. The operator may leave some of it out. */
const RULES: readonly Rule[] = [
  rule("models.default", ModelName, "the model of agents that name none", 1),
  rule("models.sampling", z.array(ModelName).max(32), "models for MCP servers that sample", 1),
  rule("models.models.*.fallbacks", z.array(ModelName).max(8), "models to ask in its place", 1),
  rule("channels.accounts.*.*.groups.requireMention", z.boolean(), "groups: only if named", 4),
  rule("channels.accounts.*.*.reply", z.enum(["off", "on"]), "quotes what it answers", 4),
  rule("channels.accounts.*.*.onBusy", BusyPolicy, "for messages during a run", 4),
  { ...rule("triggers.*.enabled", z.boolean(), "off: it begins no run", 2) },
  rule("agents.*.model", ModelName, "the agent's model; null: the default", 2),
  { ...rule("agents.*.system_prompt", Prompt, "the agent's prompt", 2), required: true },
];

/** The paths that an operator can let agents change. */
export const WRITABLE_PATHS: readonly string[] = RULES.map(({ path }) => path.join("."));

// oxlint-disable-next-line max-params -- a row of a table
function rule(path: string, schema: z.ZodType, about: string, existing: number): Rule {
  return { path: path.split("."), schema, about, existing };
}

/** Values that open an account to everyone, or remove a sandbox. */
const DANGEROUS: readonly (readonly [string, (value: Json | undefined) => boolean])[] = [
  ["channels.accounts.*.*.direct.policy", (value) => value === "open"],
  ["channels.accounts.*.*.groups.policy", (value) => value === "open"],
  ["channels.accounts.*.*.callers", (value) => Array.isArray(value) && value.includes("*")],
  ["models.providers.*.sandbox", (value) => value === "off"],
];

/** Throws a ToolError for a change that is not for agents, or not valid. Values are not repeated. */
export function checkChanges(
  changes: readonly ConfigChange[],
  {
    action,
    config,
    writable,
  }: {
    readonly action: "patch" | "apply";
    readonly config: Json;
    /** The paths that the operator lets agents change. */
    readonly writable: readonly string[];
  },
): void {
  const dangerous = changes.filter(({ path, value }) =>
    DANGEROUS.some(([pattern, opens]) => fits(pattern.split("."), path) && opens(value)),
  );
  if (dangerous.length > 0)
    throw new ToolError(
      `gateway config.${action} cannot enable dangerous config flags: ${named(dangerous)}`,
    );
  const unruled = changes.filter(({ path }) => {
    const found = ruleOf(path);
    return found === undefined || !writable.includes(found.path.join("."));
  });
  if (unruled.length > 0)
    throw new ToolError(
      `gateway config.${action} cannot change protected config paths: ${named(unruled)}`,
    );
  const problems = changes.flatMap((change) => problemsOf(change, config));
  if (problems.length > 0)
    throw new ToolError(
      `gateway config.${action}: ${problems.slice(0, 5).join("; ")}. Nothing was changed.`,
    );
}

function problemsOf({ path, value }: ConfigChange, config: Json): string[] {
  const found = ruleOf(path);
  if (found === undefined) return [];
  const where = pathText(path);
  const parent = path.slice(0, found.existing);
  if (valueAt(config, parent) === undefined)
    return [`${where}: there is no ${pathText(parent)}, and it cannot be made here`];
  const [section, , model = ""] = path;
  if (section === "models" && path.length === 4 && !ModelName.safeParse(model).success)
    return [`${where}: ${pathText(path.slice(0, 3))} is not a model`];
  if (value === undefined) return found.required === true ? [`${where} is needed`] : [];
  if (JSON.stringify(value).includes("[redacted]"))
    return [`${where} has [redacted] in it, which stands for a secret; only a person can write it`];
  const read = found.schema.safeParse(value);
  if (!read.success)
    return read.error.issues.slice(0, 1).map(({ message }) => `${where}: ${message}`);
  return modelsIn(path, value).flatMap((name) => {
    const problem = modelProblem(name, path, config);
    return problem === null ? [] : [`${where}: ${problem}`];
  });
}

function modelsIn(path: readonly string[], value: Json): readonly string[] {
  if (path[0] !== "models" && path.at(-1) !== "model") return [];
  const all = Array.isArray(value) ? value : [value];
  const own = path[1] === "models" ? [path[2] ?? ""] : [];
  return [...own, ...all.filter((one) => typeof one === "string")];
}

/** Without the file, the runner uses the providers whose keys it has, which are unknown here. */
function modelProblem(name: string, path: readonly string[], config: Json): string | null {
  const [provider = ""] = name.split("/");
  if (valueAt(config, ["models"]) === undefined || provider === "scripted") return null;
  // The model of a coding CLI is a name of its own.
  if (path[0] === "agents" && valueAt(config, [...path.slice(0, 2), "runtime"]) !== undefined)
    return null;
  if (valueAt(config, ["models", "providers", provider]) !== undefined) return null;
  return `there is no provider "${cutText(provider, 64)}" under models.providers`;
}

/** Returns the JSON Schema of what can be changed, by its path; for one path and those below it if one is named. */
export function writableSchema(path: string, writable: readonly string[]): Record<string, unknown> {
  const wanted = path === "" ? [] : path.split(".");
  const rows = RULES.filter(
    (one) => writable.includes(one.path.join(".")) && startsAs(one.path, wanted),
  );
  return Object.fromEntries(
    rows.map((one) => {
      const { $schema: _, ...schema } = z.toJSONSchema(one.schema);
      return [one.path.join("."), { ...schema, description: one.about }];
    }),
  );
}

function startsAs(pattern: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((name, index) => pattern[index] === name || pattern[index] === "*");
}

function ruleOf(path: readonly string[]): Rule | undefined {
  return RULES.find((one) => fits(one.path, path));
}

function fits(pattern: readonly string[], path: readonly string[]): boolean {
  return pattern.length === path.length && startsAs(pattern, path);
}

function valueAt(value: Json | undefined, path: readonly string[]): Json | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return valueAt((value as Record<string, Json>)[name], rest); // a list has its numbers as names
}

function named(changes: readonly ConfigChange[]): string {
  const shown = changes.slice(0, 10).map(({ path }) => pathText(path));
  return shown.join(", ") + (changes.length > 10 ? ` and ${changes.length - 10} more` : "");
}

function pathText(path: readonly string[]): string {
  return path.map((name) => cutText(name, 64)).join(".");
}
