import {
  computeScopeUnion,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { OAuthConfig } from "../declaration/server-config.ts";
import type { Login } from "./login-store.ts";

/** What a flow does differently from another one. */
export interface ProviderOptions {
  readonly oauth: OAuthConfig;
  readonly redirectUrl: string;
  readonly now: () => number;
  readonly read: () => Promise<Login>;
  readonly write: (login: Login) => Promise<void>;
  /** The bearer token of a request. */
  current(): Promise<StoredOAuthTokens | undefined>;
  /** Called before anything else of a flow; throwing ends it. */
  discovery(): Promise<OAuthDiscoveryState | undefined>;
  state(): string;
  redirect(url: URL): Promise<void> | void;
  codeVerifier: { save(verifier: string): void; load(): string };
  invalidate(what: "all" | "client" | "tokens" | "verifier" | "discovery"): Promise<void>;
}

/** The SDK's view of a login. It does the protocol: discovery, PKCE, registration, issuer and resource. */
export function createOAuthProvider(options: ProviderOptions): OAuthClientProvider {
  const { oauth, redirectUrl, now, read, write } = options;
  return {
    redirectUrl,
    ...(oauth.clientMetadataUrl === null ? {} : { clientMetadataUrl: oauth.clientMetadataUrl }),
    clientMetadata: {
      client_name: "Switchyard",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...(oauth.scope === null ? {} : { scope: oauth.scope }),
    },
    state: () => options.state(),
    async clientInformation() {
      if (oauth.clientId !== null) return configuredClient(oauth, oauth.clientId);
      // Put there by `saveClientInformation` below.
      return ((await read()).client ?? undefined) as StoredOAuthClientInformation | undefined;
    },
    async saveClientInformation(client) {
      if (oauth.clientId === null) await write({ ...(await read()), client: { ...client } });
    },
    // Without a context this is the token of a request, with one it is a step of a flow.
    tokens: async (context) =>
      context === undefined ? options.current() : storedTokens(await read()),
    async saveTokens(tokens) {
      const { expires_in: seconds } = tokens;
      const expiresAt = seconds === undefined ? null : now() + seconds * 1_000;
      await write({ ...(await read()), tokens: { ...tokens }, expiresAt, wantedScope: null });
    },
    async redirectToAuthorization(url) {
      const login = await read();
      const wanted = computeScopeUnion(login.wantedScope ?? undefined, scopeOf(url));
      await write({ ...login, wantedScope: wanted ?? null });
      await options.redirect(url);
    },
    saveCodeVerifier: (verifier) => options.codeVerifier.save(verifier),
    codeVerifier: () => options.codeVerifier.load(),
    invalidateCredentials: (what) => options.invalidate(what),
    discoveryState: () => options.discovery(),
    async saveDiscoveryState(discovery) {
      await write({ ...(await read()), discovery: { ...discovery } });
    },
  };
}

/** The tokens of a login, as `saveTokens` kept them. */
export function storedTokens({ tokens }: Login): StoredOAuthTokens | undefined {
  return (tokens ?? undefined) as StoredOAuthTokens | undefined;
}

function configuredClient(oauth: OAuthConfig, clientId: string): StoredOAuthClientInformation {
  const { clientSecret } = oauth;
  return { client_id: clientId, ...(clientSecret === null ? {} : { client_secret: clientSecret }) };
}

function scopeOf(url: URL): string | undefined {
  return url.searchParams.get("scope") ?? undefined;
}
