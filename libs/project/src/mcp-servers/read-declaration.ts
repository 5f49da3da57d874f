import { serverIdOf } from "@switchyard/contracts/ids";
import { TransportKind, type ServerOrigin } from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { z } from "zod";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { adoptClientKeys, type Adopted } from "./client-keys.ts";
import { Declaration, problemOf, transportOf } from "./declaration.ts";
import type { OAuthConfig, ServerConfig, ServerEntry } from "./server-config.ts";

/** The largest declaration that is stored, as JSON: it is repeated in messages and in Redis. */
const MAX_DECLARATION_BYTES = 64 * 1024;

/**
 * Checks a server's declaration. A declaration with problems becomes an entry without a configuration, so that it can be shown.
 * `key` stands for the id in the texts.
 */
export function readDeclaration(
  key: string,
  written: unknown,
  origin: ServerOrigin,
): ServerEntry & { readonly problems: readonly string[] } {
  const adopted = isRecord(written) ? adoptClientKeys(written) : NOTHING_ADOPTED;
  const declaration = isRecord(written) ? adopted.declaration : written;
  const parsed = Declaration.safeParse(declaration);
  const problems = [
    ...adopted.problems,
    ...(parsed.success ? [problemOf(key, parsed.data) ?? []].flat() : zodProblems(parsed.error)),
  ];
  if (Buffer.byteLength(JSON.stringify(declaration) ?? "") > MAX_DECLARATION_BYTES)
    problems.push(`must have at most ${MAX_DECLARATION_BYTES} bytes as JSON`);
  const shown = parsed.success ? parsed.data : null;
  const transport = shown === null ? guessTransport(declaration) : transportOf(shown);
  const names = {
    id: serverIdOf(key) ?? "unnamed",
    name: shown?.name ?? key,
  };
  return {
    ...names,
    origin,
    transport: TransportKind.safeParse(transport).data ?? "stdio",
    declaration: shownAs(written, adopted),
    warnings: adopted.warnings,
    config: shown === null || problems.length > 0 ? null : toConfig(names, shown),
    problem: problems.length === 0 ? null : `server ${key}: ${problems.join("; ")}`,
    problems,
  };
}

/** A declaration with a problem stays as it was written; otherwise a change of another field would hide the problem. */
function shownAs(written: unknown, { declaration, problems }: Adopted): JsonRecord {
  if (!isRecord(written)) return {};
  return problems.length === 0 ? declaration : written;
}

const NOTHING_ADOPTED: Adopted = { declaration: {}, warnings: [], problems: [] };

function toConfig(entry: { id: string; name: string }, declared: Declaration): ServerConfig {
  const { description: _, transport: _written, type: _type, oauth: _login, ...fields } = declared;
  const {
    command = "",
    args,
    env,
    cwd = null,
    sandbox = null,
    url = "",
    headers,
    ...rest
  } = fields;
  const common = { ...rest, ...entry };
  const transport = transportOf(declared);
  return transport === "http" || transport === "sse"
    ? { ...common, transport, url, headers, oauth: oauthOf(declared) }
    : { ...common, transport: "stdio", command, args, env, cwd, sandbox };
}

/** A header with a credential of its own leaves no room for another one. */
function oauthOf({ oauth, headers }: Declaration): OAuthConfig | null {
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  if (oauth === false || (oauth === undefined && isGiven)) return null;
  const {
    clientId = null,
    clientSecret = null,
    clientMetadataUrl = null,
    scope = null,
    resource: namesResource = true,
  } = oauth ?? {};
  return { clientId, clientSecret, clientMetadataUrl, scope, namesResource };
}

function zodProblems(error: z.ZodError): string[] {
  const texts = error.issues.map((issue) => {
    const path = issue.path.map(String).join(".");
    return path === "" ? issue.message : `"${path}": ${issue.message}`;
  });
  return texts.slice(0, 5);
}

function guessTransport(value: unknown): "stdio" | "http" {
  return isRecord(value) && "url" in value && !("command" in value) ? "http" : "stdio";
}
