import { descriptions } from "@switchyard/contracts/explain/descriptions";
import { exampleOf, messageExample } from "@switchyard/contracts/explain/example-of";
import { examples } from "@switchyard/contracts/explain/examples";
import { explainedSchema } from "@switchyard/contracts/explain/explained-schema";
import { operationIdOf } from "../routes/operation-id.ts";
import { requestOf, shapeOf } from "../routes/route-shape.ts";
import type { Route } from "../routes/route-table.ts";
import { responsesOf } from "./responses.ts";
import { ownSchemaNames } from "./schema-names.ts";
import type { Json } from "./shared-schemas.ts";

/** Returns the OpenAPI operation of a route, and adds its responses for problems to `responses`. */
export function operationOf(route: Route, responses: Map<string, Json>): Json {
  const { contract, method, path } = route;
  const shape = shapeOf(route);
  const outer = namesOf(route);
  const fields = fieldsOf(route);
  const inPath = new Set(shape.inPath);
  const rest = Object.entries(fields).filter(([name]) => !inPath.has(outer(name)));
  const required = (name: string): boolean =>
    (shape.required.includes(name) || shape.tokens.includes(name)) && name !== route.idempotent;
  const isInBody = method !== "get" && method !== "delete";
  const attachment = contract.kind === "rpc" ? contract.attachment : null;
  const inQuery = rest.filter(([name]) =>
    isInBody ? attachment !== null && name !== attachment.field : true,
  );
  const byOuterName = new Map(Object.entries(fields).map(([name, field]) => [outer(name), field]));
  const parameters = [
    ...shape.inPath.map((name) =>
      parameter(
        { name, place: "path", required: true },
        {
          type: "string",
          ...textsOf(byOuterName.get(name) ?? tokenField(name)),
        },
      ),
    ),
    // With a JSON body the parameters of an attachment are in it.
    ...inQuery.map(([name, field]) =>
      parameter(
        { name: outer(name), place: "query", required: required(name) && attachment === null },
        field,
      ),
    ),
    ...(method === "get" ? [{ $ref: "#/components/parameters/ifNoneMatch" }] : []),
    ...(shape.hasVersion ? [{ $ref: "#/components/parameters/ifMatch" }] : []),
    ...(route.idempotent === undefined ? [] : [IDEMPOTENCY_KEY]),
  ];
  return {
    operationId: operationIdOf(route),
    tags: [path.split("/")[1] ?? ""],
    summary: contract.summary,
    description: descriptionOf(route),
    "x-contract": contract.name,
    "x-role": contract.role,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(isInBody && (rest.length > 0 || route.body !== undefined)
      ? { requestBody: bodyOf(route, rest, { outer, required }) }
      : {}),
    responses: responsesOf(route, responses),
  };
}

const IDEMPOTENCY_KEY: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "1-200 visible characters. The same key of the same caller is the same request, for a day.",
  schema: { type: "string", maxLength: 200 },
  example: "order-4711",
};

function descriptionOf(route: Route): string {
  const { contract, idempotent, version } = route;
  return [
    contract.summary,
    `Needs the role \`${contract.role ?? "none"}\`.`,
    contract.kind === "command" &&
      "The answer comes when the command is stored; a runner carries it out.",
    idempotent !== undefined &&
      `A repeat with the same Idempotency-Key or \`${idempotent}\` changes nothing more.`,
    version !== undefined && "The answer has the version as its ETag.",
  ]
    .filter((text) => text !== false)
    .join(" ");
}

/** Returns the fields of the request, and the tokens of the subject that are none of them, as JSON Schema. */
function fieldsOf(route: Route): Record<string, Json> {
  const { contract } = route;
  const { fields, tokens } = shapeOf(route);
  const place = contract.kind === "rpc" ? `${contract.name}.request` : contract.name;
  const names = ownSchemaNames;
  const whole = explainedSchema(requestOf(contract), { io: "input", place, names });
  const explained = (whole["properties"] ?? {}) as Record<string, Json>;
  return Object.fromEntries([
    ...tokens.map((name) => [name, tokenField(name)] as const),
    ...Object.keys(fields).map((name) => [name, explained[name] ?? {}] as const),
  ]);
}

/** Returns the schema of a token of a subject. */
function tokenField(name: string): Json {
  return { type: "string", description: descriptions[name], examples: [examples[name]] };
}

/** Returns the function that maps a field to its name over HTTP. */
function namesOf({ names = {} }: Route): (field: string) => string {
  const outer = new Map(Object.entries(names).map(([name, field]) => [field, name]));
  return (field) => outer.get(field) ?? field;
}

function textsOf({ description, examples: given }: Json): Json {
  return { description, examples: given };
}

function parameter(
  { name, place, required }: { name: string; place: "path" | "query"; required: boolean },
  field: Json,
): Json {
  const { description, examples: given, ...schema } = field;
  const example = ((given ?? []) as unknown[])[0] ?? exampleOf(field, name);
  return {
    name,
    in: place,
    required,
    description,
    schema,
    ...(example === undefined ? {} : { example }),
  };
}

function bodyOf(
  route: Route,
  rest: readonly (readonly [string, Json])[],
  { outer, required }: { outer: (name: string) => string; required: (name: string) => boolean },
): Json {
  const { contract } = route;
  const whole =
    route.body === undefined ? undefined : rest.find(([name]) => name === route.body)?.[1];
  const schema = whole ?? {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(rest.map(([name, field]) => [outer(name), field])),
    required: rest.filter(([name]) => required(name)).map(([name]) => outer(name)),
  };
  const place = contract.kind === "rpc" ? `${contract.name}.request` : contract.name;
  const isNeeded = whole !== undefined || rest.some(([name]) => required(name));
  // The other fields are in the query then.
  const attached =
    contract.kind === "rpc" && contract.attachment !== null
      ? { "application/octet-stream": { schema: {} } }
      : {};
  const example = messageExample(schema, {
    place,
    without: new Set(shapeOf(route).inPath.map((name) => route.names?.[name] ?? name)),
  });
  return {
    required: isNeeded,
    content: { ...attached, "application/json": { schema, example } },
  };
}
