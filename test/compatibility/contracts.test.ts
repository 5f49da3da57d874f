// Messages of the last version and of this one: each must accept the other's, since both run while pods are replaced.
//
// Only changed schemas are checked: an unchanged one accepts the same messages. A sender must leave a new property out until all
// services are new, if older ones refuse unknown properties: so the smallest valid request is tried.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Contract } from "@switchyard/contracts/define";
import { allContracts } from "@switchyard/contracts/registry";
import { Ajv } from "ajv";
import { z } from "zod";
import { readAt, whyNoCheckout } from "../lib/old-checkout.ts";
import { sampleOf, type JsonSchema } from "../lib/sample-request.ts";
import { LAST_VERSION } from "./versions.ts";

/** The required part of docs/asyncapi.json. */
const Document = z.object({
  channels: z.record(
    z.string(),
    z.object({
      address: z.string().nullable(),
      messages: z.record(z.string(), z.object({ payload: z.record(z.string(), z.unknown()) })),
    }),
  ),
  components: z.object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) }),
});
const PATH = "docs/asyncapi.json";
const skip = (await whyNoCheckout(LAST_VERSION)) ?? false;
const now = Document.parse(
  JSON.parse(await readFile(join(import.meta.dirname, "../..", PATH), "utf8")),
);
/** This version takes the place of the last one if the history lacks that, so no message differs. */
const last = skip === false ? Document.parse(JSON.parse(await readAt(LAST_VERSION, PATH))) : now;
const ajv = new Ajv({ strict: false, validateFormats: false });

test("every subject of the last version is there", { skip }, () => {
  for (const [name, { address }] of Object.entries(last.channels))
    assert.equal(now.channels[name]?.address, address, name);
});

/**
 * Archives travel beside their request since they are bytes and not base64. An importer of the last version refuses such a request and stores nothing;
 * the sender repeats it when the importer is replaced.
 */
const REFUSED_BY_LAST: ReadonlySet<string> = new Set(["rpc.skills.unpack", "rpc.agents.unpack"]);

const TEXTS = new Set(["description", "examples"]);
/** Their keys are names. */
const MAPS = new Set(["properties", "$defs", "patternProperties"]);

for (const contract of allContracts)
  for (const { name, schema, isAnswer } of messagesOf(contract)) {
    const before = payloadOf(last, name, isAnswer);
    const after = payloadOf(now, name, isAnswer);
    if (before === null || after === null) continue;
    if (isDeepStrictEqual(withoutTexts(before), withoutTexts(after))) continue;

    test(`${name}: what the last version sends is understood`, () => {
      for (const isFull of [true, false])
        for (const sample of samplesOf(before, isFull)) {
          assert.ok(ajv.validate(before, sample), JSON.stringify(sample));
          const error = problemOf(schema, sample, before);
          assert.equal(error, undefined, `${JSON.stringify(sample)}: ${error?.message}`);
        }
    });
    const isRefused = REFUSED_BY_LAST.has(name);
    const verb = isRefused ? "refuses" : "understands";
    test(`${name}: the last version ${verb} what is sent with no more than has to be`, () => {
      // Answers and events may have more members, which a reader ignores.
      const reader = ajv.compile(isAnswer ? withoutRefusals(before) : before);
      for (const sample of samplesOf(after, false)) {
        assert.ok(ajv.validate(after, sample), JSON.stringify(sample));
        const isUnderstood = reader(sample);
        const seen: string = `${JSON.stringify(sample)}: ${ajv.errorsText(reader.errors)}`;
        assert.equal(isUnderstood, !isRefused, seen);
      }
    });
  }

/** A schema without what is written for people. A description beside a reference is one in `allOf`. */
function withoutTexts(schema: unknown, isMap = false): unknown {
  if (Array.isArray(schema)) return schema.map((part) => withoutTexts(part));
  if (typeof schema !== "object" || schema === null) return schema;
  const rest = Object.entries(schema)
    .filter(([key]) => isMap || !TEXTS.has(key))
    .map(([key, part]) => [key, withoutTexts(part, !isMap && MAPS.has(key))] as const);
  const [[key, only] = []] = rest;
  const isWrapped = !isMap && rest.length === 1 && key === "allOf" && Array.isArray(only);
  return isWrapped && only.length === 1 ? only[0] : Object.fromEntries(rest);
}

