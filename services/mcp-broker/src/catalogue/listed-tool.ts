import { visible } from "@switchyard/service/visible-text";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { jsonSize } from "../json/json-size.ts";
import { Unusable, type Note } from "../normalise/forms.ts";
import { toolForm } from "../normalise/result-forms.ts";

/** One tool as its server lists it: the members that the broker uses were checked, the others are unchanged. */
export interface ListedTool {
  readonly name: string;
  readonly description: string | undefined;
  readonly inputSchema: { readonly type: "object" } & JsonRecord;
  readonly outputSchema: JsonRecord | null;
  /** The whole object of the list, which is what gets pinned. */
  readonly definition: JsonRecord;
}

export interface ReadTool {
  readonly tool: ListedTool;
  readonly characters: number;
  /** Members that were left out or replaced, in words. */
  readonly findings: readonly string[];
}

const MAX_NAME = 512;
const LIMITS = { depth: 200, values: 50_000, characters: 512 * 1024 } as const;

/** Reads one entry of a tool list; `problem` states why it is unusable, and its name. */
export function readListedTool(
  raw: unknown,
  index: number,
): ReadTool | { readonly problem: string } {
  if (!isRecord(raw)) return { problem: `entry ${index} of the tool list is not an object` };
  const { name } = raw;
  if (typeof name !== "string" || name === "" || name.length > MAX_NAME || !name.isWellFormed())
    return {
      problem: `the name of entry ${index} of the tool list must have 1-${MAX_NAME} characters`,
    };
  const shownName = visible(name, 80);
  const refused = (why: string) => ({ problem: `tool "${shownName}" is refused: ${why}` });
  const size = jsonSize(raw, LIMITS);
  if ("excess" in size) return refused(`its definition ${size.excess}`);
  const findings: string[] = [];
  const note: Note = (pointer, problem) =>
    void findings.push(`tool "${shownName}", ${pointer}: ${problem}`);
  const tool = toolForm(raw, "", note);
  if (tool instanceof Unusable || !isRecord(tool)) return refused("it is not an object");
  const { description, outputSchema } = tool;
  if (isMissing(raw["inputSchema"])) note("/inputSchema", "it is missing; any object is accepted");
  const inputSchema = isMissing(raw["inputSchema"]) ? {} : raw["inputSchema"];
  if (!isRecord(inputSchema)) return refused("its inputSchema is not an object");
  if (!isObjectType(inputSchema["type"]))
    return refused('the type of its inputSchema is not "object"');
  return {
    characters: size.characters,
    findings,
    tool: {
      name,
      description: typeof description === "string" ? description : undefined,
      // A schema that names no type still describes the arguments, and they are an object.
      inputSchema: { ...inputSchema, type: "object" },
      outputSchema: isRecord(outputSchema) ? outputSchema : null,
      definition: raw,
    },
  };
}

function isMissing(member: unknown): boolean {
  return member === undefined || member === null;
}

/** Arguments are always an object, so a schema that also allows something else describes them, too. */
function isObjectType(type: unknown): boolean {
  return isMissing(type) || type === "object" || (Array.isArray(type) && type.includes("object"));
}
