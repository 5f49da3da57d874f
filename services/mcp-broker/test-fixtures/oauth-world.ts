// An MCP server that requires a login, and the authorization server that issues its tokens: two
// origins of the test's own process, so that a test sees every token and can spoil each of them.

import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after } from "node:test";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

export interface OAuthWorld {
  /** Address of the MCP server. */
  readonly url: string;
  readonly issuer: string;
  /** Every token, code, verifier and secret that went over the wire. */
  readonly secrets: string[];
  /** The number of uses of each grant at the token endpoint. */
  readonly grants: Record<string, number>;
  /** Headers of the requests to the authorization server, to see what reached it. */
  readonly authHeaders: IncomingMessage["headers"][];
  /** The revocations that were requested: the kind of token, and whether it was valid until then. */
  readonly revoked: { readonly hint: string; readonly wasGood: boolean }[];
  /** The reply to the revocation of a token; with `none` its metadata names no endpoint for it. */
  revocation: "takes" | "refuses" | "none";
  /** Differences from the specification that authorization servers in use have. */
  odd: OddAuthorization;
  /** The lifetime of the next tokens, in seconds. */
  expiresIn: number;
  /** The token endpoint waits for this before it answers. */
  tokenGate: Promise<void>;
  /** Returns the number of refresh tokens used a second time: the sign of a theft, which ends every login. */
  readonly reuses: () => number;
  /** Returns the number of requests that the MCP server answered with 401. */
  readonly refusals: () => number;
  /** Makes the server refuse every access token that was issued so far. */
  expireAll(): void;
  /** Makes the authorization server forget every client that was registered so far. */
  forgetClients(): void;
  /** Makes every refresh token invalid. */
  revokeAll(): void;
  /** Agrees as a person in a browser does, and returns the address that the browser ends at. */
  agree(authorizationUrl: string): Promise<URL>;
}

export interface OddAuthorization {
  /** Members that are written over those of each document. */
  readonly metadata?: object;
  readonly client?: object;
  readonly token?: object;
  /** The answer of the first well-known address; the metadata is then at the one of OpenID Connect. */
  readonly first?: { readonly status: number; readonly type: string; readonly body: string };
  /** Written behind the issuer, here and in the address that the browser comes back to. */
  readonly slash?: "/";
  /** Authorization servers that the MCP server names before this one. */
  readonly others?: readonly string[];
  /** Refuses every request with a `resource`, as Microsoft Entra does (AADSTS9010010). */
  readonly refusesResource?: boolean;
}

