import { basename } from "node:path";
import type { AgentDefinition, AgentLimits } from "@switchyard/contracts/skill-importer/agents";
import { digestOf } from "@switchyard/contracts/canonical-json";
import { AgentName } from "@switchyard/contracts/ids";
import type { AgentFileFacts } from "./agent-facts.ts";
import { readAgentFields, type AgentFields } from "./agent-fields.ts";
import { decodeText } from "../frontmatter/decode-text.ts";
import { errorFinding, warningFinding, type Finding } from "../finding.ts";
import { allowedPatterns, forbiddenPatterns } from "../skill/client-tools.ts";
import { firstParagraph } from "../skill/first-paragraph.ts";
import { splitFrontmatter } from "../frontmatter/frontmatter.ts";
import { readPlan } from "../skill/plan-field.ts";
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

/**
 * Returns the findings for a Markdown file among agents that is not one: none for a README, and a warning for any other file,
 * since its author may expect it to be listed.
 */
export function notAnAgent(file: string): Finding[] {
  if (basename(file).toLowerCase() === "readme.md") return [];
  return [
    warningFinding(
      "not_an_agent",
      "the file is left out: it has no frontmatter, so it is not an agent; begin it with a line ---, its fields and another ---",
    ),
  ];
}

/** A file that is YAML from end to end; the parser's cost grows with it. */
const MAX_YAML_BYTES = 64 * 1024;

const DEFAULT_MAX_STEPS = 20;

/**
 * Reads an agent definition. A wrong type, a value out of its range, broken YAML or an unknown key that may be a restriction
 * skips the file; every mistake in it is reported with its position.
 */
export function parseAgentFile(bytes: Uint8Array, facts: AgentFileFacts): ParsedAgent {
  const decoded = decodeText(bytes);
  if ("problem" in decoded) return skipped([decoded.problem]);
  const source = { digest: digestOf(bytes), fallbackName: facts.fallbackName };
  if (facts.format === "yaml") {
    const sizeBytes = Buffer.byteLength(decoded.text);
    if (sizeBytes > MAX_YAML_BYTES) return skipped([yamlTooLarge(sizeBytes)]);
    // A last line `---` begins an empty second document.
    const text = decoded.text.replace(/\n---[ \t]*\n*$/, "\n");
    return define(parseYaml(text, { schema: "core" }), { ...source, body: null });
  }
  const frontmatter = splitFrontmatter(decoded.text);
  if (frontmatter.kind === "broken") return skipped([frontmatter.problem]);
  if (frontmatter.kind === "none" && !facts.isCertain) return { kind: "not-an-agent" };
  // An agent without its limits has every tool.
  const [misplaced] = frontmatter.kind === "none" ? frontmatter.findings : [];
  if (misplaced !== undefined) return skipped([{ ...misplaced, severity: "error" }]);
  const { yaml, linesBefore } =
    frontmatter.kind === "found" ? frontmatter : { yaml: "", linesBefore: 0 };
  const parsed = parseYaml(yaml, { schema: "core", linesBefore });
  return define(parsed, { ...source, body: frontmatter.body });
}

interface Source {
  readonly digest: string;
  readonly fallbackName: string;
  /** The Markdown body, or null in a YAML file. */
  readonly body: string | null;
}

function define(yaml: ParsedYaml, source: Source): ParsedAgent {
  if ("problem" in yaml) return skipped([yaml.problem]);
  if (Object.keys(yaml.values).length === 0 && (source.body ?? "").trim() === "")
    return skipped([emptyAgent()]);
  const read = readAgentFields(yaml);
  if ("problems" in read) return skipped(read.problems);
  const file = read.fields;
  const name = AgentName.safeParse(file.name ?? source.fallbackName);
  if (!name.success) {
    const message = `${JSON.stringify(source.fallbackName)} is not a name for an agent: it ${name.error.issues[0]?.message}; add a field name`;
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
    tools: toolsOf(file),
    skills: file.skills ?? [],
    maxSteps: maxStepsOf(file),
    temperature: file.temperature ?? null,
    thinking: file.thinking ?? null,
    plan: planned.plan,
    roles: file.roles ?? [],
    limits: limitsOf(file),
    onUnknownOutcome: file.on_unknown_outcome ?? "fail",
    approval: file.approval ?? null,
    contextWindow: file.context_window ?? null,
    memoryBytes: file.memory_bytes ?? null,
    sharesMemory: file.shared_memory ?? false,
  };
  return { kind: "agent", agent, findings: read.warnings };
}

/** Two keys set the same limit; the stricter one counts. */
function maxStepsOf({ max_tool_iterations: iterations, limits }: AgentFields): number {
  const written = [iterations, limits?.steps].filter((steps) => steps !== undefined);
  return written.length === 0 ? DEFAULT_MAX_STEPS : Math.min(...written);
}

function limitsOf({ limits }: AgentFields): AgentLimits {
  return {
    maxToolCalls: limits?.tool_calls ?? null,
    maxTokens: limits?.tokens ?? null,
    maxCostUsd: limits?.cost_usd ?? null,
    timeoutMs: limits?.wall_time ?? null,
    maxDepth: limits?.depth ?? null,
  };
}

/**
 * In a file an empty list means every tool, for compatibility; only the word none means none. Patterns that begin with `!`, and those of
 * `disallowed_tools`, are excluded from the others, or from every tool where there are no others [A25].
 */
function toolsOf({ tools, disallowed_tools: disallowed }: AgentFields): string[] | null {
  if (tools === "none") return [];
  const written = tools ?? [];
  const excluded = [
    ...written.flatMap((word) => (word.startsWith("!") ? [word.slice(1)] : [])),
    ...(disallowed ?? []),
  ];
  const included = written.filter((word) => !word.startsWith("!"));
  if (excluded.length === 0) return included.length === 0 ? null : allowedPatterns(included);
  const from = included.length === 0 ? ["*"] : allowedPatterns(included);
  return [...from, ...forbiddenPatterns(excluded).map((pattern) => `!${pattern}`)];
}

/** It would be an agent with every tool; more likely the file is about to be written. */
function emptyAgent(): Finding {
  return errorFinding("empty_agent", "the file has nothing of an agent; write name and tools");
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
