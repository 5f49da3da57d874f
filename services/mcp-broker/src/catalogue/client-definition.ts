import type { ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { clientSchema } from "../validation/client-schema.ts";
import type { SchemaNote } from "@switchyard/service/json-schema/prepare-schema";
import type { ListedTool } from "./listed-tool.ts";

/** A tool's definition as clients get it; the pin covers the one that the server sent. */
export interface ClientDefinition {
  readonly inputSchema: ToolInfo["inputSchema"];
  /** Every member but the name, the description and the input schema. */
  readonly rest: JsonRecord;
  /** Differences from the definition that the server sent. */
  readonly notes: readonly SchemaNote[];
}

const ELSEWHERE: ReadonlySet<string> = new Set(["name", "description", "inputSchema"]);

/**
 * A definition in the form of the MCP schema (`Tool`, https://modelcontextprotocol.io/specification/2025-11-25/schema#tool). A member
 * that does not have its type is left out, because the official SDKs refuse a whole list for it; members that MCP does not define are kept.
 */
export function clientDefinition({ inputSchema, definition }: ListedTool): ClientDefinition {
  const input = clientSchema(inputSchema);
  const notes = input.notes.map(({ where, text }) => ({ where: `/inputSchema${where}`, text }));
  const rest = Object.entries(definition).flatMap(([member, value]): [string, unknown][] => {
    if (ELSEWHERE.has(member)) return [];
    const note = (text: string, where = ""): void =>
      void notes.push({ where: `/${member}${where}`, text });
    const read = Object.hasOwn(MEMBERS, member) ? MEMBERS[member] : undefined;
    const clean = read === undefined ? value : read(value, note);
    if (clean === undefined && value !== undefined)
      note(value === null ? "it is null; left out" : "it has the wrong type; left out");
    return clean === undefined ? [] : [[member, clean]];
  });
  return {
    inputSchema: { ...input.schema, type: "object" },
    rest: Object.fromEntries(rest),
    notes,
  };
}

type Note = (text: string, where?: string) => void;
/** The member as clients accept it; undefined when it is left out. */
type ReadMember = (value: unknown, note: Note) => unknown;

const record: ReadMember = (value) => (isRecord(value) ? value : undefined);

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/** The members of an object without those of a wrong type. */
function without(value: JsonRecord, wrong: readonly string[], note: Note): JsonRecord {
  for (const member of wrong) note("it has the wrong type; left out", `/${member}`);
  return wrong.length === 0
    ? value
    : Object.fromEntries(Object.entries(value).filter(([member]) => !wrong.includes(member)));
}

const MEMBERS: Readonly<Record<string, ReadMember>> = {
  title: (value) => (typeof value === "string" ? value : undefined),
  _meta: record,
  annotations(value, note) {
    if (!isRecord(value)) return undefined;
    const wrong = HINTS.filter((hint) => !isAbsentOr("boolean", value[hint]));
    if (!isAbsentOr("string", value["title"])) wrong.push("title");
    return without(value, wrong, note);
  },
  execution(value, note) {
    if (!isRecord(value)) return undefined;
    const { taskSupport = "forbidden" } = value;
    const isKnown = ["forbidden", "optional", "required"].includes(String(taskSupport));
    return without(value, isKnown ? [] : ["taskSupport"], note);
  },
  icons(value, note) {
    if (!Array.isArray(value)) return undefined;
    const usable = value.filter(isIcon);
    if (usable.length < value.length) note("an icon has the wrong form; left out");
    return usable;
  },
  outputSchema(value, note) {
    if (!isRecord(value)) return undefined;
    const { schema, notes } = clientSchema(value);
    for (const { where, text } of notes) note(text, where);
    return schema;
  },
};

function isIcon(value: unknown): boolean {
  if (!isRecord(value) || typeof value["src"] !== "string") return false;
  const { mimeType, sizes, theme } = value;
  const hasSizes =
    sizes === undefined ||
    (Array.isArray(sizes) && sizes.every((size) => typeof size === "string"));
  const hasTheme = theme === undefined || theme === "light" || theme === "dark";
  return isAbsentOr("string", mimeType) && hasSizes && hasTheme;
}

function isAbsentOr(type: "string" | "boolean", value: unknown): boolean {
  return value === undefined || typeof value === type;
}
