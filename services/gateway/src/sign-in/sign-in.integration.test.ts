import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "@switchyard/local-servers/free-port";
import { call } from "@switchyard/bus/call";
import { serve } from "@switchyard/bus/serve";
import { listRuns } from "@switchyard/contracts/agent-runner/runs";
import { revokeUserKey } from "@switchyard/contracts/policy/user-tokens";
import { testDirectory } from "@switchyard/testing/test-servers";
import { createRunTokenKey } from "@switchyard/service/run-token";
import { until } from "@switchyard/local-servers/until";
import { Browser } from "../../test/browser.ts";
import { startGatewayWorld } from "../../test/gateway-world.ts";
import { signInAtProvider, startProvider } from "../../test/oidc-provider.ts";

const LAPTOP_TOKEN = "yd_of-this-test";
const GROUPS: Readonly<Record<string, readonly string[]>> = { ann: ["devs"], boss: ["admins"] };

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const callback = `${url}/auth/callback`;
const issuer = await startProvider([callback], (name) => GROUPS[name] ?? []);
const directory = await testDirectory();
const [issuersFile, laptopFile, secretFile] = [
  "issuers.yaml",
  "laptop.token",
  "oidc-client.secret",
].map((name) => join(directory, name)) as [string, string, string]; // The list has as many entries as there are names.
const { privateJwk } = await createRunTokenKey();
await writeFile(join(directory, "run-token.jwk"), privateJwk, { mode: 0o600 });
await writeFile(laptopFile, LAPTOP_TOKEN, { mode: 0o600 });
await writeFile(secretFile, "a secret of the test", { mode: 0o600 });
await writeFile(
  issuersFile,
  `issuers:
  - issuer: ${issuer}
    audience: https://switchyard.example
    clientId: switchyard
    jwksUri: ${issuer}/jwks
    roles: { claim: groups, values: { devs: [operator], admins: [admin] } }
`,
);
const world = await startGatewayWorld([], {
  YARD_ISSUERS_FILE: issuersFile,
  YARD_KEYS_DIR: directory,
});
const oidcEnv = { YARD_OIDC_ISSUER: issuer, YARD_KEYS_DIR: directory };
await world.startGateway({ YARD_HTTP_PORT: String(port), ...oidcEnv });
const other = await world.startGateway({ YARD_HTTP_URL: "https://switchyard.example" });
const runner = await world.connectAs("runner");
const runs = serve(runner, { name: "runner", version: "0.1.0", description: "", onFault });
runs.handle(listRuns, () => ({ runs: [] }));
await runner.flush();

function onFault({ error }: { error: unknown }): void {
  assert.fail(String(error));
}

interface Session {
  readonly user: { caller: string; roles: string[]; credential: string } | null;
  readonly csrfToken: string;
  readonly signIn: string[];
}

const sessionOf = async (browser: Browser): Promise<Session> =>
  (await (await browser.send(`${url}/auth/session`)).json()) as Session; // docs/http.md documents this form.
const codeOf = async (response: Response): Promise<string> =>
  String(((await response.json()) as Record<string, unknown>)["code"]);
const cookieOf = (browser: Browser): string =>
  browser.cookies.get(`127.0.0.1:${port} yard-session-${port}`)?.value ?? "";

async function signedIn(name: string, returnTo = "/runs?x=1"): Promise<Browser> {
  const browser = new Browser();
  const login = `${url}/auth/login?returnTo=${encodeURIComponent(returnTo)}`;
  const back = await signInAtProvider(browser, login, { name, callback });
  const response = await browser.send(back);
  assert.equal(response.status, 200, await response.clone().text());
  return browser;
}

async function withToken(credential: string, at = url): Promise<Browser> {
  const browser = new Browser();
  const response = await browser.send(`${at}/auth/session`, {
    method: "POST",
    headers: { authorization: `Bearer ${credential}` },
  });
  assert.equal(response.status, 201, await response.clone().text());
  return browser;
}

test("a person signs in at the provider and is the caller that the claims say, by a cookie that no script reads", async () => {
  const browser = await signedIn("ann");
  const { attributes } = [...browser.cookies.values()].at(-1) ?? assert.fail("no cookie");
  assert.match(attributes, /HttpOnly/);
  assert.match(attributes, /SameSite=Strict/);
  const { user, csrfToken, signIn } = await sessionOf(browser);
  assert.deepEqual(user, { caller: "oidc-ann", roles: ["operator"], credential: "oidc:ann" });
  assert.deepEqual(signIn, ["oidc", "token"]);
  assert.match(csrfToken, /^[\w-]{43}$/);
  assert.equal((await browser.send(`${url}/api/v1/runs`)).status, 200);
  const left = await browser.send(`${url}/auth/logout`, {
    method: "POST",
    headers: { "x-csrf-token": csrfToken },
  });
  const { next } = (await left.json()) as { next: string };
  assert.ok(next.startsWith(`${issuer}/session/end`), next);
  assert.equal((await sessionOf(browser)).user, null);
});

