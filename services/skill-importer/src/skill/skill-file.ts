import { hash } from "node:crypto";
import type { Plan } from "@switchyard/contracts/plan";
import type { SkillRecord } from "@switchyard/contracts/skill-record";
import type { Conformance, Skill } from "@switchyard/contracts/skills";
import { conformanceOf } from "./conformance.ts";
import { decodeLeniently } from "../frontmatter/decode-text.ts";
import { errorFinding, infoFinding, warningFinding, type Finding } from "../finding.ts";
import { firstParagraph } from "./first-paragraph.ts";
import { splitFrontmatter, type Frontmatter } from "../frontmatter/frontmatter.ts";
import { readPlan } from "../store/plan-field.ts";
import { MAX_PROMPT_BYTES } from "../render/render.ts";
import { parseYaml, type ParsedYaml, type YamlMapping } from "../frontmatter/safe-yaml.ts";
import { keysByField, readSkillFields, type SkillFields } from "./skill-fields.ts";
import { readRecord } from "./skill-record.ts";
import { slugOf } from "./slug.ts";
import { useFindings } from "../manifest/use-findings.ts";
import { readInvocation, type InvocationFields } from "../manifest/invocation-fields.ts";
import { repairYaml, type RepairedYaml } from "../frontmatter/yaml-repair.ts";

/** A skill as its file says it; where the file lies is known to the caller. */
export type SkillContent = Omit<Skill, "path" | "diagnostics">;

export interface ParsedSkill {
  /** Null when the file cannot be used; then one finding is an error. */
  readonly skill: SkillContent | null;
  readonly metadata: YamlMapping | null;
  readonly findings: readonly Finding[];
  /** By the file as it was written, before any repair. Empty when the file could not be read at all. */
  readonly conformance: readonly Conformance[];
}

/**
 * Reads a SKILL.md. Lenient where that is safe (unknown fields, a missing name or description, a file
 * without frontmatter). Broken YAML is repaired where it is plain what was meant, and says so; the rest
 * of a file's authority fails closed.
 */
export function parseSkillFile(bytes: Uint8Array, directoryName: string): ParsedSkill {
  const decoded = decodeLeniently(bytes);
  if ("problem" in decoded) return { ...skipped(decoded.problem), conformance: [] };
  const { text } = decoded;
  const frontmatter = splitFrontmatter(text);
  const yaml = readYaml(frontmatter);
  const conformance = conformanceOf({
    values: yaml.kind === "found" ? yaml.parsed.values : null,
    yaml: frontmatter.kind === "found" ? frontmatter.yaml : "",
    linesBefore: frontmatter.kind === "found" ? frontmatter.linesBefore : 0,
    directoryName,
    sizeBytes: bytes.length,
    hasByteOrderMark: bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf,
    broken: brokenBy(decoded.note, yaml),
  });
  const outcome =
    frontmatter.kind === "found" && yaml.kind !== "none"
      ? parseFrontmatter(frontmatter, yaml, { bytes, directoryName })
      : parseBare(frontmatter, { bytes, directoryName });
  const notes = decoded.note === undefined ? [] : [decoded.note];
  const findings = withExcerpts([...notes, ...outcome.findings], text);
  return { ...outcome, findings, conformance };
}

type Outcome = Omit<ParsedSkill, "conformance">;
type FoundFrontmatter = Extract<Frontmatter, { kind: "found" }>;

interface Source {
  readonly bytes: Uint8Array;
  readonly directoryName: string;
}

type ReadYaml =
  | { readonly kind: "none" }
  | { readonly kind: "found"; readonly parsed: Extract<ParsedYaml, { values: unknown }> }
  | { readonly kind: "refused"; readonly problem: Finding; readonly mistakes: number };

function readYaml(frontmatter: Frontmatter): ReadYaml {
  if (frontmatter.kind === "none") return { kind: "none" };
  if (frontmatter.kind === "broken")
    return { kind: "refused", problem: frontmatter.problem, mistakes: 1 };
  const { yaml, linesBefore } = frontmatter;
  const parsed = parseYaml(yaml, { schema: "failsafe", linesBefore });
  return "problem" in parsed ? { kind: "refused", ...parsed } : { kind: "found", parsed };
}

/** A file that is all body, or whose frontmatter has no end. */
function parseBare(frontmatter: Frontmatter, { bytes, directoryName }: Source): Outcome {
  if (frontmatter.kind === "broken") return skipped(named(frontmatter.problem, directoryName));
  const { fields } = readSkillFields({}, () => ({ line: 1, column: 1 }));
  const { body } = frontmatter;
  const given = {
    digest: digestOf(bytes),
    directoryName,
    body,
    fields,
    invocation: {},
    plan: null,
    repair: null,
  };
  return assemble(given, frontmatter.kind === "none" ? frontmatter.findings : []);
}

