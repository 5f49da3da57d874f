import { discoverAuthorizationServerMetadata, type FetchLike } from "@modelcontextprotocol/client";
import { cutText } from "@switchyard/contracts/cut-text";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { parseJson } from "../json/json-value.ts";
import {
  flag,
  listOf,
  membersOf,
  number,
  text,
  Unusable,
  withDefault,
  type Form,
} from "../normalise/forms.ts";

/** A document of a login lacks a member that has no substitute. The message names the document and the member. */
export class LoginDocumentError extends Error {
  override readonly name = "LoginDocumentError";
}

const OPENID_SUFFIX = "/.well-known/openid-configuration";
const SERVER_METADATA = /\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/;
const MAX_SHOWN = 300;

/**
 * A `fetch` for one login whose answers the SDK's schemas accept: `null` is absence, an optional member of a wrong type is left out, and a
 * metadata address that answers with HTML or HTTP 500 counts as one without metadata, so that the next one is tried. Throws
 * LoginDocumentError for an answer without its essential member.
 */
export function readingLogin(fetch: FetchLike, serverUrl: string | URL): FetchLike {
  const issuers: string[] = [];
  const troubles: string[] = [];
  const reading: FetchLike = async (url, init) => {
    const response = await fetch(url, init);
    const { origin, pathname } = new URL(url);
    const where = `${origin}${pathname}`;
    if ((init?.method ?? "GET") === "GET") return readMetadata(response, where);
    if (init?.method !== "POST") return response;
    const isToken = String(new Headers(init.headers).get("content-type")).includes("urlencoded");
    return isToken
      ? readToken(response, where)
      : readRegistration(response, { where, body: init.body });
  };

  async function readMetadata(response: Response, where: string): Promise<Response> {
    const body = await response.text();
    const value = response.ok ? parseJson(body) : null;
    const isResource = isRecord(value) && ("resource" in value || "authorization_servers" in value);
    if (isResource && !("token_endpoint" in value))
      return json(await resourceMetadata(value, { serverUrl, issuers, reading }));
    const problem = problemOf(response, value);
    if (problem === null && isRecord(value)) return json(serverMetadata(value, issuers));
    const isBroken = response.ok || response.status >= 500;
    if (isBroken && SERVER_METADATA.test(where)) troubles.push(`${where}: ${problem}`);
    // This is the last address, so the problems of all addresses are the reason of the failure.
    if (where.endsWith(OPENID_SUFFIX) && troubles.length > 0)
      throw new LoginDocumentError(
        `no metadata of the authorization server can be used: ${troubles.join("; ")}`,
      );
    return new Response(body, { status: isBroken ? 404 : response.status });
  }
  return reading;
}

/** The reason why the answer is not metadata of an authorization server; null when it is. */
function problemOf({ ok, status }: Response, value: unknown): string | null {
  if (!ok) return `HTTP ${status}`;
  if (!isRecord(value)) return "it is not a JSON object";
  const read = ESSENTIAL_METADATA(value, "", nothing);
  return read instanceof Unusable ? read.why : null;
}

const webAddress: Form = (value) => {
  const isAddress =
    typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
  return isAddress ? value : new Unusable("it is no web address");
};
const nothing = (): undefined => undefined;

const ESSENTIAL_METADATA = membersOf(
  {},
  { issuer: text, authorization_endpoint: webAddress, token_endpoint: webAddress },
);

/** The value in the form; null when nothing of it can be used. */
function inForm(form: Form, value: unknown): JsonRecord | null {
  const read = form(value, "", nothing);
  return isRecord(read) && !(read instanceof Unusable) ? read : null;
}

/** The members of RFC 8414 and of OpenID Connect Discovery, distinguished by their names. */
function formOfMetadata(name: string): Form | null {
  if (/(?:_parameter|_document)_supported$|^require_/.test(name)) return flag;
  if (name.endsWith("_supported")) return listOf(text);
  return /(?:_endpoint|_uri|_documentation)$/.test(name) ? webAddress : null;
}

function serverMetadata(value: JsonRecord, issuers: readonly string[]): unknown {
  const forms = Object.keys(value).flatMap((name) => {
    const form = formOfMetadata(name);
    return form === null ? [] : [[name, form] as const];
  });
  const issuer = String(value["issuer"]);
  const known = issuers.find((each) => withoutSlash(each) === withoutSlash(issuer)) ?? issuer;
  const read = inForm(membersOf(Object.fromEntries(forms)), { ...value, issuer: known });
  return {
    // The SDK requires these of OpenID Connect, and reads the first alone.
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    jwks_uri: value["token_endpoint"],
    ...read,
  };
}

