import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Rpc } from "@switchyard/contracts/define";
import { allContracts } from "@switchyard/contracts/registry";

type Json = Record<string, unknown>;
type Direction = "input" | "output";

/** Every request may be answered with one of the standard codes. */
const standardError = z.object({
  ok: z.literal(false),
  code: z.string(),
  message: z.string(),
  data: z.null(),
});

const contractFiles = fileURLToPath(new URL("../../libs/contracts/src/", import.meta.url));

/** The complete JSON Schema of every message: `{rpc}.request`, `{rpc}.reply`, or the name of a command, event or live subject. */
export function messageSchemas(): Record<string, Json> {
  const schemas: Record<string, Json> = {};
  for (const contract of allContracts) {
    if (contract.kind === "rpc") {
      schemas[`${contract.name}.request`] = jsonSchema(contract.request, "input");
      schemas[`${contract.name}.reply`] = jsonSchema(replyOf(contract), "output");
    } else {
      const direction = contract.kind === "command" ? "input" : "output";
      schemas[contract.name] = jsonSchema(contract.payload, direction);
    }
  }
  return schemas;
}

/**
 * The names that schemas have in `libs/contracts`, by their JSON text. What a schema accepts and what it gives can
 * differ, by defaults for example; then the first is called `{name}Input`. A schema with two names has none.
 */
export async function schemaNames(): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string | null>();
  for (const [name, schema] of await exportedSchemas()) {
    const given = JSON.stringify(jsonSchema(schema, "output"));
    const accepted = JSON.stringify(jsonSchema(schema, "input"));
    names.set(given, names.has(given) ? null : name);
    if (accepted !== given) names.set(accepted, names.has(accepted) ? null : `${name}Input`);
  }
  return new Map([...names].flatMap(([text, name]) => (name === null ? [] : [[text, name]])));
}

async function exportedSchemas(): Promise<[name: string, schema: z.ZodType][]> {
  const files = globSync("*.ts", { cwd: contractFiles }).filter(
    (file) => !file.endsWith(".test.ts"),
  );
  const found: [string, z.ZodType][] = [["StandardError", standardError]];
  for (const file of files.toSorted()) {
    const exported: object = await import(`${contractFiles}${file}`);
    for (const [name, value] of Object.entries(exported))
      if (value instanceof z.ZodType) found.push([name, value]);
  }
  return found;
}

/** `{ok:true,value}` or `{ok:false,code,message,data}`; the codes are the contract's and the standard ones. */
function replyOf(contract: Rpc): z.ZodType {
  const declared = Object.entries(contract.errors).map(([code, spec]) =>
    z.object({ ok: z.literal(false), code: z.literal(code), message: z.string(), data: spec.data }),
  );
  return z.union([
    z.object({ ok: z.literal(true), value: contract.reply }),
    ...declared,
    standardError,
  ]);
}

function jsonSchema(schema: z.ZodType, io: Direction): Json {
  const json: Json = { ...z.toJSONSchema(schema, { target: "draft-7", io }) };
  delete json["$schema"];
  return json;
}
