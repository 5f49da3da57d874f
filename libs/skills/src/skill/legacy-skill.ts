import { hash } from "node:crypto";
import { digestOf } from "@switchyard/contracts/canonical-json";
import JSON5 from "json5";
import { errorFinding, warningFinding, type Finding, type Position } from "../finding.ts";
import { nestsDeeply } from "../frontmatter/balance-flow.ts";
import { decodeLeniently } from "../frontmatter/decode-text.ts";
import {
  emptyMapping,
  FORBIDDEN_KEYS,
  isMapping,
  type YamlMapping,
  type YamlValue,
} from "../frontmatter/yaml-value.ts";
import { readValues } from "./read-values.ts";
import { assembleSkill, skippedSkill } from "./skill-content.ts";
import type { ParsedSkill } from "./skill-file.ts";
import { METADATA_ALIASES } from "./skill-requirements.ts";

/** The former format of a skill: fields in JSON, and the text for the model in a file beside it, which may be missing. */
export const LEGACY_FILE = "skill.json";
export const LEGACY_PROMPT = "prompt.md";

/** The limits of a frontmatter, with space for a manifest that packages use, too. */
const MAX_MANIFEST_BYTES = 64 * 1024;
const MAX_DEPTH = 32;
const MAX_KEYS = 128;
/** The JSON5 parser is slower than the other one; a longer text was not written by hand. */
const MAX_JSON5_CHARACTERS = 16 * 1024;

/**
 * Reads `skill.json` with its `prompt.md` into the same form as a SKILL.md. Keys that only packages use (`main`, `dependencies`,
 * …) are kept among the unknown fields. A comma or a comment that is invalid in JSON is accepted with a warning; then grants of
 * the file are ignored.
 */
export function parseLegacySkill(
  manifest: Uint8Array,
  prompt: Uint8Array | null,
  directoryName: string,
): ParsedSkill {
  const conformance = NO_TARGET;
  const skipped = (problem: Finding) => ({ ...skippedSkill(problem), conformance });
  if (manifest.length > MAX_MANIFEST_BYTES) return skipped(manifestTooLarge(manifest.length));
  const decoded = decodeLeniently(manifest);
  if ("problem" in decoded) return skipped(decoded.problem);
  const body = decodeLeniently(prompt ?? new Uint8Array());
  if ("problem" in body) return skipped({ ...body.problem, message: inPrompt(body.problem) });
  const { text } = decoded;
  const read = readManifest(text);
  if ("problem" in read) return skipped(read.problem);
  const { values } = read;
  if (prompt === null && values["name"] === undefined && values["description"] === undefined) {
    return skipped(notASkill());
  }
  const locate = ([key]: readonly PropertyKey[]) => positionOf(text, key);
  const wasRepaired = read.repair !== null;
  const { findings, ...understood } = readValues(values, { locate, wasRepaired });
  const notes = [decoded.note, body.note, read.repair ?? undefined].filter(
    (note) => note !== undefined,
  );
  const outcome = assembleSkill(
    {
      digest: digestOfFiles(manifest, prompt),
      directoryName,
      body: body.text,
      ...understood,
      plan: null,
      format: "legacy",
      wasRepaired,
    },
    [...notes, ...findings],
  );
  return { ...outcome, conformance };
}

/** No other client reads this format. */
const NO_TARGET: ParsedSkill["conformance"] = (
  ["agent-skills", "claude-code", "claude-ai", "openclaw", "clawhub"] as const
).map((target) => ({
  target,
  conforms: false,
  problems: [{ code: "legacy_format", message: "only a SKILL.md is read", line: null }],
}));

type Manifest =
  | { readonly values: YamlMapping; readonly repair: Finding | null }
  | { readonly problem: Finding };

function readManifest(text: string): Manifest {
  if (nestsDeeply(text)) return { problem: refused("nested deeper than 64 levels") };
  const parsed = parsedJson(text);
  if ("problem" in parsed) return parsed;
  try {
    const values = asText(parsed.value, 1);
    return isMapping(values)
      ? { values: withMetadata(values), repair: parsed.repair }
      : { problem: refused("there must be an object") };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { problem: refused(error.message) };
  }
}

