import assert from "node:assert/strict";
import { test } from "node:test";
import { openApi } from "@switchyard/gateway/openapi/openapi";
import { readRequest } from "@switchyard/gateway/routes/read-request";
import { placeholders, shapeOf } from "@switchyard/gateway/routes/route-shape";
import { routes, type Route } from "@switchyard/gateway/routes/route-table";
import { ownSchemaNames } from "@switchyard/gateway/openapi/schema-names";
import type { Contract } from "@switchyard/contracts/define";
import { descriptions } from "@switchyard/contracts/explain/descriptions";
import { examples } from "@switchyard/contracts/explain/examples";
import {
  explainedSchema,
  type ExplainedProperty,
} from "@switchyard/contracts/explain/explained-schema";
import { exampleKey, keysIn } from "@switchyard/contracts/explain/find-text";
import { allContracts } from "@switchyard/contracts/registry";
import type { z } from "zod";
import { asyncApi } from "./asyncapi.ts";

type Json = Record<string, unknown>;

const openapi = openApi();
const asyncapi = asyncApi();
const paths = openapi["paths"] as Record<string, Record<string, Json>>;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, facts]) => ({ name: `${method} ${path}`, facts })),
);

test("every operation of openapi.json, and each of its parameters and answers, has a description and an example", () => {
  for (const { name, facts } of operations) {
    assert.ok(isText(facts["summary"]) && isText(facts["description"]), name);
    for (const parameter of resolved(facts["parameters"])) {
      const place = `${name} ${String(parameter["name"])}`;
      assert.ok(isText(parameter["description"]), `${place} has no description`);
      assert.ok("example" in parameter, `${place} has no example`);
    }
    for (const response of resolved(Object.values(facts["responses"] as Json)))
      assert.ok(isText(response["description"]), `${name} has a response without a description`);
    for (const media of mediaOf(facts))
      assert.ok("example" in media || "examples" in media, `${name} has a body without an example`);
  }
});

test("every property of openapi.json and asyncapi.json has a description and an example", () => {
  const { components, paths: all } = openapi as Record<string, Json>;
  for (const [name, part] of Object.entries({ components, all, asyncapi }))
    assert.equal(firstGap(part, name), null);
});

test("every channel, operation, parameter and message of asyncapi.json has a description, and every message an example", () => {
  const { channels = {}, operations: actions = {} } = asyncapi as Record<
    string,
    Record<string, Json>
  >;
  for (const [name, { description, parameters = {}, messages }] of Object.entries(channels)) {
    assert.ok(isText(description), `${name} has no description`);
    for (const [token, parameter] of Object.entries(parameters as Record<string, Json>)) {
      assert.ok(isText(parameter["description"]), `${name} ${token} has no description`);
      assert.ok(isText(Object(parameter["examples"])[0]), `${name} ${token} has no example`);
    }
    for (const { summary, examples: given } of Object.values(messages as Record<string, Json>))
      assert.ok(
        isText(summary) && Array.isArray(given),
        `${name} has a message without an example`,
      );
  }
  for (const [name, { description }] of Object.entries(actions))
    assert.ok(isText(description), `${name} has no description`);
});

test("the gateway accepts the example of every operation as a request of it", () => {
  for (const route of routes.filter(({ isAlias }) => isAlias !== true)) {
    const { facts } = operations.find(({ name }) => name === `${route.method} ${route.path}`) ?? {};
    assert.doesNotThrow(() => readExample(route, facts ?? {}), `${route.method} ${route.path}`);
  }
});

test("every operation of openapi.json has an id of its own, which begins with a verb", () => {
  const ids = operations.map(({ facts }) => String(facts["operationId"]));
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  );
  for (const id of ids) assert.match(id, VERB);
});

test("every description and every example that is written is used", () => {
  const used = new Set<string | null | undefined>();
  const visit = ({ place, schema }: ExplainedProperty): void => {
    used.add(keysIn(descriptions, place, schema)[0]);
    used.add(exampleKey(place, schema));
  };
  const contracts = new Set([...allContracts, ...routes.map(({ contract }) => contract)]);
  for (const contract of contracts)
    for (const [place, schema] of partsOf(contract)) {
      used.add(place);
      for (const io of ["input", "output"] as const)
        explainedSchema(schema, { io, place, names: ownSchemaNames, visit });
    }
  for (const [schema, place] of ownSchemaNames)
    explainedSchema(schema, { io: "output", place, names: ownSchemaNames, visit });
  const unused = Object.keys({ ...descriptions, ...examples }).filter((key) => !used.has(key));
  assert.deepEqual(unused, []);
});

