import type { z } from "zod";
import { z as zod } from "zod";
import type { Route } from "./route-table.ts";

/** A JSON Schema, as far as it is looked at here. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** Where the parts of a contract's request come from. */
export interface RouteShape {
  /** Names in the path, as they are there. */
  readonly inPath: readonly string[];
  /** Tokens of the contract's subject besides the caller. */
  readonly tokens: readonly string[];
  /** Fields of the request by name, as JSON Schema; without those that only services set. */
  readonly fields: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
  /** Whether an `If-Match` has a meaning. */
  readonly hasVersion: boolean;
}

/** The field of a request that `If-Match` stands for. */
export const VERSION_FIELD = "ifVersion";

/** Only runs and those who work for them have a token and an epoch; over HTTP everybody speaks for itself. */
export const SERVICE_FIELDS = new Set(["token", "epoch", "progress", "onBehalfOf"]);

const shapes = new Map<Route, RouteShape>();

/** Read at the first request of each route: of a large schema it takes milliseconds. */
export function shapeOf(route: Route): RouteShape {
  const known = shapes.get(route) ?? readShape(route);
  shapes.set(route, known);
  return known;
}

function readShape(route: Route): RouteShape {
  const { contract, path } = route;
  const schema = zod.toJSONSchema(requestOf(contract), { io: "input" }) as Schema;
  const fields = Object.entries(schema.properties ?? {}).filter(
    ([name]) => !SERVICE_FIELDS.has(name) && name !== VERSION_FIELD,
  );
  const tokens = placeholders(contract.subject).filter((name) => name !== "caller");
  return {
    inPath: placeholders(path),
    tokens,
    fields: Object.fromEntries(fields),
    required: schema.required ?? [],
    hasVersion: schema.properties?.[VERSION_FIELD] !== undefined,
  };
}

export function requestOf(contract: Route["contract"]): z.ZodType {
  return contract.kind === "rpc" ? contract.request : contract.payload;
}

export function placeholders(template: string): string[] {
  return [...template.matchAll(/\{([a-zA-Z]+)\}/g)].map((match) => match[1] ?? "");
}
