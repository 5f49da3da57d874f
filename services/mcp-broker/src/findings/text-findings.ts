import type { ToolFinding } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { pointerToken } from "@switchyard/contracts/json-pointer";
import type { JsonRecord } from "@switchyard/contracts/json-record";
import { visible } from "@switchyard/service/visible-text";

/** The characters or words that a text must contain before it is checked closely: most contain none of them. */
const SUSPECT =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class -- matching such characters is the purpose
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]|\p{Cf}|\p{Variation_Selector}/u;

/** Characters that are neither visible nor part of how any script or emoji is written. */
const HIDDEN =
  // oxlint-disable-next-line no-misleading-character-class -- matching such characters is the purpose
  /[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}]|\p{Variation_Selector}{2,}/u;
/** A joiner that joins nothing: emoji and the scripts that need joiners are let through. */
const LOOSE_JOINER =
  /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f\p{Script=Arabic}\p{Script=Syriac}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Myanmar}\p{Script=Khmer}\p{Script=Mongolian}\p{Script=Tibetan}])[\u200c\u200d]/u;
const SELECTOR_ON_NOTHING =
  /(?<![\p{Extended_Pictographic}\p{Emoji}\p{Script=Han}\p{Script=Mongolian}\p{Sm}\p{So}])\p{Variation_Selector}/u;
const BIDI_CONTROL = /[\u202a-\u202e\u2066-\u2069]/u;
const BIDI_MARK = /[\u061c\u200e\u200f]/u;
/** The flags of England, Scotland and Wales are spelled with tags behind a black flag. */
const TAGS = /(?<!\u{1f3f4}[\u{e0020}-\u{e007f}]{0,6})[\u{e0000}-\u{e007f}]/u;
// oxlint-disable-next-line no-control-regex -- matching control characters is the purpose
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f]/u;

const CHARACTER_RULES = [
  { code: "hidden_characters", severity: "hard", pattern: HIDDEN },
  { code: "hidden_characters", severity: "hard", pattern: LOOSE_JOINER },
  { code: "hidden_characters", severity: "hard", pattern: SELECTOR_ON_NOTHING },
  { code: "tag_characters", severity: "hard", pattern: TAGS },
  { code: "bidi_control", severity: "hard", pattern: BIDI_CONTROL },
  { code: "control_characters", severity: "hard", pattern: CONTROLS },
  { code: "bidi_mark", severity: "soft", pattern: BIDI_MARK },
] as const;

/** Words that speak to a model and not about a tool. Each is bounded, so none can be made slow. */
const INSTRUCTIONS =
  /\b(?:ignore|disregard|forget)\s{1,5}(?:all\s{1,5}|any\s{1,5}|the\s{1,5})?(?:previous|prior|above|earlier|other)\b|\bdo\s{1,5}not\s{1,5}(?:tell|inform|mention|reveal|show|notify)\b.{0,40}\buser\b|\bwithout\s{1,5}(?:telling|informing|asking)\b.{0,20}\buser\b|<\s?\/?(?:important|system|secret|instructions?)\s?>|\bsystem\s?prompt\b|\b(?:before|after|when|whenever)\s{1,5}(?:using|calling|invoking|running)\s{1,5}(?:any|every|all|other|another)\b|\byou\s{1,5}must\s{1,5}(?:always|first|never|also)\b|\binstead\s{1,5}of\s{1,5}(?:calling|using)\b/iu;
const PAYLOAD = /[A-Za-z0-9+/]{160,}={0,2}|(?:curl|wget)\s[^\n|]{1,200}\|\s{0,5}(?:ba|z)?sh\b/u;

const MAX_TEXTS = 20_000;
const CONTEXT = 30;

/** Findings about the texts of a definition, its keys too, that need no data from elsewhere. */
export function textFindings(definition: JsonRecord): ToolFinding[] {
  const findings: ToolFinding[] = [];
  for (const { text, where, isKey } of textsOf(definition)) {
    if (SUSPECT.test(text))
      for (const { pattern, ...rule } of CHARACTER_RULES) add(rule, pattern.exec(text), where);
    if (isKey || text.length < 12) continue;
    add({ code: "instruction_like", severity: "soft" }, INSTRUCTIONS.exec(text), where);
    add({ code: "encoded_payload", severity: "soft" }, PAYLOAD.exec(text), where);
  }
  return findings;

  function add(
    rule: Pick<ToolFinding, "code" | "severity">,
    match: RegExpExecArray | null,
    where: string,
  ): void {
    // The first of a kind at a position is reported.
    if (match === null || findings.some((one) => one.code === rule.code && one.where === where))
      return;
    const around = match.input.slice(
      Math.max(0, match.index - CONTEXT),
      match.index + match[0].length + CONTEXT,
    );
    findings.push({ ...rule, where, evidence: visible(around, 160) });
  }
}

/** Every text of a definition and every key, each with its position; of an oversized definition the first ones. */
export function* textsOf(
  definition: JsonRecord,
): Generator<{ text: string; where: string; isKey: boolean }> {
  const waiting: { value: unknown; where: string }[] = [{ value: definition, where: "" }];
  for (let count = 0; count < MAX_TEXTS; count += 1) {
    const next = waiting.pop();
    if (next === undefined) return;
    const { value, where } = next;
    if (typeof value === "string") yield { text: value, where, isKey: false };
    if (typeof value !== "object" || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      const path = `${where}/${visible(pointerToken(key), 100)}`;
      if (!Array.isArray(value)) yield { text: key, where: path, isKey: true };
      waiting.push({ value: inner, where: path.slice(0, 500) });
    }
  }
}
