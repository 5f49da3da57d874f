import { randomUUID } from "node:crypto";
import { exportAudit as exportContract } from "@switchyard/contracts/policy/audit-queries";
import type { Rpc } from "@switchyard/contracts/define";
import { refusalOf } from "@switchyard/contracts/user-roles";
import { Hono, type Context } from "hono";
import type { ConsoleFiles } from "../console/console-files.ts";
import { serveConsole } from "../console/serve-console.ts";
import { serveEvents, serveRunEvents, type EventParts } from "../events/serve-events.ts";
import { authenticate } from "../identity/authenticate.ts";
import type { BytesInWork } from "../identity/bytes-in-work.ts";
import { clientAddress, limitedAddress } from "../identity/client-address.ts";
import { addressOf } from "../identity/session-cookie.ts";
import type { Slots } from "../identity/slots.ts";
import { meOf } from "../routes/me.ts";
import { answerJson } from "../routes/pack-body.ts";
import { exportAudit } from "../routes/audit-export.ts";
import { routes } from "../routes/route-table.ts";
import { readSystem } from "../routes/system.ts";
import { Problem, problemBody, problemOf } from "../problems/problem.ts";
import { headerOf, type GatewayEnv } from "../identity/request-context.ts";
import { addSignIn, type SignInParts } from "../sign-in/sign-in-routes.ts";
import { mountProtocols, protocolAnswer, type ProtocolParts } from "./protocols.ts";
import { isLoopback, isOwnOrigin } from "./listen.ts";
import { serveRoute, type RouteParts } from "./serve-route.ts";

export interface AppParts extends SignInParts, ProtocolParts, EventParts, RouteParts {
  /** Names, with the port where it is not the default one, under which the gateway is reached; any other `Host` is refused. */
  readonly isKnownHost: (host: string) => boolean;
  /** Origins of other pages that may use MCP, such as https://app.example.com. */
  readonly origins: ReadonlySet<string>;
  /** Null when the console was not built: then the gateway serves programs alone. */
  readonly console: ConsoleFiles | null;
  readonly isReady: () => Promise<boolean>;
  /** The number of proxies in front, each of which appends the address of its client to X-Forwarded-For. */
  readonly trustedProxies: number;
  /** Requests under way of each client behind the proxies, which share the proxies' connections. */
  readonly requestsOfAddress: Slots;
  /** The memory that the bodies of requests under way may use. */
  readonly bytes: BytesInWork;
}

const HSTS = "max-age=31536000";
const READY_FOR_MS = 1_000;
const REQUEST_ID = /^[\w.-]{1,100}$/;

/** Default headers of every answer: other sites may not frame it, guess its type or store it. */
const SAFETY: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

