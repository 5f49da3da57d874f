import {
  runEnds,
  runEvents,
  runLive,
  runMerged,
  runRejected,
} from "@switchyard/contracts/agent-runner/run-events";
import { placeholders, requestOf, shapeOf } from "@switchyard/gateway/routes/route-shape";
import { routes, type Route } from "@switchyard/gateway/routes/route-table";
import { Me } from "@switchyard/gateway/routes/me";
import { System } from "@switchyard/gateway/routes/system";
import { descriptions } from "@switchyard/contracts/explain/descriptions";
import { explainedSchema } from "@switchyard/contracts/explain/explained-schema";
import { ownSchemaNames } from "@switchyard/gateway/openapi/schema-names";
import type { z } from "zod";
import { schemaNames } from "./message-schemas.ts";
import { shareSchemas } from "./shared-schemas.ts";

type Json = Record<string, unknown>;
type Schemas = Readonly<Record<string, Json>>;

const PREFIX = "#/components/schemas/";
/** The name of a contract's schema; a shared schema without a name of its own is called after its place, and stays in it. */
const TYPE_NAME = /^[A-Z][A-Za-z]*$/;

/** `libs/client/src/operations.ts`: what each operation of the gateway takes and answers, and what is said of a run. */
export function clientOperations(): string {
  const parts: Record<string, Json> = {
    "GET /me.reply": jsonSchema(Me, "output", "Me"),
    "GET /system.reply": jsonSchema(System, "output", "System"),
  };
  for (const route of routes) {
    for (const [part, schema] of Object.entries(requestParts(route)))
      parts[`${keyOf(route)}.${part}`] = schema;
    if (route.contract.kind === "rpc")
      parts[`${keyOf(route)}.reply`] = jsonSchema(
        route.contract.reply,
        "output",
        `${route.contract.name}.reply`,
      );
  }
  for (const event of runEvents)
    parts[event.name] = jsonSchema(event.payload, "output", event.name);
  parts["run.delta"] = jsonSchema(runLive.payload, "output", runLive.name);
  const { payloads, schemas } = shareSchemas(parts, schemaNames());
  const typeOf = (name: string): string => typeText(payloads[name] ?? {}, schemas);
  const named = Object.keys(schemas).filter((name) => TYPE_NAME.test(name));
  const events = [...runEvents.map(({ name }) => name), "run.delta"];
  return [
    "/** Written by scripts/generate.ts from the gateway's route table and the contracts. */",
    ...named.map((name) => `export type ${name} = ${typeText(schemas[name] ?? {}, schemas)};`),
    "/** The operations by method and path below `/api/v1`. */",
    "export interface Operations {",
    `/** Returns the user of the credential, and what it may do. Role: viewer. */
    "GET /me": { request: {}; reply: ${typeOf("GET /me.reply")} };`,
    `/** Lists the services that answer, and the lengths of streams and queues. Role: viewer. */
    "GET /system": { request: {}; reply: ${typeOf("GET /system.reply")} };`,
    ...routes.map(
      (route) =>
        `/** ${route.contract.summary} Role: ${route.contract.role}. */
        ${JSON.stringify(keyOf(route))}: ${operationText(route, payloads, schemas)};`,
    ),
    "}",
    "/** The events of a run by name. `delta` is live text; a stored event has the whole text later. */",
    "export interface RunEvents {",
    ...events.map((name) => `${JSON.stringify(name.slice("run.".length))}: ${typeOf(name)};`),
    "}",
    "/** After these events a run publishes no other, unless a caller continues it. */",
    `export const RUN_ENDS: ReadonlySet<string> = new Set(${JSON.stringify(
      [...runEnds, runRejected, runMerged].map(({ name }) => name.slice("run.".length)),
    )});`,
  ].join("\n\n");
}

function keyOf({ method, path }: Pick<Route, "method" | "path">): string {
  return `${method.toUpperCase()} ${path}`;
}

/** Divides the fields of a contract's request over HTTP into the query and the body. */
function requestParts(route: Route): { query?: Json; body?: Json } {
  const { contract, method, names = {}, body } = route;
  const shape = shapeOf(route);
  const place = contract.kind === "rpc" ? `${contract.name}.request` : contract.name;
  const whole = jsonSchema(requestOf(contract), "input", place);
  const fields = (whole["properties"] ?? {}) as Record<string, Json>;
  if (body !== undefined) return { body: fields[body] ?? {} };
  const outer = new Map(Object.entries(names).map(([name, field]) => [field, name]));
  const inPath = new Set(shape.inPath);
  const tokens = shape.tokens.map(
    (name) => [name, { type: "string", description: descriptions[name] }] as const,
  );
  const rest = Object.entries({ ...Object.fromEntries(tokens), ...fields })
    .map(([field, schema]) => ({ field, name: outer.get(field) ?? field, schema }))
    .filter(
      ({ field, name }) =>
        !inPath.has(name) && (field in shape.fields || shape.tokens.includes(field)),
    );
  if (rest.length === 0) return {};
  const required = rest.filter(
    ({ field }) =>
      (shape.required.includes(field) || shape.tokens.includes(field)) &&
      field !== route.idempotent,
  );
  const object: Json = {
    type: "object",
    properties: Object.fromEntries(rest.map(({ name, schema }) => [name, schema])),
    required: required.map(({ name }) => name),
    additionalProperties: false,
  };
  return method === "get" || method === "delete" ? { query: object } : { body: object };
}

