import JSON5 from "json5";
import { z } from "zod";
import { warningFinding, type Finding, type Place } from "../finding.ts";
import { parseYaml } from "../frontmatter/safe-yaml.ts";
import type { YamlMapping, YamlValue } from "../frontmatter/yaml-value.ts";
import { toolRemarks } from "./client-tools.ts";
import { isRestriction } from "../frontmatter/restrictions.ts";
import { METADATA_ALIASES, readRequirements } from "./skill-requirements.ts";

/** The typed fields of a skill's frontmatter; undefined where the file does not say. */
export interface SkillFields {
  readonly name: string | undefined;
  readonly description: string | undefined;
  readonly userInvocable: boolean;
  readonly disableModelInvocation: boolean;
  /** Null: no restriction. */
  readonly allowedTools: string[] | null;
  readonly argumentHint: string | null;
  readonly arguments: string[];
  readonly metadata: YamlMapping | null;
}

const MAX_METADATA_BYTES = 8 * 1024;
const MAX_METADATA_DEPTH = 10;

const Text = z.string().transform((text) => text.trim());
const Flag = z.stringbool({
  truthy: ["true", "yes", "on", "1"],
  falsy: ["false", "no", "off", "0"],
});
const Words = z.union([z.string().transform(wordsOf), z.array(z.string())]).transform(withoutEmpty);
// Unquoted, `[file]` is a YAML list; the brackets are put back.
const Hint = z.union([
  z.string(),
  z.array(z.string()).transform((items) => `[${items.join(", ")}]`),
]);
const ArgumentName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const ArgumentNames = Words.refine((names) => names.every((name) => ArgumentName.test(name)));

/**
 * Reads the known fields out of values that are all text (the failsafe schema). A field that cannot
 * be read gets a warning and a value: the restrictive one where it is about who may do what.
 * Unknown fields are left alone. `keys` are the spellings of this very mapping.
 */
export function readSkillFields(
  values: YamlMapping,
  locate: (path: readonly PropertyKey[]) => Place,
  keys: ReadonlyMap<string, string> = keysByField(values),
): { fields: SkillFields; findings: Finding[] } {
  const findings: Finding[] = [];

  function warn(key: string, message: string): void {
    findings.push(warningFinding("invalid_field", `${key}: ${message}`, locate([key])));
  }

  function read<T>(
    field: string,
    spec: { schema: z.ZodType<T>; rule: string; absent: T; unreadable: T },
  ): T {
    const key = keys.get(field);
    if (key === undefined) return spec.absent;
    if (isRestriction(field) && contradicts(values, field, key)) {
      warn(key, CONTRADICTION);
      return spec.unreadable;
    }
    const parsed = spec.schema.safeParse(values[key]);
    if (parsed.success) return parsed.data;
    warn(key, spec.rule);
    return spec.unreadable;
  }

  const textOrNothing = {
    schema: Text,
    rule: "must be text; the file counts as having no such field",
    absent: undefined,
    unreadable: undefined,
  };
  const allowedTools = read("allowed-tools", {
    schema: Words,
    rule: "must be a list of tool names; until it can be read the skill may use none",
    absent: [],
    unreadable: null,
  });
  const fields: SkillFields = {
    name: read<string | undefined>("name", textOrNothing),
    description: read<string | undefined>("description", textOrNothing),
    userInvocable: read("user-invocable", {
      schema: Flag,
      rule: "must be true or false; read as false",
      absent: true,
      unreadable: false,
    }),
    disableModelInvocation: read("disable-model-invocation", {
      schema: Flag,
      rule: "must be true or false; read as true",
      absent: false,
      unreadable: true,
    }),
    allowedTools: restrictionOf(allowedTools),
    argumentHint: read<string | null>("argument-hint", {
      schema: Hint,
      rule: "must be text",
      absent: null,
      unreadable: null,
    }),
    // The same under its older name; where a file has both, the newer one counts.
    arguments: read(keys.has("arguments") ? "arguments" : "variables", {
      schema: ArgumentNames,
      rule: "must be names of letters, digits, _ and -, separated by spaces; read as none",
      absent: [],
      unreadable: [],
    }),
    metadata: readMetadata(
      keys.has("metadata") ? (values["metadata"] ?? null) : undefined,
      (message) => findings.push(warningFinding("metadata_dropped", message, locate(["metadata"]))),
    ),
  };
  findings.push(...aliasConflicts(fields.metadata, () => locate(["metadata"])));
  const toolsKey = keys.get("allowed-tools");
  if (toolsKey !== undefined && fields.allowedTools !== null)
    findings.push(...toolRemarks(fields.allowedTools, () => locate([toolsKey])));
  return { fields, findings };
}

