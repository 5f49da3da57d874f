import type { Plan } from "@switchyard/contracts/agent-runner/plan";
import type { SkillRecord } from "@switchyard/contracts/skill-importer/skill-record";
import type { Skill } from "@switchyard/contracts/skill-importer/skills";
import { errorFinding, infoFinding, warningFinding, type Finding } from "../finding.ts";
import type { YamlMapping } from "../frontmatter/yaml-value.ts";
import { useFindings } from "../manifest/use-findings.ts";
import { MAX_PROMPT_BYTES } from "../render/render.ts";
import { firstParagraph } from "./first-paragraph.ts";
import type { UnderstoodValues } from "./read-values.ts";
import { losesLetters, slugOf } from "./slug.ts";

/** A skill as its file defines it; the caller has the file's path. */
export type SkillContent = Omit<Skill, "path" | "diagnostics">;

export interface SkillOutcome {
  /** Null when the file cannot be used; then one finding is an error. */
  readonly skill: SkillContent | null;
  readonly metadata: YamlMapping | null;
  readonly findings: readonly Finding[];
}

/** The outcome for a file that cannot be used; one of the findings is an error. */
export function skippedSkill(...findings: Finding[]): SkillOutcome {
  return { skill: null, metadata: null, findings };
}

/** The parts of a skill that a reader of one format has found. */
interface SkillParts extends Pick<UnderstoodValues, "fields" | "invocation"> {
  readonly digest: string;
  readonly directoryName: string;
  readonly body: string;
  readonly plan: Plan | null;
  /** True when a strict reader would reject the file: a person should review it. */
  readonly wasRepaired: boolean;
  readonly record?: SkillRecord;
  /** Missing for a SKILL.md. */
  readonly format?: "legacy";
}

/** Builds the skill: its name, its description, and findings about them. Null without a usable name. */
export function assembleSkill(given: SkillParts, earlier: readonly Finding[]): SkillOutcome {
  const { fields } = given;
  const identity = identify(fields.name, given.directoryName);
  const findings = [...earlier, ...identity.findings];
  if (identity.name === null) return skippedSkill(...findings);
  const body = given.body.replace(/^(?:[ \t]*\n)+/, "").trimEnd();
  const bodyBytes = Buffer.byteLength(body);
  if (bodyBytes > MAX_PROMPT_BYTES) {
    const message = `the body has ${bodyBytes} bytes; a prompt gets the first ${MAX_PROMPT_BYTES}`;
    findings.push(warningFinding("long_body", message));
  }
  const description = withoutControls(fields.description ?? "") || firstParagraph(body);
  if (description === "") {
    const message = "neither a description nor a body; a model cannot know when to use it";
    findings.push(warningFinding("no_description", message));
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
    ...(fields.needsBraces ? { needsBraces: true } : {}),
    plan: given.plan,
    ...given.invocation,
    ...(given.record === undefined ? {} : { record: given.record }),
    ...(given.format === undefined ? {} : { format: given.format }),
    ...(given.wasRepaired ? { repaired: true, needsReview: true } : {}),
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
    if (directory === null) return { name: null, findings: [noUsableName(directoryName)] };
    const halved = losesLetters(directoryName) ? [halfAName(directoryName, directory)] : [];
    return { name: directory, findings: halved };
  }
  const name = slugOf(given);
  const isHalf = name !== null && losesLetters(given);
  if (name === null || (isHalf && directory !== null && !losesLetters(directoryName))) {
    if (directory === null) return { name: null, findings: [noUsableName(given)] };
    const message = `the name ${JSON.stringify(given)} cannot be used; the directory's name ${directory} is taken`;
    return { name: directory, findings: [warningFinding("invalid_name", message)] };
  }
  if (isHalf) return { name, findings: [halfAName(given, name)] };
  const findings: Finding[] = [];
  if (name !== given) {
    findings.push(infoFinding("name_changed", `the name ${JSON.stringify(given)} became ${name}`));
  }
  if (name !== directory) {
    const message = `the directory is called ${JSON.stringify(directoryName)}; other clients want ${name}`;
    findings.push(infoFinding("name_differs", message));
  }
  return { name, findings };
}

/** Warns when only part of a name in another script is left: users would not search for that. */
function halfAName(given: string, name: string): Finding {
  return warningFinding(
    "invalid_name",
    `of the name ${JSON.stringify(given)} only ${name} is left, because names have the letters a-z; add a field name with one of your choice`,
  );
}

function noUsableName(name: string): Finding {
  return errorFinding(
    "no_usable_name",
    `${JSON.stringify(name)} has no letter a-z or digit to make a name of; add a field name`,
  );
}

function withoutControls(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\n\t]/gu, "")
    .trim();
}
