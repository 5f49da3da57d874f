import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";
import { Ajv } from "ajv";
import { z } from "zod";
import { allContracts } from "@switchyard/contracts/registry";
import { asyncApi } from "./asyncapi.ts";
import { resolveSchema, schemaText } from "./shared-schemas.ts";

type Json = Record<string, unknown>;

const Document = z.looseObject({
  channels: z.record(
    z.string(),
    z.looseObject({ messages: z.record(z.string(), z.object({ payload: z.looseObject({}) })) }),
  ),
  components: z.looseObject({ schemas: z.record(z.string(), z.looseObject({})) }),
});

test("is a valid AsyncAPI 3.1 document, and a broken copy is not", async () => {
  const path = createRequire(import.meta.url).resolve(
    "@asyncapi/specs/schemas/3.1.0-without-$id.json",
  );
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true, logger: false });
  const validate = ajv.compile(JSON.parse(await readFile(path, "utf8")));
  const document = asyncApi();

  assert.ok(validate(document), JSON.stringify(validate.errors?.slice(0, 5), null, 2));
  assert.equal(validate({ ...document, channels: { broken: { adress: "yard.typo" } } }), false);
});

test("every message resolves to the schema of its contract", async () => {
  const { channels, components } = Document.parse(asyncApi());
  const resolved = (channel: string, message: string): Json => {
    const payload = channels[channel]?.messages[message]?.payload;
    assert.ok(payload, `${channel} has no message ${message}`);
    return resolveSchema(payload, components.schemas);
  };
  for (const contract of allContracts) {
    if (contract.kind !== "rpc") {
      const direction = contract.kind === "command" ? "input" : "output";
      const message = resolved(`${contract.kind}.${contract.name}`, "message");
      assert.deepEqual(message, schemaOf(contract.payload, direction), contract.name);
      continue;
    }
    const channel = `rpc.${contract.name}`;
    const request = resolved(channel, "request");
    assert.deepEqual(request, schemaOf(contract.request, "input"), channel);
    const errors = Object.entries(contract.errors).map(([code, { data }]) => [code, data] as const);
    assert.deepEqual(
      resolved(`${channel}.reply`, "reply"),
      {
        anyOf: [
          answer({
            ok: { type: "boolean", const: true },
            value: schemaOf(contract.reply, "output"),
          }),
          ...errors.map(([code, data]) =>
            failure({ type: "string", const: code }, schemaOf(data, "output")),
          ),
          failure({ type: "string" }, { type: "null" }),
        ],
      },
      channel,
    );
  }
});

test("every shared schema is used, and no long schema is written twice", async () => {
  const { channels, components } = Document.parse(asyncApi());
  const text = JSON.stringify({ channels, components });
  const unused = Object.keys(components.schemas).filter(
    (name) => !text.includes(`"#/components/schemas/${name}"`),
  );
  assert.deepEqual(unused, []);
  const payloads = Object.values(channels).flatMap(({ messages }) =>
    Object.values(messages).map(({ payload }) => payload),
  );
  const seen = new Set<string>();
  const copies = [...payloads, ...Object.values(components.schemas)]
    .flatMap((schema) => objectsIn(schema))
    .map((schema) => schemaText({ ...schema }))
    .filter((schema) => schema.length >= 150 && (seen.has(schema) || !seen.add(schema)));
  assert.deepEqual(copies, []);
});

/** A schema and all schemas in it: what has a type. */
function objectsIn(value: unknown): object[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  return "type" in value && typeof value.type === "string" ? [value, ...inner] : inner;
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...json }: Json = z.toJSONSchema(schema, { target: "draft-7", io });
  return json;
}

function failure(code: Json, data: Json): Json {
  const ok = { type: "boolean", const: false };
  return answer({ ok, code, message: { type: "string" }, data });
}

function answer(properties: Json): Json {
  const required = Object.keys(properties);
  return { type: "object", properties, required, additionalProperties: false };
}