export function createApp(parts: AppParts): Hono<GatewayEnv> {
  const { bus, log } = parts;
  const app = new Hono<GatewayEnv>();
  addProbes(app, parts.isReady);
  app.use((c, next) => receive(c, next, parts));
  addSignIn(app, parts);
  // The documents are loaded with their first reader: their texts would make every start slower.
  app.get("/api/v1/openapi.json", async (c) => {
    const { openApi } = await import("../openapi/openapi.ts");
    return c.json(openApi());
  });
  app.get("/api/v1/reference", async (c) => {
    const { REFERENCE_POLICY, referencePage } = await import("../openapi/reference-page.ts");
    return c.html(await referencePage(), 200, { "content-security-policy": REFERENCE_POLICY });
  });
  app.use("/api/*", (c, next) => authenticate(c, next, parts));
  app.get("/api/v1/me", (c) => c.json(meOf(c.get("user"))));
  app.get("/api/v1/system", async (c) => {
    checkRole(c, { name: "system", role: "viewer" }, parts);
    return answerJson(c, JSON.stringify(await readSystem(bus, parts.hub.readers)));
  });
  app.get("/api/v1/audit/export", async (c) => {
    checkRole(c, exportContract, parts);
    const { since, until } = c.req.query();
    const filter = { ...(since && { since }), ...(until && { until }) };
    const token = async () => (await parts.users.identify(c.get("credential"))).token;
    const name = "switchyard-audit.jsonl";
    const user = c.get("user");
    const body = await parts.access.administered(
      c,
      user,
      { operation: "audit.export", isRead: false },
      () => exportAudit(bus, filter, token),
    );
    return c.body(body, 200, {
      "content-type": "application/x-ndjson",
      "content-disposition": `attachment; filename="${name}"`,
    });
  });
  app.get("/api/v1/runs/:runId/events", (c) => serveRunEvents(c, parts));
  app.get("/api/v1/events", (c) => serveEvents(c, parts));
  for (const route of routes) {
    const path = `/api/v1${route.path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
    const serve = serveRoute(parts, route);
    app.on(route.method, path, async (c) => {
      try {
        return await serve(c);
      } catch (error) {
        throw problemOf(error, route) ?? error;
      }
    });
  }
  mountProtocols(app, parts);
  app.notFound((c) => {
    const page = parts.console === null ? null : serveConsole(c, parts.console);
    const found = page ?? serveAddresses(c);
    if (found !== null) return found;
    const methods = methodsAt(app.routes, c.req.path);
    if (methods.length > 0) return answer(c, otherMethod(methods.join(", ")));
    const detail =
      "there is nothing under this address and method; /api/v1/openapi.json lists what there is";
    return answer(c, new Problem({ status: 404, code: "not_found", detail }));
  });
  app.onError((error, c) => {
    const problem = problemOf(error);
    if (problem !== null && problem.code !== "internal") return answer(c, problem);
    const requestId = c.get("requestId");
    log.error({ err: error, requestId, method: c.req.method }, "request fault");
    const detail = problem?.message ?? "the gateway failed by a fault of its own";
    return answer(c, new Problem({ status: 500, code: "internal", detail }));
  });
  return app;
}

/** https://www.rfc-editor.org/rfc/rfc9110.html#section-15.5.6 */
function otherMethod(allow: string): Problem {
  const detail = `this address has no operation of that method: its methods are ${allow}`;
  return new Problem({ status: 405, code: "method_not_allowed", detail, headers: { allow } });
}

/** Checks every request, except the probes, before its handler. */
async function receive(
  c: Context<GatewayEnv>,
  next: () => Promise<void>,
  { publicUrl, trustedProxies, isKnownHost, origins, requestsOfAddress, bytes, hub }: AppParts,
): Promise<Response | undefined> {
  const given = headerOf(c, "x-request-id") ?? "";
  c.set("requestId", REQUEST_ID.test(given) ? given : randomUUID());
  setHeaders(c, publicUrl);
  const { remoteAddress } = c.env.incoming.socket;
  const address = clientAddress(remoteAddress, headerOf(c, "x-forwarded-for"), trustedProxies);
  c.set("address", address);
  const isAllowed = allowOrigin(c, origins);
  checkOrigin(c, isKnownHost, isAllowed);
  const preflight = isAllowed ? preflightAnswer(c) : null;
  if (preflight !== null) return preflight;
  if (trustedProxies > 0)
    c.env.outgoing.once("close", requestsOfAddress.take(limitedAddress(address)));
  const held = bytes.begin();
  c.set("held", held);
  const leave = await hub.attend();
  try {
    await next();
  } finally {
    held.release();
    leave();
  }
  return undefined;
}

/** Probes for load balancers, which call by address and without a credential; the health port returns more. */
function addProbes(app: Hono<GatewayEnv>, isReady: () => Promise<boolean>): void {
  let looked = Number.NEGATIVE_INFINITY;
  let ready = Promise.resolve(false);
  app.get("/livez", (c) => c.json({ status: "ok" }, 200, { "cache-control": "no-store" }));
  app.get("/readyz", async (c) => {
    const now = performance.now();
    // The result is cached, so that frequent probes cause no work in other services.
    if (now - looked >= READY_FOR_MS) [looked, ready] = [now, isReady()];
    const isWell = await ready;
    const status = isWell ? 200 : 503;
    return c.json({ status: isWell ? "ready" : "not_ready" }, status, {
      "cache-control": "no-store",
    });
  });
}

/** Protects against DNS rebinding and against pages of other origins: `Host` and `Origin` must both be the gateway's own or an allowed one. */
function checkOrigin(
  c: Context<GatewayEnv>,
  isKnownHost: (host: string) => boolean,
  isAllowed: boolean,
): void {
  const host = headerOf(c, "host") ?? "";
  checkTarget(c, host);
  const origin = headerOf(c, "origin");
  const isForeign =
    origin !== undefined &&
    !isAllowed &&
    !isOwnOrigin(URL.parse(origin)?.host ?? "", host, isKnownHost);
  if (isKnownHost(host) && !isForeign) return;
  const what = isForeign ? "Origin" : "Host";
  const detail = `the request's ${what} is not one of this gateway: YARD_HTTP_HOSTS names them`;
  throw new Problem({ status: 403, code: "foreign_origin", detail });
}

/**
 * There must be one host: a second `Host`, or another one in the request's first line, would end up in the addresses of the
 * answer. https://www.rfc-editor.org/rfc/rfc9112.html#section-3.2
 */
function checkTarget(c: Context<GatewayEnv>, host: string): void {
  const { url = "", rawHeaders } = c.env.incoming;
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host");
  const isForeign =
    !url.startsWith("/") && URL.parse(url)?.host !== URL.parse(`http://${host}`)?.host;
  if (hosts.length <= 1 && !isForeign) return;
  const detail = "a request has one Host, which is also that of its first line where one is there";
  throw new Problem({ status: 400, code: "bad_host", detail });
}

function checkRole(
  c: Context<GatewayEnv>,
  asked: Pick<Rpc, "name" | "role">,
  { access }: Pick<AppParts, "access">,
): void {
  const user = c.get("user");
  const refusal = refusalOf(asked, user);
  if (refusal === null) return;
  access.refused(c, user, { operation: asked.name, status: 403, code: "forbidden" });
  throw new Problem({ status: 403, code: "forbidden", detail: refusal });
}

function answer(c: Context<GatewayEnv>, problem: Problem): Response {
  const inItsWords = protocolAnswer(c, problem);
  if (inItsWords !== null) return inItsWords;
  const headers = { ...problem.headers, "content-type": "application/problem+json" };
  const status = problem.status as 400; // The table's statuses all have a body.
  return c.body(problemBody(problem, c.get("requestId")), status, headers);
}

/** Sets the headers of every answer, which its own headers override. Setting them afterwards would make the framework rebuild each answer. */
function setHeaders(c: Context<GatewayEnv>, publicUrl: URL | null): void {
  const { outgoing } = c.env;
  for (const [name, value] of Object.entries(SAFETY)) outgoing.setHeader(name, value);
  outgoing.setHeader("x-request-id", c.get("requestId"));
  if (publicUrl === null && !("encrypted" in c.env.incoming.socket)) return;
  const { protocol, hostname } = addressOf(c, publicUrl);
  // On a laptop's loopback name this header would also bind every other program at that name.
  if (protocol === "https:" && !isLoopback(hostname))
    outgoing.setHeader("strict-transport-security", HSTS);
}

/** The answer at the root for programs, which get no page: the addresses that the gateway has. */
const ADDRESSES = `Switchyard gateway

/                       the console, in a browser
/api/v1/reference       all operations, as a page
/api/v1/openapi.json    all operations, as OpenAPI
/api/v1/me              who you are: curl -H "Authorization: Bearer $KEY" …/api/v1/me
/mcp                    MCP (Streamable HTTP)
/v1/models              the OpenAI API, whose models are the agents
/a2a/{agent}            A2A
/ag-ui/{agent}          AG-UI
/readyz                 whether it can work now

An API key: yard keys api create NAME --role operator
`;

/** Answers GET and HEAD of the root; null for any other request. */
function serveAddresses(c: Context<GatewayEnv>): Response | null {
  const isRead = c.req.method === "GET" || c.req.method === "HEAD";
  if (!isRead || c.req.path !== "/") return null;
  return c.text(ADDRESSES, 200, { "cache-control": "no-cache", vary: "accept" });
}

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
function allowOrigin(c: Context<GatewayEnv>, origins: ReadonlySet<string>): boolean {
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
function preflightAnswer(c: Context<GatewayEnv>): Response | null {
  const isPreflight =
    c.req.method === "OPTIONS" && headerOf(c, "access-control-request-method") !== undefined;
  return isPreflight ? c.body(null, 204, ALLOWED) : null;
}

/**
 * Returns the methods of the operations at a path, for `Allow`; empty for a path without one. Handlers of all methods are steps
 * before an operation and do not count.
 */
export function methodsAt(
  operations: readonly { readonly method: string; readonly path: string }[],
  path: string,
): string[] {
  const segments = path.split("/");
  const found = operations.filter(
    (operation) => operation.method !== "ALL" && isAt(operation.path.split("/"), segments),
  );
  const methods = found.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return [...new Set(methods)].toSorted();
}

function isAt(template: readonly string[], segments: readonly string[]): boolean {
  return (
    template.length === segments.length &&
    template.every((part, index) => part === segments[index] || part.startsWith(":"))
  );
}
