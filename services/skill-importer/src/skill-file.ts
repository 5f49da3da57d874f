import { createHash } from "node:crypto";
import type { Plan } from "@switchyard/contracts/plan";
import type { Skill } from "@switchyard/contracts/skills";
import { decodeText } from "./decode-text.ts";
import { errorFinding, infoFinding, warningFinding, type Finding } from "./finding.ts";
import { firstParagraph } from "./first-paragraph.ts";
import { splitFrontmatter } from "./frontmatter.ts";
import { readPlan } from "./plan-field.ts";
import { MAX_PROMPT_BYTES } from "./render.ts";
import { parseYaml, type YamlMapping } from "./safe-yaml.ts";
import { readSkillFields, type SkillFields } from "./skill-fields.ts";
import { slugOf } from "./slug.ts";

/** A skill as its file says it; where the file lies is known to the caller. */
export type SkillContent = Omit<Skill, "path" | "diagnostics">;

export interface ParsedSkill {
  /** Null when the file cannot be used; then one finding is an error. */
  readonly skill: SkillContent | null;
  readonly metadata: YamlMapping | null;
  readonly findings: readonly Finding[];
}

/**
 * Reads a SKILL.md. Lenient where that is safe (unknown fields, a missing name or description, a file
 * without frontmatter), strict where guessing is not: broken YAML skips the file.
 */
export function parseSkillFile(bytes: Uint8Array, directoryName: string): ParsedSkill {
  const decoded = decodeText(bytes);
  if ("problem" in decoded) return skipped(decoded.problem);
  const frontmatter = splitFrontmatter(decoded.text);
  if (frontmatter.kind === "broken") return skipped(named(frontmatter.problem, directoryName));
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  if (frontmatter.kind === "none") {
    const { fields } = readSkillFields({}, () => ({ line: 1, column: 1 }));
    const given = { digest, directoryName, body: frontmatter.body, fields, plan: null };
    return assemble(given, frontmatter.findings);
  }
  const yaml = parseYaml(frontmatter.yaml, {
    schema: "failsafe",
    linesBefore: frontmatter.linesBefore,
  });
  if ("problem" in yaml) return skipped(named(yaml.problem, directoryName));
  const { fields, findings } = readSkillFields(yaml.values, yaml.locate);
  const planned = Object.hasOwn(yaml.values, "plan") ? planOf(frontmatter) : { plan: null };
  if ("problems" in planned) return skipped(...planned.problems, ...findings);
  const given = { digest, directoryName, body: frontmatter.body, fields, plan: planned.plan };
  return assemble(given, findings);
}

interface Given {
  readonly digest: string;
  readonly directoryName: string;
  readonly body: string;
  readonly fields: SkillFields;
  readonly plan: Plan | null;
}

function assemble(given: Given, earlier: readonly Finding[]): ParsedSkill {
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
  };
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

function skipped(...findings: Finding[]): ParsedSkill {
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
