import { readFileSync } from "node:fs";
import {
  OwaspAst,
  ScanConfidence,
  ScanSeverity,
} from "@switchyard/contracts/skill-importer/skill-scan";
import { z } from "zod";
import type { Check, PatternRule } from "./pattern-rule.ts";
import { parseStrictly } from "./strict-file.ts";

/** Lists of hints that are defined elsewhere. */
const HintList = z.enum(["dropHosts", "credentialFiles", "credentialPlaces", "knownPlaces"]);

const facts = {
  owasp: OwaspAst,
  severity: ScanSeverity,
  confidence: ScanConfidence,
  blocks: z.boolean(),
  message: z.string().min(1),
  advice: z.string().min(1),
  isProse: z.boolean(),
  isMark: z.boolean(),
  check: z.string(),
} as const;

const Rule = z
  .strictObject({
    ...facts,
    code: z.string().regex(/^[a-z_]+$/),
    blocks: facts.blocks.optional(),
    isProse: facts.isProse.optional(),
    check: facts.check.optional(),
    isMark: facts.isMark.optional(),
    kinds: z.array(z.enum(["markdown", "script", "data"])).optional(),
    needs: z.string().optional(),
    hints: z.union([HintList, z.array(z.string().min(4)).min(1)]),
    pattern: z.string(),
    matchCase: z.boolean().optional(),
  })
  .refine(({ isProse, blocks }) => isProse !== true || blocks !== true, {
    error: "a rule about prose never blocks",
  });

const Rules = z.strictObject({
  groups: z.array(
    z
      .strictObject({
        all: z.strictObject(facts).partial().default({}),
        rules: z.array(z.record(z.string(), z.unknown())),
      })
      .transform(({ all, rules }) => rules.map((rule) => Object.assign({}, all, rule))),
  ),
});

/** The parts of the rules that are code or other data. */
export interface RuleParts {
  /** The checks, by the name in a rule's `check`. */
  readonly checks: Readonly<Record<string, Check>>;
  readonly hints: Readonly<Record<z.infer<typeof HintList>, readonly string[]>>;
}

const FILE = "rules.yaml";
const RULES = readRules(readFileSync(new URL(`./${FILE}`, import.meta.url), "utf8"));

/** Returns the rules that match at one position of a text, in the order of the file. */
export function patternRules({ checks, hints }: RuleParts): PatternRule[] {
  return RULES.map(({ check, hints: given, pattern, matchCase = false, ...rule }) => {
    const known = check === undefined ? undefined : checks[check];
    if (check !== undefined && known === undefined)
      throw new Error(`${FILE}: ${rule.code}: nothing here is called ${check}`);
    return {
      ...rule,
      ...(known === undefined ? {} : { check: known }),
      hints: typeof given === "string" ? hints[given] : given,
      // Sticky: the pattern is tried only at its hints.
      pattern: new RegExp(pattern, matchCase ? "y" : "iy"),
    };
  });
}

/** Returns the pattern of a rule in a form that matches anywhere. */
export function patternOf(code: string): RegExp {
  const rule = RULES.find((one) => one.code === code);
  if (rule === undefined) throw new Error(`${FILE}: there is no rule ${code}`);
  return new RegExp(rule.pattern, "i");
}

function readRules(text: string): z.infer<typeof Rule>[] {
  return z.array(Rule).parse(parseStrictly(Rules, text, FILE).groups.flat());
}