function operationText(route: Route, payloads: Schemas, schemas: Schemas): string {
  const key = keyOf(route);
  const inPath = placeholders(route.path).map((name) => `${name}: string`);
  const parts = [
    ...(inPath.length === 0 ? [] : [`path: { ${inPath.join("; ")} }`]),
    ...["query", "body"].flatMap((part) => {
      const schema = payloads[`${key}.${part}`];
      if (schema === undefined) return [];
      return [`${part}${needsOne(schema, schemas) ? "" : "?"}: ${typeText(schema, schemas)}`];
    }),
    ...(route.idempotent === undefined ? [] : ["idempotencyKey?: string"]),
    ...(shapeOf(route).hasVersion ? ["ifMatch?: string"] : []),
  ];
  const { contract } = route;
  const attachment = contract.kind === "rpc" ? contract.attachment : null;
  const request = `{ ${parts.join("; ")} }`;
  const body = payloads[`${key}.body`];
  const query = body && `Omit<${typeText(body, schemas)}, ${JSON.stringify(attachment?.field)}>`;
  // In place of JSON the body may be bytes; the fields are in the query then.
  const requestText =
    attachment === null ? request : `${request} | { query: ${query}; attachment: Blob }`;
  const reply = payloads[`${key}.reply`];
  const replyText =
    reply === undefined ? "{ runId: string; sequence: number }" : typeText(reply, schemas);
  return `{ request: ${requestText}; reply: ${replyText} }`;
}

/** True unless an empty object is enough. */
function needsOne(schema: Json, schemas: Schemas): boolean {
  const { $ref, required, allOf } = schema;
  if (Array.isArray(allOf) && allOf.length === 1) return needsOne(allOf[0] as Json, schemas);
  if (typeof $ref === "string") return needsOne(schemas[$ref.slice(PREFIX.length)] ?? {}, schemas);
  return schema["type"] !== "object" || (Array.isArray(required) && required.length > 0);
}

/** The type of the values that a JSON Schema describes, as far as TypeScript can say it. */
function typeText(schema: Json, schemas: Schemas): string {
  const { $ref, enum: values, anyOf, oneOf, allOf, type } = schema;
  const union = (parts: unknown): string =>
    [...new Set((parts as Json[]).map((part) => typeText(part, schemas)))].join(" | ") || "never";
  if (typeof $ref === "string") {
    const name = $ref.slice(PREFIX.length);
    return TYPE_NAME.test(name) ? name : typeText(schemas[name] ?? {}, schemas);
  }
  if ("const" in schema) return JSON.stringify(schema["const"]);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (anyOf !== undefined || oneOf !== undefined) return `(${union(anyOf ?? oneOf)})`;
  if (Array.isArray(allOf) && allOf.length === 1) return typeText(allOf[0] as Json, schemas);
  if (Array.isArray(allOf))
    return allOf.map((part) => `(${typeText(part as Json, schemas)})`).join(" & ");
  if (Array.isArray(type)) return union(type.map((one) => ({ ...schema, type: one as string })));
  switch (type) {
    case "object":
      return objectText(schema, schemas);
    case "array":
      return arrayText(schema["items"], schemas);
    case "string":
    case "boolean":
    case "null":
      return type;
    case "integer":
    case "number":
      return "number";
    default:
      return "unknown";
  }
}

function arrayText(items: unknown, schemas: Schemas): string {
  if (Array.isArray(items))
    return `[${items.map((item) => typeText(item as Json, schemas)).join(", ")}]`;
  return `(${typeText((items ?? {}) as Json, schemas)})[]`;
}

function objectText(schema: Json, schemas: Schemas): string {
  const { properties, required, additionalProperties: more } = schema;
  const needed = new Set(Array.isArray(required) ? (required as string[]) : []);
  const fields = Object.entries((properties ?? {}) as Record<string, Json>).map(
    ([name, part]) =>
      `${commentOf(part)}${JSON.stringify(name)}${needed.has(name) ? "" : "?"}: ${typeText(part, schemas)}`,
  );
  if (more === false || (more === undefined && fields.length > 0))
    return `{ ${fields.join("; ")} }`;
  const isAnything = more === undefined || more === true || Object.keys(more as Json).length === 0;
  const value = isAnything || fields.length > 0 ? "unknown" : typeText(more as Json, schemas);
  return `{ ${[...fields, `[name: string]: ${value}`].join("; ")} }`;
}

/** Returns the description of a field as a comment above it. */
function commentOf({ description }: Json): string {
  return typeof description === "string"
    ? `\n/** ${description.replaceAll("*/", "*\\/")} */\n`
    : "";
}

function jsonSchema(schema: z.ZodType, io: "input" | "output", place: string): Json {
  return explainedSchema(schema, { target: "draft-7", io, place, names: ownSchemaNames });
}
