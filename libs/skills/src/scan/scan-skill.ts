import type { Skill } from "@switchyard/contracts/skill-importer/skills";
import type {
  ScanFinding,
  ScanReport,
  ScanSeverity,
  ScanSuppression,
  SkillCapabilities,
} from "@switchyard/contracts/skill-importer/skill-scan";
import type { YamlMapping } from "../frontmatter/yaml-value.ts";
import { readRequirements } from "../skill/skill-requirements.ts";
import { capabilitiesOf, type DeclaredNeeds } from "./capabilities.ts";
import { mayBeDisguised, plainText } from "./plain/plain-text.ts";
import { readScanFiles, type ScanFile } from "./read-scan-files.ts";
import { confusableName, triggerAbuse } from "./rules/trigger-abuse.ts";
import { declaredAuthority } from "./rules/declared-authority.ts";
import { undeclaredUse } from "./rules/undeclared-use.ts";
import { INDICATORS, joinedIndicators, type Indicators } from "./indicators.ts";
import { isAboutAttacks } from "./mention.ts";
import { rulebookOf, type Rulebook } from "./rulebook.ts";
import { SCANNER_VERSION } from "./scanner-version.ts";
import type { ScannedText } from "./scanned-text.ts";
import { applySuppressions } from "./suppressions.ts";

export interface ScanInput {
  /** The skill's own file first, then the files beside it; paths relative to the skill's directory. */
  readonly files: readonly ScanFile[];
  /** The parsed skill file; null when it does not load. */
  readonly skill: Pick<Skill, "name" | "description" | "allowedTools"> | null;
  readonly metadata: YamlMapping | Readonly<Record<string, unknown>> | null;
  /** The name as it was written, and whether the frontmatter brings hooks. */
  readonly written?: { readonly name: string | null; readonly hasHooks: boolean };
  /** The digest of the scanned version, which suppressions are bound to. */
  readonly digest: string;
  /** The operator's. A skill never brings its own. */
  readonly suppressions?: readonly ScanSuppression[];
  /** The operator's known hosts and files, in addition to the scanner's own. */
  readonly indicators?: Indicators | null;
  readonly now: Date;
}

/**
 * Scans all files of a skill with rules only: no model, no network, and no file is run. One rule alone blocks only where it is
 * nearly certain; all other findings are left to a person or a policy.
 */
export function scanSkill(input: ScanInput): ScanReport {
  const read = readScanFiles(input.files);
  const own = read.texts[0]?.file ?? input.files[0]?.path ?? "SKILL.md";
  const needs = declaredNeeds(input);
  const capabilities = capabilitiesOf(read.texts, needs.declared);
  const rules = rulebookFor(input.indicators ?? null);
  const { findings: seen, leftOut } = scanTexts(read.texts, rules);
  const shown = seen.map((finding) => asShown(finding, { texts: read.texts, skill: input.skill }));
  const findings = [
    ...read.findings,
    ...rules.scanFiles(input.files),
    ...shown,
    ...declarationFindings(input, { own, needs, texts: read.texts }),
    ...undeclaredUse(capabilities, { file: own, declaresNeeds: needs.isGiven }),
  ];
  return reportOf(input, {
    read,
    findings,
    capabilities,
    leftOut,
  });
}

const TEACHES =
  /\b(?:security|secure|attacks?|attackers?|threats?|malware|malicious|vulnerabilit\w{1,4}|pentest\w{0,4}|penetration|red[- ]?team\w{0,3}|injections?|exploit\w{0,5}|forensics?|detect\w{0,4}|scanner|audit\w{0,3}|vetting|CTF)\b|安全|攻击|恶意|漏洞/i;

/**
 * A blocking finding stays blocking, whatever surrounds it, because the author of an attack controls the surroundings, too. For a
 * skill about security the report notes it, and how a person can list the skill.
 */
function asShown(
  finding: ScanFinding,
  { texts, skill }: { texts: readonly ScannedText[]; skill: ScanInput["skill"] },
): ScanFinding {
  if (!finding.blocks) return finding;
  const text = texts.find(({ file }) => file === finding.file);
  const isAbout =
    TEACHES.test(skill?.description ?? "") ||
    (text !== undefined && finding.line !== null && isAboutAttacks(text, finding.line));
  if (!isAbout) return finding;
  const message = `${finding.message} (the text is about security: it may only be shown)`;
  const advice = `${finding.advice}; if it only teaches this, trust this version with a reason`;
  return { ...finding, message, advice };
}

/** Codes of findings that name an untrusted host. */
const PLACES = new Set("bare_address drop_host known_bad_place".split(" "));

/** Judges the texts as they are written, as a machine reads them, and by the flows between them. */
function scanTexts(
  texts: readonly ScannedText[],
  rules: Rulebook,
): { findings: ScanFinding[]; leftOut: number } {
  const written = texts.map((text) => rules.scanText(text));
  const disguised = texts.map((text, index) => {
    const decodes = written[index]?.marks.has("may_be_disguised") === true;
    return decodes || mayBeDisguised(text) ? plainText(text, { decodes }) : null;
  });
  const plain = disguised.filter((text) => text !== null).map((text) => rules.scanPlain(text));
  const found = [...written, ...plain];
  const places = new Set(
    found.flatMap(({ findings }) =>
      findings.filter(({ code }) => PLACES.has(code)).map(({ file }) => file),
    ),
  );
  const named = new Set(
    texts
      .filter((_text, index) => written[index]?.marks.has("secret_place"))
      .map(({ file }) => file),
  );
  const isFollowed = places.size > 0 || found.some(({ marks }) => marks.has("secret_place"));
  const flows = isFollowed
    ? rules.scanFlows(
        texts.map(
          (text, index) =>
            disguised[index] ?? withConstants(text, named.has(text.file) || places.has(text.file)),
        ),
        places,
      )
    : [];
  return {
    findings: once([...found.flatMap(({ findings }) => findings), ...flows]),
    leftOut: found.reduce((sum, { leftOut }) => sum + leftOut, 0),
  };
}