/**
 * JSON Schema cannot express a rule between fields, so a sample may break it: session and label, for example, of which one is
 * required. With one field more or less, or without those that the rule names, it has to fit then.
 */
function problemOf(schema: z.ZodType, sample: unknown, before: JsonSchema): z.ZodError | undefined {
  const { error } = schema.safeParse(sample);
  if (error === undefined || error.issues.some(({ code }) => code !== "custom")) return error;
  const fields = Object.entries(sample as Record<string, unknown>); // a rule between fields is of an object
  const fewer = fields.map(([left]) => fields.filter(([name]) => name !== left));
  const more = samplesOf(before, true).flatMap(
    (full) =>
      Object.entries(full as Record<string, unknown>).map((added) => fields.concat([added])), // a rule between fields applies to an object
  );
  const others = [
    ...[...fewer, ...more].map((each) => Object.fromEntries(each)),
    withoutNamed(sample, error.issues),
  ];
  const isAccepted = others.some(
    (each) => ajv.validate(before, each) && schema.safeParse(each).success,
  );
  return isAccepted ? undefined : error;
}

/** The sample without the fields, however deep, that broken rules name. */
function withoutNamed(sample: unknown, issues: z.ZodError["issues"]): unknown {
  const rest: unknown = structuredClone(sample);
  for (const { path } of issues) {
    const parent = path
      .slice(0, -1)
      .reduce<unknown>((part, name) => Reflect.get(Object(part), name), rest);
    Reflect.deleteProperty(Object(parent), path.at(-1) ?? "");
  }
  return rest;
}

/** The kinds of messages of a contract, as this version reads them. */
function messagesOf(contract: Contract) {
  const channel = `${contract.kind}.${contract.name}`;
  if (contract.kind !== "rpc")
    return [{ name: channel, schema: contract.payload, isAnswer: contract.kind !== "command" }];
  return [
    { name: channel, schema: contract.request, isAnswer: false },
    { name: `${channel}.reply`, schema: contract.reply, isAnswer: true },
  ];
}

/** The schema of a message with what it refers to; null where a version has no such message. */
function payloadOf(
  { channels, components }: z.infer<typeof Document>,
  name: string,
  isAnswer: boolean,
): JsonSchema | null {
  const [message] = Object.values(channels[name]?.messages ?? {});
  if (message === undefined) return null;
  const whole = resolved(message.payload, components.schemas) as JsonSchema; // a schema stays one
  return isAnswer && name.startsWith("rpc.")
    ? (whole.anyOf?.[0]?.properties?.["value"] ?? null)
    : whole;
}

/** Without descriptions for people, which change nothing. */
function resolved(value: unknown, schemas: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map((each) => resolved(each, schemas));
  if (typeof value !== "object" || value === null) return value;
  const ref = "$ref" in value && typeof value.$ref === "string" ? value.$ref : null;
  if (ref?.startsWith("#/components/schemas/"))
    return resolved(schemas[ref.slice("#/components/schemas/".length)], schemas);
  const kept = Object.entries(value).filter(
    ([key, inner]) => key !== "description" || typeof inner !== "string",
  );
  return Object.fromEntries(kept.map(([key, inner]) => [key, resolved(inner, schemas)]));
}

function withoutRefusals(value: JsonSchema): JsonSchema {
  const text = JSON.stringify(value, (key, inner: unknown) =>
    key === "additionalProperties" && inner === false ? undefined : inner,
  );
  return JSON.parse(text) as JsonSchema;
}

/** One of each kind that a schema has at its top. */
function samplesOf(schema: JsonSchema, isFull: boolean): unknown[] {
  const kinds = schema.anyOf ?? schema.oneOf ?? [schema];
  return kinds.map((kind) => sampleOf(kind, { defs: {}, isFull }));
}
