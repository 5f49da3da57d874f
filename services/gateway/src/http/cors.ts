import type { Context } from "hono";
import { headerOf, type GatewayEnv } from "../identity/request-context.ts";

/** CORS covers MCP alone, and the metadata that its clients read first: REST and the console serve the gateway's own pages. */
const PATHS = /^(?:\/mcp|\/\.well-known\/oauth-protected-resource)(?:\/|$)/;

const ALLOWED: Readonly<Record<string, string>> = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers":
    "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Traceparent, X-Request-Id",
  "access-control-max-age": "7200",
};
const EXPOSED = "Mcp-Session-Id, WWW-Authenticate, Retry-After, X-Request-Id";

/**
 * Lets pages of the configured origins use MCP from a browser (https://fetch.spec.whatwg.org/#http-cors-protocol). True when the request
 * is from one of them. Cookies are not permitted: such a page has its own credential.
 */
export function allowOrigin(c: Context<GatewayEnv>, origins: ReadonlySet<string>): boolean {
  const { outgoing } = c.env;
  if (origins.size === 0 || !PATHS.test(c.req.path)) return false;
  outgoing.setHeader("vary", "Origin");
  const origin = headerOf(c, "origin");
  if (origin === undefined || !origins.has(origin)) return false;
  outgoing.setHeader("access-control-allow-origin", origin);
  outgoing.setHeader("access-control-expose-headers", EXPOSED);
  return true;
}

/** Answers a preflight request of an allowed origin; null for any other request. */
export function preflightAnswer(c: Context<GatewayEnv>): Response | null {
  const isPreflight =
    c.req.method === "OPTIONS" && headerOf(c, "access-control-request-method") !== undefined;
  return isPreflight ? c.body(null, 204, ALLOWED) : null;
}