function parsedJson(
  text: string,
): { value: unknown; repair: Finding | null } | { problem: Finding } {
  try {
    return { value: JSON.parse(text), repair: null };
  } catch (error) {
    const position = positionIn(error);
    const value = text.length > MAX_JSON5_CHARACTERS ? undefined : parsedJson5(text);
    if (value === undefined) {
      const message = `${LEGACY_FILE} is not valid JSON; fix it, or write a SKILL.md in its place`;
      return { problem: errorFinding("invalid_json", message, position) };
    }
    const message = `${LEGACY_FILE} is not valid JSON, and was read as JSON5; fix this place`;
    return { value, repair: warningFinding("repaired_json", message, position) };
  }
}

function parsedJson5(text: string): unknown {
  try {
    return JSON5.parse<unknown>(text);
  } catch {
    return undefined;
  }
}

/** Carries a refusal out of the recursion below; never leaves this file. */
class Refusal extends Error {}

/** Converts all values to text, as the reader of a frontmatter returns them. */
function asText(value: unknown, depth: number): YamlValue {
  if (depth > MAX_DEPTH) throw new Refusal(`nested deeper than ${MAX_DEPTH} levels`);
  if (typeof value === "string" || value === null) return value;
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return value.map((item) => asText(item, depth + 1));
  const entries = Object.entries(value);
  if (entries.length > MAX_KEYS) {
    throw new Refusal(`${entries.length} keys in one object, the limit is ${MAX_KEYS}`);
  }
  const mapping = emptyMapping();
  for (const [key, item] of entries) {
    if (FORBIDDEN_KEYS.has(key)) throw new Refusal(`the key "${key}" is not allowed`);
    mapping[key] = asText(item, depth + 1);
  }
  return mapping;
}

/** OpenClaw's part is at the top level here; in a SKILL.md it is below `metadata`. */
function withMetadata(values: YamlMapping): YamlMapping {
  const mapping = emptyMapping();
  const metadata = emptyMapping();
  for (const [key, value] of Object.entries(values)) {
    if (METADATA_ALIASES.some((alias) => alias === key)) metadata[key] = value;
    else mapping[key] = value;
  }
  if (Object.keys(metadata).length === 0) return mapping;
  const given = mapping["metadata"];
  mapping["metadata"] = { ...metadata, ...(isMapping(given) ? given : {}) };
  return mapping;
}

/** A run is pinned to both files: a change of either is another digest. */
function digestOfFiles(manifest: Uint8Array, prompt: Uint8Array | null): string {
  const lines = [manifest, ...(prompt === null ? [] : [prompt])].map((bytes) =>
    hash("sha256", bytes),
  );
  return digestOf(lines.join("\n"));
}

/** V8's messages contain `(line 2 column 3)`. */
function positionIn(error: unknown): Position {
  const [, line = "1", column = "1"] = /line (\d+) column (\d+)/.exec(String(error)) ?? [];
  return { line: Number(line), column: Number(column) };
}

function positionOf(text: string, key: PropertyKey | undefined): Position {
  const at = text.indexOf(`"${String(key)}"`);
  const before = at < 0 ? "" : text.slice(0, at);
  return { line: before.split("\n").length, column: at - before.lastIndexOf("\n") };
}

function refused(message: string): Finding {
  return errorFinding("invalid_json", `${LEGACY_FILE}: ${message}`, { line: 1, column: 1 });
}

function manifestTooLarge(sizeBytes: number): Finding {
  return errorFinding(
    "file_too_large",
    `${LEGACY_FILE} has ${sizeBytes} bytes, the limit is ${MAX_MANIFEST_BYTES}`,
  );
}

function inPrompt({ message }: Finding): string {
  return `${LEGACY_PROMPT}: ${message}`;
}

function notASkill(): Finding {
  return errorFinding(
    "not_a_skill",
    `${LEGACY_FILE} has neither a name nor a description, and there is no ${LEGACY_PROMPT}; is it of a skill?`,
  );
}
