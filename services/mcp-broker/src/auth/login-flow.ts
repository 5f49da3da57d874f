import { randomBytes, randomUUID } from "node:crypto";
import {
  auth,
  computeScopeUnion,
  extractWWWAuthenticateParams,
  type FetchLike,
  type OAuthDiscoveryState,
} from "@modelcontextprotocol/client";
import type { beginLogin, finishLogin } from "@switchyard/contracts/mcp-broker/mcp-auth";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { z } from "zod";
import type { HttpConfig, OAuthConfig } from "@switchyard/project/mcp-servers/server-config";
import { Login, PENDING_MS, type LoginStore } from "./login-store.ts";
import { createOAuthProvider, storedTokens } from "./oauth-provider.ts";
import { withGuardedFetch } from "./connection-auth.ts";
import { isRecord } from "@switchyard/contracts/json-record";
import { LoginDocumentError, readingLogin, withoutSlash } from "./login-documents.ts";

/** A server to log in to, with its references resolved. */
export interface LoginTarget {
  readonly server: string;
  readonly launch: HttpConfig & { readonly oauth: OAuthConfig };
  /** The NATS user that logs in; only the same one may finish. */
  readonly caller: string;
}

/** The browser returned with an unknown state, or after the login's deadline. */
export class LoginExpiredError extends Error {
  override readonly name = "LoginExpiredError";
}

/** The parameters with which the browser returned. */
type LoginAnswer = Omit<z.output<typeof finishLogin.request>, "server">;

const STATE_BYTES = 32;
const CHALLENGE_TIMEOUT_MS = 15_000;

/** Log in to a server in two steps, with a person and a browser in between. */
export function createLoginFlow(options: {
  store: LoginStore;
  guard: EgressGuard;
  now: () => number;
}) {
  const { store, guard, now } = options;
  return {
    async begin(
      target: LoginTarget,
      redirectUri: string,
    ): Promise<z.input<typeof beginLogin.reply>> {
      const { server, launch, caller } = target;
      const state = randomBytes(STATE_BYTES).toString("base64url");
      const before = (await store.findReadable(server)) ?? Login.parse({});
      const draft = createDraft(target, {
        now,
        state,
        redirectUri,
        login: { ...before, client: isRegistered(before, redirectUri) ? before.client : null },
      });
      await withGuardedFetch(guard, launch, async (fetch) => {
        const { resourceMetadataUrl, ...challenge } = await askForChallenge(launch, fetch);
        const fetchFn = readingLogin(fetch, launch.url);
        const scope = computeScopeUnion(challenge.scope, before.wantedScope ?? undefined);
        await auth(draft.provider, {
          serverUrl: launch.url,
          fetchFn,
          forceReauthorization: true,
          ...(scope === undefined ? {} : { scope }),
          ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
        });
      });
      const { url, codeVerifier, login } = draft.result();
      const pending = { server: pendingOf(server, caller), url: launch.url, codeVerifier, login };
      await store.savePending(state, pending);
      return {
        authorizationUrl: url,
        state,
        expiresAt: new Date(now() + PENDING_MS).toISOString(),
      };
    },
    async finish(target: LoginTarget, { state, code, iss }: LoginAnswer): Promise<void> {
      const { server, launch, caller } = target;
      const pending = await store.takePending(state);
      if (pending?.server !== pendingOf(server, caller) || pending.url !== launch.url) {
        throw new LoginExpiredError(
          `no login to ${server} waits for this answer; begin again with yard mcp login ${server}`,
        );
      }
      const redirectUri = pending.login.redirectUrl ?? "";
      const draft = createDraft(target, { now, state, redirectUri, ...pending });
      try {
        await withGuardedFetch(guard, launch, (fetch) =>
          auth(draft.provider, {
            serverUrl: launch.url,
            fetchFn: readingLogin(fetch, launch.url),
            authorizationCode: code,
            ...(iss === undefined ? {} : { iss: issuerAsKnown(iss, pending.login) }),
          }),
        );
      } catch (error) {
        if (draft.login().client !== null || pending.login.client === null) throw error;
        await store.inTurn(server, () => forgetClient(store, server));
        throw new LoginDocumentError(
          `the authorization server does not know the registered client any more; log in again with yard mcp login ${server}, which registers a new one`,
        );
      }
      const login = { ...draft.login(), grant: randomUUID() };
      // A renewal of the previous login that is still running would overwrite the new one.
      await store.inTurn(server, () => store.save(server, login));
    },
  };
}

