import type { z } from "zod";
import type { Rpc } from "@switchyard/contracts/define";
import { descriptions } from "@switchyard/contracts/explain/descriptions";
import { errorTexts } from "@switchyard/contracts/explain/error-texts";
import { explainedSchema } from "@switchyard/contracts/explain/explained-schema";
import { exampleOf, messageExample } from "@switchyard/contracts/explain/example-of";
import { schemaNames as exportedNames } from "@switchyard/contracts/explain/schema-names";
import { allContracts } from "@switchyard/contracts/registry";
import { namesByText } from "./shared-schemas.ts";

type Json = Record<string, unknown>;
type Direction = "input" | "output";

export interface MessageSchema {
  readonly schema: Json;
  readonly example: unknown;
}

/** The complete JSON Schema and an example of every message: `{rpc}.request`, `{rpc}.reply`, or the name of a command, event or live subject. */
export function messageSchemas(): Record<string, MessageSchema> {
  const schemas: Record<string, MessageSchema> = {};
  for (const contract of allContracts) {
    if (contract.kind === "rpc") {
      const request = `${contract.name}.request`;
      schemas[request] = explained(contract.request, "input", request);
      const { schema, example } = explained(contract.reply, "output", `${contract.name}.reply`);
      schemas[`${contract.name}.reply`] = {
        schema: replyOf(contract, schema),
        example: { ok: true, value: example },
      };
    } else {
      const direction = contract.kind === "command" ? "input" : "output";
      schemas[contract.name] = explained(contract.payload, direction, contract.name);
    }
  }
  return schemas;
}

/** The names that schemas have in `libs/contracts`, by their JSON text; see `namesByText`. */
export function schemaNames(): ReadonlyMap<string, string> {
  const named = [...exportedNames()].map(([schema, name]) => ({
    name,
    given: explained(schema, "output", name).schema,
    accepted: explained(schema, "input", name).schema,
  }));
  const standard = { name: "StandardError", given: STANDARD_ERROR, accepted: STANDARD_ERROR };
  return namesByText([standard, ...named]);
}

/** `{ok:true,value}` or `{ok:false,code,message,data}`; the codes are the contract's and the standard ones. */
function replyOf({ errors }: Rpc, value: Json): Json {
  const declared = Object.entries(errors).map(([code, { data }]) =>
    failure(
      { type: "string", const: code, description: errorTexts[code], examples: [code] },
      explained(data, "output", code).schema,
    ),
  );
  const ok = {
    type: "boolean",
    const: true,
    description: "The request succeeded.",
    examples: [true],
  };
  const isEmpty = Object.keys(Object(value["properties"])).length === 0;
  const described = { ...value, description: "The reply.", ...(isEmpty && { examples: [{}] }) };
  return { anyOf: [answer({ ok, value: described }), ...declared, STANDARD_ERROR] };
}

function failure(code: Json, data: Json): Json {
  const ok = {
    type: "boolean",
    const: false,
    description: "The request failed.",
    examples: [false],
  };
  const message = {
    type: "string",
    description: descriptions["message"],
    examples: ["no run has this id"],
  };
  const facts = { ...data, description: "Facts about the error.", examples: [exampleOf(data)] };
  return answer({ ok, code, message, data: facts });
}

function answer(properties: Json): Json {
  const required = Object.keys(properties);
  return { type: "object", properties, required, additionalProperties: false };
}

/** Every request may be answered with one of the standard codes. */
const STANDARD_ERROR = failure(
  {
    type: "string",
    description: "A standard code, such as `overloaded`.",
    examples: ["overloaded"],
  },
  { type: "null" },
);

function explained(schema: z.ZodType, io: Direction, place: string): MessageSchema {
  const json = explainedSchema(schema, { io, place, target: "draft-7" });
  return { schema: json, example: messageExample(json, { place }) };
}
