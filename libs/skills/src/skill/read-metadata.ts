import type { SkillRecord } from "@switchyard/contracts/skill-importer/skill-record";
import JSON5 from "json5";
import { warningFinding, type Finding, type Position } from "../finding.ts";
import { nestsDeeply } from "../frontmatter/balance-flow.ts";
import { parseYaml } from "../frontmatter/safe-yaml.ts";
import { isMapping, type YamlMapping, type YamlValue } from "../frontmatter/yaml-value.ts";
import { isTrue, METADATA_ALIASES, readRequirements } from "./skill-requirements.ts";

const MAX_METADATA_BYTES = 8 * 1024;
const MAX_METADATA_DEPTH = 10;
const MAX_ENV_VARS = 128;

/** Returns the `metadata` of a skill; null when it has none that can be stored. */
export function readMetadata(
  value: YamlValue | undefined,
  drop: (message: string) => void,
): YamlMapping | null {
  if (value === undefined) return null;
  const metadata = typeof value === "string" ? fromJson(value) : value;
  if (!isMapping(metadata)) {
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
    // Some authors quote text that is YAML and not even JSON5.
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

function depthOf(value: YamlValue): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map((item) => depthOf(item)));
}

/** Reports differing values in two of the names for OpenClaw's part. */
export function aliasConflicts(metadata: YamlMapping | null, position: () => Position): Finding[] {
  if (metadata === null) return [];
  if (METADATA_ALIASES.filter((alias) => alias in metadata).length < 2) return [];
  return readRequirements(metadata).findings.map(({ code, message }) =>
    warningFinding(code, message, position()),
  );
}

/** OpenClaw's part, as the record of a skill has it. */
export function openclawOf(metadata: YamlMapping | null): SkillRecord["openclaw"] {
  const found = METADATA_ALIASES.flatMap((alias) => {
    const part = metadata?.[alias];
    return isMapping(part) ? [{ alias, part }] : [];
  });
  if (found.length === 0) return null;
  const first = (key: string) =>
    found.map(({ part }) => part[key]).find((value) => value !== undefined);
  const envVars = first("envVars");
  return {
    aliases: found.map(({ alias }) => alias),
    emoji: textOf(first("emoji")),
    skillKey: textOf(first("skillKey")),
    homepage: textOf(first("homepage")),
    envVars: (Array.isArray(envVars) ? envVars : []).slice(0, MAX_ENV_VARS).flatMap((entry) => {
      const name = isMapping(entry) ? textOf(entry["name"]) : null;
      if (!isMapping(entry) || name === null) return [];
      const required = entry["required"];
      const description = textOf(entry["description"]) ?? "";
      return [{ name, required: isTrue(textOf(required) ?? required), description }];
    }),
  };
}

/** Removes keys that would make the skill always active; grants in repaired values are ignored. */
export function withoutAlways(metadata: YamlMapping | null): {
  metadata: YamlMapping | null;
  hadAlways: boolean;
} {
  if (metadata === null) return { metadata, hadAlways: false };
  let hadAlways = false;
  const kept: YamlMapping = { ...metadata };
  for (const alias of METADATA_ALIASES) {
    const part = kept[alias];
    if (!isMapping(part) || part["always"] === undefined) continue;
    const { always: _, ...others } = part;
    kept[alias] = others;
    hadAlways = true;
  }
  return { metadata: kept, hadAlways };
}

/** Returns null for an empty text, and for a value that is no text. */
export function textOf(value: YamlValue | undefined): string | null {
  return typeof value === "string" ? value.trim().toWellFormed() || null : null;
}
