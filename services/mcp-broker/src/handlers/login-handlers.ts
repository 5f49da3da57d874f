import type { VerifiedCaller } from "@switchyard/bus/verified-caller";
import type { CallContext } from "@switchyard/bus/handler";
import type { Service } from "@switchyard/bus/serve";
import { cutText } from "@switchyard/contracts/cut-text";
import { failuresOf, ServiceError } from "@switchyard/contracts/errors";
import type { ServerInfo } from "@switchyard/contracts/mcp-broker/mcp-servers";
import {
  beginLogin,
  finishLogin,
  logout,
  type LoginRevocation,
} from "@switchyard/contracts/mcp-broker/mcp-auth";
import { IssuerMismatchError } from "@modelcontextprotocol/client";
import { errorText } from "../limits/call-failure.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { StoreError } from "@switchyard/service/store-error";
import {
  resolveServer,
  UnsetVariableError,
  type ResolvedServer,
  type SecretLookup,
} from "../declaration/env-references.ts";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import type { ServerOwner } from "../ownership/server-owner.ts";
import { createLoginFlow, LoginExpiredError, type LoginTarget } from "../auth/login-flow.ts";
import { type LoginStore } from "../auth/login-store.ts";
import { revokeLogin } from "../auth/revoke-login.ts";
import { KEYS_SETTING } from "@switchyard/service/keys-directory";
import { TOKEN_KEY_FILE } from "../auth/token-cipher.ts";
import { checkAdmin } from "./check-admin.ts";
import { withGuardedFetch } from "../auth/connection-auth.ts";

export interface LoginDeps {
  readonly pool: ServerPool;
  readonly guard: EgressGuard;
  /** Null when the broker has no key to encrypt logins with. */
  readonly store: LoginStore | null;
  /** NATS users that may log in and out. */
  readonly admins: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly secrets: SecretLookup;
  readonly now: () => number;
  readonly owner: Pick<ServerOwner, "requests">;
}

const LOG_IN = "log in to MCP servers";
const fail = failuresOf({ ...beginLogin.errors, ...finishLogin.errors });

/** Answers the contracts of logins to MCP servers. */
export function handleLogins(service: Service, deps: LoginDeps): void {
  const { guard, now } = deps;
  const keyed = (): LoginStore => {
    if (deps.store !== null) return deps.store;
    throw fail.login_key_missing(
      `The broker has no key to keep a login with: let ${KEYS_SETTING} name a directory of yard keys init with ${TOKEN_KEY_FILE} and start it again.`,
      { setting: KEYS_SETTING },
    );
  };
  const target = (server: string, verified: VerifiedCaller): LoginTarget => {
    checkAdmin(deps.admins, verified, LOG_IN);
    return { server, caller: verified.caller, launch: launchOf(deps, server) };
  };

  service.handle(beginLogin, ({ server, redirectUri }, context) => {
    const flow = createLoginFlow({ store: keyed(), guard, now });
    return failingAs(server, () => flow.begin(target(server, context), redirectUri));
  });
  service.handle(finishLogin, async ({ server, ...answer }, context) => {
    const flow = createLoginFlow({ store: keyed(), guard, now });
    await failingAs(server, () => flow.finish(target(server, context), answer));
    return { server: await reconnected(deps, server, context) };
  });
  service.handle(logout, async ({ server }, context) => {
    checkAdmin(deps.admins, context, LOG_IN);
    deps.pool.known(server);
    const ended = await endLogin(deps, keyed(), server).catch((error: unknown) => {
      throw error instanceof StoreError ? unreachable(error) : error;
    });
    return { server: await reconnected(deps, server, context), ...ended };
  });
}

/** Connects the server anew, wherever it is connected. */
async function reconnected(
  { owner }: LoginDeps,
  id: string,
  { caller: by, deadline, correlationId }: CallContext,
): Promise<ServerInfo> {
  const limits = { deadline, correlationId };
  const { server } = await owner.requests.atOwner(id, { do: "connect", by }, limits);
  if (server === null) throw new TypeError("the owner answered without the connected server");
  return server;
}

/** Deletes the login here first: the authorization server's part can take a while or fail. */
async function endLogin(
  deps: LoginDeps,
  store: LoginStore,
  server: string,
): Promise<{ wasLoggedIn: boolean; revocation: LoginRevocation | null }> {
  const { login, wasLoggedIn } = await store.take(server);
  if (login === null) return { wasLoggedIn, revocation: wasLoggedIn ? "failed" : null };
  const launch = loginLaunch(deps, server);
  if (launch === null) return { wasLoggedIn, revocation: "failed" };
  const revocation = await withGuardedFetch(deps.guard, launch, (fetch) =>
    revokeLogin(login, { ...launch, fetch }),
  );
  return { wasLoggedIn, revocation };
}

/** Null where the declaration of the server has changed since, so that there is nothing to log in to. */
function loginLaunch(deps: LoginDeps, server: string): LoginTarget["launch"] | null {
  try {
    return launchOf(deps, server);
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

function unreachable({ message }: StoreError) {
  return fail.store_unavailable(
    `Logins can neither be read nor kept now: ${message}; try again when Redis is up.`,
    { cause: message },
  );
}

function launchOf({ pool, env, secrets }: LoginDeps, server: string): LoginTarget["launch"] {
  const { config, problem } = pool.known(server).entry;
  if (config === null)
    throw fail.login_failed(`MCP server ${server} cannot be used: ${problem}`, {
      server,
      reason: problem ?? "invalid configuration",
    });
  const { launch } = resolved(config, { env, secrets });
  if (launch.transport === "stdio" || launch.oauth === null) {
    const why =
      launch.transport === "stdio" ? "is a process" : "has a credential in its configuration";
    throw fail.login_not_supported(`MCP server ${server} ${why}; there is nothing to log in to`, {
      server,
    });
  }
  return { ...launch, oauth: launch.oauth };
}

function resolved(
  config: ServerConfig,
  { env, secrets }: Pick<LoginDeps, "env" | "secrets">,
): ResolvedServer {
  try {
    return resolveServer(config, env, secrets);
  } catch (error) {
    if (!(error instanceof UnsetVariableError)) throw error;
    const { message: reason } = error;
    throw fail.login_failed(reason, { server: config.id, reason });
  }
}

/** Any error that ends a login comes from outside, except an answer that came too late. */
async function failingAs<T>(server: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreError) throw unreachable(error);
    if (error instanceof LoginExpiredError) throw fail.login_expired(error.message, { server });
    if (!(error instanceof Error) || "data" in error) throw error;
    const reason = reasonOf(error);
    throw fail.login_failed(`Logging in to MCP server ${server} failed: ${reason}`, {
      server,
      reason,
    });
  }
}

const MAX_REASON = 500;

function reasonOf(error: Error): string {
  // The received issuer is the attacker's text when this is an attack.
  if (error instanceof IssuerMismatchError)
    return `the reply came from another authorization server (issuer of the ${error.kind})`;
  // The SDK's validator refused a member that no check of ours covers: its message is a list of paths and types.
  if (error.name.endsWith("ZodError"))
    return "a document of the authorization server does not have the form that OAuth prescribes";
  return cutText(errorText(error), MAX_REASON);
}