test("where a person comes back to is a path of the gateway", async () => {
  const evil = new Browser();
  const login = `${url}/auth/login?returnTo=${encodeURIComponent("//evil.example/x")}`;
  const page = await (
    await evil.send(await signInAtProvider(evil, login, { name: "ann", callback }))
  ).text();
  assert.match(page, /content="0;url=\/"/);
});

test("a sign-in counts once, in the browser that began it, with the state and code of its own", async () => {
  const [browser, victim] = [new Browser(), new Browser()];
  const back = await signInAtProvider(browser, `${url}/auth/login`, { name: "ann", callback });
  // An attacker makes the victim's browser finish the attacker's sign-in.
  assert.equal((await victim.send(back)).status, 400);
  assert.equal((await sessionOf(victim)).user, null);
  await victim.send(`${url}/auth/login`);
  assert.equal((await victim.send(back)).status, 400);
  assert.equal((await browser.send(back.replace(/state=[^&]*/, "state=x"))).status, 400);
  assert.equal((await browser.send(back)).status, 400, "the cookie of the sign-in is gone");
  const second = new Browser();
  const good = await signInAtProvider(second, `${url}/auth/login`, { name: "ann", callback });
  const forged = await second.send(good.replace(/code=[^&]*/, "code=forged"));
  assert.equal(forged.status, 401);
  assert.match(await forged.text(), /Not signed in/);
  const third = await signedIn("ann");
  const again = await third.send(good);
  assert.equal(again.status, 400);
});

test("a person without a role here, and one who refuses at the provider, is not signed in and gets the reason", async () => {
  const stranger = new Browser();
  const back = await signInAtProvider(stranger, `${url}/auth/login`, { name: "nobody", callback });
  const response = await stranger.send(back);
  assert.equal(response.status, 401);
  assert.match(await response.text(), /gives no role here/);
  const refusing = new Browser();
  const { response: page, url: at } = await refusing.go(`${url}/auth/login`, callback);
  const abort = /href="([^"]+\/abort)"/.exec(await page.text())?.[1] ?? assert.fail("no way out");
  const { url: ended } = await refusing.go(new URL(abort, at), callback);
  assert.match(await (await refusing.send(ended)).text(), /aborted interaction/);
});

