import {
  runEnds,
  runEvents,
  runLive,
  runMerged,
  runRejected,
} from "@switchyard/contracts/agent-runner/run-events";
import { explainedSchema } from "@switchyard/contracts/explain/explained-schema";
import { openApi } from "@switchyard/gateway/openapi/openapi";
import { ownSchemaNames } from "@switchyard/gateway/openapi/schema-names";
import { schemaNames } from "./message-schemas.ts";
import { pascal, PythonModels, textOf } from "./python-models.ts";
import { docString, pythonValue } from "./python-text.ts";
import { shareSchemas } from "./shared-schemas.ts";

type Json = Record<string, unknown>;

interface Parameter {
  /** Its name in Python. */
  readonly name: string;
  /** Its name on the wire. */
  readonly wire: string;
  readonly place: "path" | "query" | "body";
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
  readonly example: unknown;
}

interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  /** A body that is not made of the fields, and headers. */
  readonly extras: readonly Extra[];
  readonly reply: string;
  readonly errors: readonly string[];
}

interface Extra {
  readonly name: "content" | "body" | "idempotency_key" | "if_match";
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
  readonly example: unknown;
}

const HEADER = `"""Written by scripts/generate.ts from docs/openapi.json; do not edit."""`;
const KEYWORDS = new Set("and as except from if in is not or pass while with".split(" "));
/** Names in types that are not the models' own. */
const OF_TYPING = new Set(["Any", "Literal", "None", "NotRequired", "True", "False"]);
const GENERAL = "those of every request, such as `unauthenticated`, `forbidden`, `rate_limited`";

let made: { models: string; operations: string; asyncOperations: string } | null = null;

/** The generated modules of \`clients/python\`: types of requests, replies and events, and a method for each operation of docs/openapi.json. */
export function pythonClient(): { models: string; operations: string; asyncOperations: string } {
  made ??= makeClient();
  return made;
}

function makeClient(): { models: string; operations: string; asyncOperations: string } {
  // The document is made of plain JSON; its form is OpenAPI's.
  const { paths, components } = openApi() as {
    paths: Record<string, Record<string, Json>>;
    components: { schemas: Record<string, Json>; responses: Record<string, Json> };
  };
  const { events, schemas } = eventSchemas();
  const models = new PythonModels({ ...schemas, ...components.schemas });
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => "application/json" in contentOf(successOf(operation)))
      .map(([method, operation]) =>
        operationOf({ path, method, operation, models, responses: components.responses }),
      ),
  );
  const messages = events.map(({ name, schema }) => messageClass(name, schema, models));
  models.alias("RunMessage", events.map(({ name }) => `${pascal(name)}Message`).join(" | "));
  const ends = [...runEnds, runRejected, runMerged].map(({ name }) => eventName(name));
  return {
    models: [
      HEADER,
      `from __future__ import annotations

import sys
from typing import Any, Literal, Optional, Union

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict`,
      `RUN_ENDS = frozenset(${pythonValue(ends)})
"""After these events a run publishes no other, unless a caller continues it."""\n`,
      ...messages.map((text) => `${text}\n`),
      models.text(),
      "",
    ].join("\n\n"),
    operations: moduleText("Operations", operations, (operation) => syncMethod(operation)),
    asyncOperations: moduleText("AsyncOperations", operations, (operation) =>
      asyncMethod(operation),
    ),
  };
}

function moduleText(
  name: string,
  operations: readonly Operation[],
  method: (operation: Operation) => string,
): string {
  const isAsync = name.startsWith("Async");
  return `${HEADER}

from __future__ import annotations

from typing import Any, Literal

from . import models as m
from ._wire import NOT_GIVEN


class ${name}:
${docString([`The operations of the gateway${isAsync ? ", for asyncio" : ""}. Times are ISO 8601 in UTC; other units are in the names of fields.`], 4)}

    ${isAsync ? "async " : ""}def _call(self, method: str, path: str, **parts: Any) -> Any:
        raise NotImplementedError

${operations.map(method).join("\n\n")}
`;
}

/** Every event of a run, and live text. */
function eventSchemas(): {
  events: { name: string; schema: Json }[];
  schemas: Record<string, Json>;
} {
  const parts = Object.fromEntries(
    [...runEvents, runLive].map(({ name, payload }) => [
      name === runLive.name ? "run.delta" : name,
      explainedSchema(payload, {
        target: "draft-7",
        io: "output",
        place: name,
        names: ownSchemaNames,
      }),
    ]),
  );
  const { payloads, schemas } = shareSchemas(parts, schemaNames());
  const events = Object.entries(payloads).map(([name, schema]) => ({
    name: eventName(name),
    schema,
  }));
  return { events, schemas };
}