async function resourceMetadata(
  value: JsonRecord,
  login: { serverUrl: string | URL; issuers: string[]; reading: FetchLike },
): Promise<unknown> {
  const listed = value["authorization_servers"];
  const servers = typeof listed === "string" ? [listed] : listed;
  const form = withDefault(
    "resource",
    { form: webAddress, defaultOf: () => new URL(login.serverUrl).href },
    membersOf(
      {
        authorization_servers: listOf(webAddress),
        scopes_supported: listOf(text),
        jwks_uri: webAddress,
        resource_policy_uri: webAddress,
        resource_tos_uri: webAddress,
        resource_name: text,
        resource_documentation: text,
        bearer_methods_supported: listOf(text),
      },
      { resource: webAddress },
    ),
  );
  const read = inForm(form, { ...value, authorization_servers: servers });
  const own = read?.["authorization_servers"];
  const named = Array.isArray(own) ? own.filter((each) => typeof each === "string") : [];
  login.issuers.push(...named);
  if (read === null || named.length < 2) return read;
  const first = await firstUsable(named, login.reading);
  return { ...read, authorization_servers: [first, ...named.filter((each) => each !== first)] };
}

/** The SDK uses the first authorization server alone; another one may be the one that works. */
async function firstUsable(servers: readonly string[], fetchFn: FetchLike): Promise<string> {
  for (const server of servers) {
    const found = await discoverAuthorizationServerMetadata(server, { fetchFn }).catch(nothing);
    if (found !== undefined) return server;
  }
  return servers[0] ?? "";
}

const tokenForm = membersOf({
  token_type: text,
  expires_in: (value) => {
    const seconds = typeof value === "string" ? Number(value || Number.NaN) : value;
    return typeof seconds === "number" && seconds >= 0 ? seconds : new Unusable("it is no time");
  },
  scope: (value) =>
    Array.isArray(value) && value.every((each) => typeof each === "string")
      ? value.join(" ")
      : text(value, "", nothing),
  refresh_token: text,
  id_token: text,
  error_description: text,
  error_uri: text,
});

async function readToken(response: Response, where: string): Promise<Response> {
  const body = await response.text();
  // Some servers answer as the request was written: https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
  const value =
    parseJson(body) ??
    (/^[\w.]+=/.test(body) ? Object.fromEntries(new URLSearchParams(body)) : null);
  const read = inForm(tokenForm, value);
  const what = `the answer of the token endpoint ${where}`;
  if (typeof read?.["error"] === "string") return json(read, response.status);
  if (!response.ok)
    throw new LoginDocumentError(`${what} is HTTP ${response.status}${shown(body)}`);
  if (read === null) throw new LoginDocumentError(`${what} is not a JSON object`);
  if (typeof read["access_token"] !== "string")
    throw new LoginDocumentError(`${what} has no access_token`);
  return json({ token_type: "Bearer", ...read });
}

const clientForm = membersOf({
  client_secret: text,
  client_id_issued_at: number,
  client_secret_expires_at: number,
  redirect_uris: listOf(webAddress),
  token_endpoint_auth_method: text,
  grant_types: listOf(text),
  response_types: listOf(text),
  application_type: text,
  client_name: text,
  client_uri: webAddress,
  logo_uri: webAddress,
  scope: text,
  contacts: listOf(text),
  tos_uri: webAddress,
  policy_uri: text,
  jwks_uri: webAddress,
  software_id: text,
  software_version: text,
  software_statement: text,
});

async function readRegistration(
  response: Response,
  { where, body }: { where: string; body: RequestInit["body"] },
): Promise<Response> {
  const written = await response.text();
  if (!response.ok) return new Response(written, { status: response.status });
  const what = `the answer of the registration endpoint ${where}`;
  const read = inForm(clientForm, parseJson(written));
  if (read === null) throw new LoginDocumentError(`${what} is not a JSON object`);
  const id = read["client_id"];
  if (typeof id !== "string" && typeof id !== "number")
    throw new LoginDocumentError(`${what} has no client_id`);
  const asked = typeof body === "string" ? parseJson(body) : null;
  const uris = isRecord(asked) ? asked["redirect_uris"] : [];
  return json({ redirect_uris: uris, ...read, client_id: String(id) }, response.status);
}

/** The text of a refusal, without the page around it. */
function shown(body: string): string {
  const said =
    /<title[^>]{0,200}>([^<]{1,300})/i.exec(body)?.[1] ?? (body.includes("<") ? "" : body);
  return said.trim() === "" ? "" : `: ${cutText(said.trim(), MAX_SHOWN)}`;
}

/** Two spellings of one issuer: RFC 8414 compares them letter by letter, and many servers do not. */
export function withoutSlash(issuer: string): string {
  return issuer.replace(/\/$/, "");
}

function json(value: unknown, status = 200): Response {
  return Response.json(value, { status });
}
