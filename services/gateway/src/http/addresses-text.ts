import type { Context } from "hono";
import type { GatewayEnv } from "../identity/request-context.ts";

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
export function serveAddresses(c: Context<GatewayEnv>): Response | null {
  const isRead = c.req.method === "GET" || c.req.method === "HEAD";
  if (!isRead || c.req.path !== "/") return null;
  return c.text(ADDRESSES, 200, { "cache-control": "no-cache", vary: "accept" });
}