/**
 * True when the client of an earlier login can be used again: it is registered for the addresses that it named then, and a login
 * without tokens may have failed because the authorization server has forgotten the client.
 */
function isRegistered({ redirectUrl, tokens }: Login, redirectUri: string): boolean {
  return redirectUrl === redirectUri && tokens !== null;
}

async function forgetClient(store: LoginStore, server: string): Promise<void> {
  const login = await store.findReadable(server);
  if (login !== null) await store.save(server, { ...login, client: null });
}

/** The issuer with which the browser returned, as the metadata spells it. */
function issuerAsKnown(iss: string, { discovery }: Login): string {
  const metadata = discovery?.["authorizationServerMetadata"];
  const known = isRecord(metadata) ? metadata["issuer"] : undefined;
  return typeof known === "string" && withoutSlash(known) === withoutSlash(iss) ? known : iss;
}

function pendingOf(server: string, caller: string): string {
  return `${caller} ${server}`;
}

interface DraftOptions {
  readonly now: () => number;
  readonly state: string;
  readonly redirectUri: string;
  readonly login: Login;
  readonly codeVerifier?: string;
}

/** A login in the making: nothing of it counts before the code is exchanged. */
function createDraft({ launch }: LoginTarget, options: DraftOptions) {
  let login: Login = { ...options.login, redirectUrl: options.redirectUri };
  let verifier = options.codeVerifier ?? "";
  let authorizationUrl: string | null = null;
  const isReturn = options.codeVerifier !== undefined;
  const provider = createOAuthProvider({
    oauth: launch.oauth,
    redirectUrl: options.redirectUri,
    now: options.now,
    login: {
      read: () => Promise.resolve(login),
      write(next) {
        login = next;
        return Promise.resolve();
      },
      current: () => Promise.resolve(storedTokens(login)),
    },
    flow: {
      // The code belongs to the authorization server that issued it, and a new login runs discovery again.
      discovery: () =>
        Promise.resolve(
          isReturn
            ? ((login.discovery ?? undefined) as OAuthDiscoveryState | undefined)
            : undefined,
        ),
      state: () => options.state,
      redirect(url) {
        authorizationUrl = url.href;
      },
      codeVerifier: {
        save(text) {
          verifier = text;
        },
        load: () => verifier,
      },
      invalidate(what) {
        if (what === "all" || what === "client") login = { ...login, client: null };
        return Promise.resolve();
      },
    },
  });
  return {
    provider,
    login: () => login,
    result() {
      if (authorizationUrl === null || !/^https?:/.test(authorizationUrl))
        throw new Error("the authorization server named no address to log in at");
      return { url: authorizationUrl, codeVerifier: verifier, login };
    },
  };
}

/** Requests the server without a login to learn what it requires: the scope and its authorization server. */
async function askForChallenge(launch: HttpConfig, fetch: FetchLike) {
  const isStream = launch.transport === "sse";
  const response = await fetch(launch.url, {
    method: isStream ? "GET" : "POST",
    redirect: "manual",
    headers: {
      accept: isStream ? "text/event-stream" : "application/json, text/event-stream",
      ...(isStream ? {} : { "content-type": "application/json" }),
    },
    signal: AbortSignal.timeout(CHALLENGE_TIMEOUT_MS),
    ...(isStream ? {} : { body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" }) }),
  });
  await response.body?.cancel();
  return extractWWWAuthenticateParams(response);
}
