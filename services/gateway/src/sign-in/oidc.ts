import { cutText } from "@switchyard/contracts/cut-text";
import type { Log } from "@switchyard/service/log";
import * as client from "openid-client";
import { Problem } from "../problems/problem.ts";

/** Signs people in at an OpenID Connect provider: authorization code with PKCE. */
export interface Oidc {
  /** Returns the address at the provider for the browser, and the facts that have to be stored until it comes back. */
  begin(redirectUri: string): Promise<{ readonly url: URL; readonly asked: Asked }>;
  /** Resolves with the ID token for the address at which the browser came back. */
  finish(callback: URL, asked: Asked): Promise<string>;
  /** Returns the address at which the browser ends the provider's own session; null when the provider has none. */
  endUrl(returnTo: string): Promise<URL | null>;
}

export interface Asked {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client, which has PKCE alone. */
  readonly clientSecret: string | null;
  readonly scopes: string;
}

const TIMEOUT_SECONDS = 5;

/** The provider is discovered at the first sign-in and not before, so that the gateway starts without it. */
export function createOidc(settings: OidcSettings, log: Log): Oidc {
  const { clientId, clientSecret, scopes } = settings;
  const issuer = new URL(settings.issuer);
  let found: Promise<client.Configuration> | null = null;
  const discover = (): Promise<client.Configuration> => {
    const asking =
      found ??
      client.discovery(
        issuer,
        clientId,
        undefined,
        clientSecret === null ? client.None() : client.ClientSecretBasic(clientSecret),
        {
          timeout: TIMEOUT_SECONDS,
          // The settings allow http on loopback alone.
          execute: issuer.protocol === "http:" ? [client.allowInsecureRequests] : [],
        },
      );
    found = asking;
    asking.catch(() => found === asking && (found = null));
    return asking;
  };
  const asked = async <T>(ask: (config: client.Configuration) => Promise<T> | T): Promise<T> => {
    try {
      return await ask(await discover());
    } catch (error) {
      throw problemOf(error, log);
    }
  };
  return {
    begin: (redirectUri) =>
      asked(async (config) => {
        const codeVerifier = client.randomPKCECodeVerifier();
        const [state, nonce] = [client.randomState(), client.randomNonce()];
        const url = client.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: scopes,
          code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: "S256",
          state,
          nonce,
        });
        return { url, asked: { state, nonce, codeVerifier } };
      }),
    finish: (callback, { state, nonce, codeVerifier }) =>
      asked(async (config) => {
        const tokens = await client.authorizationCodeGrant(config, callback, {
          pkceCodeVerifier: codeVerifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        });
        return tokens.id_token ?? "";
      }),
    endUrl: (returnTo) =>
      asked((config) =>
        config.serverMetadata().end_session_endpoint === undefined
          ? null
          : client.buildEndSessionUrl(config, { post_logout_redirect_uri: returnTo }),
      ),
  };
}

/** The provider's own message is shown to the person; errors in its answers are logged. */
function problemOf(error: unknown, log: Log): Problem {
  if (
    error instanceof client.AuthorizationResponseError ||
    error instanceof client.ResponseBodyError
  ) {
    const why = error.error_description ?? error.error;
    return refused(`the provider refused the sign-in: ${cutText(why, 300)}`);
  }
  log.warn({ err: error }, "sign-in at the provider failed");
  if (error instanceof client.ClientError && error.code !== undefined && !isAway(error.code))
    return refused("the provider's answer does not fit this sign-in; begin again");
  return new Problem({
    status: 503,
    code: "sign_in_unavailable",
    detail: "the provider of sign-ins does not answer as it should",
  });
}

function isAway(code: string): boolean {
  return code === "OAUTH_TIMEOUT" || code === "OAUTH_ABORT";
}

function refused(detail: string): Problem {
  return new Problem({ status: 401, code: "sign_in_refused", detail });
}
