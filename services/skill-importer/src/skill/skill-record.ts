import type { SkillRecord } from "@switchyard/contracts/skill-record";
import { warningFinding, type Finding, type Place } from "../finding.ts";
import { isMapping, type YamlMapping, type YamlValue } from "../frontmatter/yaml-value.ts";
import { contradicts, CONTRADICTION } from "./skill-fields.ts";
import { METADATA_ALIASES } from "./skill-requirements.ts";

/** Fields that are read elsewhere, or below. */
const KNOWN = new Set([
  "name",
  "description",
  "user-invocable",
  "disable-model-invocation",
  "allowed-tools",
  "argument-hint",
  "arguments",
  "variables",
  "metadata",
  "plan",
  "when-to-use",
  "triggers",
  "tags",
  "keywords",
  "command-dispatch",
  "command-tool",
  "command-arg-mode",
  "license",
  "compatibility",
  "version",
  "author",
  "homepage",
  "model",
  "effort",
  "context",
  "agent",
  "background",
  "shell",
  "paths",
  "disallowed-tools",
  "hooks",
]);
const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const;
const MAX_UNKNOWN_BYTES = 8 * 1024;
const MAX_ITEMS = 128;

export interface RecordSource {
  readonly values: YamlMapping;
  readonly metadata: YamlMapping | null;
  /** Each field's key as the file spells it. */
  readonly keys: ReadonlyMap<string, string>;
  readonly wasRepaired: boolean;
  readonly locate: (path: readonly PropertyKey[]) => Place;
}

/** The fields of all formats in one form. A value that cannot be read is none; where it restricts, that is said. */
export function readRecord(source: RecordSource): { record: SkillRecord; findings: Finding[] } {
  const { values, keys, locate } = source;
  const findings: Finding[] = [];
  const given = (field: string): YamlValue | undefined => values[keys.get(field) ?? field];
  const text = (field: string) => textOf(given(field));
  const word = <T extends string>(field: string, words: readonly T[]): T | null =>
    words.find((one) => one === text(field)?.toLowerCase()) ?? null;
  const warn = (field: string, code: string, message: string): void => {
    const key = keys.get(field) ?? field;
    findings.push(warningFinding(code, `${key}: ${message}`, locate([key])));
  };
  const disallowed = listOf(given("disallowed-tools"));
  const spelled = keys.get("disallowed-tools");
  const isTwofold = spelled !== undefined && contradicts(values, "disallowed-tools", spelled);
  if (isTwofold) warn("disallowed-tools", "invalid_field", CONTRADICTION);
  else if (disallowed === null) {
    warn("disallowed-tools", "invalid_field", "must be a list of tool names; read as every tool");
  }
  const hooks = given("hooks");
  if (hooks !== undefined && source.wasRepaired) {
    warn("hooks", "authority_ignored", "left out, because the frontmatter had to be repaired");
  }
  const record: SkillRecord = {
    displayName: text("name"),
    license: text("license"),
    compatibility: text("compatibility"),
    version: text("version"),
    // The standard has it below `metadata`.
    author: text("author") ?? textOf(source.metadata?.["author"]),
    homepage: text("homepage"),
    model: text("model"),
    effort: word("effort", EFFORTS),
    context: word("context", ["fork"]),
    agent: text("agent"),
    background: flagOf(text("background")),
    shell: word("shell", ["bash", "powershell"]),
    paths: listOf(given("paths")) ?? [],
    disallowedTools: isTwofold ? ["*"] : (disallowed ?? ["*"]),
    hooks: hooks === undefined || source.wasRepaired ? null : hooks,
    openclaw: openclawOf(source.metadata),
    unknown: unknownOf(source, () =>
      findings.push(
        warningFinding(
          "unknown_fields_dropped",
          `unknown fields have more than ${MAX_UNKNOWN_BYTES} bytes; the last ones are not kept`,
        ),
      ),
    ),
  };
  return { record, findings };
}

function openclawOf(metadata: YamlMapping | null): SkillRecord["openclaw"] {
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
    envVars: (Array.isArray(envVars) ? envVars : []).slice(0, MAX_ITEMS).flatMap((entry) => {
      const name = isMapping(entry) ? textOf(entry["name"]) : null;
      if (!isMapping(entry) || name === null) return [];
      const required = entry["required"];
      const description = textOf(entry["description"]) ?? "";
      return [
        { name, required: required === true || flagOf(textOf(required)) === true, description },
      ];
    }),
  };
}

/** Kept in the order of the file, as far as they fit. */
function unknownOf({ values, keys }: RecordSource, drop: () => void): Record<string, unknown> {
  const unknown: Record<string, unknown> = {};
  let left = MAX_UNKNOWN_BYTES;
  let fields: Map<string, string> | undefined;
  for (const key of Object.keys(values)) {
    // Most keys are spelled as the field is called.
    if (KNOWN.has(key)) continue;
    fields ??= new Map([...keys].map(([field, spelled]) => [spelled, field]));
    if (KNOWN.has(fields.get(key) ?? key)) continue;
    const value = values[key] ?? null;
    left -= key.length + (typeof value === "string" ? value.length : JSON.stringify(value).length);
    if (left < 0) {
      drop();
      break;
    }
    unknown[key] = value;
  }
  return unknown;
}

/** Null: neither text nor a list of texts. Commas, line ends and spaces separate; brackets hold together. */
function listOf(value: YamlValue | undefined): string[] | null {
  if (value === undefined || value === "") return [];
  if (typeof value === "string")
    return (value.match(/(?:[^\s,()]|\([^()]{0,200}\))+/g) ?? []).slice(0, MAX_ITEMS);
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string")) return null;
  return value
    .map((item) => item.trim())
    .filter((item) => item !== "")
    .slice(0, MAX_ITEMS);
}

function textOf(value: YamlValue | undefined): string | null {
  if (typeof value !== "string") return null;
  const text = value.trim().toWellFormed();
  return text === "" ? null : text;
}

function flagOf(text: string | null): boolean | null {
  if (text === null) return null;
  if (/^(?:true|yes|on|1)$/i.test(text)) return true;
  return /^(?:false|no|off|0)$/i.test(text) ? false : null;
}
