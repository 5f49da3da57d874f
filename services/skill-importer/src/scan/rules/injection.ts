import type { ScanFinding } from "@switchyard/contracts/skill-scan";
import type { PatternRule } from "../pattern-rule.ts";
import { findingAt } from "../rule.ts";
import type { ScannedText } from "../scanned-text.ts";

/** A skill is instructions, so single phrases say little: what hides in a comment weighs more. */
const inComment: PatternRule["judge"] = (match, text) =>
  text.contextAt(text.lineIndexAt(match.index)).isComment
    ? {
        severity: "high",
        message: "instructions against the user, where a reader of the page does not see them",
      }
    : {};

const PHRASE = {
  owasp: "AST05",
  severity: "medium",
  confidence: "low",
  isProse: true,
  judge: inComment,
} as const;

const OVERRIDE =
  /(?:ignore|disregard|forget|override) (?:all |any |every |the |your |these |those |my ){0,3}(?:previous|prior|above|earlier|preceding|existing|system|safety|original) (?:\w{1,20} ){0,2}?(?:instructions?|prompts?|rules|guidelines|directives|messages?|constraints)/iy;
const CONCEAL =
  /(?:do not|don['’]t|never) (?:ever )?(?:tell|inform|mention (?:this |it )?to|reveal (?:this |it )?to|notify|show (?:this |it )?to|alert|let) (?:the |your )?(?:users?|humans?|owner|operator)\b(?! (?:to|that you (?:can|could)|how)\b)/iy;

export const INJECTION: readonly PatternRule[] = [
  {
    ...PHRASE,
    code: "instruction_override",
    hints: ["ignore ", "disregard ", "forget ", "override "],
    pattern: OVERRIDE,
    message: "asks to ignore other instructions",
    advice: "say what the skill does instead of what the agent must ignore",
  },
  {
    ...PHRASE,
    code: "concealment",
    hints: ["do not ", "don't ", "never "],
    pattern: CONCEAL,
    message: "asks to keep something from the user",
    advice: "tell the user what happens",
  },
  {
    ...PHRASE,
    code: "role_override",
    hints: ["you are now ", "enter developer mode", "enable developer mode", "jailbreak"],
    pattern:
      /(?:you are now (?:DAN\b|in developer mode|unrestricted|free of|an? (?:unrestricted|uncensored))|(?:enter|enable) developer mode|jailbreak(?:ed)? mode)/iy,
    message: "gives the agent a role without rules",
    advice: "remove it",
  },
  {
    ...PHRASE,
    code: "prompt_leak",
    hints: ["reveal ", "print ", "output ", "repeat ", "send "],
    pattern:
      /(?:reveal|print|output|repeat|send) (?:me |us )?(?:your |the )(?:full |entire |complete |hidden )?system (?:prompt|message|instructions)/iy,
    message: "asks for the system prompt",
    advice: "remove it",
  },
  {
    ...PHRASE,
    code: "anti_refusal",
    hints: [
      "never refuse",
      "do not refuse",
      "don't refuse",
      "without refusing",
      "must not refuse",
      "never decline",
    ],
    pattern:
      /(?:never|do not|don['’]t|without|must not) (?:refus|declin)\w{1,5}\b(?! to (?:use|run) the)/iy,
    message: "asks the agent never to refuse",
    advice: "remove it",
  },
];

/** The same patterns without their stickiness. */
const HIDES = [OVERRIDE, CONCEAL].map(({ source }) => new RegExp(source, "i"));

/** An HTML comment that both overrides instructions and keeps it from the user: nobody who reads the page sees it. */
export function hiddenInstructions(text: ScannedText): ScanFinding[] {
  if (text.kind !== "markdown") return [];
  const findings: ScanFinding[] = [];
  let from = text.text.indexOf("<!--");
  while (from >= 0 && findings.length < 10) {
    const closed = text.text.indexOf("-->", from + 4);
    const end = closed < 0 ? text.text.length : closed;
    const comment = text.text.slice(from + 4, Math.min(end, from + 4_000));
    if (HIDES.every((pattern) => pattern.test(comment))) {
      findings.push(
        findingAt(
          text,
          { start: from, length: comment.length + 4 },
          {
            code: "hidden_instructions",
            owasp: "AST05",
            severity: "critical",
            confidence: "high",
            blocks: true,
            message: "an HTML comment overrides instructions and keeps it from the user",
            advice: "do not use the skill",
          },
        ),
      );
    }
    from = text.text.indexOf("<!--", end);
  }
  return findings;
}