test("an ID token is not a credential of a program", async () => {
  const { key } = await world.keyOf("eve", ["admin"]);
  const response = await fetch(`${url}/auth/session`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}x` },
  });
  assert.equal(response.status, 401);
  assert.match(response.headers.get("www-authenticate") ?? "", /Bearer/);
});

test("the token of yard dev is exchanged for a session, whose changes need the CSRF token and the own origin", async () => {
  const browser = await withToken(LAPTOP_TOKEN);
  const { user, csrfToken } = await sessionOf(browser);
  assert.deepEqual(user, { caller: "cli", roles: ["admin"], credential: "laptop" });
  const make = (headers: Record<string, string>) =>
    browser.send(`${url}/api/v1/keys`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ caller: "team-x", roles: ["viewer"] }),
    });
  assert.equal(await codeOf(await make({})), "csrf");
  assert.equal(await codeOf(await make({ "x-csrf-token": "x".repeat(43) })), "csrf");
  const foreign = { "x-csrf-token": csrfToken, origin: "http://127.0.0.1:1" };
  assert.equal(await codeOf(await make(foreign)), "csrf");
  const evil = { "x-csrf-token": csrfToken, origin: "https://evil.example" };
  assert.equal(await codeOf(await make(evil)), "foreign_origin");
  assert.equal((await make({ "x-csrf-token": csrfToken, origin: url })).status, 201);
  assert.equal(await codeOf(await browser.send(`${url}/auth/logout`, { method: "POST" })), "csrf");
});

test("a session that ends is refused by every replica at once: by logout, by its key, by an admin", async () => {
  const { key, id } = await world.keyOf("carol", ["viewer"]);
  const admin = await world.connectAs("cli");
  const [first, second, third] = [await withToken(key), await withToken(key), await withToken(key)];
  const statusWith = async (at: string, headers: Record<string, string>) =>
    (await fetch(`${at}/api/v1/runs`, { headers })).status;
  // The cookie's two names: that of a laptop, and behind TLS the other gateway's.
  const cookie = (value: string) => `yard-session-${port}=${value}; __Host-yard-session=${value}`;
  const statusAt = (at: string, session: string) => statusWith(at, { cookie: cookie(session) });
  const isRefused = (session: string) =>
    until(async () =>
      (await Promise.all([url, other.url].map((at) => statusAt(at, session)))).every(
        (status) => status === 401,
      ),
    );
  const shown = [first, second, third].map(cookieOf);
  // Each credential is accepted in its own position alone.
  assert.equal(await statusWith(url, { authorization: `Bearer ${shown[0] ?? ""}` }), 401);
  assert.equal(await statusWith(url, { cookie: cookie(key) }), 401);
  for (const session of shown)
    assert.deepEqual(
      [await statusAt(url, session), await statusAt(other.url, session)],
      [200, 200],
    );
  const { csrfToken } = await sessionOf(first);
  const headers = { "x-csrf-token": csrfToken };
  await first.send(`${url}/auth/logout`, { method: "POST", headers });
  await isRefused(shown[0] ?? "");
  assert.equal(await statusAt(other.url, shown[1] ?? ""), 200);

  const listed = await (await second.send(`${url}/api/v1/user-sessions`)).json();
  const { sessions } = listed as { sessions: { id: string; caller: string }[] };
  assert.deepEqual(
    sessions.map(({ caller }) => caller),
    ["carol", "carol"],
  );
  const mallory = await withToken((await world.keyOf("mallory", ["operator"])).key);
  const theirs = { "x-csrf-token": (await sessionOf(mallory)).csrfToken };
  const end = (browser: Browser, given: Record<string, string>, session = sessions[0]?.id ?? "") =>
    browser.send(`${url}/api/v1/user-sessions/${session}`, { method: "DELETE", headers: given });
  assert.equal(await codeOf(await end(mallory, theirs)), "unknown_session");
  assert.equal(
    (await mallory.send(`${url}/api/v1/user-sessions?user=carol`)).status,
    403,
    "only admins see those of others",
  );
  const boss = await withToken(LAPTOP_TOKEN);
  const his = { "x-csrf-token": (await sessionOf(boss)).csrfToken };
  assert.equal((await end(boss, his)).status, 200);
  await isRefused(shown[2] ?? "");
  assert.equal(await statusAt(url, shown[1] ?? ""), 200);

  await call(admin, revokeUserKey, { id });
  await isRefused(shown[1] ?? "");
});

test("a session's stream of events ends with the session", async () => {
  const browser = await withToken((await world.keyOf("dora", ["viewer"])).key);
  const events = await browser.send(`${url}/api/v1/events`);
  assert.equal(events.status, 200);
  const { csrfToken } = await sessionOf(browser);
  await browser.send(`${url}/auth/logout`, {
    method: "POST",
    headers: { "x-csrf-token": csrfToken },
  });
  await events.text();
});

test("over TLS the cookie is bound to the host and never sent without TLS", async () => {
  const response = await fetch(`${other.url}/auth/session`, {
    method: "POST",
    headers: { authorization: `Bearer ${LAPTOP_TOKEN}` },
  });
  const [cookie = ""] = response.headers.getSetCookie();
  assert.match(cookie, /^__Host-yard-session=ys_[\w-]{43}; /);
  for (const attribute of [/; Path=\//, /; Secure/, /; HttpOnly/, /; SameSite=Strict/])
    assert.match(cookie, attribute);
  assert.doesNotMatch(cookie, /Domain/);
  assert.equal((await fetch(`${other.url}/auth/login`)).status, 404);
  const guessed = await Promise.all(
    Array.from({ length: 40 }, () =>
      fetch(`${other.url}/api/v1/runs`, { headers: { cookie: "__Host-yard-session=ys_guess" } }),
    ),
  );
  assert.deepEqual(new Set(guessed.map(({ status }) => status)), new Set([401, 429]));
});

test("the provider away is said as such, and the gateway lives on and names it to MCP clients (RFC 9728)", async () => {
  const away = "http://127.0.0.1:1";
  const alone = await world.startGatewayProcess({ YARD_OIDC_ISSUER: away });
  assert.deepEqual(await authorizationServers(alone.url), [away, issuer]);
  const response = await fetch(`${alone.url}/auth/login`);
  assert.deepEqual([response.status, await codeOf(response)], [503, "sign_in_unavailable"]);
  assert.equal(alone.child.exitCode, null);
});

test("MCP clients get the issuers that the policy service accepts from a gateway without a provider (RFC 9728)", async () => {
  const plain = await world.startGateway();
  assert.deepEqual(await authorizationServers(plain.url), [issuer]);
});

/** Follows a refused request to the metadata of `/mcp`. */
async function authorizationServers(gatewayUrl: string): Promise<unknown> {
  const refused = await fetch(`${gatewayUrl}/mcp`, { method: "POST" });
  const [, where = ""] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "") ?? [];
  return ((await (await fetch(where)).json()) as Record<string, unknown>)["authorization_servers"];
}
