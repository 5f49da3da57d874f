import type { ToolFinding } from "@switchyard/contracts/mcp-broker/mcp-pins";
import type { TrustSetting } from "@switchyard/project/mcp-servers/server-config";
import { BY_FINDING, BY_FIRST_USE, BY_SCHEMA, stateOf, type PinRecord } from "./pin-record.ts";

export interface SeenTool {
  readonly name: string;
  readonly ref: { readonly name: string };
  readonly pin: string;
  readonly definitionDigest: string;
  readonly findings: readonly ToolFinding[];
}

export interface Sight {
  readonly trust: TrustSetting;
  /** True when the approved definition differs in its texts alone. */
  readonly isSameShape: boolean;
  /** True when the server listed other tools before: this one came later. */
  readonly isLater: boolean;
  readonly now: string;
}

/**
 * The new record of a tool when its server lists it; null when it stays as it is.
 *
 * The tools of a server's first listing are approved or held, according to its trust setting, and those that come later are held
 * unless it allows them. A change of the definition waits for an approval, unless the setting accepts other texts and these have
 * no finding that the approved ones did not have. When only the server's identity changed, an administrator changed the server:
 * that counts as a first listing of it.
 */
export function seeTool(
  record: PinRecord | undefined,
  seen: SeenTool,
  { trust, isSameShape, isLater, now }: Sight,
): PinRecord | null {
  const isReworded = trust === "pin-schema" && isSameShape && !hasNewFinding(record, seen);
  if (record?.digest === seen.pin && !(isReworded && stateOf(record, seen.pin) === "changed"))
    return null;
  const isBack = record?.approved?.digest === seen.pin;
  const next = {
    tool: seen.name,
    name: seen.ref.name,
    digest: seen.pin,
    definitionDigest: seen.definitionDigest,
    findings: [...seen.findings],
    firstSeenAt: record?.firstSeenAt ?? now,
    seenAt: now,
    approved: record?.approved ?? null,
    blocked: record?.blocked?.by === BY_FINDING ? null : (record?.blocked ?? null),
    ...(record?.firstListing === undefined ? {} : { firstListing: record.firstListing }),
  };
  if (isBack || next.blocked !== null) return next;
  const isSame = record?.approved?.definitionDigest === seen.definitionDigest;
  if (trust !== "review" && isSame) return withApproval(next, { by: BY_FIRST_USE, at: now });
  if (isReworded) return withApproval(next, { by: BY_SCHEMA, at: now });
  if (seen.findings.some(isHard)) return { ...next, blocked: { by: BY_FINDING, at: now } };
  const isFirstUse = trust === "pin-new-tools" || (trust !== "review" && !isLater);
  if (record === undefined && isFirstUse) return withApproval(next, { by: BY_FIRST_USE, at: now });
  return next;
}

/**
 * The records to drop for so many new ones: those of tools that the server does not list any more, the oldest first. A record that a
 * person approved or blocked is never dropped. A dropped tool that is listed again is one that came later.
 */
export function droppablePins(
  records: ReadonlyMap<string, PinRecord>,
  { listed, count }: { readonly listed: ReadonlySet<string>; readonly count: number },
): PinRecord[] {
  if (count <= 0) return [];
  return [...records.values()]
    .filter((record) => !listed.has(record.tool) && !isOfPerson(record))
    .toSorted((one, other) => one.seenAt.localeCompare(other.seenAt))
    .slice(0, count);
}

function isOfPerson({ approved, blocked }: PinRecord): boolean {
  const isApproved = approved !== null && ![BY_FIRST_USE, BY_SCHEMA].includes(approved.by);
  return isApproved || (blocked !== null && blocked.by !== BY_FINDING);
}