/** Puts constants in where a text has something to follow: an address is often in a variable. */
function withConstants(text: ScannedText, isNamed: boolean): ScannedText {
  return isNamed ? (plainText(text, { decodes: false }) ?? text) : text;
}

/** Keeps the heaviest of equal findings on one line; `bare_address` is implied by `remote_execution`. */
function once(findings: readonly ScanFinding[]): ScanFinding[] {
  const kept = new Map<string, ScanFinding>();
  for (const finding of findings.toSorted(worstFirst)) {
    const key = `${finding.code} ${finding.file} ${finding.line}`;
    if (!kept.has(key)) kept.set(key, finding);
  }
  for (const { code, file, line } of findings) {
    if (code.startsWith("remote_execution")) kept.delete(`bare_address ${file} ${line}`);
  }
  return [...kept.values()];
}

const MAX_FINDINGS = 100;
const RANK: Readonly<Record<ScanSeverity, number>> = {
  critical: 0,
  high: 1,
  medium: 2,
  low: 3,
  info: 4,
};

const builtIn = rulebookOf(INDICATORS);
/** An operator's list is the same for all skills, but each job brings a copy of it to the thread. */
let operators: { readonly key: string; readonly rules: Rulebook } | null = null;

function rulebookFor(indicators: Indicators | null): Rulebook {
  if (indicators === null) return builtIn;
  const key = JSON.stringify(indicators);
  if (operators?.key !== key) {
    operators = { key, rules: rulebookOf(joinedIndicators(INDICATORS, indicators)) };
  }
  return operators.rules;
}

interface Needs {
  readonly declared: DeclaredNeeds;
  readonly isGiven: boolean;
  readonly always: boolean;
  readonly install: readonly unknown[];
}

function declaredNeeds({ skill, metadata }: ScanInput): Needs {
  const requirements = metadata === null ? null : readRequirements(metadata).requirements;
  const env = [...(requirements?.env ?? [])];
  if (requirements !== null && requirements.primaryEnv !== null) env.push(requirements.primaryEnv);
  const written = metadata === null ? "" : JSON.stringify(metadata);
  const hosts = [...written.matchAll(/https?:\/\/([A-Za-z0-9.-]{3,253})/g)].map(
    (match) => match[1] ?? "",
  );
  return {
    declared: {
      env,
      bins: [...(requirements?.bins ?? []), ...(requirements?.anyBins ?? [])],
      hosts,
      tools: skill?.allowedTools ?? null,
    },
    isGiven: requirements !== null,
    always: requirements?.always ?? false,
    install: requirements?.install ?? [],
  };
}

function declarationFindings(
  { skill, written }: ScanInput,
  { own, needs, texts }: { own: string; needs: Needs; texts: readonly ScannedText[] },
): ScanFinding[] {
  if (skill === null) return [];
  const name = written?.name ?? null;
  return [
    ...triggerAbuse(skill, own),
    ...(name === null ? [] : confusableName(name, own)),
    ...declaredAuthority(
      {
        allowedTools: skill.allowedTools,
        always: needs.always,
        install: needs.install,
        hasHooks: written?.hasHooks ?? false,
        runsCommands: /(?:^|\s)!`[^`\n]{1,200}`/.test(texts[0]?.text ?? ""),
      },
      own,
    ),
  ];
}

function reportOf(
  input: ScanInput,
  parts: {
    read: ReturnType<typeof readScanFiles>;
    findings: readonly ScanFinding[];
    capabilities: SkillCapabilities;
    leftOut: number;
  },
): ScanReport {
  const { read, capabilities } = parts;
  const { kept, suppressed, idleSuppressions } = applySuppressions(parts.findings, {
    suppressions: input.suppressions ?? [],
    digest: input.digest,
    now: input.now,
  });
  const ordered = kept.toSorted(worstFirst);
  return {
    scanner: SCANNER_VERSION,
    verdict: verdictOf(ordered, { isPartial: read.unscanned.length > 0, leftOut: parts.leftOut }),
    findings: ordered.slice(0, MAX_FINDINGS),
    leftOut: parts.leftOut + Math.max(0, ordered.length - MAX_FINDINGS),
    suppressed: suppressed.slice(0, MAX_FINDINGS),
    idleSuppressions,
    unscanned: read.unscanned,
    capabilities,
    files: input.files.length,
    bytes: read.bytes,
  };
}

function verdictOf(
  findings: readonly ScanFinding[],
  { isPartial, leftOut }: { isPartial: boolean; leftOut: number },
): ScanReport["verdict"] {
  if (findings.some(({ blocks }) => blocks)) return "blocked";
  if (isPartial) return "partial";
  return leftOut > 0 || findings.some(({ severity }) => severity !== "info") ? "findings" : "clean";
}

function worstFirst(one: ScanFinding, other: ScanFinding): number {
  return (
    Number(other.blocks) - Number(one.blocks) ||
    RANK[one.severity] - RANK[other.severity] ||
    one.file.localeCompare(other.file) ||
    (one.line ?? 0) - (other.line ?? 0)
  );
}