export const CONTRADICTION = "stands here in two spellings that differ; read as the strictest";

/** Which of two would count was chance, and one of them takes more away. */
export function contradicts(values: YamlMapping, field: string, key: string): boolean {
  const said = JSON.stringify(values[key]);
  return Object.keys(values).some(
    (other) => other !== key && fieldOf(other) === field && JSON.stringify(values[other]) !== said,
  );
}

function aliasConflicts(metadata: YamlMapping | null, place: () => Place): Finding[] {
  if (metadata === null) return [];
  if (METADATA_ALIASES.filter((alias) => alias in metadata).length < 2) return [];
  return readRequirements(metadata).findings.map(({ code, message }) =>
    warningFinding(code, message, place()),
  );
}

/** An empty list is no restriction (the format's rule); null stands for a list that could not be read. */
function restrictionOf(words: string[] | null): string[] | null {
  if (words === null) return [];
  return words.length === 0 ? null : words;
}

/** Spellings seen in real files: snake_case, camelCase and one common slip. An exact key wins. */
export function keysByField(values: YamlMapping): Map<string, string> {
  const keys = new Map<string, string>();
  for (const key of Object.keys(values)) {
    if (/^[a-z-]+$/.test(key) && key !== "user-invokable") {
      keys.set(key, key);
      continue;
    }
    const field = fieldOf(key);
    if (field === key || !keys.has(field)) keys.set(field, key);
  }
  return keys;
}

function fieldOf(key: string): string {
  const kebab = key
    .replaceAll(/([a-z])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replaceAll("_", "-");
  return kebab === "user-invokable" ? "user-invocable" : kebab;
}

function readMetadata(
  value: YamlValue | undefined,
  drop: (message: string) => void,
): YamlMapping | null {
  if (value === undefined) return null;
  const metadata = typeof value === "string" ? fromJson(value) : value;
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) {
    drop("metadata is not a mapping and was dropped");
    return null;
  }
  const sizeBytes = Buffer.byteLength(JSON.stringify(metadata));
  if (sizeBytes > MAX_METADATA_BYTES) {
    drop(`metadata has ${sizeBytes} bytes, more than ${MAX_METADATA_BYTES}, and was dropped`);
    return null;
  }
  if (depthOf(metadata) > MAX_METADATA_DEPTH) {
    drop(`metadata is nested deeper than ${MAX_METADATA_DEPTH} levels and was dropped`);
    return null;
  }
  return metadata;
}

/** Some files carry their metadata as a quoted text: JSON, or JSON5 with its comments, bare keys and commas at the end. */
function fromJson(text: string): YamlValue {
  if (Buffer.byteLength(text) > MAX_METADATA_BYTES || nestsDeeply(text)) return null;
  try {
    return parseJson(text);
  } catch {
    // Some quote what is YAML and not even JSON5.
    const parsed = /^\s*\{/.test(text) ? parseYaml(text, { schema: "core" }) : null;
    return parsed === null || "problem" in parsed ? null : parsed.values;
  }
}

function parseJson(text: string): YamlValue {
  try {
    return JSON.parse(text) as YamlValue; // JSON has no other values than YAML's core schema
  } catch {
    return JSON5.parse<YamlValue>(text);
  }
}

/** The JSON5 parser has no limit of its own. */
export function nestsDeeply(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (depth > 64) return true;
  }
  return false;
}

function depthOf(value: YamlValue): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map((item) => depthOf(item)));
}

/** Splits at commas and spaces, but not inside brackets: `Read, Bash(git add:*)` is two words. */
function wordsOf(text: string): string[] {
  if (!text.includes("(")) return text.split(/[\s,]/);
  const words: string[] = [];
  let word = "";
  let depth = 0;
  for (const character of text) {
    if (character === "(") depth += 1;
    if (character === ")") depth = Math.max(0, depth - 1);
    if (depth === 0 && /[\s,]/.test(character)) {
      words.push(word);
      word = "";
    } else {
      word += character;
    }
  }
  return [...words, word];
}

function withoutEmpty(words: readonly string[]): string[] {
  return words.map((word) => word.trim()).filter((word) => word !== "");
}