function eventName(name: string): string {
  return name.slice("run.".length);
}

function messageClass(name: string, schema: Json, models: PythonModels): string {
  const type = models.typeOf(schema, `Run${pascal(name)}`);
  return `class ${pascal(name)}Message(TypedDict):
    event: Literal["${name}"]
    id: Optional[int]
    data: ${type}`;
}

function operationOf({
  path,
  method,
  operation,
  models,
  responses,
}: {
  path: string;
  method: string;
  operation: Json;
  models: PythonModels;
  responses: Record<string, Json>;
}): Operation {
  const id = String(operation["operationId"]);
  const title = pascal(id);
  const given = (operation["parameters"] ?? []) as Json[];
  const names = given.map(({ name, $ref }) => String(name ?? $ref));
  const inQuery = given.filter(({ in: place }) => place === "path" || place === "query");
  const content = contentOf((operation["requestBody"] ?? {}) as Json);
  const isBytes = "application/octet-stream" in content;
  const json = (content["application/json"] ?? {}) as { schema?: Json; example?: unknown };
  const isFree = json.schema !== undefined && json.schema["properties"] === undefined;
  const bodyExample = (json.example ?? {}) as Json;
  const ofBody = isBytes || isFree ? {} : ((json.schema?.["properties"] ?? {}) as Json);
  const needed = (json.schema?.["required"] ?? []) as string[];
  const parameters = [
    ...inQuery.map((one) =>
      parameterOf({
        wire: String(one["name"]),
        schema: one["schema"] as Json,
        title,
        models,
        facts: {
          // "path" and "query" only, by the filter above.
          place: one["in"] as "path" | "query",
          isRequired: one["required"] === true,
          description: textOf(one["description"]),
          example: one["example"],
        },
      }),
    ),
    ...Object.entries(ofBody as Record<string, Json>).map(([wire, schema]) =>
      parameterOf({
        wire,
        schema,
        title,
        models,
        facts: {
          place: "body",
          isRequired: needed.includes(wire),
          description: textOf(schema["description"]),
          example: bodyExample[wire] ?? (schema["examples"] as unknown[] | undefined)?.[0],
        },
      }),
    ),
  ];
  const reply = contentOf(successOf(operation))["application/json"] as { schema: Json };
  return {
    name: snake(id),
    method: method.toUpperCase(),
    path,
    summary: String(operation["summary"]),
    description: String(operation["description"]).replace(String(operation["summary"]), "").trim(),
    parameters,
    extras: [
      ...(isBytes ? [BYTES] : []),
      ...(isFree ? [freeBody(json.schema ?? {}, json.example)] : []),
      ...(names.includes("Idempotency-Key") && !("idempotencyKey" in ofBody)
        ? [IDEMPOTENCY_KEY]
        : []),
      ...(names.some((name) => name.endsWith("/ifMatch")) ? [IF_MATCH] : []),
    ],
    reply: qualified(models.typeOf(reply.schema, `${title}Reply`)),
    errors: errorsOf(operation, responses),
  };
}

function parameterOf({
  wire,
  schema,
  title,
  models,
  facts,
}: {
  wire: string;
  schema: Json;
  title: string;
  models: PythonModels;
  facts: Pick<Parameter, "place" | "isRequired" | "description" | "example">;
}): Parameter {
  const name = snake(wire);
  return {
    ...facts,
    wire,
    name: KEYWORDS.has(name) ? `${name}_` : name,
    type: qualified(models.typeOf(schema, `${title}${pascal(wire)}`)),
  };
}

const BYTES: Extra = {
  name: "content",
  type: "bytes",
  isRequired: true,
  description: "The bytes.",
  example: null,
};
const IDEMPOTENCY_KEY: Extra = {
  name: "idempotency_key",
  type: "str",
  isRequired: false,
  description: "The same key of the same caller is the same request, for a day.",
  example: "order-4711",
};
const IF_MATCH: Extra = {
  name: "if_match",
  type: "str",
  isRequired: false,
  description: "Version that was read; without it the newest one is changed.",
  example: "42",
};

function freeBody(schema: Json, example: unknown): Extra {
  return {
    name: "body",
    type: "dict[str, Any]",
    isRequired: true,
    description: textOf(schema["description"]),
    example: example ?? (schema["examples"] as unknown[] | undefined)?.[0],
  };
}

