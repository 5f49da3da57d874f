import { isRecord, type JsonRecord } from "../json/json-record.ts";
import { visible } from "@switchyard/service/visible-text";
import { jsonSize } from "../json/json-size.ts";

/** One tool as its server lists it: what the broker works with was looked at, the rest is as it came. */
export interface ListedTool {
  readonly name: string;
  readonly description: string | undefined;
  readonly inputSchema: { readonly type: "object" } & JsonRecord;
  readonly outputSchema: JsonRecord | null;
  /** The whole object of the list. */
  readonly definition: JsonRecord;
}

const MAX_NAME = 512;
const LIMITS = { depth: 200, values: 50_000, characters: 512 * 1024 } as const;

/** Reads one entry of a tool list; `problem` says why it is none, and which it is. */
export function readListedTool(
  raw: unknown,
  index: number,
): { readonly tool: ListedTool; readonly characters: number } | { readonly problem: string } {
  if (!isRecord(raw)) return { problem: `entry ${index} of the tool list is not an object` };
  const { name, description, inputSchema, outputSchema } = raw;
  if (typeof name !== "string" || name === "" || name.length > MAX_NAME || !name.isWellFormed())
    return {
      problem: `the name of entry ${index} of the tool list must have 1-${MAX_NAME} characters`,
    };
  const refused = (why: string) => ({ problem: `tool "${visible(name, 80)}" is refused: ${why}` });
  const size = jsonSize(raw, LIMITS);
  if ("excess" in size) return refused(`its definition ${size.excess}`);
  if (description !== undefined && typeof description !== "string")
    return refused("its description is not text");
  if (!isRecord(inputSchema)) return refused("its inputSchema is not an object");
  const { type = "object" } = inputSchema;
  if (type !== "object") return refused('the type of its inputSchema is not "object"');
  if (outputSchema !== undefined && !isRecord(outputSchema))
    return refused("its outputSchema is not an object");
  return {
    characters: size.characters,
    tool: {
      name,
      description,
      // A schema that names no type still describes the arguments, and they are an object.
      inputSchema: { ...inputSchema, type: "object" },
      outputSchema: outputSchema ?? null,
      definition: raw,
    },
  };
}
