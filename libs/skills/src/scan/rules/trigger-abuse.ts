import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import type { Skill } from "@switchyard/contracts/skill-importer/skills";
import { findingIn, type RuleFacts } from "../rule.ts";

const ABUSE = { owasp: "AST04", severity: "low", confidence: "medium" } as const;

const RULES: readonly (RuleFacts & { readonly pattern: RegExp })[] = [
  {
    ...ABUSE,
    code: "trigger_too_broad",
    severity: "medium",
    pattern:
      /\b(?:use|invoke|activate|load|run|call|apply)(?:d)?\b[^.\n]{0,60}\b(?:(?:for|on|before|after|in|at the start of) (?:every|each|any|all) (?:single )?(?:tasks?|requests?|messages?|conversations?|questions?|sessions?|prompts?|responses?|user input)\b|no matter what)/i,
    message: "the description wants the skill to be used for everything",
    advice: "name the tasks it is for",
  },
  {
    ...ABUSE,
    code: "trigger_hijack",
    severity: "medium",
    pattern:
      /\b(?:instead of|rather than|takes? (?:precedence|priority) over|override?s?|replaces?|ignore) (?:all |any |every )(?:the )?(?:other|existing|built-?in) (?:skills?|tools?|instructions)\b|\b(?:do not|don't|never) use any other (?:skill|tool)s?\b/i,
    message: "the description pushes other skills and tools aside",
    advice: "describe this skill, and leave the choice to the model",
  },
  {
    ...ABUSE,
    code: "description_instructs",
    pattern:
      /<\/?(?:system|skill|instructions?|tool_use|function_calls|available_skills)\b[^>]{0,80}>|\bignore (?:all |any )?(?:previous|prior) instructions/i,
    severity: "high",
    message: "the description tries to be more than a description",
    advice: "remove markup and instructions from the description",
  },
];

const BUILT_INS = new Set(
  (
    "help clear exit quit skills agents agent tools model login logout config init memory compact read-file " +
    "write-file execute-command bash read write edit grep glob system"
  ).split(" "),
);

/** Finds descriptions that request to be chosen for every task, and names that imitate others. */
export function triggerAbuse(
  skill: Pick<Skill, "name" | "description">,
  file: string,
): ScanFinding[] {
  const { name } = skill;
  const description = skill.description.slice(0, 4_096);
  const findings = RULES.flatMap(({ pattern, ...facts }) => {
    const match = pattern.exec(description);
    return match === null ? [] : [findingIn(file, match[0], facts)];
  });
  const words = description.split(/[,;|]/);
  const short = words.filter((word) => word.trim().split(/\s+/).length <= 3);
  if (words.length > 40 && short.length > 35) {
    const message = `the description lists ${words.length} keywords`;
    const advice = "write sentences that say when it is useful";
    const facts = { ...ABUSE, code: "keyword_bait", message, advice };
    findings.push(findingIn(file, description.slice(0, 100), facts));
  }
  if (BUILT_INS.has(name)) {
    const message = `the name ${name} belongs to a built-in command or tool`;
    const facts = { ...ABUSE, code: "shadows_built_in", message, advice: "choose another name" };
    findings.push(findingIn(file, name, facts));
  }
  return findings;
}

/** A name with letters of two scripts that look alike (`аdmin` with a Cyrillic а). */
export function confusableName(written: string, file: string): ScanFinding[] {
  const isMixed =
    /[A-Za-z]/.test(written) &&
    /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u.test(written);
  if (!isMixed) return [];
  const facts: RuleFacts = {
    ...ABUSE,
    code: "confusable_name",
    severity: "high",
    message: "the name mixes letters that look alike",
    advice: "write the name with letters of one alphabet",
  };
  return [findingIn(file, written, facts)];
}
