import type { z } from "zod";
import { z as zod } from "zod";
import type { Route } from "./route-table.ts";

/** The part of JSON Schema that the routes use. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** Maps the parts of a contract's request to their sources. */
export interface RouteShape {
  /** Names in the path, in its spelling. */
  readonly inPath: readonly string[];
  /** Tokens of the contract's subject besides the caller. */
  readonly tokens: readonly string[];
  /** Fields of the request by name, as JSON Schema; without those that only services set. */
  readonly fields: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
  /** True when the route honours `If-Match`. */
  readonly hasVersion: boolean;
}

/** The field of a request that receives the value of `If-Match`. */
export const VERSION_FIELD = "ifVersion";

/**
 * Only runs and the services that work for them have a token and an epoch; over HTTP every caller acts for itself, at most under the rules of a session
 * of its own, whose token is in a header.
 */
export const SERVICE_FIELDS = new Set(["token", "epoch", "progress", "onBehalfOf", "sender"]);

const shapes = new Map<Route, RouteShape>();

/** The shape is computed at the first request of each route: for a large schema that takes milliseconds. */
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

/** True for the routes of everything that one MCP server has. */
export function isAboutServer({ path }: Pick<Route, "path">): boolean {
  return path.startsWith("/mcp/servers/{id}/");
}
