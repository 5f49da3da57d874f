import { z } from "zod";
import { System } from "../routes/system.ts";
import { EVENT_FEED } from "../routes/event-feed.ts";
import { Me } from "../routes/me.ts";
import { placeholders, shapeOf, type Schema } from "../routes/route-shape.ts";
import { routes, type Route } from "../routes/route-table.ts";
import { statusOf } from "../problems/problem.ts";
import { schemaNames } from "./schema-names.ts";
import { withSharedSchemas } from "./shared-schemas.ts";

type Json = Record<string, unknown>;

let made: Json | null = null;

/** The OpenAPI 3.1 description of everything under `/api/v1`. */
export function openApi(): Json {
  made ??= withSharedSchemas(
    {
      openapi: "3.1.0",
      info: {
        title: "Switchyard",
        version: "1.0.0",
        description:
          "Every operation is a contract of docs/subjects.md, called as the caller of the credential. Errors are RFC 9457 problems.",
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: "/api/v1" }],
      security: [{ bearer: [] }],
      paths: { ...pathsOf(routes), ...eventPaths(), ...ownPaths() },
      components: {
        securitySchemes: {
          bearer: {
            type: "http",
            scheme: "bearer",
            description: "An API key (yk_…) or a token of a configured issuer",
          },
        },
        parameters: {
          ifNoneMatch: header(
            "If-None-Match",
            "ETags that the client has: one that fits is answered 304",
          ),
          ifMatch: header(
            "If-Match",
            "The ETag that was read: nothing is changed, and 412 is answered, when there is another version",
          ),
        },
        headers: {
          etag: {
            description: "For If-None-Match, and for If-Match where there are versions",
            schema: { type: "string" },
          },
        },
        schemas: { Problem: PROBLEM },
        responses: {
          problem: {
            description: "What is wrong and what to do next",
            content: {
              "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
            },
          },
        },
      },
    },
    schemaNames(),
  );
  return made;
}

const PROBLEM: Json = {
  type: "object",
  required: ["type", "title", "status", "detail", "code", "requestId"],
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    code: { type: "string", description: "As in docs/subjects.md" },
    next: { type: "string" },
    data: {},
    requestId: { type: "string" },
  },
};

function pathsOf(table: readonly Route[]): Json {
  const paths: Record<string, Json> = {};
  for (const route of table) {
    if (route.isAlias === true) continue;
    const path = (paths[route.path] ??= {});
    path[route.method] = operationOf(route);
  }
  return paths;
}

function operationOf(route: Route): Json {
  const { contract, method, path } = route;
  const shape = shapeOf(route);
  const outer = namesOf(route);
  const inPath = new Set(shape.inPath);
  const rest = Object.entries({ ...tokenFields(route), ...shape.fields }).filter(
    ([name]) => !inPath.has(outer(name)),
  );
  const required = (name: string): boolean =>
    (shape.required.includes(name) || shape.tokens.includes(name)) && name !== route.idempotent;
  const isInBody = method === "post" || method === "patch";
  const attachment = contract.kind === "rpc" ? contract.attachment : null;
  const inQuery = rest.filter(([name]) =>
    isInBody ? attachment !== null && name !== attachment.field : true,
  );
  const parameters = [
    ...shape.inPath.map((name) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string" },
    })),
    ...inQuery.map(([name, schema]) => ({
      name: outer(name),
      in: "query",
      // With a JSON body they are in it.
      required: required(name) && attachment === null,
      schema,
    })),
    ...(method === "get" ? [{ $ref: "#/components/parameters/ifNoneMatch" }] : []),
    ...(shape.hasVersion ? [{ $ref: "#/components/parameters/ifMatch" }] : []),
    ...(route.idempotent === undefined
      ? []
      : [
          {
            name: "Idempotency-Key",
            in: "header",
            required: false,
            schema: { type: "string", maxLength: 200 },
          },
        ]),
  ];
  return {
    operationId: `${method}${path.replaceAll(/[^a-zA-Z]+/g, "-")}`.replace(/-$/, ""),
    tags: [path.split("/")[1] ?? ""],
    summary: contract.summary,
    "x-contract": contract.name,
    "x-role": contract.role,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(isInBody && (rest.length > 0 || route.body !== undefined)
      ? { requestBody: bodyOf(route, rest, { outer, required }) }
      : {}),
    responses: responsesOf(route),
  };
}

function bodyOf(
  route: Route,
  rest: readonly (readonly [string, Schema])[],
  { outer, required }: { outer: (name: string) => string; required: (name: string) => boolean },
): Json {
  const whole =
    route.body === undefined ? undefined : rest.find(([name]) => name === route.body)?.[1];
  const schema = whole ?? {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(rest.map(([name, field]) => [outer(name), field])),
    required: rest.filter(([name]) => required(name)).map(([name]) => outer(name)),
  };
  const isNeeded = whole !== undefined || rest.some(([name]) => required(name));
  const { contract } = route;
  // The other fields are in the query then.
  const attached =
    contract.kind === "rpc" && contract.attachment !== null
      ? { "application/octet-stream": { schema: {} } }
      : {};
  return { required: isNeeded, content: { ...attached, "application/json": { schema } } };
}

