import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after } from "node:test";
import { Provider } from "oidc-provider";
import type { Browser } from "./browser.ts";

/** Starts a real OpenID Connect provider. Every name is accepted with any password; `groupsOf` returns the groups of a name. */
export async function startProvider(
  redirectUris: string[],
  groupsOf: (name: string) => readonly string[],
): Promise<string> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const issuer = `http://127.0.0.1:${address.port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "switchyard",
        client_secret: "a secret of the test",
        redirect_uris: redirectUris,
        response_types: ["code"],
        grant_types: ["authorization_code"],
      },
    ],
    cookies: { keys: ["for the test"] },
    claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, groups: [...groupsOf(id)] }),
    }),
  });
  const answer = provider.callback();
  server.on("request", (request, response) => void answer(request, response));
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return issuer;
}

/** Signs in with a name and consents. Resolves with the address at the gateway to which the provider sends the browser. */
export async function signInAtProvider(
  browser: Browser,
  start: string,
  { name, callback }: { readonly name: string; readonly callback: string },
): Promise<string> {
  let { response, url } = await browser.go(start, callback);
  for (let form = 0; form < 4 && !url.href.startsWith(callback); form += 1) {
    const page = await response.text();
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1] ?? assert.fail(page);
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? assert.fail(page);
    const submitted = await browser.send(new URL(action, url), {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ prompt, login: name, password: "any" }).toString(),
    });
    const next = submitted.headers.get("location") ?? assert.fail(await submitted.text());
    ({ response, url } = await browser.go(new URL(next, url), callback));
  }
  return url.href;
}
