import type { SkillRecord } from "@switchyard/contracts/skill-record";
import { warningFinding, type Finding, type Place } from "../finding.ts";
import type { YamlMapping } from "../frontmatter/yaml-value.ts";
import { readInvocation, type InvocationFields } from "../manifest/invocation-fields.ts";
import { keysByField, readSkillFields, type SkillFields } from "./skill-fields.ts";
import { METADATA_ALIASES } from "./skill-requirements.ts";
import { readRecord } from "./skill-record.ts";

export interface UnderstoodValues {
  readonly fields: SkillFields;
  readonly record: SkillRecord;
  readonly invocation: InvocationFields;
  readonly findings: readonly Finding[];
}

/**
 * Everything that a skill's fields say, whatever format they were written in; all values are text. Of
 * values that had to be repaired nothing counts that gives a skill more: no hooks, no `always`, no tool that
 * its command calls. What takes something away stays.
 */
export function readValues(
  values: YamlMapping,
  {
    locate,
    wasRepaired,
  }: { locate: (path: readonly PropertyKey[]) => Place; wasRepaired: boolean },
): UnderstoodValues {
  const keys = keysByField(values);
  const { fields, findings } = readSkillFields(values, locate, keys);
  const invocation = readInvocation(values);
  if (!wasRepaired) {
    const read = readRecord({ values, metadata: fields.metadata, keys, wasRepaired, locate });
    return { fields, record: read.record, invocation, findings: [...findings, ...read.findings] };
  }
  const ignored = (key: string) => {
    const message = `${key}: left out, because the frontmatter had to be repaired`;
    return warningFinding("authority_ignored", message, locate([key]));
  };
  const { metadata, hadAlways } = withoutAlways(fields.metadata);
  const { dispatch, ...kept } = invocation;
  const read = readRecord({ values, metadata, keys, wasRepaired, locate });
  return {
    fields: { ...fields, metadata },
    record: read.record,
    invocation: kept,
    findings: [
      ...findings,
      ...read.findings,
      ...(hadAlways ? [ignored("metadata")] : []),
      ...(dispatch === undefined ? [] : [ignored("command-dispatch")]),
    ],
  };
}

function withoutAlways(metadata: YamlMapping | null): {
  metadata: YamlMapping | null;
  hadAlways: boolean;
} {
  if (metadata === null) return { metadata, hadAlways: false };
  let hadAlways = false;
  const kept: YamlMapping = { ...metadata };
  for (const alias of METADATA_ALIASES) {
    const part = kept[alias];
    if (typeof part !== "object" || part === null || Array.isArray(part)) continue;
    if (part["always"] === undefined) continue;
    const { always: _, ...others } = part;
    kept[alias] = others;
    hadAlways = true;
  }
  return { metadata: kept, hadAlways };
}