/** Statuses of any operation: the gateway's own, and those of a service that does not answer, or answers badly. */
const ALWAYS = [400, 401, 403, 429, 500, 502, 503, 504] as const;
/** Statuses for a body that is too large or of another type, and for data that cannot be stored. */
const WITH_BODY = [413, 415, 507] as const;

/** Commands are checked before they are stored, as far as that needs no runner. */
const COMMAND_CODES = ["unknown_agent", "unknown_run", "run_id_taken"];

function responsesOf(route: Route): Json {
  const { contract } = route;
  const isRead = route.method === "get";
  const reply =
    contract.kind === "rpc"
      ? without$schema(z.toJSONSchema(contract.reply, { io: "output" }) as Json)
      : {
          type: "object",
          properties: { runId: { type: "string" }, sequence: { type: "integer" } },
          required: ["runId", "sequence"],
        };
  const codes = contract.kind === "rpc" ? Object.keys(contract.errors) : COMMAND_CODES;
  const statuses = new Set([
    ...ALWAYS,
    ...(isRead ? [] : WITH_BODY),
    ...(placeholders(route.path).length === 0 ? [] : [404]),
    ...(route.idempotent === undefined ? [] : [409, 422]),
    ...codes.map((code) => route.codes?.[code]?.[0] ?? statusOf(code)),
  ]);
  const problems = [...statuses].toSorted((a, b) => a - b);
  return {
    [route.status]: {
      description: "Done",
      ...((isRead || route.version !== undefined) && {
        headers: { ETag: { $ref: "#/components/headers/etag" } },
      }),
      content: { "application/json": { schema: reply } },
    },
    ...(isRead && { 304: { description: "It is as If-None-Match says" } }),
    ...Object.fromEntries(
      problems.map((status) => [status, { $ref: "#/components/responses/problem" }]),
    ),
  };
}

/** Returns the tokens of the subject that are no fields of the request. */
function tokenFields(route: Route): Record<string, Schema> {
  return Object.fromEntries(shapeOf(route).tokens.map((name) => [name, { type: "string" }]));
}

/** Returns the function that maps a field to its name over HTTP. */
function namesOf({ names = {} }: Route): (field: string) => string {
  const outer = new Map(Object.entries(names).map(([name, field]) => [field, name]));
  return (field) => outer.get(field) ?? field;
}

function without$schema({ $schema: _ignored, ...schema }: Json): Json {
  return schema;
}

function eventPaths(): Json {
  const stream = {
    "200": {
      description: "Server-sent events",
      content: { "text/event-stream": { schema: { type: "string" } } },
    },
    ...Object.fromEntries(
      [...ALWAYS, 404].map((status) => [status, { $ref: "#/components/responses/problem" }]),
    ),
  };
  const last = { name: "Last-Event-ID", in: "header", required: false, schema: { type: "string" } };
  return {
    "/runs/{runId}/events": {
      get: {
        operationId: "get-runs-events",
        tags: ["runs"],
        summary: "Follows a run: its events under their own numbers, and live text as delta.",
        "x-role": "viewer",
        parameters: [
          { name: "runId", in: "path", required: true, schema: { type: "string" } },
          { name: "follow", in: "query", required: false, schema: { type: "boolean" } },
          last,
        ],
        responses: stream,
      },
    },
    "/events": {
      get: {
        operationId: "get-events",
        tags: ["events"],
        summary: "Follows what is said of what the caller owns.",
        "x-contract": EVENT_FEED.name,
        "x-role": EVENT_FEED.role,
        parameters: [query("noun"), query("id"), last],
        responses: stream,
      },
    },
  };
}

/** Paths that the gateway answers by itself, or by combining several answers. */
function ownPaths(): Json {
  return {
    "/audit/export": {
      get: {
        operationId: "get-audit-export",
        tags: ["audit"],
        summary: "Records of the audit as lines of JSON, as yard audit verify --file checks them.",
        "x-role": "admin",
        parameters: [query("since"), query("until")],
        responses: {
          ...problemsOf(...ALWAYS),
          "200": {
            description: "Done",
            content: { "application/x-ndjson": { schema: { type: "string" } } },
          },
        },
      },
    },
    "/system": {
      get: {
        operationId: "get-system",
        tags: ["system"],
        summary: "Lists the services that answer, and the lengths of streams and queues.",
        "x-role": "viewer",
        responses: {
          "200": {
            description: "Done",
            content: {
              "application/json": { schema: without$schema(z.toJSONSchema(System) as Json) },
            },
          },
          ...problemsOf(...ALWAYS),
        },
      },
    },
    "/me": {
      get: {
        operationId: "get-me",
        tags: ["me"],
        summary: "Returns the user of the credential, and what it may do.",
        "x-role": "viewer",
        responses: {
          "200": {
            description: "Done",
            content: { "application/json": { schema: without$schema(z.toJSONSchema(Me) as Json) } },
          },
          ...problemsOf(...ALWAYS),
        },
      },
    },
  };
}

function header(name: string, description: string): Json {
  return { name, in: "header", required: false, description, schema: { type: "string" } };
}

function query(name: string): Json {
  return { name, in: "query", required: false, schema: { type: "string" } };
}

function problemsOf(...statuses: number[]): Json {
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: "#/components/responses/problem" }]),
  );
}
