import { errorFinding, warningFinding, type Finding } from "../finding.ts";
import { balancedFlow, nestsDeeply } from "./balance-flow.ts";
import { isKnownKey, parseKnownLines, withoutQuotes } from "./known-lines.ts";
import { isRestriction, restrictUnread } from "./restrictions.ts";
import { parseYaml, type ParsedYaml } from "./safe-yaml.ts";
import { emptyMapping } from "./yaml-value.ts";

export interface RepairedYaml {
  readonly parsed: Extract<ParsedYaml, { values: unknown }>;
  /** The repaired text that was read; null when only known lines were read. */
  readonly yaml: string | null;
  /** True when no line of it is a field: text between two rules, which belongs to the body. */
  readonly isText?: true;
  /** One finding for each repair. */
  readonly findings: readonly Finding[];
}

/** A frontmatter as the parser refused it. */
interface Refused {
  readonly linesBefore: number;
  readonly problem: Finding;
  readonly mistakes: number;
}

/** A person makes fewer mistakes. Each repair costs a parse, so a text with more of them is read by its known lines at once. */
const MAX_MISTAKES = 64;
/** Each attempt parses the whole block again, so long and hostile ones get few. */
const MAX_ATTEMPTS = 16;
const MAX_PARSED_CHARACTERS = 32 * 1024;
const CONFLICT_MARKER = /^(?:<{7}|={7}|>{7}|\|{7})(?: |$)/;
/** Not slips of a writer: a file with these is refused as it is. */
const NEVER_REPAIRED = new Set(["forbidden_key", "yaml_too_deep", "yaml_too_wide"]);

/**
 * Repairs a frontmatter that YAML rejects: quotes the value at the error, balances one-line JSON, lets the last of two equal keys
 * count, and finally reads the known keys line by line. The value of a restriction is never lost in a repair: see
 * `restrictUnread`. Null when nothing can be read, or when the file must not be guessed at: then the returned finding states why
 * it is skipped.
 */
export function repairYaml(
  yaml: string,
  { linesBefore, problem, mistakes }: Refused,
): RepairedYaml | { readonly problem: Finding } {
  const conflict = yaml.split("\n").findIndex((line) => CONFLICT_MARKER.test(line));
  if (conflict >= 0) return { problem: unresolvedConflict(conflict + 1 + linesBefore) };
  if (NEVER_REPAIRED.has(problem.code)) return { problem };
  const colons = withPlainColons(yaml, linesBefore);
  if (colons !== null) return readAgain(colons, linesBefore);
  const fixed = mistakes > MAX_MISTAKES ? null : fixLines(yaml, { linesBefore, problem, mistakes });
  if (fixed !== null) {
    restrictUnread(yaml, fixed.parsed.values);
    return fixed;
  }
  const values = parseKnownLines(yaml);
  if (values === null) return FIELD.test(yaml) ? { problem } : textOnly(yaml, linesBefore);
  restrictUnread(yaml, values);
  const at = { line: problem.line ?? linesBefore + 1, column: problem.column ?? 1 };
  const message = `${problem.message}; only the known fields were read, line by line: no metadata and no plan`;
  return {
    parsed: { values, locate: () => at },
    yaml: null,
    findings: [warningFinding("repaired_known_fields", message, at)],
  };
}

