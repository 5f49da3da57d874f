import {
  auth,
  computeScopeUnion,
  extractWWWAuthenticateParams,
  type AuthProvider,
  type FetchLike,
  type OAuthClientProvider,
} from "@modelcontextprotocol/client";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { HttpConfig, ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import { KEYS_SETTING } from "@switchyard/service/keys-directory";
import { bodyBound, withBody } from "../network/bounded-body.ts";
import { createGuardedFetch } from "../network/guarded-fetch.ts";
import { readingLogin } from "./login-documents.ts";
import { Login, type LoginStore } from "./login-store.ts";
import { createOAuthProvider, storedTokens } from "./oauth-provider.ts";
import { TOKEN_KEY_FILE } from "./token-cipher.ts";
import type { ResolvedServer } from "../declaration/env-references.ts";

/** A token that ends within this time is renewed before it is used. */
const RENEW_BEFORE_MS = 30_000;
/** The time for which a login is cached before it is read from Redis again, so that a call does not pay for a read each time. */
const BELIEVED_MS = 5_000;
/** A redirect address without a listener: a connection never sends a browser anywhere. */
const NOWHERE = "http://127.0.0.1/callback";

export interface ConnectionAuthOptions {
  /** Null when the setting has no key: then a server that requires a login gets none. */
  readonly store: LoginStore | null;
  readonly guard: EgressGuard;
  readonly now: () => number;
  readonly server: string;
  readonly launch: HttpConfig;
}

/** The authorization of one connection's requests. */
export interface HttpAuth extends AuthProvider {
  /** The server wants more scopes than the login has. */
  onInsufficientScope(wanted: string | undefined): Promise<never>;
}

/**
 * A login is renewed before its end and after a refusal, by one broker at a time: an authorization
 * server that gives out a new refresh token each time takes the second use of one for a theft.
 */
export function createConnectionAuth(options: ConnectionAuthOptions): HttpAuth {
  const { store, server, now } = options;
  const logins = createKnownLogin(options);
  const provider = createProvider(options, logins);
  let renewing: Promise<void> | null = null;
  return {
    async token() {
      if (isOld(await logins.readSometimes(), now())) {
        renewing ??= renewOld(options, logins, provider).finally(() => (renewing = null));
        await renewing;
      }
      return storedTokens(await logins.readSometimes())?.access_token;
    },
    async onUnauthorized({ response, serverUrl, fetchFn }) {
      const refused = refusedToken(response);
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
      const renewNow = async (signal?: AbortSignal): Promise<void> => {
        const { access_token: current } = storedTokens(await logins.read()) ?? {};
        if (current !== undefined && current !== refused) return; // another broker has renewed it already
        await auth(provider, {
          serverUrl,
          ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
          ...(scope === undefined ? {} : { scope }),
          fetchFn: readingLogin(
            signal === undefined ? fetchFn : endingWith(fetchFn, signal),
            serverUrl,
          ),
        });
      };
      await (store === null ? renewNow() : store.inTurn(server, renewNow));
    },
    async onInsufficientScope(scope) {
      await store?.inTurn(server, async () => {
        const login = await logins.read();
        const own = storedTokens(login)?.scope;
        const wantedScope = computeScopeUnion(login.wantedScope ?? undefined, own, scope) ?? null;
        await logins.write({ ...login, wantedScope });
      });
      throw new LoginNeededError(server, "the server asks for more scopes");
    },
  };
}

/** Metadata and tokens are small, so a larger or slower answer is not a login document. */
const MAX_LOGIN_BYTES = 1024 * 1024;
const LOGIN_ANSWER_MS = 20_000;

/**
 * Performs one step of a login. All its requests pass the guard and are bounded; the server's own headers go to the server alone.
 */
export async function withGuardedFetch<T>(
  guard: EgressGuard,
  launch: Pick<HttpConfig, "url" | "headers">,
  work: (fetch: FetchLike) => Promise<T>,
): Promise<T> {
  const { origin } = new URL(launch.url);
  const guarded = createGuardedFetch({ guard, own: { origin, headers: launch.headers } });
  try {
    return await work(async (url, init = {}) => {
      const tooLate = AbortSignal.timeout(LOGIN_ANSWER_MS);
      const signal = init.signal ? AbortSignal.any([init.signal, tooLate]) : tooLate;
      return withBody(await guarded.fetch(url, { ...init, signal }), bodyBound(MAX_LOGIN_BYTES));
    });
  } finally {
    guarded.close();
  }
}

type KnownLogin = ReturnType<typeof createKnownLogin>;

function createKnownLogin({
  store,
  server,
  now,
}: Pick<ConnectionAuthOptions, "store" | "server" | "now">) {
  let believed: { login: Login; until: number } | null = null;
  const read = async (): Promise<Login> => {
    const login = (await store?.find(server)) ?? Login.parse({});
    believed = { login, until: now() + BELIEVED_MS };
    return login;
  };
  return {
    read,
    /** Reads the login, at most a few seconds old. */
    readSometimes: async (): Promise<Login> =>
      believed !== null && believed.until > now() ? believed.login : read(),
    async write(login: Login): Promise<void> {
      believed = null;
      await store?.save(server, login);
    },
  };
}

async function renewOld(
  { store, server, now, guard, launch }: ConnectionAuthOptions,
  logins: KnownLogin,
  provider: OAuthClientProvider,
): Promise<void> {
  await withGuardedFetch(guard, launch, async (fetch) => {
    const renewNow = async (signal: AbortSignal): Promise<void> => {
      if (isOld(await logins.read(), now()))
        await auth(provider, {
          serverUrl: launch.url,
          fetchFn: readingLogin(endingWith(fetch, signal), launch.url),
        });
    };
    // While the token is still valid, no request waits for another broker that renews it.
    if (isOver(await logins.readSometimes(), now())) await store?.inTurn(server, renewNow);
    else await store?.alone(server, renewNow);
  });
}

/** The SDK's view of a login made earlier by a person: a connection may renew it but not create one. */
function createProvider(
  { store, server, launch, now }: ConnectionAuthOptions,
  logins: KnownLogin,
): OAuthClientProvider {
  let given: unknown = null;
  const needed = (why: string): LoginNeededError => new LoginNeededError(server, why);
  return createOAuthProvider({
    oauth: launch.oauth ?? NO_CLIENT,
    redirectUrl: NOWHERE,
    now,
    login: {
      async read() {
        const login = await logins.read();
        given = login.tokens;
        return login;
      },
      write: (login) => logins.write(login),
      current: async () => storedTokens(await logins.readSometimes()),
    },
    flow: {
      async discovery() {
        if (store === null)
          throw needed(
            `the server asks for a login, and ${KEYS_SETTING} has no ${TOKEN_KEY_FILE} to keep one`,
          );
        if ((await logins.read()).tokens === null) throw needed("the server asks for a login");
        // Discovery runs each time: the authorization server may have changed, and this path is rare.
        return undefined;
      },
      state: () => "",
      redirect: () => {
        throw needed("the server refused the login or asks for more scopes");
      },
      codeVerifier: {
        save: () => undefined,
        load: () => {
          throw needed("no login was begun here");
        },
      },
      async invalidate(what) {
        if (what !== "all" && what !== "tokens" && what !== "client") return;
        const before = given;
        const login = await logins.read();
        // The refused tokens are older ones, which another broker has replaced.
        if (JSON.stringify(login.tokens) !== JSON.stringify(before)) return;
        // The next login registers a new client.
        if (what === "client") await logins.write({ ...login, client: null });
        else await logins.write({ ...login, tokens: null, expiresAt: null });
      },
    },
  });
}

const NO_CLIENT = {
  clientId: null,
  clientSecret: null,
  clientMetadataUrl: null,
  scope: null,
  namesResource: true,
};

function endingWith(fetch: FetchLike, signal: AbortSignal): FetchLike {
  return (url, init) => fetch(url, { ...init, signal });
}

/** True for a token past the end that its server announced. */
function isOver({ expiresAt }: Login, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

function isOld({ expiresAt, tokens }: Login, now: number): boolean {
  return expiresAt !== null && typeof tokens?.["refresh_token"] === "string"
    ? expiresAt - now < RENEW_BEFORE_MS
    : false;
}

/** A person has to log in before the server accepts the broker. The request was not carried out. */
export class LoginNeededError extends Error {
  override readonly name = "LoginNeededError";
  readonly code = "LOGIN_NEEDED";

  constructor(server: string, why: string) {
    super(`${why}; needs login: run yard mcp login ${server}`);
  }
}

type UpstreamLoginOptions = Pick<ConnectionAuthOptions, "store" | "guard" | "now">;

export interface UpstreamLogin {
  readonly provider: HttpAuth;
  /** Names the login without being one; null before the first. */
  readonly grant: string | null;
}

/** Creates the authorization of a connection from a login that a person made earlier. */
export function createUpstreamLogins(
  options: UpstreamLoginOptions,
): (config: ServerConfig, resolved: ResolvedServer) => Promise<UpstreamLogin | null> {
  return async ({ id }, { launch }) => {
    if (launch.transport === "stdio" || launch.oauth === null) return null;
    const { store } = options;
    const login = store === null ? null : await store.find(id);
    const provider = createConnectionAuth({ ...options, server: id, launch });
    return { provider, grant: login?.grant ?? null };
  };
}

const refused = new WeakMap<Response, string>();

/** Remembers the token of a request that was answered with 401: another token may be in use since. */
export function noteRefusal(response: Response, headers: RequestInit["headers"]): void {
  const token = new Headers(headers).get("authorization")?.replace(/^Bearer /i, "");
  if (token !== undefined) refused.set(response, token);
}

/** The token that the server refused; null when the request had none. */
function refusedToken(response: Response): string | null {
  return refused.get(response) ?? null;
}