/** Call it at the top of a file. */
export async function oauthWorld(): Promise<OAuthWorld> {
  const valid = new Set<string>();
  const refreshable = new Set<string>();
  const codes = new Map<string, { challenge: string; resource: string; redirectUri: string }>();
  const secrets: string[] = [];
  const grants: Record<string, number> = {};
  const authHeaders: IncomingMessage["headers"][] = [];
  const revoked: OAuthWorld["revoked"] = [];
  const clients = new Map<string, string>();
  const used = new Set<string>();
  const forgotten = new Set<string>();
  let reuses = 0;
  let refusals = 0;
  const refresh = (token: string): boolean => {
    if (refreshable.delete(token)) {
      used.add(token);
      return true;
    }
    if (used.has(token)) {
      reuses += 1;
      refreshable.clear();
      valid.clear();
    }
    return false;
  };
  const settings: Pick<OAuthWorld, "expiresIn" | "odd" | "revocation" | "tokenGate"> = {
    odd: {},
    expiresIn: 3_600,
    revocation: "takes",
    tokenGate: Promise.resolve(),
  };
  const secret = (): string => {
    const value = `canary-${randomUUID()}`;
    secrets.push(value);
    return value;
  };
  const tokens = (): object => {
    const [access, next] = [secret(), secret()];
    valid.add(access);
    refreshable.add(next);
    return {
      access_token: access,
      refresh_token: next,
      token_type: "Bearer",
      expires_in: settings.expiresIn,
    };
  };

  const issuer = await listen(async (request, response) => {
    authHeaders.push(request.headers);
    const url = new URL(request.url ?? "/", issuer);
    const { odd } = world;
    const issuerName = `${issuer}${odd.slash ?? ""}`;
    const isFirst = url.pathname === "/.well-known/oauth-authorization-server";
    if (isFirst && odd.first !== undefined)
      return response
        .writeHead(odd.first.status, { "content-type": odd.first.type })
        .end(odd.first.body);
    if (odd.refusesResource === true && url.searchParams.has("resource"))
      return response.writeHead(400).end("AADSTS9010010");
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
      case "/.well-known/oauth-authorization-server":
        return json(response, 200, {
          issuer: issuerName,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          registration_endpoint: `${issuer}/register`,
          ...(world.revocation === "none"
            ? {}
            : {
                revocation_endpoint: `${issuer}/revoke`,
                revocation_endpoint_auth_methods_supported: ["client_secret_basic"],
              }),
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
          grant_types_supported: ["authorization_code", "refresh_token"],
          token_endpoint_auth_methods_supported: ["client_secret_post", "none"],
          authorization_response_iss_parameter_supported: true,
          ...odd.metadata,
        });
      case "/register": {
        const asked = JSON.parse(await text(request)) as object;
        const client = { client_id: randomUUID(), client_secret: secret() };
        clients.set(client.client_id, client.client_secret);
        return json(response, 201, { ...asked, ...client, ...odd.client });
      }
      case "/revoke": {
        const form = new URLSearchParams(await text(request));
        const basic = (request.headers.authorization ?? "").replace("Basic ", "");
        const [id = "", given] = Buffer.from(basic, "base64").toString().split(":");
        if (given === undefined || clients.get(id) !== given)
          return json(response, 401, { error: "invalid_client" });
        if (world.revocation === "refuses") return json(response, 503, { error: "server_error" });
        const token = form.get("token") ?? "";
        const wasGood = [valid.delete(token), refreshable.delete(token)].includes(true);
        revoked.push({ hint: form.get("token_type_hint") ?? "", wasGood });
        return response.writeHead(200).end();
      }
      case "/authorize": {
        const code = secret();
        const given = url.searchParams;
        const redirectUri = given.get("redirect_uri") ?? "";
        codes.set(code, {
          challenge: given.get("code_challenge") ?? "",
          resource: given.get("resource") ?? "",
          redirectUri,
        });
        const back = new URL(redirectUri);
        for (const [name, value] of Object.entries({
          code,
          state: given.get("state"),
          iss: issuerName,
        }))
          back.searchParams.set(name, value ?? "");
        response.writeHead(302, { location: back.href }).end();
        return;
      }
      case "/token": {
        const form = new URLSearchParams(await text(request));
        const grant = form.get("grant_type") ?? "";
        grants[grant] = (grants[grant] ?? 0) + 1;
        secrets.push(form.get("code_verifier") ?? "canary-none");
        await world.tokenGate;
        const client = form.get("client_id") ?? "";
        if (forgotten.has(client)) return json(response, 401, { error: "invalid_client" });
        if (odd.refusesResource === true && form.has("resource"))
          return json(response, 400, { error: "invalid_target" });
        if (grant === "refresh_token")
          return refresh(form.get("refresh_token") ?? "")
            ? json(response, 200, tokens())
            : json(response, 400, { error: "invalid_grant" });
        const code = codes.get(form.get("code") ?? "");
        codes.delete(form.get("code") ?? "");
        const hash = createHash("sha256").update(form.get("code_verifier") ?? "");
        const isGood =
          code?.challenge === hash.digest("base64url") &&
          code.redirectUri === form.get("redirect_uri") &&
          (odd.refusesResource === true || code.resource === `${resource}/mcp`) &&
          (form.get("resource") ?? "") === code.resource;
        return isGood
          ? json(response, 200, { ...tokens(), ...odd.token })
          : json(response, 400, { error: "invalid_grant" });
      }
      default:
        response.writeHead(404).end();
    }
  });

  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "locked", version: "1" }, { capabilities: { tools: {} } });
    server.registerTool(
      "echo",
      { description: "Says it again", inputSchema: z.object({ message: z.string() }) },
      ({ message }) => ({ content: [{ type: "text", text: message }] }),
    );
    return server;
  });
  const resource = await listen(async (request, response) => {
    if (request.url === "/.well-known/oauth-protected-resource/mcp")
      return json(response, 200, {
        resource: `${resource}/mcp`,
        authorization_servers: [...(world.odd.others ?? []), issuer],
        scopes_supported: ["mcp"],
      });
    if (!valid.has(request.headers.authorization?.replace("Bearer ", "") ?? "")) {
      refusals += 1;
      const metadata = `${resource}/.well-known/oauth-protected-resource/mcp`;
      response
        .writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` })
        .end();
      return;
    }
    const reply = await handler.fetch(
      new Request(`${resource}${request.url}`, {
        method: request.method ?? "GET",
        headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        ...(request.method === "POST"
          ? { body: Readable.toWeb(request) as ReadableStream, duplex: "half" }
          : {}),
      }),
    );
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    if (reply.body === null) response.end();
    else Readable.fromWeb(reply.body).pipe(response);
  });

  const world: OAuthWorld = Object.assign(settings, {
    url: `${resource}/mcp`,
    issuer,
    secrets,
    grants,
    revoked,
    authHeaders,
    reuses: () => reuses,
    refusals: () => refusals,
    expireAll: () => valid.clear(),
    revokeAll: () => refreshable.clear(),
    forgetClients() {
      for (const id of clients.keys()) forgotten.add(id);
    },
    async agree(authorizationUrl: string) {
      const response = await fetch(authorizationUrl, { redirect: "manual" });
      return new URL(response.headers.get("location") ?? "");
    },
  });
  return world;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

async function listen(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    Promise.resolve(answer(request, response)).catch((error: unknown) =>
      response.writeHead(500).end(String(error)),
    );
  }).listen(0, "127.0.0.1");
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
