import {
  assertSecureTokenEndpoint,
  selectClientAuthMethod,
  type FetchLike,
  type OAuthClientInformation,
} from "@modelcontextprotocol/client";
import type { LoginRevocation } from "@switchyard/contracts/mcp-broker/mcp-auth";
import { z } from "zod";
import type { OAuthConfig } from "@switchyard/project/mcp-servers/server-config";
import type { Login } from "./login-store.ts";

/** The metadata of the authorization server that was stored with the login, as far as it is needed here. */
const Discovered = z.object({
  authorizationServerMetadata: z.object({
    revocation_endpoint: z.url().optional(),
    revocation_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  }),
});
const Tokens = z.object({ access_token: z.string(), refresh_token: z.string().optional() });
const Client = z.object({ client_id: z.string(), client_secret: z.string().optional() });
const Refusal = z.object({ error: z.string() });

const REVOKE_TIMEOUT_MS = 10_000;

/**
 * Revokes the tokens of a login at the authorization server that issued them (RFC 7009); null when it has none. Never rejects: a
 * logout takes effect here, whatever another party answers.
 */
export async function revokeLogin(
  login: Login,
  { oauth, fetch }: { oauth: OAuthConfig; fetch: FetchLike },
): Promise<LoginRevocation | null> {
  const discovered = Discovered.safeParse(login.discovery).data?.authorizationServerMetadata;
  const endpoint = discovered?.revocation_endpoint;
  const tokens = Tokens.safeParse(login.tokens).data;
  if (tokens === undefined) return null;
  if (endpoint === undefined) return "not_offered";
  const client = clientOf(login, oauth);
  if (client === null) return "failed";
  const methods = discovered?.revocation_endpoint_auth_methods_supported ?? [];
  const send = (form: Record<string, string>): Promise<"revoked" | "unsupported"> =>
    sendForm({ endpoint, form, client, methods, fetch });
  try {
    const { refresh_token: refresh, access_token: access } = tokens;
    // Other tokens are issued from this one; without it the access token, which not all servers can revoke, ends soon.
    const first =
      refresh === undefined
        ? null
        : await send({ token: refresh, token_type_hint: "refresh_token" });
    const last = await send({ token: access, token_type_hint: "access_token" });
    return (first ?? last) === "revoked" ? "revoked" : "failed";
  } catch {
    return "failed";
  }
}

function clientOf({ client }: Login, oauth: OAuthConfig): OAuthClientInformation | null {
  const { clientId, clientSecret } = oauth;
  const known = clientId === null ? client : { client_id: clientId, client_secret: clientSecret };
  const { data } = Client.safeParse(withoutNulls(known));
  if (data === undefined) return null;
  const { client_id: id, client_secret: secret } = data;
  return { client_id: id, ...(secret === undefined ? {} : { client_secret: secret }) };
}

function withoutNulls(record: object | null): object | null {
  return record === null
    ? null
    : Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}

interface Sending {
  readonly endpoint: string;
  readonly form: Readonly<Record<string, string>>;
  readonly client: OAuthClientInformation;
  /** Empty where the metadata lists none. */
  readonly methods: readonly string[];
  readonly fetch: FetchLike;
}

/** Resolves with `unsupported` when this kind of token cannot be revoked there; rejects when the result is unknown. */
async function sendForm(sending: Sending): Promise<"revoked" | "unsupported"> {
  const { endpoint, form, client, methods, fetch } = sending;
  const body = new URLSearchParams(form);
  const headers = new Headers({
    accept: "application/json",
    "content-type": "application/x-www-form-urlencoded",
  });
  const { client_id: id, client_secret: secret = "" } = client;
  if (selectClientAuthMethod(client, [...methods]) === "client_secret_basic") {
    const pair = [id, secret].map((part) => encodeURIComponent(part)).join(":");
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
  } else {
    body.set("client_id", id);
    if (secret !== "") body.set("client_secret", secret);
  }
  const response = await fetch(assertSecureTokenEndpoint(endpoint), {
    method: "POST",
    headers,
    body,
    redirect: "error",
    signal: AbortSignal.timeout(REVOKE_TIMEOUT_MS),
  });
  if (response.status === 200) {
    await response.body?.cancel();
    return "revoked";
  }
  const refusal = Refusal.safeParse(await response.json()).data?.error;
  if (refusal === "unsupported_token_type") return "unsupported";
  throw new Error(`the authorization server answered ${response.status}`);
}