function partsOf(contract: Contract): [place: string, schema: z.ZodType][] {
  const { name } = contract;
  if (contract.kind !== "rpc") return [[name, contract.payload]];
  return [
    [`${name}.request`, contract.request],
    [`${name}.reply`, contract.reply],
    ...Object.entries(contract.errors).map(([code, { data }]): [string, z.ZodType] => [code, data]),
  ];
}

const VERB =
  /^(?:activate|add|answer|approve|begin|block|call|cancel|check|claim|connect|create|delete|deny|diff|disconnect|enable|end|explain|export|find|finish|follow|fork|get|import|list|match|patch|put|read|redeliver|redrive|refresh|remove|render|replay|reset|resume|retry|revoke|rollback|rotate|run|send|set|start|steer|stop|submit|trust|unpack|update|upload|validate|verify|wake)[A-Z]/;

/** Reads the request that the examples of a route's parameters and body make. */
function readExample(route: Route, facts: Json): void {
  const parameters = resolved(facts["parameters"]);
  const inPath = new Set(placeholders(route.path));
  const named = (place: string): [string, string][] =>
    parameters
      .filter(
        (parameter) => parameter["in"] === place && (parameter["required"] || place === "path"),
      )
      .map(({ name, example }) => [String(name), textOf(example)]);
  assert.equal(named("path").length, inPath.size);
  const content = (facts["requestBody"] as { content?: Record<string, Json> } | undefined)?.content;
  readRequest(route, shapeOf(route), {
    path: Object.fromEntries(named("path")),
    query: new URLSearchParams(named("query")),
    body: { value: structuredClone(content?.["application/json"]?.["example"]), isLarge: false },
    idempotencyKey: undefined,
    ifMatch: undefined,
    caller: "team-a",
  });
}

function textOf(example: unknown): string {
  return typeof example === "string" ? example : JSON.stringify(example);
}

/** Returns the place of the first property without a description or an example; one of an object has those of its properties. */
function firstGap(value: unknown, place: string): string | null {
  if (typeof value !== "object" || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    // Examples, defaults and constants are data.
    if (DATA.has(key) && !Array.isArray(value)) continue;
    if (key === "properties")
      for (const [name, property] of Object.entries(inner as Record<string, Json>)) {
        const at = `${place}.${name}`;
        if (!isText(property["description"])) return `${at} has no description`;
        if (!hasExample(property)) return `${at} has no example`;
      }
    const gap = firstGap(inner, key === "properties" ? place : `${place}.${key}`);
    if (gap !== null) return gap;
  }
  return null;
}

const DATA = new Set(["example", "examples", "default", "enum", "const", "required"]);

function hasExample(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  const {
    examples: given,
    properties,
    items,
    additionalProperties,
    anyOf,
    oneOf,
    allOf,
    $ref,
  } = schema as Json;
  if (Array.isArray(given) || isFilled(properties)) return true;
  // A shared object has its own properties, and a shared text has its example where it is used.
  if (typeof $ref === "string")
    return isFilled(componentAt($ref)["properties"]) || hasExample(componentAt($ref));
  return [items, additionalProperties, anyOf, oneOf, allOf].flat().some(hasExample);
}

function componentAt(ref: string): Json {
  const name = ref.slice(ref.lastIndexOf("/") + 1);
  for (const document of [openapi, asyncapi]) {
    const { schemas = {} } = document["components"] as Record<string, Record<string, Json>>;
    if (schemas[name] !== undefined) return schemas[name];
  }
  return {};
}

function isFilled(properties: unknown): boolean {
  return (
    typeof properties === "object" && properties !== null && Object.keys(properties).length > 0
  );
}

/** Returns the parts of a list, each with its reference replaced. */
function resolved(parts: unknown): Json[] {
  return ((parts ?? []) as Json[]).map((part) => {
    const { $ref } = part;
    if (typeof $ref !== "string") return part;
    const [, kind = "", name = ""] = /^#\/components\/(\w+)\/(\w+)$/.exec($ref) ?? [];
    return (openapi["components"] as Record<string, Record<string, Json>>)[kind]?.[name] ?? {};
  });
}

function mediaOf(facts: Json): Json[] {
  const holders = [facts["requestBody"], ...resolved(Object.values(facts["responses"] as Json))];
  return holders
    .flatMap((holder) => Object.entries(Object(Object(holder)["content"]) as Record<string, Json>))
    .filter(([type]) => type !== "application/octet-stream")
    .map(([, media]) => media);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "" && !value.includes("undefined");
}
