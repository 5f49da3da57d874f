import { cutText } from "@switchyard/contracts/cut-text";
import type { SkillRecord } from "@switchyard/contracts/skill-importer/skill-record";
import type { Skill } from "@switchyard/contracts/skill-importer/skills";
import { warningFinding, type Finding, type Position } from "../finding.ts";
import {
  fieldNamed,
  fieldOf,
  isFieldName,
  isUsualSpelling,
  type FieldName,
  type FieldValue,
} from "../frontmatter/fields.ts";
import { withoutTypographicQuotes } from "../frontmatter/plain-key.ts";
import { nestedRestrictions, type NestedRestriction } from "../frontmatter/restrictions.ts";
import type { YamlMapping, YamlValue } from "../frontmatter/yaml-value.ts";
import { toolRemarks } from "./client-tools.ts";
import {
  aliasConflicts,
  openclawOf,
  readMetadata,
  textOf,
  withoutAlways,
} from "./read-metadata.ts";

export interface UnderstoodValues {
  readonly fields: ReturnType<typeof readFields>;
  readonly record: SkillRecord;
  readonly invocation: ReturnType<typeof readInvocation>;
  readonly findings: readonly Finding[];
}

type Locate = (path: readonly PropertyKey[]) => Position;

const MAX_UNKNOWN_BYTES = 8 * 1024;
const MAX_TRIGGERS = 32;
const MAX_TRIGGER_LENGTH = 1_024;
const MAX_TOOL_NAME = 128;
const CONTRADICTION = "stands here in two spellings that differ; read as the strictest";

/**
 * Returns the values of a skill's fields, whatever format they were written in; all values are text. Grants in repaired values
 * are ignored: no hooks, no `always`, no tool that its command calls. Restrictions stay.
 */
export function readValues(
  values: YamlMapping,
  { locate, wasRepaired }: { locate: Locate; wasRepaired: boolean },
): UnderstoodValues {
  const reader = new FieldReader(values, locate);
  const { findings } = reader;
  const fields = readFields(reader);
  const { dispatch, ...invocation } = readInvocation(reader);
  const hooks = reader.read("hooks");
  const { metadata, hadAlways } = wasRepaired
    ? withoutAlways(fields.metadata)
    : { metadata: fields.metadata, hadAlways: false };
  const record = readRecord(reader, metadata, wasRepaired ? undefined : hooks);
  const ignored = [
    ...(wasRepaired && hooks !== undefined ? (["hooks"] as const) : []),
    ...(hadAlways ? (["metadata"] as const) : []),
    ...(wasRepaired && dispatch !== undefined ? (["command-dispatch"] as const) : []),
  ];
  for (const field of ignored)
    reader.warn(field, "authority_ignored", "left out, because the frontmatter had to be repaired");
  const isDispatched = dispatch !== undefined && !wasRepaired;
  return {
    fields: { ...fields, metadata },
    record,
    invocation: { ...invocation, ...(isDispatched ? { dispatch } : {}) },
    findings,
  };
}

/** Reads the fields of one mapping by the table, and collects the findings about them. */
class FieldReader {
  readonly findings: Finding[] = [];
  readonly values: YamlMapping;
  /** Each field's key as the file spells it; an exact key wins. */
  readonly keys = new Map<string, string>();
  readonly #locate: Locate;
  readonly #nested: readonly NestedRestriction[];

  constructor(values: YamlMapping, locate: Locate) {
    this.values = values;
    this.#locate = locate;
    this.#nested = nestedRestrictions(values);
    for (const key of Object.keys(values)) {
      const field = fieldOf(key);
      if (field === key || !this.keys.has(field)) this.keys.set(field, key);
    }
  }

  has(name: FieldName): boolean {
    return this.keys.has(name);
  }

  read<N extends FieldName>(name: N): FieldValue<N> {
    return this.#read(name) as FieldValue<N>; // as the table has it
  }

  warn(name: FieldName, code: string, message: string, key = this.keys.get(name) ?? name): void {
    this.findings.push(warningFinding(code, `${key}: ${message}`, this.positionOf(name)));
  }

  positionOf(name: FieldName): Position {
    return this.#locate([this.keys.get(name) ?? name]);
  }

