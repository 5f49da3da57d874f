import {
  computeScopeUnion,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { OAuthConfig } from "@switchyard/project/mcp-servers/server-config";
import type { Login } from "./login-store.ts";

export interface ProviderOptions {
  readonly oauth: OAuthConfig;
  readonly redirectUrl: string;
  readonly now: () => number;
  readonly login: KeptLogin;
  readonly flow: FlowSteps;
}

/** The storage of the login. */
interface KeptLogin {
  read(): Promise<Login>;
  write(login: Login): Promise<void>;
  /** The bearer token of a request. */
  current(): Promise<StoredOAuthTokens | undefined>;
}

/** The steps in which flows differ. */
interface FlowSteps {
  /** Called before any other step of a flow; throwing ends the flow. */
  discovery(): Promise<OAuthDiscoveryState | undefined>;
  state(): string;
  redirect(url: URL): Promise<void> | void;
  codeVerifier: { save(verifier: string): void; load(): string };
  invalidate(what: "all" | "client" | "tokens" | "verifier" | "discovery"): Promise<void>;
}

/** The SDK's view of a login. It does the protocol: discovery, PKCE, registration, issuer and resource. */
export function createOAuthProvider(options: ProviderOptions): OAuthClientProvider {
  const { oauth, redirectUrl, now, login, flow } = options;
  return {
    redirectUrl,
    ...(oauth.namesResource ? {} : { validateResourceURL: () => Promise.resolve(undefined) }),
    ...(oauth.clientMetadataUrl === null ? {} : { clientMetadataUrl: oauth.clientMetadataUrl }),
    clientMetadata: {
      client_name: "Switchyard",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...(oauth.scope === null ? {} : { scope: oauth.scope }),
    },
    state: () => flow.state(),
    async clientInformation() {
      if (oauth.clientId !== null) return configuredClient(oauth, oauth.clientId);
      // Put there by `saveClientInformation` below.
      return ((await login.read()).client ?? undefined) as StoredOAuthClientInformation | undefined;
    },
    async saveClientInformation(client) {
      if (oauth.clientId === null)
        await login.write({ ...(await login.read()), client: { ...client } });
    },
    // Without a context this is the token of a request, with one it is a step of a flow.
    tokens: async (context) =>
      context === undefined ? login.current() : storedTokens(await login.read()),
    async saveTokens(tokens) {
      const { expires_in: seconds } = tokens;
      const expiresAt = seconds === undefined ? null : now() + seconds * 1_000;
      await login.write({
        ...(await login.read()),
        tokens: { ...tokens },
        expiresAt,
        wantedScope: null,
      });
    },
    async redirectToAuthorization(url) {
      const kept = await login.read();
      const wanted = computeScopeUnion(kept.wantedScope ?? undefined, scopeOf(url));
      await login.write({ ...kept, wantedScope: wanted ?? null });
      await flow.redirect(url);
    },
    saveCodeVerifier: (verifier) => flow.codeVerifier.save(verifier),
    codeVerifier: () => flow.codeVerifier.load(),
    invalidateCredentials: (what) => flow.invalidate(what),
    discoveryState: () => flow.discovery(),
    async saveDiscoveryState(discovery) {
      await login.write({ ...(await login.read()), discovery: { ...discovery } });
    },
  };
}

/** The tokens of a login, as `saveTokens` stored them. */
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