/** The codes that only some operations have: shared responses without a name of their own are those of every request. */
function errorsOf(operation: Json, responses: Record<string, Json>): string[] {
  return Object.entries(operation["responses"] as Json).flatMap(([status, response]) => {
    const { $ref } = response as Json;
    if (status >= "500") return [];
    const name = typeof $ref === "string" ? ($ref.split("/").at(-1) ?? "") : "";
    if (name === "" || /^problem\d+$/.test(name)) return [];
    const content = contentOf(responses[name] ?? {});
    const { examples } = (content["application/problem+json"] ?? {}) as { examples?: Json };
    return Object.keys(examples ?? {});
  });
}

function successOf(operation: Json): Json {
  const responses = operation["responses"] as Record<string, Json>;
  const status = Object.keys(responses).find((code) => code.startsWith("2"));
  return responses[status ?? ""] ?? {};
}

function contentOf(part: Json): Json {
  return (part["content"] ?? {}) as Json;
}

function syncMethod(operation: Operation): string {
  const { summary, description, parameters, extras, errors } = operation;
  const rows = [...parameters, ...extras].map(
    ({ name, description: text }) => `    ${name}: ${text}`,
  );
  const paragraphs = [
    summary,
    ...(description === "" ? [] : [description]),
    ...(rows.length === 0 ? [] : [`Args:\n${rows.join("\n")}`]),
    `Raises:\n    ProblemError: ${[...errors.map((code) => `\`${code}\``), GENERAL].join(", ")}.`,
    `Example:\n    ${exampleOf(operation)}`,
  ];
  return methodText(operation, "def", docString(paragraphs, 8), "self._call");
}

function asyncMethod(operation: Operation): string {
  const doc = docString(
    [`${operation.summary} The rest is as in \`Client.${operation.name}\`.`],
    8,
  );
  return methodText(operation, "async def", doc, "await self._call");
}

function methodText(operation: Operation, def: string, doc: string, call: string): string {
  const { name, method, path, parameters, extras, reply } = operation;
  const inPath = parameters.filter(({ place }) => place === "path");
  const others = [...parameters.filter(({ place }) => place !== "path"), ...extras];
  const sorted = others.toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
  const signature = [
    "self",
    ...inPath.map(declared),
    ...(sorted.length === 0 ? [] : ["*"]),
    ...sorted.map(declared),
  ];
  const parts = (["path", "query", "body"] as const).flatMap((place) => {
    const own = parameters.filter((one) => one.place === place);
    if (own.length === 0) return [];
    const fields = own.map(({ wire, name: local }) => `"${wire}": ${local}`);
    return [`${place === "path" ? "values" : place}={${listed(fields, 16)}}`];
  });
  const given = extras.map(({ name: own }) => `${own}=${own}`);
  return `    ${def} ${name}(${listed(signature, 8)}) -> ${reply}:
${doc}
        return ${call}(${listed([`"${method}"`, `"${path}"`, ...parts, ...given], 12)})`;
}

function declared({ name, type, isRequired }: Parameter | Extra): string {
  return `${name}: ${type}${isRequired ? "" : " = NOT_GIVEN"}`;
}

/** Arguments in one line where they fit, and else each in its own. */
function listed(parts: readonly string[], indent: number): string {
  const line = parts.join(", ");
  if (line.length < 60) return line;
  const space = " ".repeat(indent);
  return `\n${parts.map((part) => `${space}${part}${part === "*" ? "" : ""},\n`).join("")}${" ".repeat(indent - 4)}`;
}

/** A call with what is required. */
function exampleOf({ name, parameters, extras }: Operation): string {
  const required = parameters.filter(({ isRequired }) => isRequired);
  const values = [
    ...required.filter(({ place }) => place === "path").map(({ example }) => pythonValue(example)),
    ...required
      .filter(({ place }) => place !== "path")
      .map((one) => `${one.name}=${pythonValue(one.example)}`),
    ...extras
      .filter(({ isRequired }) => isRequired)
      .map(
        (one) => `${one.name}=${one.name === "content" ? 'b"…".read()' : pythonValue(one.example)}`,
      ),
  ];
  return `client.${name}(${values.join(", ")})`.replace('b"…".read()', 'Path("file").read_bytes()');
}

function snake(text: string): string {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
}

/** Classes of the models in a module that imports them as `m`. */
function qualified(type: string): string {
  return type.replaceAll(/"[^"]*"|\b[A-Z]\w*/g, (word) =>
    word.startsWith('"') || OF_TYPING.has(word) ? word : `m.${word}`,
  );
}