function parseFrontmatter(
  { yaml, linesBefore, body }: FoundFrontmatter,
  read: Exclude<ReadYaml, { kind: "none" }>,
  { bytes, directoryName }: Source,
): Outcome {
  const repair = read.kind === "refused" ? repairYaml(yaml, { linesBefore, ...read }) : null;
  if (repair !== null && "problem" in repair) return skipped(named(repair.problem, directoryName));
  const parsed = read.kind === "found" ? read.parsed : repair?.parsed;
  if (parsed === undefined)
    throw new Error("a refused frontmatter was neither repaired nor skipped");
  const { values, locate } = parsed;
  const { fields, findings: remarks } = readSkillFields(values, locate);
  const { record, findings: further } = readRecord({
    values,
    metadata: fields.metadata,
    keys: keysByField(values),
    wasRepaired: repair !== null,
    locate,
  });
  const findings = [...(repair?.findings ?? []), ...remarks, ...further];
  const typed = repair === null ? yaml : repair.yaml;
  const hasPlan = typed !== null && Object.hasOwn(parsed.values, "plan");
  const planned = hasPlan ? planOf({ yaml: typed, linesBefore }) : { plan: null };
  if ("problems" in planned) return skipped(...planned.problems, ...findings);
  const { plan } = planned;
  const digest = digestOf(bytes);
  const invocation = readInvocation(parsed.values);
  return assemble(
    { digest, directoryName, body, fields, invocation, plan, repair, record },
    findings,
  );
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${hash("sha256", bytes)}`;
}

/** What a client without repairs would stumble over. */
function brokenBy(note: Finding | undefined, yaml: ReadYaml) {
  if (note !== undefined) return pick(note);
  return yaml.kind === "refused" ? pick(yaml.problem) : null;
}

function pick({ code, message, line }: Finding): Conformance["problems"][number] {
  return { code, message, line };
}

interface Given {
  readonly digest: string;
  readonly directoryName: string;
  readonly body: string;
  readonly fields: SkillFields;
  readonly invocation: InvocationFields;
  readonly plan: Plan | null;
  readonly repair: RepairedYaml | null;
  readonly record?: SkillRecord;
}

function assemble(given: Given, earlier: readonly Finding[]): Outcome {
  const { fields } = given;
  const identity = identify(fields.name, given.directoryName);
  const findings = [...earlier, ...identity.findings];
  if (identity.name === null) return skipped(...findings);
  const body = given.body.replace(/^(?:[ \t]*\n)+/, "").trimEnd();
  const bodyBytes = Buffer.byteLength(body);
  if (bodyBytes > MAX_PROMPT_BYTES) {
    findings.push(
      warningFinding(
        "long_body",
        `the body has ${bodyBytes} bytes; a prompt gets the first ${MAX_PROMPT_BYTES}`,
      ),
    );
  }
  const description = withoutControls(fields.description ?? "") || firstParagraph(body);
  if (description === "") {
    findings.push(
      warningFinding(
        "no_description",
        "neither a description nor a body; a model cannot know when to use it",
      ),
    );
  }
  const skill: SkillContent = {
    name: identity.name,
    description,
    digest: given.digest,
    userInvocable: fields.userInvocable,
    modelInvocable: !fields.disableModelInvocation,
    allowedTools: fields.allowedTools,
    argumentHint: fields.argumentHint,
    body,
    arguments: fields.arguments,
    plan: given.plan,
    ...given.invocation,
    ...(given.record === undefined ? {} : { record: given.record }),
    ...(given.repair === null ? {} : { repaired: true, needsReview: given.repair.yaml === null }),
  };
  findings.push(...useFindings(skill));
  return { skill, metadata: fields.metadata, findings };
}

/** The name is the field's slug; the directory's where the field is missing or unusable. */
function identify(
  given: string | undefined,
  directoryName: string,
): { name: string | null; findings: Finding[] } {
  const directory = slugOf(directoryName);
  if (given === undefined || given === "") {
    if (directory !== null) return { name: directory, findings: [] };
    return { name: null, findings: [noUsableName(directoryName)] };
  }
  const name = slugOf(given);
  if (name === null) {
    if (directory === null) return { name: null, findings: [noUsableName(given)] };
    const message = `the name ${JSON.stringify(given)} cannot be used; the directory's name ${directory} is taken`;
    return { name: directory, findings: [warningFinding("invalid_name", message)] };
  }
  const findings: Finding[] = [];
  if (name !== given) {
    findings.push(infoFinding("name_changed", `the name ${JSON.stringify(given)} became ${name}`));
  }
  if (name !== directory) {
    findings.push(
      infoFinding(
        "name_differs",
        `the directory is called ${JSON.stringify(directoryName)}; other clients want ${name}`,
      ),
    );
  }
  return { name, findings };
}

function noUsableName(name: string): Finding {
  return errorFinding(
    "no_usable_name",
    `${JSON.stringify(name)} has no letter a-z or digit to make a name of; add a field name`,
  );
}

function planOf(frontmatter: { yaml: string; linesBefore: number }) {
  // Read again with types: a plan's numbers and booleans become tool arguments.
  const typed = parseYaml(frontmatter.yaml, {
    schema: "core",
    linesBefore: frontmatter.linesBefore,
  });
  if ("problem" in typed) return { problems: [typed.problem] };
  return readPlan(typed.values["plan"] ?? null, typed.locate);
}

const MAX_EXCERPT = 120;

function withExcerpts(findings: readonly Finding[], text: string): readonly Finding[] {
  if (findings.every(({ line }) => line === null)) return findings;
  const lines = text.split("\n");
  return findings.map((finding) => {
    const excerpt = finding.line === null ? "" : (lines[finding.line - 1] ?? "").trim();
    return excerpt === "" ? finding : { ...finding, excerpt: excerpt.slice(0, MAX_EXCERPT) };
  });
}

function skipped(...findings: Finding[]): Outcome {
  return { skill: null, metadata: null, findings };
}

function named(problem: Finding, directoryName: string): Finding {
  return { ...problem, message: `skill/${directoryName}: ${problem.message}` };
}

function withoutControls(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\n\t]/gu, "")
    .trim();
}