/** Matches a field whose author typed a full-width colon. */
const WIDE_COLON = /^(["']?)([A-Za-z][\w-]*)\1[ \t]*：[ \t]*/;

/** Null when no known field has such a colon. */
function withPlainColons(
  yaml: string,
  linesBefore: number,
): { yaml: string; findings: Finding[] } | null {
  const findings: Finding[] = [];
  const lines = yaml.split("\n").map((before, index) => {
    const [start = "", , key = ""] = WIDE_COLON.exec(before) ?? [];
    if (!isKnownKey(key)) return before;
    const after = `${key}: ${before.slice(start.length)}`;
    const line = index + 1 + linesBefore;
    const message = `${key}: the colon behind it is a full-width one; write a plain colon and a space`;
    findings.push({
      ...warningFinding("repaired_colon", message, { line, column: key.length + 1 }),
      patch: { line, before, after },
    });
    return after;
  });
  return findings.length === 0 ? null : { yaml: lines.join("\n"), findings };
}

/** The text as it was changed, repaired once more where that was not all. */
function readAgain(
  { yaml, findings }: { yaml: string; findings: readonly Finding[] },
  linesBefore: number,
): ReturnType<typeof repairYaml> {
  const parsed = parseYaml(yaml, { schema: "failsafe", linesBefore });
  if ("problem" in parsed) {
    const repaired = repairYaml(yaml, { linesBefore, ...parsed });
    if ("problem" in repaired) return repaired;
    return { ...repaired, findings: [...findings, ...repaired.findings] };
  }
  restrictUnread(yaml, parsed.values);
  return { parsed, yaml, findings };
}

/** A key at the margin. */
const FIELD = /^["']?[\w-]+["']?[ \t]*:/m;

/** The result for Markdown between two rules, which is no frontmatter. */
function textOnly(yaml: string, linesBefore: number): RepairedYaml {
  const at = { line: linesBefore, column: 1 };
  const values = emptyMapping();
  restrictUnread(yaml, values);
  const message =
    "the text between the two lines --- has no field, so the whole file is the body; write `name: …` and `description: …` there";
  return {
    parsed: { values, locate: () => at },
    yaml: null,
    isText: true,
    findings: [warningFinding("repaired_no_fields", message, at)],
  };
}

interface Fix {
  readonly lines: readonly string[];
  readonly finding: Finding;
}

type Outcome = { parsed: ParsedYaml; duplicates: readonly Finding[] };

/** Repairs one line after another, as long as each repair lets the parser get further than before. */
function fixLines(yaml: string, { linesBefore, problem, mistakes }: Refused): RepairedYaml | null {
  if (problem.code === "frontmatter_too_complex") return null;
  // The library's time grows fast with nested brackets, and no author means to nest so many.
  if (nestsDeeply(yaml)) return null;
  let lines: readonly string[] = yaml.split("\n");
  // Only a text with duplicate keys can be accepted as it is; every other problem needs a repair.
  let outcome: Outcome =
    problem.code === "duplicate_key"
      ? read(yaml, linesBefore)
      : { parsed: { problem, mistakes }, duplicates: [] };
  const findings: Finding[] = [];
  let left = Math.min(MAX_ATTEMPTS, Math.floor(MAX_PARSED_CHARACTERS / yaml.length));
  while ("problem" in outcome.parsed) {
    const current = outcome.parsed.problem;
    let better: { fix: Fix; outcome: Outcome } | undefined;
    for (const fix of fixesFor(lines, current, linesBefore)) {
      if (better !== undefined || left === 0) break;
      left -= 1;
      const tried = read(fix.lines.join("\n"), linesBefore);
      if (!("problem" in tried.parsed) || isLater(tried.parsed.problem, current)) {
        better = { fix, outcome: tried };
      }
    }
    if (better === undefined) return null;
    lines = better.fix.lines;
    findings.push(better.fix.finding);
    outcome = better.outcome;
  }
  return {
    parsed: outcome.parsed,
    yaml: lines.join("\n"),
    findings: [...findings, ...outcome.duplicates],
  };
}

function read(yaml: string, linesBefore: number): Outcome {
  const duplicates: Finding[] = [];
  const onDuplicate = (finding: Finding) => duplicates.push(finding);
  return { parsed: parseYaml(yaml, { schema: "failsafe", linesBefore, onDuplicate }), duplicates };
}

function isLater(one: Finding, other: Finding): boolean {
  return (one.line ?? 0) > (other.line ?? 0);
}

const PAIR = /^( *)((?:- )?["']?[A-Za-z][\w-]*["']?):(?:[ \t]+(.*))?$/;

/** Returns possible repairs: of the line of the error, then of JSON left open above it, then of the field above it. */
function fixesFor(lines: readonly string[], problem: Finding, linesBefore: number): Fix[] {
  const at = Math.min((problem.line ?? 0) - linesBefore - 1, lines.length - 1);
  const fields: number[] = [];
  for (let index = at; index >= 0 && fields.length < 3; index -= 1) {
    if (PAIR.test(lines[index] ?? "")) fields.push(index);
  }
  const open = lines.findLastIndex((line, index) => index <= at && isUnbalanced(line));
  const candidates = new Set(open < 0 ? fields : [...fields.slice(0, 1), open, ...fields.slice(1)]);
  return [...candidates].flatMap((index) => fixesOf(lines, index, linesBefore));
}

function isUnbalanced(line: string): boolean {
  const value = PAIR.exec(line)?.[3]?.trim() ?? "";
  return /^[{[]/.test(value) && balancedFlow(value) !== value;
}

function fixesOf(lines: readonly string[], index: number, linesBefore: number): Fix[] {
  const [, indent = "", key = "", written = ""] = PAIR.exec(lines[index] ?? "") ?? [];
  const value = written.trim();
  // Without a value of its own, or with a block text, there is nothing to quote.
  if (value === "" || /^[|>][-+\d]*$/.test(value)) return [];
  const fix = (code: string, what: string, after: string, count: number): Fix => {
    const before = lines.slice(index, index + count);
    const place = { line: index + 1 + linesBefore, column: indent.length + key.length + 3 };
    // Joined lines leave empty ones, so that every later position stays right.
    const empty = Array.from<string>({ length: count - 1 }).fill("");
    return {
      lines: [...lines.slice(0, index), after, ...empty, ...lines.slice(index + count)],
      finding: {
        ...warningFinding(code, `${key}: ${what}`, place),
        patch: { line: place.line, before: before.join("\n"), after },
      },
    };
  };
  const fixes: Fix[] = [];
  const balanced = balancedFlow(value);
  if (/^[{[]/.test(value) && balanced !== value) {
    const after = `${indent}${key}: ${balanced}`;
    fixes.push(fix("repaired_json", "its brackets did not match and were completed", after, 1));
  }
  const count = 1 + continuationLines(lines, index, indent.length);
  // Its continuation must not widen a restriction.
  if (count > 1 && isRestriction(key.replaceAll(/^- |["']/g, ""))) return fixes;
  const text = [value, ...lines.slice(index + 1, index + count).map((line) => line.trim())].join(
    " ",
  );
  const quoted = `${indent}${key}: ${quotedText(text)}`;
  fixes.push(fix("repaired_quotes", "this text must be in quotes", quoted, count));
  return fixes;
}

/** Counts the lines after a field that continue its text: indented lines, or unindented ones without a key. */
function continuationLines(lines: readonly string[], index: number, indent: number): number {
  let count = 0;
  for (const line of lines.slice(index + 1)) {
    const inner = line.search(/[^ ]/);
    const isContinued =
      inner > indent || (inner === 0 && !/^(?:[-#]|["']?[\w-]+["']?:(?:\s|$))/.test(line));
    if (inner < 0 || !isContinued) break;
    count += 1;
  }
  return count;
}

function quotedText(text: string): string {
  return `'${withoutQuotes(text).replaceAll("'", "''")}'`;
}

function unresolvedConflict(line: number): Finding {
  return errorFinding(
    "merge_conflict",
    "the frontmatter holds an unresolved git conflict; decide which side counts",
    { line, column: 1 },
  );
}
