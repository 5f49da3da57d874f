import type { SkillCatalogue } from "@switchyard/contracts/skill-importer/skill-catalogue";
import type { SkillSummary } from "@switchyard/contracts/skill-importer/skills";
import { escapeXml } from "@switchyard/skills/render/escape-xml";

/** For a model whose context window is unknown: 18,000 characters, as other clients allow. */
export const DEFAULT_BUDGET_TOKENS = 4_500;
const MIN_BUDGET_TOKENS = 50;
/** The list gets a hundredth of the window. */
const WINDOW_SHARE = 0.01;
/** A description states when to use a skill; longer instructions belong in the skill. */
const MAX_DESCRIPTION = 1_024;

export interface BudgetRequest {
  readonly skills: readonly SkillSummary[];
  readonly budgetTokens: number;
  /** Names of skills in the order of their relevance to the work; skills that are not listed are the least relevant. */
  readonly relevance: readonly string[];
}

/** Returns the budget of a list: as requested, else by the window, else the default. */
export function budgetOf(request: {
  readonly budgetTokens?: number | undefined;
  readonly contextWindow?: number | undefined;
}): number {
  if (request.budgetTokens !== undefined) return request.budgetTokens;
  if (request.contextWindow === undefined) return DEFAULT_BUDGET_TOKENS;
  return Math.max(MIN_BUDGET_TOKENS, Math.floor(request.contextWindow * WINDOW_SHARE));
}

/**
 * Estimates the tokens of a text without a tokenizer: UTF-8 bytes / 4, rounded up. English has about four letters a token;
 * scripts of three bytes a letter get 0.75 tokens a letter, as tokenizers count them.
 */
export function estimateTokens(text: string): number {
  return tokensOfBytes(Buffer.byteLength(text));
}

/**
 * Returns the list of skills that a model may activate, by name, within a budget. Descriptions are shortened, all to the same
 * length, before a skill is left out; then the least relevant ones are left out. Names and descriptions come from imported files,
 * so they are escaped: none can close the list and pose as the system.
 */
export function skillCatalogue({ skills, budgetTokens, relevance }: BudgetRequest): SkillCatalogue {
  const lines = skills.filter((skill) => skill.modelInvocable).map(lineOf);
  lines.sort((a, b) => (a.skill.name < b.skill.name ? -1 : 1));
  const room = { budgetTokens, relevance };
  const length = longest(lines, budgetTokens);
  const kept = length === null ? mostRelevant(lines, room) : lines;
  const text = textOf(kept, { length: length ?? 0, dropped: lines.length - kept.length });
  const names = new Set(kept.map(({ skill }) => skill.name));
  return {
    text,
    budgetTokens,
    tokens: estimateTokens(text),
    wholeTokens: tokensOf(lines, MAX_DESCRIPTION),
    listed: kept.map((line) => ({
      name: line.skill.name,
      digest: line.skill.version ?? line.skill.digest,
      tokens: tokensOfBytes(bytesOf(line, length ?? 0)),
      shortened: isCut(line, length ?? 0),
    })),
    dropped: lines.filter(({ skill }) => !names.has(skill.name)).map(({ skill }) => skill.name),
  };
}

interface Line {
  readonly skill: SkillSummary;
  /** On one line, at most as long as a description may be. */
  readonly description: string;
  /** The length in characters. */
  readonly length: number;
  /** True when the file's description is longer. */
  readonly isLong: boolean;
  /** Bytes of the whole line without its description, and of the description as it is listed. */
  readonly nameBytes: number;
  readonly wholeBytes: number;
}

function lineOf(skill: SkillSummary): Line {
  const all = skill.description.replaceAll(/\s+/g, " ").trim();
  const description = firstCharacters(all, MAX_DESCRIPTION);
  const isLong = description.length < all.length;
  const length = lengthOf(description);
  const line = { skill, description, length, isLong };
  return {
    ...line,
    nameBytes: Buffer.byteLength(written(line, 0)),
    wholeBytes: Buffer.byteLength(shown(line, MAX_DESCRIPTION)),
  };
}

type Text = Pick<Line, "skill" | "description" | "length" | "isLong">;

function isCut({ isLong, length }: Text, most: number): boolean {
  return isLong || length > most;
}

/** Returns the description as it is listed. */
function shown(line: Text, most: number): string {
  if (most === 0) return "";
  if (!isCut(line, most)) return escapeXml(line.description);
  return escapeXml(`${firstCharacters(line.description, most).trimEnd()}…`);
}

function written(line: Text, most: number): string {
  return `  <skill name="${escapeXml(line.skill.name)}">${shown(line, most)}</skill>\n`;
}

function noteOf(dropped: number): string {
  return dropped === 0
    ? ""
    : `  <!-- ${dropped} more skills are not listed: the list is full -->\n`;
}

const OPENING = "<available_skills>\n";
const CLOSING = "</available_skills>";

function textOf(
  lines: readonly Line[],
  { length, dropped }: { length: number; dropped: number },
): string {
  if (lines.length === 0 && dropped === 0) return "";
  return OPENING + lines.map((line) => written(line, length)).join("") + noteOf(dropped) + CLOSING;
}

function bytesOf(line: Line, most: number): number {
  if (most === 0) return line.nameBytes;
  if (!isCut(line, most)) return line.nameBytes + line.wholeBytes;
  return line.nameBytes + Buffer.byteLength(shown(line, most));
}

/** Returns the cost of `textOf` when no skill is left out. */
function tokensOf(lines: readonly Line[], most: number): number {
  if (lines.length === 0) return 0;
  const bytes = lines.reduce((sum, line) => sum + bytesOf(line, most), 0);
  return tokensOfBytes(OPENING.length + bytes + CLOSING.length);
}

/** Returns the greatest length of descriptions with which all lines fit, or null; assumes that every shorter one fits, too. */
function longest(lines: readonly Line[], budgetTokens: number): number | null {
  const fits = (most: number): boolean => tokensOf(lines, most) <= budgetTokens;
  if (fits(MAX_DESCRIPTION)) return MAX_DESCRIPTION;
  if (!fits(0)) return null;
  let low = 0;
  let high = MAX_DESCRIPTION;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Returns as many lines as fit without descriptions: the relevant ones first, then by name. */
function mostRelevant(
  lines: readonly Line[],
  { budgetTokens, relevance }: Pick<BudgetRequest, "budgetTokens" | "relevance">,
): Line[] {
  const rank = new Map(relevance.map((name, index) => [name, index]));
  const rankOf = ({ skill }: Line): number => rank.get(skill.name) ?? relevance.length;
  const inOrder = lines.toSorted((a, b) => rankOf(a) - rankOf(b)); // stable: by name among equals
  // The note is longest when all of them are left out.
  let bytes = OPENING.length + Buffer.byteLength(noteOf(lines.length)) + CLOSING.length;
  const kept = new Set<Line>();
  for (const line of inOrder) {
    bytes += line.nameBytes;
    if (tokensOfBytes(bytes) > budgetTokens) break;
    kept.add(line);
  }
  return lines.filter((line) => kept.has(line));
}

function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / 4);
}

const SURROGATES = /[\ud800-\udfff]/;

function lengthOf(text: string): number {
  return SURROGATES.test(text) ? Array.from(text).length : text.length;
}

function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  return SURROGATES.test(text) ? Array.from(text).slice(0, count).join("") : text.slice(0, count);
}
