import { digestOf } from "@switchyard/contracts/canonical-json";
import { cutText } from "@switchyard/contracts/cut-text";
import type { Conformance } from "@switchyard/contracts/skill-importer/skills";
import { warningFinding, type Finding } from "../finding.ts";
import { decodeLeniently } from "../frontmatter/decode-text.ts";
import { cutByComments } from "../frontmatter/cut-by-comment.ts";
import { splitFrontmatter, type Frontmatter } from "../frontmatter/frontmatter.ts";
import { parseYaml, type ParsedYaml } from "../frontmatter/safe-yaml.ts";
import { emptyMapping } from "../frontmatter/yaml-value.ts";
import { repairYaml } from "../frontmatter/yaml-repair.ts";
import { readPlan } from "./plan-field.ts";
import { conformanceOf } from "./conformance.ts";
import { readValues } from "./read-values.ts";
import { restrictUnread } from "../frontmatter/restrictions.ts";
import { assembleSkill, skippedSkill, type SkillOutcome } from "./skill-content.ts";

export interface ParsedSkill extends SkillOutcome {
  /** Judged by the file as it was written, before any repair. Empty when the file could not be read at all. */
  readonly conformance: readonly Conformance[];
}

/** The result for a file that could not be read at all. */
export function unreadSkill(problem: Finding): ParsedSkill {
  return { ...skippedSkill(problem), conformance: [] };
}

/**
 * Reads a SKILL.md. The parser is lenient where that is safe (unknown fields, a missing name or description, a file without
 * frontmatter). Broken YAML is repaired where the intention is clear, with a finding; the rest of a file's authority fails
 * closed.
 */
export function parseSkillFile(bytes: Uint8Array, directoryName: string): ParsedSkill {
  const decoded = decodeLeniently(bytes);
  if ("problem" in decoded) return unreadSkill(decoded.problem);
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
    broken: brokenBy(decoded.note, frontmatter, yaml),
  });
  const outcome =
    frontmatter.kind !== "found"
      ? parseBare(frontmatter, { bytes, directoryName })
      : parseFrontmatter(frontmatter, yaml, { bytes, directoryName });
  const notes = decoded.note === undefined ? [] : [decoded.note];
  const findings = withExcerpts([...notes, ...outcome.findings], text);
  return { ...outcome, findings, conformance };
}

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

/** Reads a file that is all body, or whose frontmatter has no end. */
function parseBare(
  frontmatter: Exclude<Frontmatter, FoundFrontmatter>,
  { bytes, directoryName }: Source,
): SkillOutcome {
  if (frontmatter.kind === "broken") return skippedSkill(named(frontmatter.problem, directoryName));
  const { body, findings, unread } = frontmatter;
  // Restrictions that the author wrote stay in force, although nothing else of the frontmatter is read.
  const restrictions = emptyMapping();
  if (unread !== undefined) restrictUnread(unread, restrictions);
  const wasRepaired = Object.keys(restrictions).length > 0;
  const locate = () => ({ line: findings[0]?.line ?? 1, column: 1 });
  const understood = readValues(restrictions, { locate, wasRepaired });
  const { findings: remarks, record, ...read } = understood;
  const given = { digest: digestOf(bytes), directoryName, body, plan: null, wasRepaired };
  const known = wasRepaired ? { ...given, ...read, record } : { ...given, ...read };
  return assembleSkill(known, [...findings, ...remarks]);
}

function parseFrontmatter(
  { yaml, linesBefore, body, repair: delimiter, unread = "" }: FoundFrontmatter,
  read: ReadYaml,
  { bytes, directoryName }: Source,
): SkillOutcome {
  const repair = read.kind === "refused" ? repairYaml(yaml, { linesBefore, ...read }) : null;
  if (repair !== null && "problem" in repair)
    return skippedSkill(named(repair.problem, directoryName));
  const parsed = read.kind === "found" ? read.parsed : repair?.parsed;
  if (parsed === undefined)
    throw new Error("a refused frontmatter was neither repaired nor skipped");
  const { values, locate } = parsed;
  const isUnread = restrictUnread(`${yaml}\n${unread}`, values, { isWhole: true });
  const wasRepaired = repair !== null || delimiter !== undefined || isUnread;
  const { findings: remarks, ...understood } = readValues(values, { locate, wasRepaired });
  const findings = [
    ...(delimiter === undefined ? [] : [delimiter]),
    ...(repair?.findings ?? []),
    ...(isUnread ? [restrictionUnread(linesBefore + 1)] : []),
    ...cutByComments(repair?.yaml ?? yaml, linesBefore),
    ...remarks,
  ];
  const typed = repair === null ? yaml : repair.yaml;
  const hasPlan = typed !== null && Object.hasOwn(values, "plan");
  const planned = hasPlan ? planOf({ yaml: typed, linesBefore }) : { plan: null };
  if ("problems" in planned) return skippedSkill(...planned.problems, ...findings);
  return assembleSkill(
    {
      digest: digestOf(bytes),
      directoryName,
      body: repair?.isText === true ? `${yaml}\n${body}` : body,
      ...understood,
      plan: planned.plan,
      wasRepaired,
    },
    findings,
  );
}

function restrictionUnread(line: number): Finding {
  const message =
    "a line begins like a restriction and is no field of its own, so its strictest reading counts; put it at the margin of the frontmatter";
  return warningFinding("restriction_unread", message, { line, column: 1 });
}

/** Returns the first problem that a client without repairs would fail on. */
function brokenBy(note: Finding | undefined, frontmatter: Frontmatter, yaml: ReadYaml) {
  if (note !== undefined) return pick(note);
  if (frontmatter.kind === "found" && frontmatter.repair !== undefined) {
    return pick(frontmatter.repair);
  }
  return yaml.kind === "refused" ? pick(yaml.problem) : null;
}

function pick({ code, message, line }: Finding): Conformance["problems"][number] {
  return { code, message, line };
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
  const last = findings.reduce((highest, { line }) => Math.max(highest, line ?? 0), 0);
  if (last === 0) return findings;
  // Findings are about the first lines of a text that has many more.
  const lines = text.split("\n", last);
  return findings.map((finding) => {
    const excerpt = finding.line === null ? "" : (lines[finding.line - 1] ?? "").trim();
    return excerpt === "" ? finding : { ...finding, excerpt: cutText(excerpt, MAX_EXCERPT) };
  });
}

function named(problem: Finding, directoryName: string): Finding {
  return { ...problem, message: `skill/${directoryName}: ${problem.message}` };
}