/** True when there is a finding that the definition did not have when a person, or the first listing, approved it. */
function hasNewFinding(record: PinRecord | undefined, { findings }: SeenTool): boolean {
  const known = record?.approved?.digest === record?.digest ? record?.findings : undefined;
  const codes = new Set(known?.map(({ code }) => code));
  return findings.some(({ code, where }) => !codes.has(code) && !isAboutSchema(code, where));
}

/** Findings about a schema's structure are the same in every wording of it. */
function isAboutSchema(code: ToolFinding["code"], where: string): boolean {
  return code.startsWith("schema_") && /^\/(?:input|output)Schema/.test(where);
}

export type Refusal =
  | { readonly kind: "unknown"; readonly tools: string[] }
  | { readonly kind: "changed"; readonly tool: string; readonly digest: string }
  | {
      readonly kind: "findings";
      readonly tool: string;
      readonly codes: ToolFinding["code"][];
    };

export interface Approval {
  /** Null: all that are pending or changed. */
  readonly tools: readonly { readonly tool: string; readonly digest?: string | undefined }[] | null;
  readonly override: readonly ToolFinding["code"][];
  readonly by: string;
  readonly now: string;
}

/** The records that change and those that are dropped, or why nothing does. */
export type Decided =
  | { readonly changed: readonly PinRecord[]; readonly dropped?: readonly PinRecord[] }
  | { readonly refusal: Refusal };

/** The records that an approval changes, or why nothing is approved. */
export function approveTools(
  records: ReadonlyMap<string, PinRecord>,
  { tools, override, by, now }: Approval,
): Decided {
  const chosen: PinRecord[] = [];
  const unknown: string[] = [];
  if (tools === null)
    for (const record of records.values()) {
      const state = stateOf(record, record.digest);
      if (state === "pending" || state === "changed") chosen.push(record);
    }
  for (const { tool, digest } of tools ?? []) {
    const record = findRecord(records, tool);
    if (record === null) unknown.push(tool);
    else if (digest !== undefined && digest !== record.digest)
      return { refusal: { kind: "changed", tool: record.tool, digest: record.digest } };
    else chosen.push(record);
  }
  if (unknown.length > 0) return { refusal: { kind: "unknown", tools: unknown } };
  for (const { tool, findings } of chosen) {
    const codes = findings.filter(isHard).map(({ code }) => code);
    const open = [...new Set(codes)].filter((code) => !override.includes(code));
    if (open.length > 0) return { refusal: { kind: "findings", tool, codes: open } };
  }
  const open = chosen.filter((record) => stateOf(record, record.digest) !== "approved");
  return { changed: open.map((record) => withApproval(record, { by, at: now })) };
}

/** The records that a block changes, or the names without a record. */
export function blockTools(
  records: ReadonlyMap<string, PinRecord>,
  { tools, by, now }: { tools: readonly string[]; by: string; now: string },
): Decided {
  const unknown = tools.filter((tool) => findRecord(records, tool) === null);
  if (unknown.length > 0) return { refusal: { kind: "unknown", tools: unknown } };
  const chosen = tools.flatMap((tool) => findRecord(records, tool) ?? []);
  const open = chosen.filter(({ blocked }) => blocked === null || blocked.by === BY_FINDING);
  return { changed: open.map((record) => withBlock(record, { by, at: now })) };
}

/** Finds a record by the server's own name of the tool, or by the canonical one. */
export function findRecord(
  records: ReadonlyMap<string, PinRecord>,
  tool: string,
): PinRecord | null {
  const own = records.get(tool);
  if (own !== undefined) return own;
  for (const record of records.values()) if (record.name === tool) return record;
  return null;
}

function withApproval(record: PinRecord, { by, at }: { by: string; at: string }): PinRecord {
  const { digest, definitionDigest } = record;
  return { ...record, approved: { digest, definitionDigest, by, at }, blocked: null };
}

function withBlock(record: PinRecord, blocked: { by: string; at: string }): PinRecord {
  return { ...record, blocked };
}

function isHard({ severity }: ToolFinding): boolean {
  return severity === "hard";
}
