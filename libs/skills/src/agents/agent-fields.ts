import { MEMORY_ROOM } from "@switchyard/contracts/toolbox/agent-memory";
import { UnknownOutcome } from "@switchyard/contracts/skill-importer/agents";
import { ApprovalTier } from "@switchyard/contracts/policy/approval-tier";
import { AgentName, ModelName, SkillName } from "@switchyard/contracts/ids";
import { MAX_ROLES, RoleName } from "@switchyard/contracts/policy/run-token";
import { nearestName } from "@switchyard/contracts/nearest-name";
import { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import { z } from "zod";
import { errorFinding, warningFinding, type Finding, type Position } from "../finding.ts";
import { limitedTools } from "../skill/client-tools.ts";
import type { ParsedYaml } from "../frontmatter/safe-yaml.ts";
import { isMapping, type YamlMapping, type YamlValue } from "../frontmatter/yaml-value.ts";

type Locate = (path: readonly PropertyKey[]) => Position;

const AgentLimitFields = z.object({
  steps: whole(1, 1_000).optional(),
  tool_calls: whole(0, 10_000).optional(),
  tokens: whole(1, 1_000_000_000).optional(),
  cost_usd: between({ least: 0, most: 100_000 })
    .refine((dollars) => dollars > 0, "must be more than 0")
    .optional(),
  wall_time: z
    .string({ error: "must be a time with its unit, such as 90s, 10m or 2h" })
    .transform(durationMs)
    .optional(),
  depth: whole(0, 16).optional(),
});

const RUNTIME_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;

const AgentFields = z.object({
  name: AgentName.optional(),
  description: z.string({ error: "must be text" }).optional(),
  model: ModelName.nullish(),
  /** A provider of the runners' models file that is a coding CLI; with it, `model` is the CLI's own name of a model. */
  runtime: z
    .string({ error: "must be the name of a runtime of the models file" })
    .regex(RUNTIME_NAME, "must be 1-32 characters of a-z 0-9 -")
    .nullish(),
  system_prompt: z.string({ error: "must be text" }).optional(),
  tools: z
    .preprocess(
      toolWords,
      z.union([z.literal("none"), z.array(z.string().min(1).max(128)).max(256)], {
        error:
          "must be a list of tool patterns, or text with commas between them, or none; left out it means every tool",
      }),
    )
    .nullish(),
  /** Tools that `tools` would include. */
  disallowed_tools: z
    .preprocess(
      toolWords,
      z.array(z.string().min(1).max(127)).max(128, "must be a list of at most 128 tool patterns"),
    )
    .nullish(),
  skills: z.array(SkillName, { error: "must be a list of skill names" }).nullish(),
  max_tool_iterations: whole(1, 1_000).optional(),
  temperature: between({ least: 0, most: 2 }).nullish(),
  thinking: ThinkingLevel.nullish(),
  context_window: whole(1_024, 100_000_000).nullish(),
  memory_bytes: whole(MEMORY_ROOM.least, MEMORY_ROOM.most).nullish(),
  shared_memory: z.boolean({ error: "must be true or false" }).nullish(),
  roles: z.array(RoleName, { error: "must be a list of names" }).max(MAX_ROLES).nullish(),
  limits: AgentLimitFields.nullish(),
  on_unknown_outcome: oneOf(UnknownOutcome).optional(),
  approval: oneOf(ApprovalTier).nullish(),
  plan: z.unknown().optional(),
});
export type AgentFields = z.infer<typeof AgentFields>;

/** Keys that restrict an agent: a misspelt one must not be ignored, or the agent would run without the restriction. */
const RESTRICTING = new Set([
  "tools",
  "disallowed_tools",
  "limits",
  "max_tool_iterations",
  "approval",
]);
const READS_LIKE_A_RESTRICTION =
  /tool|limit|allow|den[iy]|permission|approv|sandbox|budget|timeout|^max/i;

export type ReadAgentFields =
  | { readonly fields: AgentFields; readonly warnings: readonly Finding[] }
  | { readonly problems: readonly Finding[] };

/**
 * Reads an agent's keys, in any of the styles `system_prompt`, `system-prompt` and `systemPrompt`. Every mistake is reported with
 * its position. An unknown key is ignored with a warning, unless it may have been meant to restrict the agent.
 */
export function readAgentFields(yaml: Extract<ParsedYaml, { values: unknown }>): ReadAgentFields {
  const top = withOwnSpelling(yaml.values, {
    known: Object.keys(AgentFields.shape),
    path: [],
    locate: yaml.locate,
    isRestricting: (key, meant) =>
      (meant !== null && RESTRICTING.has(meant)) || READS_LIKE_A_RESTRICTION.test(key),
  });
  const limits = top.values["limits"];
  const inner = isMapping(limits)
    ? withOwnSpelling(limits, {
        known: Object.keys(AgentLimitFields.shape),
        path: [top.spelling.get("limits") ?? "limits"],
        locate: yaml.locate,
        isRestricting: () => true,
      })
    : null;
  const values = withRuntime(top.values);
  const parsed = AgentFields.safeParse(
    inner === null ? values : { ...values, limits: inner.values },
  );
  const findings = [...top.findings, ...(inner?.findings ?? [])];
  if (!parsed.success) {
    findings.push(
      ...parsed.error.issues.map((issue) => {
        const [first, second, ...rest] = issue.path;
        const written = [
          ...(first === undefined ? [] : [top.spelling.get(String(first)) ?? first]),
          ...(second === undefined ? [] : [inner?.spelling.get(String(second)) ?? second]),
          ...rest,
        ];
        const said = `${issue.path.join(".")}: ${issue.message}`;
        return errorFinding("invalid_field", said, yaml.locate(written));
      }),
    );
  }
  const inOrder = findings.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
  const isUnusable = inOrder.some(({ severity }) => severity === "error");
  if (!parsed.success || isUnusable) return { problems: inOrder };
  const at = yaml.locate([top.spelling.get("tools") ?? "tools"]);
  return { fields: parsed.data, warnings: [...inOrder, ...limitsNotKept(parsed.data, at)] };
}

/** A runtime is a provider to the runners: the model is its own, or left to it. */
function withRuntime(values: Record<string, YamlValue>): Record<string, YamlValue> {
  const { runtime, model = null } = values;
  if (typeof runtime !== "string" || !RUNTIME_NAME.test(runtime)) return values;
  if (model !== null && typeof model !== "string") return values;
  return { ...values, model: `${runtime}/${model ?? "default"}` };
}

/**
 * A text is split at commas into tools, as Claude Code reads it, but not at commas inside a limit on arguments. A text without
 * any tool stays text and is rejected: as an empty list it would allow every tool.
 */
function toolWords(value: unknown): unknown {
  if (typeof value !== "string" || value === "none") return value;
  const words = value.match(/(?:\([^()]*\)|[^,])+/g) ?? [];
  const named = words.map((word) => word.trim()).filter((word) => word !== "");
  return named.length === 0 ? value : named;
}

/** A tool with a limit on its arguments is not given to the agent, and its author gets a finding. */
function limitsNotKept({ tools }: AgentFields, at: Position): Finding[] {
  return limitedTools(Array.isArray(tools) ? tools : []).map((tool) => {
    const message =
      `tools: ${tool} is left out: this limit on arguments cannot be kept here, and the tool without it would be more; ` +
      "name the tool alone and limit its arguments by a rule of the policy";
    return warningFinding("limited_tool", message, at);
  });
}

interface Spelled {
  /** The values by the key names of this file. */
  readonly values: Record<string, YamlValue>;
  /** This file's name of a key → how it is written there. */
  readonly spelling: ReadonlyMap<string, string>;
  readonly findings: Finding[];
}

function withOwnSpelling(
  mapping: YamlMapping,
  rules: {
    known: readonly string[];
    path: readonly string[];
    locate: Locate;
    isRestricting: (key: string, meant: string | null) => boolean;
  },
): Spelled {
  const { known, path, locate, isRestricting } = rules;
  const values: Record<string, YamlValue> = Object.create(null);
  const spelling = new Map<string, string>();
  const findings: Finding[] = [];
  for (const [key, value] of Object.entries(mapping)) {
    const field = snakeCase(key);
    const at = locate([...path, key]);
    const shown = JSON.stringify([...path, key].join("."));
    if (!known.includes(field)) {
      const meant = nearestName(key, known);
      const hint = meant === null ? `the keys are ${known.join(", ")}` : `did you mean ${meant}?`;
      findings.push(
        isRestricting(key, meant)
          ? errorFinding("unknown_key", `unknown key ${shown} may restrict the agent: ${hint}`, at)
          : warningFinding("unknown_key", `unknown key ${shown} is ignored: ${hint}`, at),
      );
    } else if (spelling.has(field)) {
      findings.push(
        errorFinding("duplicate_key", `${shown} is there twice, in two spellings; keep one`, at),
      );
    } else {
      values[field] = value;
      spelling.set(field, key);
    }
  }
  return { values, spelling, findings };
}

function snakeCase(key: string): string {
  return key
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
}

function whole(least: number, most: number) {
  const rule = { error: `must be a whole number from ${least} to ${most}` };
  return z.int(rule).min(least, rule).max(most, rule);
}

function between({ least, most }: { least: number; most: number }) {
  const rule = { error: `must be a number from ${least} to ${most}` };
  return z.number(rule).min(least, rule).max(most, rule);
}

function oneOf<T extends Record<string, string>>(schema: z.ZodEnum<T>) {
  return z.enum(schema.enum, { error: `must be one of ${schema.options.join(", ")}` });
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const MIN_MS = 1_000;
const MAX_MS = 86_400_000;

function durationMs(text: string, context: z.RefinementCtx): number {
  const [, amount = "", unit = ""] = /^(\d{1,9})\s*(ms|s|m|h)$/.exec(text.trim()) ?? [];
  const ms = Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  if (ms >= MIN_MS && ms <= MAX_MS) return ms;
  const message = Number.isNaN(ms)
    ? "must be a time with its unit, such as 90s, 10m or 2h"
    : "must be from 1s to 24h";
  context.addIssue({ code: "custom", message });
  return z.NEVER;
}
