import { auth, type FetchLike, type StoredOAuthTokens } from "@modelcontextprotocol/client";
import type { UpstreamLogin } from "../connection/open-session.ts";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { createGuardedFetch } from "../network/guarded-fetch.ts";
import type { ResolvedServer } from "../registry/env-references.ts";
import type { HttpConfig, ServerConfig } from "../registry/server-config.ts";
import { LoginNeededError } from "./login-needed.ts";
import { Login, type LoginStore } from "./login-store.ts";
import { createOAuthProvider, storedTokens } from "./oauth-provider.ts";
import { TOKEN_KEY_SETTING } from "./token-cipher.ts";

/** A token that ends within this time is renewed before it is used. */
const RENEW_BEFORE_MS = 30_000;
/** How long a login is believed without asking Redis: a call must not pay for that each time. */
const BELIEVED_MS = 5_000;
/** Where nobody listens: a connection never sends anybody anywhere. */
const NOWHERE = "http://127.0.0.1/callback";

export interface UpstreamLoginOptions {
  /** Null when the setting has no key: then a server that asks for a login gets none. */
  readonly store: LoginStore | null;
  readonly guard: EgressGuard;
  readonly now: () => number;
}

/** Makes what a connection logs in with, from the login that somebody made before. */
export function createUpstreamLogins(
  options: UpstreamLoginOptions,
): (config: ServerConfig, resolved: ResolvedServer) => Promise<UpstreamLogin | null> {
  return async ({ id }, { launch }) => {
    if (launch.transport === "stdio" || launch.oauth === null) return null;
    const { store } = options;
    const login = store === null ? null : await store.find(id);
    const provider = createConnectionProvider({ ...options, server: id, launch });
    return { provider, grant: login?.grant ?? null };
  };
}

function createConnectionProvider(
  options: UpstreamLoginOptions & { server: string; launch: HttpConfig },
) {
  const { store, server, launch, now } = options;
  let believed: { login: Login; until: number } | null = null;
  let renewing: Promise<void> | null = null;
  let given: unknown = null;

  const needed = (why: string): LoginNeededError => new LoginNeededError(server, why);
  const read = async (): Promise<Login> => {
    const login = (await store?.find(server)) ?? Login.parse({});
    believed = { login, until: now() + BELIEVED_MS };
    return login;
  };
  const readSometimes = async (): Promise<Login> =>
    believed !== null && believed.until > now() ? believed.login : read();
  const renew = async (): Promise<void> => {
    const { fetch, close } = guardedFetch(options.guard, launch);
    try {
      // Another broker that renews it at this moment makes the refresh token worthless for this one.
      await store?.alone(server, async () => {
        if (isOld(await read(), now()))
          await auth(provider, { serverUrl: launch.url, fetchFn: fetch });
      });
    } finally {
      close();
    }
  };

  const provider = createOAuthProvider({
    oauth: launch.oauth ?? {
      clientId: null,
      clientSecret: null,
      clientMetadataUrl: null,
      scope: null,
    },
    redirectUrl: NOWHERE,
    now,
    async read() {
      const login = await read();
      given = login.tokens;
      return login;
    },
    async write(login) {
      believed = null;
      await store?.save(server, login);
    },
    async current(): Promise<StoredOAuthTokens | undefined> {
      if (isOld(await readSometimes(), now())) {
        renewing ??= renew().finally(() => (renewing = null));
        await renewing;
      }
      return storedTokens(await readSometimes());
    },
    async discovery() {
      if (store === null)
        throw needed(
          `the server asks for a login, and ${TOKEN_KEY_SETTING} has no key to keep one`,
        );
      if ((await read()).tokens === null) throw needed("the server asks for a login");
      // Found anew each time: whoever gives out the tokens may have changed, and that is rarely asked.
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
      if (what !== "all" && what !== "tokens") return;
      const login = await read();
      // Refused tokens of before, while another broker has put new ones there.
      const isSame = JSON.stringify(login.tokens) === JSON.stringify(given);
      believed = null;
      if (isSame) await store?.save(server, { ...login, tokens: null, expiresAt: null });
    },
  });
  return provider;
}

function isOld({ expiresAt, tokens }: Login, now: number): boolean {
  return expiresAt !== null && typeof tokens?.["refresh_token"] === "string"
    ? expiresAt - now < RENEW_BEFORE_MS
    : false;
}

/** Everything of a login goes through the guard; the server's own headers stay with the server. */
export function guardedFetch(
  guard: EgressGuard,
  launch: Pick<HttpConfig, "url" | "headers">,
): { fetch: FetchLike; close: () => void } {
  const { origin } = new URL(launch.url);
  return createGuardedFetch({ guard, own: { origin, headers: launch.headers } });
}