  #read(name: FieldName): unknown {
    const field = fieldNamed(name);
    if (field.restricts === true) return this.#readRestriction(name);
    const key = this.keys.get(name);
    if (key === undefined) return field.absent;
    return this.#parse(name, this.values[key]);
  }

  /** Reads a restriction from any position and in any spelling. Two that differ count in the strictest reading. */
  #readRestriction(name: FieldName): unknown {
    const { absent, strict } = fieldNamed(name);
    const spelled = Object.keys(this.values).filter((key) => fieldOf(key) === name);
    const nested = this.#nested.filter(({ field }) => field === name);
    const written = [
      ...spelled.map((key) => this.values[key]),
      ...nested.map(({ value }) => value),
    ];
    if (written.length === 0) return absent;
    for (const key of spelled.filter((one) => !isUsualSpelling(one, name)))
      this.warn(
        name,
        "odd_spelling",
        `read as ${name}, which other clients do not; write ${name}`,
        key,
      );
    for (const { path } of nested) this.#warnNested(name, path);
    if (new Set(written.map((one) => JSON.stringify(one))).size > 1) {
      this.warn(name, "invalid_field", CONTRADICTION);
      return strict;
    }
    const plain = withoutTypographicQuotes(written[0]);
    if (plain !== null)
      this.warn(
        name,
        "typographic_quotes",
        "read without its typographic quotes; write plain ones, or none",
      );
    return this.#parse(name, plain ?? written[0]);
  }

  #warnNested(name: FieldName, path: readonly string[]): void {
    const message = `${path.join(".")}: read as ${name}, but no other client looks for it there; move it to the margin`;
    this.findings.push(warningFinding("misplaced_field", message, this.#locate(path)));
  }

  #parse(name: FieldName, value: unknown): unknown {
    const { schema, rule, strict } = fieldNamed(name);
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    if (rule !== undefined) this.warn(name, "invalid_field", rule);
    return strict;
  }
}

/** Returns the fields that decide how a skill is used; name and description are undefined when the file sets none. */
function readFields(reader: FieldReader) {
  const allowedTools = reader.read("allowed-tools");
  const fields = {
    name: reader.read("name"),
    description: reader.read("description"),
    userInvocable: reader.read("user-invocable"),
    disableModelInvocation: reader.read("disable-model-invocation"),
    allowedTools,
    argumentHint: reader.read("argument-hint"),
    // When a file has both names, the newer one takes precedence.
    arguments: reader.read(reader.has("arguments") ? "arguments" : "variables"),
    needsBraces: !reader.has("arguments") && reader.has("variables"),
    metadata: readMetadata(
      reader.has("metadata") ? ((reader.read("metadata") ?? null) as YamlValue) : undefined,
      (message) =>
        reader.findings.push(
          warningFinding("metadata_dropped", message, reader.positionOf("metadata")),
        ),
    ),
  };
  reader.findings.push(...aliasConflicts(fields.metadata, () => reader.positionOf("metadata")));
  if (allowedTools !== null)
    reader.findings.push(...toolRemarks(allowedTools, () => reader.positionOf("allowed-tools")));
  return fields;
}

/** Returns when a skill is used, and the effect of its slash command; absent parts are left out. */
function readInvocation(reader: FieldReader): Pick<Skill, "triggers" | "dispatch"> {
  const triggers = (["when-to-use", "triggers", "tags", "keywords"] as const)
    .flatMap((name) => reader.read(name))
    .map((phrase) => cutText(phrase, MAX_TRIGGER_LENGTH))
    .filter((phrase) => phrase !== "");
  const isDispatched = reader.read("command-dispatch")?.toLowerCase() === "tool";
  const tool = isDispatched ? reader.read("command-tool") : null;
  return {
    ...(triggers.length === 0 ? {} : { triggers: [...new Set(triggers)].slice(0, MAX_TRIGGERS) }),
    ...(tool === null || tool.length > MAX_TOOL_NAME ? {} : { dispatch: { tool } }),
  };
}

/** The fields of all formats in one form. */
function readRecord(
  reader: FieldReader,
  metadata: YamlMapping | null,
  hooks: unknown,
): SkillRecord {
  const author = metadata?.["author"];
  return {
    displayName: textOf(reader.values[reader.keys.get("name") ?? "name"]),
    license: reader.read("license"),
    compatibility: reader.read("compatibility"),
    version: reader.read("version"),
    // The standard has it below `metadata`.
    author: reader.read("author") ?? textOf(author),
    homepage: reader.read("homepage"),
    model: reader.read("model"),
    effort: reader.read("effort"),
    context: reader.read("context"),
    agent: reader.read("agent"),
    background: reader.read("background"),
    shell: reader.read("shell"),
    paths: reader.read("paths"),
    disallowedTools: reader.read("disallowed-tools"),
    hooks: hooks ?? null,
    openclaw: openclawOf(metadata),
    unknown: unknownOf(reader),
  };
}

/** Kept in the order of the file, up to the limit. */
function unknownOf({ values, findings }: FieldReader): Record<string, unknown> {
  const unknown: Record<string, unknown> = {};
  let left = MAX_UNKNOWN_BYTES;
  for (const [key, value] of Object.entries(values)) {
    if (isFieldName(fieldOf(key))) continue;
    left -= key.length + (typeof value === "string" ? value.length : JSON.stringify(value).length);
    if (left < 0) {
      const message = `unknown fields have more than ${MAX_UNKNOWN_BYTES} bytes; the last ones are not kept`;
      findings.push(warningFinding("unknown_fields_dropped", message));
      break;
    }
    unknown[key] = value;
  }
  return unknown;
}
