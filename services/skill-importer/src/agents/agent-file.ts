import { createHash } from "node:crypto";
import type { AgentDefinition } from "@switchyard/contracts/agents";
import { AgentName, ModelName, SkillName } from "@switchyard/contracts/ids";
import { z } from "zod";
import { nearestName } from "@switchyard/service/nearest-name";
import { decodeText } from "../frontmatter/decode-text.ts";
import { errorFinding, type Finding } from "../finding.ts";
import { firstParagraph } from "../skill/first-paragraph.ts";
import { splitFrontmatter } from "../frontmatter/frontmatter.ts";
import { readPlan } from "../store/plan-field.ts";
import { parseYaml, type ParsedYaml } from "../frontmatter/safe-yaml.ts";

export type ParsedAgent =
  /** A Markdown file beside the agents that is none, such as a README. */
  | { readonly kind: "not-an-agent" }
  | {
      readonly kind: "agent";
      readonly agent: AgentDefinition;
      readonly findings: readonly Finding[];
    }
  | { readonly kind: "skipped"; readonly findings: readonly Finding[] };

export interface AgentFileFacts {
  /** `yaml`: the whole file is YAML. `markdown`: frontmatter, and the body is the system prompt. */
  readonly format: "yaml" | "markdown";
  /** Used where the file gives no name: the file's stem, or its directory for agent.yaml and AGENT.md. */
  readonly fallbackName: string;
  /** True for a file whose name alone says that it is an agent. */
  readonly isCertain: boolean;
}

/** A file that is YAML from end to end; the parser's cost grows with it. */
const MAX_YAML_BYTES = 64 * 1024;

const AgentFile = z.strictObject({
  name: AgentName.optional(),
  description: z.string().optional(),
  model: ModelName.nullish(),
  system_prompt: z.string().optional(),
  tools: z
    .union([z.literal("none"), z.array(z.string().min(1).max(128))], {
      error: "must be a list of tool patterns, or none; left out it means every tool",
    })
    .nullish(),
  skills: z.array(SkillName).nullish(),
  max_tool_iterations: z.int().min(1).max(1_000).optional(),
  temperature: z.number().min(0).max(2).nullish(),
  plan: z.unknown().optional(),
});
type AgentFile = z.infer<typeof AgentFile>;

const DEFAULT_MAX_STEPS = 20;

/**
 * Reads an agent definition. Strict: an unknown key, a wrong type or broken YAML skips the file, and
 * every mistake in it is reported with its place.
 */
export function parseAgentFile(bytes: Uint8Array, facts: AgentFileFacts): ParsedAgent {
  const decoded = decodeText(bytes);
  if ("problem" in decoded) return skipped([decoded.problem]);
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  if (facts.format === "yaml") {
    const sizeBytes = Buffer.byteLength(decoded.text);
    if (sizeBytes > MAX_YAML_BYTES) return skipped([yamlTooLarge(sizeBytes)]);
    const yaml = parseYaml(decoded.text, { schema: "core" });
    return define(yaml, { digest, fallbackName: facts.fallbackName, body: null });
  }
  const frontmatter = splitFrontmatter(decoded.text);
  switch (frontmatter.kind) {
    case "broken":
      return skipped([frontmatter.problem]);
    case "none": {
      if (!facts.isCertain) return { kind: "not-an-agent" };
      const nothing = parseYaml("", { schema: "core" });
      return define(nothing, { digest, fallbackName: facts.fallbackName, body: frontmatter.body });
    }
    case "found": {
      const yaml = parseYaml(frontmatter.yaml, {
        schema: "core",
        linesBefore: frontmatter.linesBefore,
      });
      return define(yaml, { digest, fallbackName: facts.fallbackName, body: frontmatter.body });
    }
    default:
      return frontmatter satisfies never;
  }
}

interface Source {
  readonly digest: string;
  readonly fallbackName: string;
  /** The Markdown body, or null in a YAML file. */
  readonly body: string | null;
}

function define(yaml: ParsedYaml, source: Source): ParsedAgent {
  if ("problem" in yaml) return skipped([yaml.problem]);
  const parsed = AgentFile.safeParse(yaml.values);
  if (!parsed.success) {
    return skipped(parsed.error.issues.flatMap((issue) => findingsOf(issue, yaml.locate)));
  }
  const file = parsed.data;
  const name = AgentName.safeParse(file.name ?? source.fallbackName);
  if (!name.success) {
    const message = `${JSON.stringify(source.fallbackName)} is no name for an agent: it ${name.error.issues[0]?.message}; add a field name`;
    return skipped([errorFinding("no_usable_name", message)]);
  }
  if (file.system_prompt !== undefined && source.body !== null && source.body.trim() !== "") {
    const message = "the prompt stands here and in the body; keep one of them";
    return skipped([errorFinding("two_prompts", message, yaml.locate(["system_prompt"]))]);
  }
  const planned =
    file.plan === undefined ? { plan: null } : readPlan(yaml.values["plan"] ?? null, yaml.locate);
  if ("problems" in planned) return skipped(planned.problems);
  const systemPrompt = (file.system_prompt ?? source.body ?? "").trim();
  const agent: AgentDefinition = {
    name: name.data,
    description: file.description?.trim() || firstParagraph(systemPrompt),
    source: "project",
    digest: source.digest,
    model: file.model ?? null,
    systemPrompt,
    tools: toolsOf(file.tools),
    skills: file.skills ?? [],
    maxSteps: file.max_tool_iterations ?? DEFAULT_MAX_STEPS,
    temperature: file.temperature ?? null,
    plan: planned.plan,
  };
  return { kind: "agent", agent, findings: [] };
}

/** In a file an empty list means every tool, as it always has; only the word none means none. */
function toolsOf(tools: AgentFile["tools"]): string[] | null {
  if (tools === "none") return [];
  if (tools === null || tools === undefined || tools.length === 0) return null;
  return tools;
}

function findingsOf(
  issue: z.core.$ZodIssue,
  locate: (
    path: readonly PropertyKey[],
  ) => ReturnType<Extract<ParsedYaml, { locate: unknown }>["locate"]>,
): Finding[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => errorFinding("unknown_key", unknownKey(key), locate([key])));
  }
  const path = issue.path.join(".");
  return [errorFinding("invalid_field", `${path}: ${issue.message}`, locate(issue.path))];
}

function unknownKey(key: string): string {
  const known = Object.keys(AgentFile.shape);
  const meant = nearestName(key, known);
  const hint = meant === null ? `the keys are ${known.join(", ")}` : `did you mean ${meant}?`;
  return `unknown key ${JSON.stringify(key)}: ${hint}`;
}

function yamlTooLarge(sizeBytes: number): Finding {
  return errorFinding(
    "file_too_large",
    `the file has ${sizeBytes} bytes, the limit for YAML is ${MAX_YAML_BYTES}; write a long prompt as the body of an AGENT.md`,
  );
}

function skipped(findings: readonly Finding[]): ParsedAgent {
  return { kind: "skipped", findings };
}
